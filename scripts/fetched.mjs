/**
 * Programs of others that checks need and the package does not: fetched once, pinned, into a cache outside the package,
 * so that nobody who installs us pays for them. A folder is complete or not there, and another pin is another folder.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const root = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'llm-wasm-sandbox');
const FETCH_MS = 300_000;

/** A folder with these packages, each with its exact version, installed. */
export function fetched(name, packages) {
  const pins = createHash('sha256').update(packages.join(' ')).digest('hex').slice(0, 8);
  const folder = join(root, `${name}-${pins}`);
  if (existsSync(folder)) return folder;
  mkdirSync(root, { recursive: true });
  const unfinished = mkdtempSync(join(root, `.${name}-`));
  try {
    install(unfinished, packages);
    renameSync(unfinished, folder);
  } catch (cause) {
    // Another process may have been faster with the same.
    if (!existsSync(folder)) throw cause;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}

function install(folder, packages) {
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  // Forced: some of them ask for a newer Node.js than ours, or are made for one platform only.
  const flags = ['--ignore-scripts', '--force', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', ['install', ...flags, ...packages], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'ignore', 'pipe'],
    timeout: FETCH_MS,
  });
  if (status === 0) return;
  const why = error?.message ?? stderr.trim().split('\n').slice(0, 3).join('\n');
  throw new Error(`Could not fetch ${packages.join(' and ')} from the npm registry:\n${why}`);
}
