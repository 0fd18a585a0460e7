/** What programs that attack the pages try in the browser tests, and what other sites try. */
import { createServer } from 'node:http';
import {
  contactsOneServer,
  displayAll,
  equal,
  listen,
  TIMEOUT_MS,
  waitForFrameWith,
} from './browser-steps.mjs';
import { hostileHtml, hostileSvg } from './hostile-payloads.mjs';

/** Results that are displayed at a time; one more ends them. */
const BATCH = 19;

/** Python programs that put text into each place that a page shows: streams, results, tables, names and errors. */
function hostilePrograms(url) {
  const html = hostileHtml(url);
  const svg = hostileSvg(url);
  const all = html.map(([, text]) => text).join('\n');
  const short = JSON.stringify(`<img src=x onerror="globalThis.pwned=1"><svg onload="globalThis.pwned=1">`);
  const results = [
    ...html.map(([, text]) => [text, 'text/html']),
    ...svg.map(([, text]) => [text, 'image/svg+xml']),
    ...svg.map(([, text]) => [text, 'text/html']),
    ...['text/html', 'text/markdown', 'text/latex', 'text/plain'].map((mime) => [all, mime]),
  ];
  const programs = [];
  for (let i = 0; i < results.length; i += BATCH)
    programs.push(displayAll([...results.slice(i, i + BATCH), ['<p id=end>end</p>', 'text/html']]));
  const everywhere = [
    `import sys\nfrom types import SimpleNamespace\nx = ${short}\nhostile = ${JSON.stringify(all)}`,
    'print(hostile); print(hostile, file=sys.stderr)',
    'display([{x: x, "a": hostile}])\ndisplay({x: [x]}, mime="application/json")',
    'display(chart.bar([{"m": x, "n": 1}], x="m", y="n", title=x))',
    'open(x.replace("/", "") + ".html", "w").write(x); open("\\u202egnp.html", "w").write(x)',
    'display("<p id=end>end</p>", mime="text/html")',
    'raise type(x, (Exception,), {})(x)',
  ];
  return [...programs, everywhere.join('\n')];
}

/** Follows the links of a frame, and returns what the frame reaches. It has scripts only from the debugger. */
const attackFrame = () => {
  for (const one of document.querySelectorAll('a, button, .click')) one.click();
  const tried = {
    script: () => globalThis.pwned,
    parent: () => parent.document.title,
    top: () => top.document.title,
    token: () => parent.sessionStorage.getItem('token'),
    cookie: () => document.cookie,
    storage: () => localStorage.length + sessionStorage.length + 1,
    worker: () => navigator.serviceWorker,
    origin: () => globalThis.origin !== 'null',
    elements: () =>
      document.querySelector('script, iframe, object, embed, link, base, form, [href], [onload]'),
  };
  return Object.keys(tried).filter((name) => {
    try {
      return tried[name]();
    } catch {
      return false;
    }
  });
};

/** What the frame that shows results must not have, after a program was shown. */
const stateOfPage = async () => {
  const isOpaque = globalThis.origin === 'null';
  return JSON.stringify({
    pwned: globalThis.pwned,
    cookie: isOpaque ? '' : document.cookie,
    stored: isOpaque ? '' : Object.keys(localStorage).join(),
    workers: isOpaque ? 0 : (await navigator.serviceWorker.getRegistrations()).length,
    covered: document.elementFromPoint(innerWidth - 5, 5)?.textContent === 'cover',
  });
};
const UNTOUCHED = '{"cookie":"","stored":"","workers":0,"covered":false}';

/**
 * Shows hostile output. Fails if a script runs, a server is contacted, a window, a dialog or a download opens, or the page is
 * left or changed. `show` runs a program and returns the frame that shows its results. Returns the number of programs.
 */
export async function withstand(page, show) {
  const canary = await listen('canary');
  const events = [];
  page.on('dialog', (dialog) => {
    events.push('a dialog');
    dialog.dismiss();
  });
  page.on('popup', () => events.push('a window'));
  const session = await page.createCDPSession();
  await session.send('Browser.setDownloadBehavior', { behavior: 'deny', eventsEnabled: true });
  session.on('Browser.downloadWillBegin', () => events.push('a download'));
  const { title, url } = { title: await page.title(), url: page.url() };
  const programs = hostilePrograms(canary.url);
  for (const program of programs) {
    const frame = await show(program);
    await waitForFrameWith(page, '#end');
    const reached = await Promise.all(frame.childFrames().map((child) => child.evaluate(attackFrame)));
    equal(reached.length > 0, true, 'HTML is shown in frames');
    equal(reached.flat().join(), '', 'What a frame reaches');
    equal(await frame.evaluate(stateOfPage), UNTOUCHED, 'The page');
  }
  await contactsOneServer(page.browser());
  canary.close();
  equal(canary.contacts, 0, 'Connections to the server of the program');
  equal(events.join(), '', 'What the program opened');
  equal(await page.title(), title, 'The title of the page');
  equal(page.url(), url, 'The address of the page');
  await session.send('Browser.setDownloadBehavior', { behavior: 'default' });
  return programs.length;
}

/** Output that stopped a page: deep folders and JSON, HTML that is not closed, and images whose elements refer to others. */
export const LARGE = `import os
for i in range(600):
    os.mkdir("d"); os.chdir("d")
open("f.txt", "w").close()
x = [1] * 250_000
for i in range(90): x = [x]
display(x, mime="application/json")
display("".join(f"<b id={i}>" for i in range(20_000)) + "<p>" * 50_000, mime="text/html")
items = '<g id="g0"><rect width="1" height="1"/></g>'
for i in range(1, 9): items += f'<g id="g{i}">' + f'<use href="#g{i - 1}"/>' * 10 + '</g>'
svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><defs>{items}</defs><use href="#g8"/></svg>'
display(svg, mime="image/svg+xml"); display(svg, mime="text/html")
address = "data:image/svg+xml," + svg.replace('"', "'").replace("#", "%23")
display(f'<img src="{address}">', mime="text/html")
display("<i id=end>end</i>", mime="text/html")
print("still here")`;

/** A page of another site, which tries to use the playground at an address with the token of the person. */
const otherSite = (address) => {
  const [page] = address.split('#');
  const api = new URL('api/sessions', page).href;
  return `<!doctype html><title>other</title><iframe id=frame src="${page}"></iframe><script>
const found = [];
const tell = (what) => (value) => { if (value) found.push(what) };
const settle = (promise) => Promise.race([promise, new Promise((end) => setTimeout(end, 1000))]).catch(() => {});
const load = (tag, attributes) => new Promise((resolve) => {
  const one = Object.assign(document.createElement(tag), attributes, { onload: () => resolve(true), onerror: () => resolve(false) });
  document.head.append(one);
});
globalThis.attack = async () => {
  const child = open("${page}");
  await settle(Promise.all([
    fetch("${api}", { credentials: 'include' }).then(tell('API')),
    fetch("${api}", { method: 'POST', mode: 'no-cors', body: '{"language":"python"}' }),
    load('script', { src: "${page}app.js" }).then(tell('script')),
    load('img', { src: "${page}icon.svg" }).then(tell('image')),
    load('link', { rel: 'stylesheet', href: "${page}app.css" }).then(tell('style')),
  ]));
  const forged = { jsonrpc: '2.0', id: 1, method: 'tools/call', type: 'snapshot', params: { name: 'reset_all_sessions', arguments: {} } };
  let deep = 1;
  for (let i = 0; i < 500; i++) deep = [deep];
  for (const message of [forged, JSON.stringify(forged), deep, 'x'.repeat(10_000_000)])
    for (const target of [child, frames[0]]) target?.postMessage(message, '*');
  await new Promise((end) => setTimeout(end, 500));
  for (const get of [() => child?.document, () => child?.sessionStorage.token, () => frames[0].document.body.textContent])
    try { tell('document')(get()) } catch {}
  tell('window')(child !== null && !child.closed && child.length > 0);
  return found.join();
};
</script>`;
};

async function attackFromOtherSite(t) {
  const page = await t.openPage();
  const sessions = () => page.$$eval('.bar select option', (all) => all.map(({ value }) => value).join());
  await page.waitForSelector('button.run:not(:disabled)', { timeout: TIMEOUT_MS });
  const before = await sessions();
  const server = createServer((_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(otherSite(t.server.address)),
  );
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const other = await page.browser().newPage();
    await other.goto(`http://127.0.0.1:${server.address().port}/`);
    equal(await other.evaluate(() => globalThis.attack()), '', 'What another site reaches');
    for (const one of await page.browser().pages())
      if (one !== page && one.url().startsWith(t.server.address.split('#')[0])) await one.close();
    await other.close();
  } finally {
    server.closeAllConnections();
    server.close();
  }
  await page.bringToFront();
  await page.reload();
  await page.waitForSelector('button.run:not(:disabled)', { timeout: TIMEOUT_MS });
  equal(await sessions(), before, 'The sessions after the attack');
}

export const HOSTILE_SCENARIOS = {
  'gives another site no access to the page and its sessions': attackFromOtherSite,
};
