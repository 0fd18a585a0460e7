/** HTML and SVG with which a program tries to contact a server from the playground, as functions of its address. */

const link = (url, rel = 'preconnect') => `<link rel="${rel}" href="${url}">`;

/** By name. */
export const HTML_PAYLOADS = {
  preconnect: (url) => link(url),
  'dns-prefetch': (url) =>
    link(url, 'dns-prefetch') + link(url.replace('http:', ''), 'preconnect dns-prefetch'),
  prefetch: (url) =>
    link(url, 'prefetch') + link(url, 'prerender') + link(url, 'manifest') + link(url, 'icon'),
  preload: (url) => `<link rel="preload" as="image" href="${url}"><link rel="modulepreload" href="${url}">`,
  stylesheet: (url) => link(url, 'stylesheet'),
  'link in svg': (url) => `<svg>${link(url)}</svg>`,
  'link in a foreign object': (url) => `<svg><foreignObject>${link(url)}</foreignObject></svg>`,
  'link in mathml': (url) =>
    `<math><mtext>${link(url)}</mtext><annotation-xml encoding="text/html">${link(url)}`,
  'link with a namespace': (url) =>
    `<svg><h:link xmlns:h="http://www.w3.org/1999/xhtml" rel="preconnect" href="${url}"/></svg>`,
  'link in a shadow root': (url) => `<div><template shadowrootmode="open">${link(url)}</template></div>`,
  'link in a template': (url) => `<template>${link(url)}</template>`,
  'link in a nested document': (url) => `<iframe srcdoc='${link(url)}'></iframe>`,
  'mutation through svg style': (url) => `<svg></p><style><a id="</style>${link(url)}">`,
  'mutation through svg title': (url) => `<svg><title><style><a title="</title>${link(url)}">`,
  'mutation through mathml': (url) =>
    `<math><mtext><table><mglyph><style><!--</style><img title="--&gt;${link(url).replaceAll('"', '&quot;')}">`,
  'mutation through a form': (url) =>
    `<form><math><mtext></form><form><mglyph><svg><mtext><style><path id="</style>${link(url)}">`,
  'mutation through noscript': (url) => `<noscript><p title="</noscript>${link(url)}">`,
  'mutation through comments': (url) => `<!--><p>--!>${link(url)}<!-- --><![CDATA[ ]]>${link(url)}<?x ?>`,
  'raw text': (url) =>
    `<xmp><p title="</xmp>${link(url)}"><textarea></textarea>${link(url)}<plaintext>${link(url)}`,
  frameset: (url) => `<frameset><frame src="${url}"></frameset>`,
  iframe: (url) => `<iframe src="${url}"></iframe><iframe loading="eager" src="${url}/2"></iframe>`,
  'embedded content': (url) =>
    `<object data="${url}"></object><embed src="${url}"><applet code="${url}"></applet>`,
  'fenced frame and portal': (url) =>
    `<fencedframe src="${url}"></fencedframe><portal src="${url}"></portal>`,
  image: (url) =>
    `<img src="${url}"><img srcset="${url} 2x"><picture><source srcset="${url}"><img></picture>`,
  media: (url) =>
    `<video src="${url}" poster="${url}" autoplay></video><audio src="${url}" autoplay></audio>`,
  background: (url) =>
    `<table background="${url}"><tr><td background="${url}">x</table><body background="${url}">`,
  styles: (url) =>
    `<style>@import "${url}"; @font-face { font-family: f; src: url(${url}) } p { background: url(${url}); font-family: f; cursor: url(${url}), auto }</style><p style="background-image: image-set('${url}' 1x)">x</p>`,
  refresh: (url) => `<meta http-equiv="refresh" content="0;url=${url}">`,
  base: (url) => `<base href="${url}/"><img src="x.png"><a href="y" ping="z">x</a>`,
  'another policy': (url) =>
    `<meta http-equiv="Content-Security-Policy" content="report-uri ${url}"><img src="${url}">`,
  script: (url) =>
    `<script src="${url}"></script><script>fetch("${url}")</script><img src=x onerror="fetch('${url}')">`,
  'speculation rules': (url) =>
    `<script type="speculationrules">{"prefetch":[{"source":"list","urls":["${url}"]}]}</script>`,
  form: (url) => `<form action="${url}"><input type="image" src="${url}"><button autofocus>x</button></form>`,
  'svg references': (url) =>
    `<svg><image href="${url}"/><use href="${url}#a"/><a href="${url}"><text>x</text></a><script href="${url}"/></svg>`,
  'import map': (url) =>
    `<script type="importmap">{"imports":{"x":"${url}"}}</script>${link(url, 'modulepreload')}`,
  anchor: (url) => `<a href="${url}" target="_self" ping="${url}" style="display:block">anchor</a>`,
};

const SVG = 'http://www.w3.org/2000/svg';
const XHTML = 'http://www.w3.org/1999/xhtml';
export const SVG_PAYLOADS = {
  'image in svg': (url) => `<svg xmlns="${SVG}" width="9" height="9"><image href="${url}"/></svg>`,
  'html in svg': (url) =>
    `<svg xmlns="${SVG}" width="9" height="9"><foreignObject><link xmlns="${XHTML}" rel="preconnect" href="${url}"/></foreignObject></svg>`,
  'style sheet of svg': (url) => `<?xml-stylesheet href="${url}"?><svg xmlns="${SVG}" width="9" height="9"/>`,
};
