/** What the browser tests do with the app of results, in a page that has the published host bridge of MCP apps. */
import { startAppHost } from './app-host.mjs';
import {
  clickButton,
  contactNoServer,
  displayAll,
  equal,
  TIMEOUT_MS,
  waitForText,
} from './browser-steps.mjs';
import { withstand } from './hostile-scenarios.mjs';

/** Opens the page of the host, lets `work` use it, and closes the host. */
async function inHost(t, options, work) {
  const host = await startAppHost(t.server.address);
  try {
    const page = await t.openPage({ ...options, address: host.url });
    await page.waitForFunction(() => globalThis.openApp !== undefined, { timeout: TIMEOUT_MS });
    await work(page);
    for (const frame of page.frames()) {
      const violations = await frame.evaluate(() => globalThis.cspViolations ?? []).catch(() => []);
      equal(violations.join(', '), '', 'What the policy has refused');
    }
    // Ends the connections of the page before the host.
    await page.goto('about:blank');
  } finally {
    host.close();
  }
}

/** Runs a program and shows its result. Returns the frame of the app. */
async function openApp(page, args, options = {}) {
  await page.evaluate((args, options) => globalThis.openApp('execute_code', args, options), args, options);
  return appFrame(page);
}

async function appFrame(page) {
  const element = await page.waitForSelector('iframe', { timeout: TIMEOUT_MS });
  const frame = await element.contentFrame();
  await frame.waitForSelector('.panel', { timeout: TIMEOUT_MS });
  return frame;
}

const callTool = (page, name, args) =>
  page.evaluate((name, args) => globalThis.callTool(name, args), name, args);
const recorded = (page) => page.evaluate(() => globalThis.record);

async function newSession(page, language = 'python') {
  const { structuredContent } = await callTool(page, 'create_session', { language });
  return structuredContent.session_id;
}

const python = (code, session_id) => ({ language: 'python', code, ...(session_id && { session_id }) });

const RICH = `
print("hello from a program")
sales = [{"month": "Jan", "sold": 3}, {"month": "Feb", "sold": 5}, {"month": "Mar", "sold": 4}]
display(chart.bar(sales, x="month", y="sold", title="Sales per month"))
display([{"name": "Ada", "score": 3}, {"name": "Bob", "score": 4}])
open("report.txt", "w").write("done")
`;

/** A picture of one pixel. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What a script of a program would do, if it ran. */
const CALL = {
  ...{ jsonrpc: '2.0', id: 9, method: 'tools/call' },
  params: { name: 'reset_all_sessions', arguments: {} },
};
const SCRIPTS = [
  'globalThis.pwned=1',
  `parent.postMessage(${JSON.stringify(CALL)},"*");top.postMessage(${JSON.stringify(CALL)},"*")`,
];

export const APP_SCENARIOS = {
  'the app shows output, chart, table and changed files of a call': (t) =>
    inHost(t, {}, async (page) => {
      const frame = await openApp(page, python(RICH));
      await waitForText(frame, '.stream', 'hello from a program');
      await frame.waitForSelector('img.picture', { timeout: TIMEOUT_MS });
      await waitForText(frame, '.table-scroll td', 'Ada');
      await waitForText(frame, '.changes', 'report.txt');
      await waitForText(frame, '.output .status', 'Finished');
      await waitForText(frame, '.gauge', 'efficient');
      equal((await frame.$$('.timeline')).length, 0, 'Timelines without a session');
      equal((await recorded(page)).sizes > 0, true, 'The app reports its height');
      await t.screenshot(page, 'result-app');
    }),

  'the app follows the theme of the host': (t) =>
    inHost(t, {}, async (page) => {
      const frame = await openApp(page, python('undefined_name'), { theme: 'dark' });
      await waitForText(frame, '.guidance', 'NameError');
      const colour = () => frame.$eval('body', (body) => getComputedStyle(body).backgroundColor);
      equal(await colour(), 'rgb(16, 24, 32)', 'The background of the host');
      equal(await frame.$eval('html', (html) => html.dataset.theme), 'dark', 'The theme');
      await t.screenshot(page, 'result-app-dark');
      await page.evaluate(() => globalThis.bridge.sendHostContextChange({ theme: 'light' }));
      await frame.waitForFunction(() => document.documentElement.dataset.theme === 'light');
    }),

  'the app undoes calls and returns to checkpoints of the session, and tells the model': (t) =>
    inHost(t, {}, async (page) => {
      const session = await newSession(page);
      await callTool(page, 'execute_code', python('x = 1\nopen("a.txt", "w").write("1")', session));
      await callTool(page, 'checkpoint_session', { session_id: session, name: 'first' });
      const frame = await openApp(page, python('x = 2\nprint("x is", x)', session));
      await clickButton(frame, 'Timeline and files');
      await waitForText(frame, '.step .label', 'Last call (number 2)');
      await waitForText(frame, '.files .tree', 'a.txt');
      await clickButton(frame, 'Start: Before the last call', '.rows');
      await clickButton(frame, 'Go back to this step');
      await waitForText(frame, '[role=status]', 'was undone');
      const value = async () =>
        (await callTool(page, 'execute_code', python('x', session))).structuredContent.result;
      equal(await value(), 1, 'The variable after the undo');
      await callTool(page, 'execute_code', python('x = 3', session));
      // The steps are those before two other calls.
      await clickButton(frame, 'Checkpoint');
      await waitForText(frame, '.step .label', 'Last call (number');
      await clickButton(frame, 'Checkpoint: first', '.rows');
      await clickButton(frame, 'Go back to this step');
      await waitForText(frame, '[role=status]', 'checkpoint first');
      await t.screenshot(page, 'result-app-timeline');
      equal(await value(), 1, 'The variable at the checkpoint');
      const { context } = await recorded(page);
      equal(context.length, 2, 'What the model was told');
      equal(context[0].includes('was undone'), true, 'The model knows of the undo');
    }),

  'the app does not undo a call that it has not shown': (t) =>
    inHost(t, {}, async (page) => {
      const session = await newSession(page);
      const frame = await openApp(page, python('x = 1', session));
      await clickButton(frame, 'Timeline and files');
      await clickButton(frame, 'Start: Before the last call', '.rows');
      await callTool(page, 'execute_code', python('x = 2', session));
      await clickButton(frame, 'Go back to this step');
      await waitForText(frame, '[role=alert]', 'another call since');
      const { structuredContent } = await callTool(page, 'execute_code', python('x', session));
      equal(structuredContent.result, 2, 'The variable');
    }),

  'the app says what its host refuses': (t) =>
    inHost(t, {}, async (page) => {
      const session = await newSession(page);
      const program = python('display([{"a": 1}])', session);
      const refused = await openApp(page, program, { refuses: true });
      await clickButton(refused, 'Timeline and files');
      await waitForText(refused, '[role=alert]', 'The person said no.');
      const bare = await openApp(page, program, { capabilities: {} });
      await waitForText(bare, '.note', 'does not let apps call tools');
      await waitForText(bare, '.result', 'does not let apps read resources');
    }),

  'the app lets the host download files': (t) =>
    inHost(t, {}, async (page) => {
      const session = await newSession(page);
      const frame = await openApp(page, python('open("a b.txt", "w").write("x")', session));
      await clickButton(frame, 'Timeline and files');
      await frame.waitForSelector('[aria-label="Download a b.txt"]', { timeout: TIMEOUT_MS });
      await frame.click('[aria-label="Download a b.txt"]');
      await page.waitForFunction(() => globalThis.record.downloads.length > 0, { timeout: TIMEOUT_MS });
      const [link] = (await recorded(page)).downloads;
      equal(link.uri, `workspace://${session}/a%20b.txt`, 'The address of the file');
    }),

  'the app contacts no server for HTML and SVG from a program': (t) =>
    inHost(t, { hasPayloads: true }, (page) =>
      contactNoServer(page, (program) => openApp(page, python(program))),
    ),

  'the app withstands hostile output in each place that shows it': (t) =>
    inHost(t, { hasPayloads: true }, async (page) => {
      await page.evaluate(() => {
        globalThis.senders = new Set();
        addEventListener('message', ({ source, data }) => {
          const isApp = source === document.querySelector('iframe')?.contentWindow;
          globalThis.senders.add(`${isApp ? 'app' : 'other'} ${data?.method ?? 'response'}`);
        });
      });
      await withstand(page, (program) => openApp(page, python(program)));
      equal((await recorded(page)).calls.join(), '', 'The tools that were called');
      const senders = await page.evaluate(() => [...globalThis.senders].sort().join());
      const expected = ['notifications/initialized', 'notifications/size-changed', 'initialize'];
      const wanted = ['app resources/read', ...expected.map((one) => `app ui/${one}`)].sort().join();
      equal(senders, wanted, 'The messages that the host received');
    }),

  'the app runs no script of a program, and its tools cannot be called by one': (t) =>
    inHost(t, { hasPayloads: true }, async (page) => {
      const results = SCRIPTS.flatMap((script) => [
        [`<script>${script}</script>`, 'text/html'],
        [`<img src=x onerror='${script}'>`, 'text/html'],
        [`<a href='javascript:${script}' id=link>link</a>`, 'text/html'],
        [`<iframe srcdoc="<script>${script}</script>"></iframe>`, 'text/html'],
        [
          `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload='${script}'><script>${script}</script></svg>`,
          'image/svg+xml',
        ],
        [`<svg onload='${script}'></svg>`, 'text/html'],
        [`[x](javascript:${script})<script>${script}</script>`, 'text/markdown'],
      ]);
      const text = `<img src=x onerror='${SCRIPTS[0]}'><script>${SCRIPTS[0]}</script>`;
      const files = `open("${'<img src=x onerror=alert(1)>'}.txt", "w").write("x")`;
      const session = await newSession(page);
      const program = `${displayAll(results)}\nprint(${JSON.stringify(text)})\n${files}\n${JSON.stringify(text)}`;
      const frame = await openApp(page, python(program, session));
      await frame.waitForFunction(
        (count) => document.querySelectorAll('.result').length >= count,
        {},
        results.length,
      );
      await clickButton(frame, 'Timeline and files');
      await waitForText(frame, '.files .tree', '<img src=x onerror');
      await waitForText(frame, '.stream', '<script>');
      for (const child of frame.childFrames()) {
        const link = await child.$('#link').catch(() => null);
        await link?.click().catch(() => {});
      }
      for (const one of page.frames())
        equal(await one.evaluate(() => globalThis.pwned).catch(() => undefined), undefined, 'A script ran');
      const { calls } = await recorded(page);
      equal(calls.join(', '), 'get_workspace_info', 'The tools that were called');
      equal(
        (await frame.$$('iframe:not([sandbox=""]), script:not([type=module]), .output a')).length,
        0,
        'Elements of the program',
      );
    }),

  'the app ignores messages of other windows than its host': (t) =>
    inHost(t, {}, async (page) => {
      const session = await newSession(page);
      const frame = await openApp(page, python('print("real")', session));
      await clickButton(frame, 'Timeline and files');
      await frame.waitForSelector('.step', { timeout: TIMEOUT_MS });
      await frame.evaluate((session) => {
        const structuredContent = { session_id: session, success: true, stdout: 'forged' };
        const messages = [
          {
            jsonrpc: '2.0',
            method: 'ui/notifications/tool-result',
            params: { content: [], structuredContent },
          },
          ...[...Array(50).keys()].map((id) => ({ jsonrpc: '2.0', id, result: { structuredContent } })),
        ];
        const child = document.createElement('iframe');
        document.body.append(child);
        // Both this window and a frame in it send the messages.
        for (const message of messages) {
          postMessage(message, '*');
          dispatchEvent(new MessageEvent('message', { data: message, source: child.contentWindow }));
        }
        // Messages that the host sends afterwards arrive afterwards.
        child.remove();
      }, session);
      await page.evaluate(() => globalThis.bridge.sendHostContextChange({ theme: 'dark' }));
      await frame.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
      await waitForText(frame, '.stream', 'real');
      equal(
        await frame.$eval('.stream', (one) => one.textContent.includes('forged')),
        false,
        'Forged output',
      );
    }),

  'the app shows giant and malformed results': (t) =>
    inHost(t, {}, async (page) => {
      const rows = 'display([{f"c{j}": i * j for j in range(100)} for i in range(1000)])';
      const frame = await openApp(page, python(`print("x" * 1_000_000)\n${rows}`));
      await waitForText(frame, '.table-scroll p', '1,000 rows, 100 columns');
      equal((await frame.$$('.table-scroll tbody tr')).length, 20, 'Rows');
      const length = await frame.$eval('.stream', (one) => one.textContent.length);
      equal(length < 30_000, true, `Characters of output: ${length}`);
      const wrong = [
        { content: [{ type: 'text', text: 'invalid_argument: no such session' }], isError: true },
        { content: [{ type: 'text', text: 'plain' }], structuredContent: { session_id: 5, results: 'x' } },
        { content: [{ type: 'text', text: 'nothing else' }], structuredContent: { session_id: 'default' } },
      ];
      for (const forge of wrong) {
        const shown = await openApp(page, python(''), { forge });
        const text = forge.content[0].text;
        if (forge.structuredContent?.session_id === 'default') await waitForText(shown, '.status', 'Failed');
        else await waitForText(shown, '.stream', text);
      }
    }),

  'the app shows pictures that are files, and images without structured content': (t) =>
    inHost(t, {}, async (page) => {
      const write = `import base64\nopen("dot one.png", "wb").write(base64.b64decode("${PNG}"))`;
      const frame = await openApp(page, python(write));
      await frame.waitForFunction(() => document.querySelector('img.picture')?.naturalWidth === 1, {
        timeout: TIMEOUT_MS,
      });
      const forge = {
        content: [
          { type: 'text', text: 'Succeeded.' },
          { type: 'image', data: PNG, mimeType: 'image/png' },
        ],
      };
      const plain = await openApp(page, python(''), { forge });
      await waitForText(plain, '.stream', 'Succeeded.');
      await plain.waitForFunction(() => document.querySelector('img.picture')?.naturalWidth === 1, {
        timeout: TIMEOUT_MS,
      });
    }),

  'the app is accessible in both themes': (t) =>
    inHost(t, { width: 420, height: 900 }, async (page) => {
      const session = await newSession(page);
      for (const theme of ['light', 'dark']) {
        const frame = await openApp(page, python(`${RICH}\nundefined_name`, session), { theme });
        await waitForText(frame, '.table-scroll td', 'Ada');
        await clickButton(frame, 'Timeline and files');
        await frame.waitForSelector('.step', { timeout: TIMEOUT_MS });
        await t.checkAccessibility(frame);
        await t.screenshot(page, `result-app-${theme}-narrow`);
      }
    }),
};
