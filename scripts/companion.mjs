/**
 * Builds the companion package in build/companion/: wheels, prepared libraries, and images with bytecode and the usual
 * imports, so that packages work without a network and start fast. `npm run companion -- FOLDER...` names folders of wheels;
 * by default, those of PIP_FIND_LINKS. The same wheels give the same files; manifest.json contains their digests.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';

const root = fileURLToPath(new URL('../', import.meta.url));
const { values, positionals } = parseArgs({
  options: { out: { type: 'string', default: join(root, 'build/companion') } },
  allowPositionals: true,
});
const out = resolve(values.out);
const work = `${out}-build`;
for (const folder of [out, work]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}
process.env.LLM_WASM_SANDBOX_PACKAGES_DIR = join(work, 'packages');
process.env.LLM_WASM_SANDBOX_CACHE = join(work, 'cache');
process.env.LLM_WASM_SANDBOX_COMPANION = '';

/** The packages, if there are wheels of them. Their dependencies follow. */
const WANTED = ['numpy', 'pandas', 'matplotlib', 'pillow', 'lxml', 'scipy', 'scikit_learn'];
/** What programs import together. An image is built for each. */
const IMPORTS = [
  ['numpy'],
  ['pandas'],
  ['matplotlib.pyplot'],
  ['pandas', 'matplotlib.pyplot'],
  ['PIL.Image'],
  ['lxml.etree'],
  ['scipy'],
  ['sklearn'],
];
const SHIPPED_KINDS = ['images', 'modules'];
const DIGEST_BYTES = 32;

const compress = promisify(brotliCompress);
const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const filesIn = (folder) =>
  readdirSync(folder, { recursive: true })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => statSync(join(folder, path)).isFile())
    .sort();

/** Adds the packages from the folders of wheels, as `packages add` does. */
function addPackages() {
  const folders =
    positionals.length > 0 ? positionals : (process.env.PIP_FIND_LINKS ?? '').split(/\s+/).filter(Boolean);
  const nameOf = (path) => basename(path).split('-')[0].toLowerCase();
  const wheels = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.whl'))
      .map((name) => join(folder, name)),
  );
  const chosen = WANTED.flatMap((name) => wheels.findLast((path) => nameOf(path) === name) ?? []);
  if (chosen.length === 0) {
    console.error(`companion: name a folder with wheels of ${WANTED.join(', ')}, or set PIP_FIND_LINKS.`);
    process.exit(2);
  }
  const command = [join(root, 'packages/cli/dist/cli/main.js'), 'packages', 'add', ...chosen];
  const env = { ...process.env, PIP_FIND_LINKS: folders.join(' ') };
  const { status } = spawnSync(process.execPath, command, { stdio: 'inherit', env });
  if (status !== 0) process.exit(status ?? 1);
}

/** Runs programs with the usual imports, so that the cache contains their images. Returns the packages. */
async function buildImages() {
  const { createSandbox } = await import('llm-wasm-sandbox');
  const { readAddedPackages } = await import('../packages/core/dist/packages/added-packages.js');
  const packages = readAddedPackages();
  const modules = new Set(packages.flatMap(({ import_names }) => import_names));
  const sandbox = await createSandbox({
    runtime: 'python',
    packages: 'auto',
    policy: { fuel_budget: 2e11, timeout_seconds: 600, memory_bytes: 2 ** 29 },
  });
  for (const imports of IMPORTS.filter((names) => names.every((name) => modules.has(name.split('.')[0])))) {
    console.log(`companion: building the image with ${imports.join(', ')}`);
    const result = await sandbox.execute(imports.map((name) => `import ${name}`).join('\n'));
    if (!result.success) throw new Error(result.stderr);
  }
  await sandbox.close();
  return packages;
}

/** Compresses a file of the cache, without the digest at its end, and returns its facts for the manifest. */
async function writeCompressed(path, bytes) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LARGE_WINDOW]: true,
    [constants.BROTLI_PARAM_LGWIN]: 28,
    [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
  };
  const packed = await compress(bytes, { params });
  mkdirSync(dirname(join(out, path)), { recursive: true });
  writeFileSync(join(out, path), packed);
  return [path, { sha256: sha256(packed), bytes: bytes.length }];
}

addPackages();
const packages = await buildImages();
const { version, license } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'));
const compressed = [];
for (const kind of SHIPPED_KINDS) {
  for (const key of filesIn(join(work, 'cache', kind))) {
    const bytes = readFileSync(join(work, 'cache', kind, key)).subarray(0, -DIGEST_BYTES);
    compressed.push(await writeCompressed(`cache/${kind}/${key}.br`, bytes));
  }
}
mkdirSync(join(out, 'packages'));
for (const name of ['packages.json', 'wheels'])
  renameSync(join(work, 'packages', name), join(out, 'packages', name));
rmSync(work, { recursive: true });

const copied = filesIn(join(out, 'packages')).map((path) => `packages/${path}`);
const files = [
  ...compressed,
  ...copied.map((path) => [path, { sha256: sha256(readFileSync(join(out, path))) }]),
];
const write = (name, data) => writeFileSync(join(out, name), `${JSON.stringify(data, null, 2)}\n`);
write('manifest.json', { sandbox: version, files: Object.fromEntries(files) });
write('package.json', {
  name: '@llm-wasm-sandbox/science',
  version,
  description: 'numpy, pandas, matplotlib and other Python packages for llm-wasm-sandbox, without a network.',
  license,
  exports: { './package.json': './package.json' },
  files: ['packages', 'cache', 'manifest.json'],
});
const list = packages.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`).join('\n');
writeFileSync(
  join(out, 'README.md'),
  `# @llm-wasm-sandbox/science\n\nPython packages for llm-wasm-sandbox ${version}. Install it beside the sandbox; nothing has to be configured.\n\n| package | version | licence |\n|---|---|---|\n${list}\n`,
);
const total = filesIn(out).reduce((sum, path) => sum + statSync(join(out, path)).size, 0);
console.log(
  `companion: ${files.length} files, ${(total / 2 ** 20).toFixed(1)} MiB, in ${out}. Publish or install it with npm.`,
);
process.exit(0);
