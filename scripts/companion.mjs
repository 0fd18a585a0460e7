/**
 * Builds the companion package in build/companion/: added packages, prepared libraries, bytecode and images with the usual
 * imports, so that they work without a network and start fast. `npm run companion -- FOLDER...` names folders of wheels; by
 * default, those of PIP_FIND_LINKS. The same wheels give the same files; manifest.json contains their digests.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const out = join(root, 'build/companion');
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
process.env.LLM_WASM_SANDBOX_PACKAGES_DIR = join(out, 'packages');
process.env.LLM_WASM_SANDBOX_CACHE = join(out, 'cache');
process.env.LLM_WASM_SANDBOX_COMPANION = '';

/** The packages, if there are wheels of them. Their dependencies follow. */
const WANTED = ['numpy', 'pandas', 'matplotlib', 'pillow', 'lxml', 'scipy', 'scikit_learn'];
/** What programs import together. An image is built for each. */
const IMPORTS = [
  ['numpy'],
  ['pandas'],
  ['matplotlib.pyplot'],
  ['pandas', 'matplotlib.pyplot'],
  ['PIL'],
  ['lxml'],
  ['scipy'],
  ['sklearn'],
];
/** Files of the cache that only the build needs, or that depend on the machine. */
const BUILD_KINDS = ['packages', 'packs', 'layers'];

const folders =
  process.argv.length > 2
    ? process.argv.slice(2)
    : (process.env.PIP_FIND_LINKS ?? '').split(/\s+/).filter(Boolean);
if (folders.length === 0) {
  console.error('companion: name a folder of wheels, or set PIP_FIND_LINKS.');
  process.exit(2);
}
const nameOf = (path) => basename(path).split('-')[0].toLowerCase();
const wheels = folders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.whl'))
    .map((name) => join(folder, name)),
);
const chosen = WANTED.flatMap((name) => wheels.findLast((path) => nameOf(path) === name) ?? []);
const added = spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), 'packages', 'add', ...chosen], {
  stdio: 'inherit',
  env: { ...process.env, PIP_FIND_LINKS: folders.join(' ') },
});
if (added.status !== 0) process.exit(added.status ?? 1);

const { createSandbox } = await import('../dist/index.js');
const { readAddedPackages } = await import('../dist/packages/added-packages.js');
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
for (const kind of BUILD_KINDS) rmSync(join(out, 'cache', kind), { recursive: true, force: true });
rmSync(join(out, 'packages/.locks'), { recursive: true, force: true });
for (const name of ['downloads', 'lock.json'])
  rmSync(join(out, 'packages', name), { recursive: true, force: true });

const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const list = packages.map(({ name, version, licence }) => `| ${name} | ${version} | ${licence} |`).join('\n');
writeFileSync(
  join(out, 'package.json'),
  `${JSON.stringify(
    {
      name: '@llm-wasm-sandbox/science',
      version,
      description:
        'numpy, pandas, matplotlib and other Python packages for llm-wasm-sandbox, without a network.',
      license,
      exports: { './package.json': './package.json' },
      files: ['packages', 'cache', 'manifest.json'],
    },
    null,
    2,
  )}\n`,
);
writeFileSync(
  join(out, 'README.md'),
  `# @llm-wasm-sandbox/science\n\nPython packages for llm-wasm-sandbox ${version}. Install it beside the sandbox; nothing has to be configured.\n\n| package | version | licence |\n|---|---|---|\n${list}\n`,
);
const files = readdirSync(out, { recursive: true })
  .filter((path) => statSync(join(out, path)).isFile())
  .sort();
const digests = files.map((path) => [
  path,
  createHash('sha256')
    .update(readFileSync(join(out, path)))
    .digest('hex'),
]);
writeFileSync(join(out, 'manifest.json'), `${JSON.stringify(Object.fromEntries(digests), null, 2)}\n`);
const bytes = files.reduce((sum, path) => sum + statSync(join(out, path)).size, 0);
console.log(
  `companion: ${files.length} files, ${(bytes / 2 ** 20).toFixed(1)} MiB, in build/companion. Publish or install it with npm.`,
);
process.exit(0);
