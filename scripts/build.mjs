/**
 * Builds all packages: compiles TypeScript, copies the boot scripts, bundles modules, workers and the page of the playground,
 * and builds the guest of each runtime unless it is up to date. `--force` rebuilds guests that are up to date;
 * names of runtimes limit the build to their guests.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addFieldComments } from './add-field-comments.mjs';
import { buildCharts } from './build-charts.mjs';
import { buildGuest } from './build-guests.mjs';
import { chartInputs, guestInputs, programInputs } from './build-inputs.mjs';
import { bundle } from './bundle.mjs';
import { bundlePage, bundleResultApp } from './bundle-page.mjs';
import { pruneTypes } from './prune-types.mjs';
import { writeRegistries } from './registries.mjs';
import { resolveTypes } from './resolve-types.mjs';

const root = new URL('../', import.meta.url);
const at = (path) => fileURLToPath(new URL(path, root));
const core = (path) => at(`packages/core/${path}`);
const TSC = at('node_modules/typescript/bin/tsc');

/** The packages with code, each after those that it imports. */
const PACKAGES = ['packages/core', 'packages/server', 'packages/adapters', 'tools/redteam', 'packages/cli'];

/** Compiles a package into its dist/, and its public declarations into types/. */
async function compile(name) {
  mkdirSync(at(`${name}/dist`), { recursive: true });
  for (const one of readdirSync(at(`${name}/dist`)))
    if (!['guests', 'docs'].includes(one)) rmSync(at(`${name}/dist/${one}`), { recursive: true });
  tsc(name, '--outDir', 'dist');
  const { exports } = JSON.parse(readFileSync(at(`${name}/package.json`), 'utf8'));
  const declarations = Object.values(exports)
    .map(({ types }) => types)
    .filter((path) => path?.startsWith('./types/'))
    .map((path) => path.slice('./types/'.length));
  if (declarations.length > 0) await writeTypes(name, declarations);
}

const tsc = (name, ...flags) =>
  execFileSync(process.execPath, [TSC, '-p', '.', ...flags], { cwd: at(name), stdio: 'inherit' });

/** Other packages of this repository see everything, users only what is public. */
async function writeTypes(name, entries) {
  const folder = at(`${name}/dist/.types`);
  tsc(name, '--outDir', folder, '--emitDeclarationOnly', '--stripInternal');
  if (name === 'packages/core')
    addFieldComments(join(folder, 'schema'), await import(core('dist/schema.js')));
  resolveTypes(folder);
  pruneTypes(folder, entries, at(`${name}/types`));
  rmSync(folder, { recursive: true });
}

const isData = (path) => !path.endsWith('.ts');

function copyDataFiles(runtimes) {
  const copy = (path, options = {}) =>
    cpSync(core(`src/${path}`), core(`dist/${path}`), { recursive: true, ...options });
  for (const name of runtimes) copy(`runtimes/${name}`, { filter: isData });
  for (const part of ['lock.json', 'import-costs.json', 'first-party']) copy(`packages/${part}`);
  copy('stores/disk/watch-thread.cjs');
  rmSync(core('docs'), { recursive: true, force: true });
  cpSync(at('docs'), core('docs'), { recursive: true });
  writePyodideLock();
}

/** Distributed packages that guests replace with modules of their own. */
const IN_GUESTS = ['ipython', 'micropip'];

/** Copies the list of wheels that Pyodide distributes, because the pyodide package is not installed with this one. */
function writePyodideLock() {
  const read = (name) => JSON.parse(readFileSync(at(`node_modules/pyodide/${name}`), 'utf8'));
  const packages = Object.values(read('pyodide-lock.json').packages)
    .filter(({ name, file_name }) => file_name.endsWith('.whl') && !IN_GUESTS.includes(name))
    .map(({ name, version, file_name, sha256, imports, depends }) =>
      JSON.stringify({ name, version, file_name, sha256, imports, depends }),
    );
  const head = `{"version":${JSON.stringify(read('package.json').version)},"packages":[`;
  writeFileSync(core('dist/packages/pyodide-lock.json'), `${head}\n${packages.join(',\n')}\n]}\n`);
}

async function buildGuests(runtimes) {
  const { isBuilt } = await import(core('dist/runtimes/build/write-guest.js'));
  const { describeMissing } = await import(core('dist/packages/vendored-package-table.js'));
  const requested = runtimes.filter((name) => process.argv.includes(name));
  for (const runtime of requested.length > 0 ? requested : runtimes) {
    const inputs = await guestInputs(runtime);
    await buildUnlessCurrent(runtime, isBuilt(runtime, inputs), async (formatBytes) => {
      const built = await buildGuest(runtime, inputs, (step) => console.log(`${runtime}: ${step} …`));
      for (const sentence of describeMissing(built.missing))
        console.warn(`${runtime}: WARNING: ${sentence}. Fix this and run "npm run build" again.`);
      const [module, layers, image] = [built.module, built.layers, built.image].map(formatBytes);
      return `module ${module}, layers ${layers}, image ${image}`;
    });
  }
}

/** The C programs, with the files that they read. bash is optional; `packages/core/dist/guests/bash` is not part of this package. */
async function buildPrograms() {
  const { arePrepared } = await import(core('dist/runtimes/programs/program-files.js'));
  const { preparePrograms } = await import(core('dist/runtimes/build/prepare-programs.js'));
  const { zoneFiles } = await import(core('dist/runtimes/python/build/zone-files.js'));
  for (const [name, from, files] of [
    ['programs', 'programs', { at: '/usr/share/zoneinfo', files: await zoneFiles() }],
    ['bash', 'packages/bash', { at: '/usr/lib/git-core', files: filesIn('packages/bash/git-core') }],
  ]) {
    const to = core(`dist/guests/${name}`);
    const inputs = `${await programInputs(from)}-${files.files.length}`;
    await buildUnlessCurrent(`${name} (C)`, arePrepared(to, inputs), async (formatBytes) =>
      formatBytes(await preparePrograms(at(from), to, inputs, files)),
    );
  }
}

/** The files of a folder, by relative path. */
const filesIn = (folder) =>
  readdirSync(at(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((file) => ({
      path: file.slice(at(folder).length + 1).replaceAll('\\', '/'),
      data: readFileSync(file),
    }));

async function buildChartRenderer() {
  const { readChartsDescription } = await import(core('dist/charts/artifacts.js'));
  const { RENDERER_RUNTIME } = await import(core('dist/runtimes/javascript/vega-guest.js'));
  const inputs = await chartInputs(await guestInputs(RENDERER_RUNTIME));
  await buildUnlessCurrent('charts', readChartsDescription()?.inputs === inputs, async (formatBytes) => {
    const { image, module } = await buildCharts(inputs);
    return `image ${formatBytes(image)}, rasteriser ${formatBytes(module)}`;
  });
}

/** Calls `build`, which returns the sizes of what it has built, unless that is up to date. */
async function buildUnlessCurrent(name, isCurrent, build) {
  if (isCurrent && !process.argv.includes('--force')) return console.log(`${name}: up to date`);
  const { formatBytes, formatDuration } = await import(core('dist/quantities.js'));
  const started = performance.now();
  const sizes = await build(formatBytes);
  console.log(`${name}: built in ${formatDuration(performance.now() - started)} (${sizes})`);
}

writeRegistries();
for (const name of PACKAGES) await compile(name);
const { RUNTIME_NAMES } = await import(core('dist/schema.js'));
copyDataFiles(RUNTIME_NAMES);
await buildPrograms();
await buildGuests(RUNTIME_NAMES);
await buildChartRenderer();
// After the guests, whose inputs are the modules that bundling replaces.
await bundle();
chmodSync(at('packages/cli/dist/cli/main.js'), 0o755);
await bundlePage();
await bundleResultApp();
execFileSync(process.execPath, [at('scripts/docs.mjs'), '--ship'], { stdio: 'inherit' });
