/**
 * Tests the playground, and the app of results, in a real browser, against the built command line. Needs a build and Chromium (CHROMIUM names its
 * program). Screenshots go to build/playground/. `--only TEXT` runs the scenarios whose names contain the text.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { APP_SCENARIOS } from './app-scenarios.mjs';
import { browserModules, launchBrowser } from './browser.mjs';
import { SCENARIOS } from './browser-scenarios.mjs';
import { HOSTILE_SCENARIOS } from './hostile-scenarios.mjs';

const root = fileURLToPath(new URL('../', import.meta.url));
const screenshots = join(root, 'build/playground');

/** Starts the command under test. Its first line is the address with the token. */
async function startPlayground(folder) {
  const filesystem = createRequire(import.meta.url).resolve(
    '@modelcontextprotocol/server-filesystem/dist/index.js',
  );
  const shared = join(folder, 'shared');
  mkdirSync(shared);
  const config = join(folder, 'tools.json');
  const files = { command: process.execPath, args: [filesystem, shared] };
  writeFileSync(config, JSON.stringify({ mcpServers: { files } }));
  // The scenarios send more requests than a person.
  const limits = ['--rate-per-minute', '100000', '--cpu-seconds-per-minute', '60'];
  const args = [
    join(root, 'packages/cli/dist/cli/main.js'),
    'playground',
    '--no-open',
    '--tools-config',
    config,
    ...limits,
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const address = await new Promise((resolve, reject) => {
    child.stdout.once('data', (line) => resolve(String(line).trim()));
    child.once('exit', (code) => reject(new Error(`The playground has exited with code ${code}.`)));
  });
  return { child, address, shared };
}

const folder = mkdtempSync(join(tmpdir(), 'playground-test-'));
const axe = readFileSync(browserModules().resolve('axe-core/axe.min.js'), 'utf8');
mkdirSync(screenshots, { recursive: true });
const started = performance.now();
// Fails first, and says what is missing.
const browser = await launchBrowser(folder).catch((cause) => {
  console.error(cause.message);
  process.exit(1);
});
const server = await startPlayground(folder);

/** The browser reports a rejected token, and a script of a program that it has not run. */
const EXPECTED_ERRORS = /status of 401|Blocked script execution in 'about:srcdoc'/;

/** Requests of the page to other servers, and violations of its content security policy. */
const problems = [];

/** What the browser reports when the policy of a page has refused something. */
const REFUSED = /violates the following Content Security Policy directive/;

/** With `hasPayloads`, the page shows content that tries to load something. The scenario itself checks that nothing is loaded. */
async function openPage({ width = 1440, height = 900, address = server.address, hasPayloads = false } = {}) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: 'light' }]);
  const { host } = new URL(address);
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (['data:', 'blob:', 'about:'].includes(url.protocol)) return;
    if (url.host !== host && !hasPayloads) problems.push(`request to ${url.host}`);
  });
  page.on('pageerror', (error) => problems.push(`error in the page: ${error.message}`));
  page.on('console', (message) => {
    const isExpected = EXPECTED_ERRORS.test(message.text()) || (hasPayloads && REFUSED.test(message.text()));
    if (message.type() === 'error' && !isExpected) problems.push(`console: ${message.text()}`);
  });
  await page.evaluateOnNewDocument((hasPayloads) => {
    globalThis.cspViolations = [];
    if (hasPayloads) return;
    addEventListener('securitypolicyviolation', (event) =>
      globalThis.cspViolations.push(`${event.violatedDirective} ${event.blockedURI}`),
    );
  }, hasPayloads);
  await page.goto(address);
  return page;
}

/** Fails if an accessibility check of the page finds anything serious. */
async function checkAccessibility(page) {
  // The page allows no scripts but its own; the debugger is not subject to that.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run());
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  if (serious.length === 0) return;
  const nodes = serious.flatMap(({ id, nodes }) =>
    nodes.slice(0, 3).map(({ target, failureSummary }) => `${id}: ${target}: ${failureSummary}`),
  );
  throw new Error(`The accessibility check found: ${nodes.join('; ')}`);
}

const context = {
  server,
  openPage,
  checkAccessibility,
  screenshot: (page, name) => page.screenshot({ path: join(screenshots, `${name}.png`) }),
};

const only = process.argv.includes('--only') ? process.argv[process.argv.indexOf('--only') + 1] : '';
const counts = { passed: 0, failed: 0 };
for (const [name, run] of Object.entries({ ...SCENARIOS, ...HOSTILE_SCENARIOS, ...APP_SCENARIOS })) {
  if (!name.includes(only)) continue;
  const start = performance.now();
  problems.length = 0;
  const pages = [];
  let failure;
  try {
    await run({
      ...context,
      openPage: async (options) => {
        const page = await openPage(options);
        pages.push(page);
        return page;
      },
    });
    for (const page of pages)
      problems.push(...(await page.evaluate(() => globalThis.cspViolations)).map((one) => `CSP: ${one}`));
    if (problems.length > 0) throw new Error(problems.join('\n'));
  } catch (cause) {
    failure = cause;
    if (pages[0]) await pages[0].screenshot({ path: join(screenshots, 'failed.png') }).catch(() => {});
  }
  for (const page of pages) await page.close().catch(() => {});
  counts[failure ? 'failed' : 'passed']++;
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${failure ? 'FAILED' : 'ok    '} ${name} (${seconds} s)`);
  if (failure) console.log(`       ${String(failure.stack).split('\n').slice(0, 6).join('\n       ')}`);
}

await browser.close();
server.child.kill('SIGTERM');
await new Promise((resolve) => server.child.once('exit', resolve));
rmSync(folder, { recursive: true, force: true });
console.log(`${counts.passed} passed, ${counts.failed} failed`);
console.log(`total ${((performance.now() - started) / 1000).toFixed(0)} s, screenshots in ${screenshots}`);
if (counts.failed > 0) process.exitCode = 1;
