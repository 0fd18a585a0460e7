/**
 * Digests of what a guest is built from: the code that its build imports, without comments and formatting, the files that the
 * build reads, and the versions of the dependencies. A guest is rebuilt if its digest has changed.
 */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('../', import.meta.url);
const at = (path) => fileURLToPath(new URL(path, root));

/** The code that a module imports from this repository, as one text. Parts that the module cannot use are left out. */
async function importedCode(contents) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: at('.') },
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    treeShaking: true,
    minifyWhitespace: true,
    legalComments: 'none',
    logLevel: 'warning',
  });
  return outputFiles[0].text;
}

/** The files of a folder, or the file itself; none if it does not exist. */
function filesIn(path) {
  if (!existsSync(at(path))) return [];
  if (!statSync(at(path)).isDirectory()) return [path];
  return readdirSync(at(path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => `${entry.parentPath}/${entry.name}`.slice(at('.').length))
    .sort();
}

async function digest(entry, dataFiles) {
  const hash = createHash('sha256').update(await importedCode(entry));
  for (const path of ['package-lock.json', ...dataFiles])
    hash.update(`\0${path}\0`).update(readFileSync(at(path)));
  return hash.digest('hex');
}

/** Identifies what the guest of a runtime is built from. Needs compiled sources. */
export function guestInputs(runtime) {
  const entry = [
    `runtimes/${runtime}/build/index.js`,
    'runtimes/build/build-guest.js',
    'runtimes/build/write-guest.js',
  ]
    .map((path) => `export * from './packages/core/dist/${path}';`)
    .join('\n');
  const data = [
    `packages/core/src/runtimes/${runtime}`,
    `packages/core/src/packages/first-party/${runtime}`,
    ...(runtime === 'javascript' ? ['packages/core/src/runtimes/bash/commands'] : []),
    'packages/core/src/packages/lock.json',
  ].flatMap(filesIn);
  return digest(
    entry,
    data.filter((path) => !path.endsWith('.ts')),
  );
}

/** Identifies what the C programs in a folder are prepared from. */
export const programInputs = (folder) =>
  digest(`export * from './packages/core/dist/runtimes/build/prepare-programs.js';`, [
    `${folder}/manifest.json`,
    'packages/core/src/packages/lock.json',
    ...filesIn(`${folder}/scripts`),
    ...filesIn(`${folder}/git-core`),
  ]);

/** Identifies what the renderer of charts is built from. It contains the image of a guest. */
export async function chartInputs(guest) {
  const code = `import './scripts/build-charts.mjs'; export const guest = ${JSON.stringify(guest)};`;
  return digest(code, filesIn('packages/core/src/charts/guest'));
}
