/**
 * Checks that the build is reproducible: builds the committed sources twice, in folders with different names, and compares
 * every byte of what they have written. Fails with the names of the files that differ.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'build-check-'));

const PACKAGES = ['packages/core', 'packages/server', 'packages/adapters', 'packages/cli', 'tools/redteam'];
const OWN = '@llm-wasm-sandbox';

/** The installed packages; those of this repository are the ones of the folder. */
function linkModules(path) {
  const modules = join(path, 'node_modules');
  mkdirSync(join(modules, OWN), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules')))
    if (name !== OWN && name !== 'llm-wasm-sandbox')
      symlinkSync(join(root, 'node_modules', name), join(modules, name));
  for (const one of PACKAGES) {
    const { name } = JSON.parse(readFileSync(join(path, one, 'package.json'), 'utf8'));
    symlinkSync(join(path, one), join(modules, name));
  }
}

/** Builds in a folder of this name and returns the digest of each file. */
function build(name) {
  const path = join(folder, name);
  mkdirSync(path);
  const archive = execFileSync('git', ['archive', 'HEAD'], { cwd: root, maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', path], { input: archive });
  linkModules(path);
  execFileSync(process.execPath, ['scripts/build.mjs', '--force'], { cwd: path, stdio: 'inherit' });
  const files = PACKAGES.flatMap((one) =>
    readdirSync(join(path, one, 'dist'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    ),
  );
  return new Map(
    files.map((entry) => {
      const file = join(entry.parentPath, entry.name);
      return [file.slice(path.length + 1), createHash('sha256').update(readFileSync(file)).digest('hex')];
    }),
  );
}

try {
  const [one, other] = [build('one'), build('another-name')];
  const names = [...new Set([...one.keys(), ...other.keys()])].sort();
  const different = names.filter((name) => one.get(name) !== other.get(name));
  for (const name of different) console.error(`differs: ${name}`);
  if (different.length > 0) process.exitCode = 1;
  else console.log(`Both builds have the same ${names.length} files.`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
