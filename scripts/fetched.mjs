/**
 * Programs of others that checks need and the package does not: fetched once, pinned, into a cache outside the package,
 * so that nobody who installs us pays for them.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const root = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'llm-wasm-sandbox');

/** A folder of that name with these packages installed; `proof` is a file that is there when it is complete. */
export function fetched(name, packages, proof) {
  const folder = join(root, name);
  if (existsSync(join(folder, proof))) return folder;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true}');
  // Forced: some of them ask for a newer Node.js than ours, or are made for one platform only.
  const args = ['install', '--ignore-scripts', '--force', '--no-save', ...packages];
  const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  if (status !== 0) throw new Error(`Could not fetch ${packages.join(' and ')}.`);
  return folder;
}
