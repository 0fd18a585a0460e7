/** What the browser tests do on the page, by name. A scenario throws if the page does not behave as expected. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  clickButton,
  contactNoServer,
  equal,
  TIMEOUT_MS,
  waitForFrameWith,
  waitForText,
} from './browser-steps.mjs';
import { LARGE, withstand } from './hostile-scenarios.mjs';

async function pressWithControl(page, key) {
  await page.keyboard.down('Control');
  await page.keyboard.press(key);
  await page.keyboard.up('Control');
}

/** Replaces the program. Typing would add brackets and indentation. */
export async function setCode(page, code) {
  await page.waitForSelector('.cm-content', { timeout: TIMEOUT_MS });
  await page.focus('.cm-content');
  await pressWithControl(page, 'a');
  const session = await page.createCDPSession();
  await session.send('Input.insertText', { text: code });
  await session.detach();
}

export const ready = (page) => page.waitForSelector('button.run:not(:disabled)', { timeout: TIMEOUT_MS });
const status = (page, wanted) => waitForText(page, '.output .status', wanted);
const code = (page) => page.$$eval('.cm-line', (lines) => lines.map((line) => line.textContent).join('\n'));

/** Waits until the state of the last step is saved, so that the next change can start. */
const settled = (page) =>
  page.waitForFunction(
    () =>
      document.querySelector('button.run')?.textContent.includes('Run') &&
      document.querySelector('[aria-current="step"]'),
    { timeout: TIMEOUT_MS },
  );

async function run(page, program, wanted = 'Finished') {
  await ready(page);
  await setCode(page, program);
  await clickButton(page, '▶');
  await status(page, wanted);
  await settled(page);
}

/** Starts in a Python session of its own. */
async function newSession(page) {
  await ready(page);
  await page.click('input[value="python"]');
  await page.waitForFunction(() => document.querySelector('.bar select').value.startsWith('python'));
  await ready(page);
  const before = await page.$eval('.bar select', (one) => one.value);
  await clickButton(page, 'New session');
  await page.waitForFunction((old) => document.querySelector('.bar select').value !== old, {}, before);
  await ready(page);
}

async function chooseExample(page, title) {
  await page.evaluate((title) => {
    const select = [...document.querySelectorAll('.bar select')].at(-1);
    select.value = title;
    select.dispatchEvent(new Event('change', { bubbles: true }));
  }, title);
}

export const SCENARIOS = {
  'runs the first program and shows its output, table, variables and fuel': async (t) => {
    const page = await t.openPage();
    await ready(page);
    equal(new URL(page.url()).hash.includes('token'), false, 'The address contains the token');
    await clickButton(page, '▶');
    await status(page, 'Finished');
    await waitForText(page, '.stream', 'Mean: 4.466');
    await waitForText(page, '.table-scroll th', 'square');
    await waitForText(page, '.variables', 'samples');
    await waitForText(page, '.gauge', 'efficient');
    await t.checkAccessibility(page);
    await t.screenshot(page, 'run');
  },

  'shows the guidance for a failed program and applies its fix': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    await chooseExample(page, 'A mistake with a suggested fix');
    await clickButton(page, '▶');
    await status(page, 'Failed');
    await waitForText(page, '.guidance', "Did you mean 'print'?");
    await page.waitForSelector('.cm-error-line');
    const text = await page.$eval('.output', (one) => one.innerText);
    equal(text.split('is not defined').length - 1, 1, `Statements of the error in ${text}`);
    equal(text.indexOf('Apply') < text.indexOf('is not defined'), true, 'The fix is first');
    equal(text.includes('efficient'), false, 'A failed program is called efficient');
    await waitForText(page, '.step[data-status="failed"]', 'radius = 4');
    await t.checkAccessibility(page);
    await t.screenshot(page, 'guidance');
    await clickButton(page, 'Apply', '.guidance');
    await pressWithControl(page, 'Enter');
    await waitForText(page, '.stream', 'Area: 50.27');
    await status(page, 'Finished');
  },

  'shows a chart and the fuel of each line': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    await chooseExample(page, 'A chart');
    await clickButton(page, '▶');
    await page.waitForFunction(() => document.querySelector('.picture')?.naturalWidth > 100, {
      timeout: TIMEOUT_MS,
    });
    await settled(page);
    const [top, bottom] = await page.evaluate(() => {
      const picture = document.querySelector('.picture').getBoundingClientRect();
      const panel = document.querySelector('.output .scroll').getBoundingClientRect();
      return [picture.top - panel.top, panel.bottom - picture.bottom];
    });
    equal(top >= 0 && bottom >= 0, true, `The chart is cut off: ${top}, ${bottom}`);
    await t.screenshot(page, 'chart');
    await chooseExample(page, 'Where the fuel goes');
    await clickButton(page, '▶');
    await page.waitForSelector('.cm-gutters .fuel-bar', { timeout: TIMEOUT_MS });
    await status(page, 'Finished');
    await waitForText(page, '.legend', 'Fuel of each line');
    await t.screenshot(page, 'fuel');
  },

  'shows HTML from a program in a frame that cannot run scripts': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    const html = '<b style=\\"color:green\\">bold</b><script>parent.document.title=\\"x\\"</script>';
    await run(page, `display("${html}", mime="text/html")`);
    await page.waitForSelector('iframe[sandbox=""]');
    const title = await page.title();
    equal(title.includes('Playground'), true, 'Guest HTML has changed the page');
  },

  'contacts no server for HTML and SVG from a program': async (t) => {
    const page = await t.openPage({ hasPayloads: true });
    await newSession(page);
    await contactNoServer(page, async (program) => {
      await run(page, program);
      return page.mainFrame();
    });
  },

  'withstands hostile output in each place that shows it': async (t) => {
    const page = await t.openPage({ hasPayloads: true });
    await newSession(page);
    const calls = await withstand(page, async (program) => {
      const ends = program.includes('raise ') ? 'Failed' : 'Finished';
      await run(page, program, ends);
      return page.mainFrame();
    });
    equal((await page.$$('.step[data-kind="call"]')).length, calls, 'The calls of the session');
  },

  'shows output that is large, deep or repeated': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    await run(page, LARGE);
    await waitForText(page, '.stream', 'still here');
    await waitForText(page, '.note', 'The first 100,000 of');
    await waitForText(page, '.note', 'too large to draw');
    await waitForFrameWith(page, '#end');
    await waitForText(page, '.files .tree', 'f.txt');
  },

  'shows HTML with tables, styles and images': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    const html = `<style>td { color: rgb(1, 2, 3) }</style><table border="1"><tr><td title='"&lt;'>a &lt; b</td></table><svg width="20" height="10"><rect width="20" height="10"/></svg><custom-element>left out</custom-element>`;
    await run(page, `display(${JSON.stringify(html)}, mime="text/html")`);
    const frame = await (await page.waitForSelector('iframe[sandbox=""]')).contentFrame();
    await frame.waitForFunction(() => document.querySelector('img')?.naturalWidth === 20);
    const shown = await frame.evaluate(() => {
      const cell = document.querySelector('td');
      return [document.body.textContent, cell.title, getComputedStyle(cell).color, globalThis.origin];
    });
    equal(
      JSON.stringify(shown),
      JSON.stringify(['a < b', '"<', 'rgb(1, 2, 3)', 'null']),
      'The frame differs',
    );
  },

  'stops an endless loop': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    await setCode(page, 'n = 0\nprint("begin")\nwhile True:\n    n += 1');
    await clickButton(page, '▶');
    await waitForText(page, '.stream', 'begin');
    await t.screenshot(page, 'running');
    await clickButton(page, '■');
    await status(page, 'Stopped');
    await settled(page);
    await run(page, 'print("usable again")');
    await waitForText(page, '.stream', 'usable again');
  },

  'stops a program and creates a checkpoint with keyboard shortcuts': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    await setCode(page, 'print("begin")\nwhile True: pass');
    await pressWithControl(page, 'Enter');
    await waitForText(page, '.stream', 'begin');
    await pressWithControl(page, '.');
    await status(page, 'Stopped');
    await settled(page);
    await pressWithControl(page, 's');
    await page.waitForSelector('[data-kind="checkpoint"]', { timeout: TIMEOUT_MS });
  },

  'goes back to an earlier step and branches from one': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    await run(page, 'value = 1\nopen("one.txt", "w").write("1")');
    await run(page, 'value = 2\nopen("two.txt", "w").write("2")');
    await waitForText(page, '.files', 'two.txt');
    await clickButton(page, 'Checkpoint', '.timeline');
    await page.waitForSelector('[data-kind="checkpoint"]');
    await page.click('[data-kind="call"]');
    await clickButton(page, 'Go back to this step');
    await page.waitForSelector('[data-kind="rollback"]');
    await page.waitForFunction(() => !document.querySelector('.files').textContent.includes('two.txt'));
    await run(page, 'print("value is", value)');
    await waitForText(page, '.stream', 'value is 1');
    const first = await page.$eval('.bar select', (one) => one.value);
    await page.click('[data-kind="checkpoint"]');
    await clickButton(page, 'Branch from this step');
    await page.waitForFunction((old) => document.querySelector('.bar select').value !== old, {}, first);
    await page.waitForFunction(() => document.querySelector('.cm-content').textContent.includes('two.txt'));
    await run(page, 'print("branch has", value)');
    await waitForText(page, '.stream', 'branch has 2');
    await page.select('.bar select', first);
    await page.waitForSelector('[data-kind="fork"]');
    await run(page, 'value += 10; print("original has", value)');
    await waitForText(page, '.stream', 'original has 11');
    await page.click('[data-kind="fork"]');
    await t.checkAccessibility(page);
    await t.screenshot(page, 'timeline');
  },

  'approves and denies tool calls': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    const path = join(t.server.shared, 'note.txt');
    const write = `await tools.files.write_file(path=${JSON.stringify(path)}, content="hello")`;
    await run(page, `${write}\nprint("written")`, 'Paused').catch(async (cause) => {
      if (!/current="step"/.test(String(cause))) throw cause;
    });
    await waitForText(page, '.approval h3', 'write_file');
    equal(await page.$('.guidance'), null, 'Guidance about a program that the page can continue');
    await t.checkAccessibility(page);
    await t.screenshot(page, 'approval');
    await page.reload();
    await waitForText(page, '.approval h3', 'write_file');
    await clickButton(page, 'Approve');
    await waitForText(page, '.stream', 'written');
    equal(readFileSync(path, 'utf8'), 'hello', 'The file of the tool');
    await settled(page);
    await setCode(page, `try:\n    ${write}\nexcept Exception as error:\n    print("refused:", error)`);
    await clickButton(page, '▶');
    await waitForText(page, '.approval h3', 'write_file');
    await clickButton(page, 'Deny');
    await waitForText(page, '.stream', 'refused:');
  },

  'restores the session after a reload, even while a program runs': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    const program = 'import time\nprint("started")\ntime.sleep(3)\nprint("ended")';
    await setCode(page, program);
    await clickButton(page, '▶');
    await waitForText(page, '.stream', 'started');
    await page.reload();
    await waitForText(page, '.stream', 'started');
    equal(await code(page), program, 'The program after the reload');
    await waitForText(page, '.stream', 'ended');
    await status(page, 'Finished');
  },

  'shows the same session in two tabs': async (t) => {
    const one = await t.openPage();
    await newSession(one);
    const id = await one.$eval('.bar select', (select) => select.value);
    const two = await t.openPage({ address: `${t.server.address}&session=${id}` });
    await ready(two);
    equal(await two.$eval('.bar select', (select) => select.value), id, 'The session of the second tab');
    await one.bringToFront();
    await run(one, 'shared = 41; print("from one")');
    await two.bringToFront();
    await waitForText(two, '.stream', 'from one');
    await run(two, 'print("two sees", shared + 1)');
    await one.bringToFront();
    await waitForText(one, '.stream', 'two sees 42');
  },

  'runs JavaScript and TypeScript': async (t) => {
    const page = await t.openPage();
    await ready(page);
    await page.click('input[value="typescript"]');
    await page.waitForFunction(() => document.querySelector('.bar select').value.startsWith('javascript'), {
      timeout: TIMEOUT_MS,
    });
    await run(page, 'const n: number = 6;\nconsole.log("n is", n * 7);');
    await waitForText(page, '.stream', 'n is 42');
    await page.click('input[value="javascript"]');
    await run(page, 'console.log("typed", typeof n)');
    await waitForText(page, '.stream', 'typed number');
  },

  'uploads, downloads and deletes files': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    const input = await page.$('.files input[type=file]');
    const source = join(t.server.shared, '../tools.json');
    await input.uploadFile(source);
    await waitForText(page, '.files .tree', 'tools.json');
    await page.waitForSelector('[data-kind="files"]');
    await run(page, 'print(open("tools.json").read()[:12])');
    await waitForText(page, '.stream', '{"mcpServers');
    const session = await page.createCDPSession();
    await session.send('Browser.setDownloadBehavior', {
      behavior: 'allow',
      downloadPath: t.server.shared,
      eventsEnabled: true,
    });
    const done = new Promise((resolve) =>
      session.on('Browser.downloadProgress', ({ state }) => state === 'completed' && resolve()),
    );
    await page.click('[aria-label="Download tools.json"]');
    await done;
    equal(
      readFileSync(join(t.server.shared, 'tools.json'), 'utf8'),
      readFileSync(source, 'utf8'),
      'The downloaded file',
    );
    await page.click('[aria-label="Delete tools.json"]');
    await waitForText(page, '.files', 'Drop files');
  },

  'remembers the sizes of panels': async (t) => {
    const page = await t.openPage();
    await newSession(page);
    const height = () => page.$eval('.panel.output', (one) => one.getBoundingClientRect().height);
    const before = await height();
    const box = await (await page.$('.work > .splitter')).boundingBox();
    const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    await page.mouse.move(x, y);
    await page.mouse.down();
    await page.mouse.move(x, y - 150, { steps: 5 });
    await page.mouse.up();
    const after = await height();
    equal(Math.abs(after - before - 150) < 5, true, `The change of the height is ${after - before}`);
    await page.focus('.columns > .splitter');
    await page.keyboard.press('ArrowLeft');
    await page.reload();
    await ready(page);
    equal(Math.round(await height()), Math.round(after), 'The height after a reload');
    await t.checkAccessibility(page);
    await page.evaluate(() => localStorage.removeItem('sizes'));
  },

  'fits on desktop, tablet and phone screens': async (t) => {
    const sizes = { desktop: [1440, 900], tablet: [1024, 768], portrait: [768, 1024], phone: [390, 844] };
    const page = await t.openPage();
    await newSession(page);
    for (const [name, [width, height]] of Object.entries(sizes)) {
      await page.setViewport({ width, height });
      for (const example of ['A chart', 'A mistake with a suggested fix']) {
        await chooseExample(page, example);
        await clickButton(page, '▶');
        await status(page, example === 'A chart' ? 'Finished' : 'Failed');
        await settled(page);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        equal(overflow <= 0, true, `The page is ${overflow} pixels too wide at ${width}`);
        await t.screenshot(page, `${name}-${example === 'A chart' ? 'chart' : 'guidance'}`);
      }
      const rows = await page.$$eval('.bar > *:not(dialog)', (all) => [
        ...new Set(
          all
            .map((one) => one.getBoundingClientRect())
            .filter(({ height }) => height > 0)
            .map(({ top, height }) => Math.round((top + height / 2) / 24)),
        ),
      ]);
      equal(rows.length <= (width >= 768 ? 1 : 2), true, `Rows of the bar at ${width}: ${rows.length}`);
    }
  },

  'fits on a phone screen and has a dark theme': async (t) => {
    const page = await t.openPage({ width: 390, height: 844 });
    await newSession(page);
    await clickButton(page, '▶');
    await status(page, 'Finished');
    await page.waitForSelector('.table-scroll');
    await t.screenshot(page, 'phone');
    await page.click('[aria-label="Use the dark theme"]');
    await t.checkAccessibility(page);
    await page.setViewport({ width: 1440, height: 900 });
    await t.checkAccessibility(page);
    await t.screenshot(page, 'dark');
    await page.click('[aria-label="Use the light theme"]');
  },

  'asks for the token if the address has none': async (t) => {
    const [address] = t.server.address.split('#');
    const page = await t.openPage({ address });
    await page.waitForSelector('#token');
    await t.checkAccessibility(page);
    await page.type('#token', 'wrong-token-wrong-token');
    await clickButton(page, 'Connect');
    await waitForText(page, '[role=alert]', 'not valid');
  },
};
