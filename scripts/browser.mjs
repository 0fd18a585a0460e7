/** The Chromium of this machine, for the tests and measurements of the playground. */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { installPinned } from './install-pinned-packages.mjs';

const BROWSERS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** Resolves modules that only browser tests need. */
export const browserModules = () =>
  createRequire(
    join(installPinned('browser-tests', ['puppeteer-core@24.10.0', 'axe-core@4.14.0']), 'index.js'),
  );

/** The path of Chromium. CHROMIUM names another executable. */
function browserPath() {
  const candidates = process.env.CHROMIUM ? [process.env.CHROMIUM] : BROWSERS;
  const found = candidates.find((name) => spawnSync(name, ['--version']).status === 0);
  if (found !== undefined) return spawnSync('which', [found], { encoding: 'utf8' }).stdout.trim() || found;
  throw new Error(
    'The browser tests need Chromium. Install it (Debian: apt-get install chromium), or set CHROMIUM to the path of its executable.',
  );
}

/** Starts the browser with a profile in a folder. */
export async function launchBrowser(folder) {
  const executablePath = browserPath();
  const { default: puppeteer } = await import(browserModules().resolve('puppeteer-core'));
  return puppeteer.launch({
    executablePath,
    headless: true,
    userDataDir: join(folder, 'profile'),
    // Containers often allow neither user namespaces nor a large shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--hide-scrollbars'],
  });
}
