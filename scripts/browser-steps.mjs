/** Steps that several browser tests use. */
import { createServer } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { HTML_PAYLOADS, SVG_PAYLOADS } from './guest-html-payloads.mjs';

export const TIMEOUT_MS = 30_000;
/** How long a frame may take to answer. */
const ANSWER_MS = 2000;
/** Results of a call that pages show. */
const MAX_RESULTS = 20;

/** Waits until the text of an element contains a text. */
export async function waitForText(page, selector, text) {
  try {
    await page.waitForFunction(
      (selector, text) =>
        [...document.querySelectorAll(selector)].some((one) => one.textContent.includes(text)),
      { timeout: TIMEOUT_MS },
      selector,
      text,
    );
  } catch {
    const found = await page.$$eval(selector, (all) => all.map((one) => one.textContent.slice(0, 300)));
    throw new Error(`${selector} does not contain ${JSON.stringify(text)}, but ${JSON.stringify(found)}`);
  }
}

const MAX_CLICKS = 5;

/** The layout can move a button while it is clicked, so the click is repeated until the button receives it. */
export async function clickButton(page, text, within = '') {
  const handle = await page.waitForFunction(
    (text, within) =>
      [...document.querySelectorAll(`${within} button`)].find(
        (one) => one.textContent.trim().startsWith(text) && !one.disabled,
      ),
    { timeout: TIMEOUT_MS },
    text,
    within,
  );
  await handle.evaluate((button) => {
    button.addEventListener('click', () => Object.assign(globalThis, { clicked: button }), { once: true });
  });
  for (let clicks = 0; clicks < MAX_CLICKS; clicks++) {
    await handle.click();
    if (await handle.evaluate((button) => globalThis.clicked === button)) return;
  }
  throw new Error(`The button ${JSON.stringify(text)} does not receive clicks`);
}

/** A server that counts connections. */
export async function listen(name) {
  const listener = { name, contacts: 0 };
  const server = createServer((socket) => {
    listener.contacts++;
    socket.on('error', () => {});
    socket.destroy();
  });
  // A scenario that fails does not close it.
  server.unref();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(listener, {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => server.close(),
  });
}

/** Lets the browser contact a server in the way that the payloads try. When it has, the contacts of earlier pages have arrived. */
export async function contactsOneServer(browser) {
  const control = await listen('control');
  const page = await browser.newPage();
  for (const payload of [HTML_PAYLOADS.preconnect, HTML_PAYLOADS.iframe]) {
    const before = control.contacts;
    await page.evaluate((html) => {
      document.body.innerHTML = html;
    }, payload(control.url));
    for (const end = Date.now() + TIMEOUT_MS; control.contacts === before; ) {
      if (Date.now() > end)
        throw new Error('The browser contacts no server, so that the test proves nothing.');
      await setTimeout(50);
    }
  }
  control.close();
  await page.close();
}

/** All payloads as results of a program: the name, the function of an address and the type. */
const PAYLOADS = [
  ...Object.entries(HTML_PAYLOADS).map((entry) => [...entry, 'text/html']),
  ...Object.entries(SVG_PAYLOADS).map((entry) => [...entry, 'image/svg+xml']),
  ...Object.entries(HTML_PAYLOADS).map((entry) => [...entry, 'text/markdown']),
];

/**
 * The elements of a frame; none if the frame is detached meanwhile, which puppeteer also throws before it returns a promise. A
 * frame whose document was refused may never answer.
 */
async function elementsOf(frame, selector) {
  try {
    return await Promise.race([frame.$$(selector), setTimeout(ANSWER_MS, [])]);
  } catch {
    return [];
  }
}

/** Waits for a frame that has an element. `page.waitForFrame` asks a frame when it appears, which may be before the element exists. */
export async function waitForFrameWith(page, selector) {
  for (const end = Date.now() + TIMEOUT_MS; Date.now() < end; await setTimeout(50)) {
    const found = await Promise.all(page.frames().map((frame) => elementsOf(frame, selector)));
    if (found.flat().length > 0) return;
  }
  throw new Error(`No frame has the element ${selector}`);
}

/** Lets `show` display payloads, as many at a time as one call may display. Fails if one of them contacts a server. */
export async function contactNoServer(page, show) {
  for (let i = 0; i < PAYLOADS.length; i += MAX_RESULTS - 1) {
    const listeners = [];
    const results = [];
    for (const [name, payload, mime] of PAYLOADS.slice(i, i + MAX_RESULTS - 1)) {
      const listener = await listen(`${name} as ${mime}`);
      listeners.push(listener);
      results.push([payload(listener.url), mime]);
    }
    results.push(['<p id=end>end</p>', 'text/html']);
    const frame = await show(displayAll(results));
    await frame.waitForFunction(
      (count) => document.querySelectorAll('.result').length === count,
      {},
      results.length,
    );
    await waitForFrameWith(page, '#end');
    for (const child of frame.childFrames())
      for (const anchor of await elementsOf(child, 'a')) await anchor.click().catch(() => {});
    await contactsOneServer(page.browser());
    const contacted = listeners.filter((one) => one.contacts > 0).map(({ name }) => name);
    for (const one of listeners) one.close();
    equal(contacted.join(', '), '', 'A program has contacted a server');
  }
}

/** A program that displays data of some types. */
export const displayAll = (results) =>
  `for data, mime in ${JSON.stringify(results)}:\n    display(data, mime=mime)`;

export function equal(actual, expected, what) {
  if (actual !== expected)
    throw new Error(`${what}: ${JSON.stringify(actual)}, expected ${JSON.stringify(expected)}`);
}
