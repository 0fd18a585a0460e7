/**
 * The time to the output of a first program, on the page of the playground and on the command line, and the size of the page. Both
 * run the same program in new processes. Needs Chromium.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { launchBrowser } from '../../scripts/browser.mjs';
import { ready, setCode } from '../../scripts/browser-scenarios.mjs';
import { markdown, median, ms, times } from './measure.mjs';

const ROUNDS = 5;
const PROGRAM = 'print(6 * 7)';
const OUTPUT = '42';
const FILES = ['', 'app.js', 'app.css', 'icon.svg'];
const CLI = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));

async function startServer() {
  const child = spawn(process.execPath, [CLI, 'playground', '--no-open'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const address = await new Promise((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(String(line).trim()));
    child.once('exit', (code) => reject(new Error(`The playground has exited with code ${code}.`)));
  });
  return { child, address };
}

/** Milliseconds from the start of a server, and from the click on Run, until the page shows the output. */
async function runOnPage(browser) {
  const started = performance.now();
  const { child, address } = await startServer();
  const page = await browser.newPage();
  await page.goto(address);
  await ready(page);
  await setCode(page, PROGRAM);
  const clicked = performance.now();
  await page.click('button.run');
  await page.waitForFunction(
    (output) =>
      document.querySelector('.output .status[data-status="ok"]') !== null &&
      document.querySelector('.output').textContent.includes(output),
    { polling: 'mutation' },
    OUTPUT,
  );
  const shown = performance.now();
  const bytes = await pageBytes(address);
  await page.close();
  child.kill('SIGTERM');
  await new Promise((resolve) => child.once('exit', resolve));
  return { all: shown - started, click: shown - clicked, bytes };
}

/** Milliseconds from the start of the command until it has ended. */
function runOnCommandLine() {
  const started = performance.now();
  const { stdout } = spawnSync(process.execPath, [CLI, 'run', '-c', PROGRAM], { encoding: 'utf8' });
  if (stdout !== `${OUTPUT}\n`) throw new Error(`Unexpected output: ${stdout}`);
  return performance.now() - started;
}

/** Compressed bytes that a browser loads for the page. */
async function pageBytes(address) {
  let bytes = 0;
  for (const file of FILES) {
    const url = new URL(`/playground/${file}`, address);
    const response = await new Promise((resolve, reject) =>
      get(url, { headers: { 'accept-encoding': 'br' } }, resolve).on('error', reject),
    );
    response.resume();
    bytes += Number(response.headers['content-length']);
  }
  return bytes;
}

export async function table() {
  const folder = mkdtempSync(join(tmpdir(), 'playground-bench-'));
  const browser = await launchBrowser(folder);
  const [onPage, onCommandLine] = [[], []];
  try {
    for (let round = 0; round < ROUNDS; round++) {
      onPage.push(await runOnPage(browser));
      onCommandLine.push(runOnCommandLine());
    }
  } finally {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  }
  const commandLine = median(onCommandLine);
  const row = (name, value) => [name, ms(value), times(value / commandLine)];
  return markdown(
    'Playground',
    `Milliseconds until the output of \`${PROGRAM}\` is shown, in new processes. Medians of ${ROUNDS} interleaved rounds. The browser is already running. The files of the page take ${(onPage[0].bytes / 1000).toFixed(0)} KB compressed; their limit is 400 KB.`,
    ['first program', 'time', 'relative to the command line'],
    [
      row('`run -c`, from the start of the command to its end', commandLine),
      row('page, from the start of the server', median(onPage.map(({ all }) => all))),
      row('page, from the click on Run', median(onPage.map(({ click }) => click))),
    ],
  );
}
