/**
 * Installs pinned third-party programs that only checks and generators need. They go into a cache outside the repository,
 * so that users of the package never download them. A cache folder is complete or absent; a different pin gets a
 * different folder.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const root = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'llm-wasm-sandbox');
const INSTALL_TIMEOUT_MS = 300_000;

/** Returns a folder in which these packages, given as name@version, are installed. */
export function installPinned(name, packages) {
  const pins = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 8);
  const folder = join(root, `${name}-${pins}`);
  if (existsSync(folder)) return folder;
  mkdirSync(root, { recursive: true });
  const unfinished = mkdtempSync(join(root, `.${name}-`));
  try {
    install(unfinished, packages);
    renameSync(unfinished, folder);
  } catch (cause) {
    // Another process may have installed the same packages in the meantime.
    if (!existsSync(folder)) throw cause;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}

function install(folder, packages) {
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  // --force: some packages declare a newer Node.js than the one in use, or a single platform.
  const flags = ['--ignore-scripts', '--force', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', ['install', ...flags, ...packages], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: INSTALL_TIMEOUT_MS,
  });
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim().split('\n').slice(0, 3).join('\n');
  throw new Error(`Could not install ${packages.join(' and ')} from the npm registry:\n${reason}`);
}
