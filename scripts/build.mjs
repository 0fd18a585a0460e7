/**
 * Builds the package: compiles TypeScript, copies the boot scripts, bundles the command line, the worker and the page of the
 * playground, and builds the guest of each runtime unless it is up to date. `--force` rebuilds guests that are up to date;
 * names of runtimes limit the build to their guests.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { addFieldComments } from './add-field-comments.mjs';
import { buildCharts } from './build-charts.mjs';
import { buildGuest } from './build-guests.mjs';
import { chartInputs, guestInputs, programInputs } from './build-inputs.mjs';
import { bundle } from './bundle.mjs';
import { bundlePage, bundleResultApp } from './bundle-page.mjs';
import { pruneTypes } from './prune-types.mjs';
import { writeRegistries } from './registries.mjs';

const root = new URL('../', import.meta.url);
const at = (path) => fileURLToPath(new URL(path, root));

function compile() {
  mkdirSync(at('dist'), { recursive: true });
  for (const name of readdirSync(at('dist'))) {
    if (!['guests', 'docs'].includes(name)) rmSync(at(`dist/${name}`), { recursive: true });
  }
  execFileSync(process.execPath, [at('node_modules/typescript/bin/tsc'), '-p', at('tsconfig.build.json')], {
    stdio: 'inherit',
  });
  chmodSync(at('dist/cli/main.js'), 0o755);
}

const isData = (path) => !path.endsWith('.ts');

function copyDataFiles(runtimes) {
  for (const name of runtimes)
    cpSync(at(`src/runtimes/${name}`), at(`dist/runtimes/${name}`), { recursive: true, filter: isData });
  for (const part of ['lock.json', 'import-costs.json', 'first-party'])
    cpSync(at(`src/packages/${part}`), at(`dist/packages/${part}`), { recursive: true });
  cpSync(at('src/stores/disk/watch-thread.cjs'), at('dist/stores/disk/watch-thread.cjs'));
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
  writeFileSync(at('dist/packages/pyodide-lock.json'), `${head}\n${packages.join(',\n')}\n]}\n`);
}

async function buildGuests(runtimes) {
  const { isBuilt } = await import(at('dist/runtimes/guest-artifacts.js'));
  const { describeMissing } = await import(at('dist/packages/vendored-package-table.js'));
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

/** The C programs, with the time zones. bash is optional; `dist/guests/bash` is not part of this package. */
async function buildPrograms() {
  const { arePrepared } = await import(at('dist/runtimes/programs/program-files.js'));
  const { preparePrograms } = await import(at('dist/runtimes/build/prepare-programs.js'));
  const { zoneFiles } = await import(at('dist/runtimes/python/build/zone-files.js'));
  const zones = await zoneFiles();
  for (const [name, from, files] of [
    ['programs', 'programs', zones],
    ['bash', 'packages/bash', []],
  ]) {
    const to = at(`dist/guests/${name}`);
    const inputs = `${await programInputs(from)}-${files.length}`;
    await buildUnlessCurrent(`${name} (C)`, arePrepared(to, inputs), async (formatBytes) =>
      formatBytes(await preparePrograms(at(from), to, inputs, files)),
    );
  }
}

async function buildChartRenderer() {
  const { isRendererBuilt } = await import(at('dist/charts/artifacts.js'));
  const { RENDERER_RUNTIME } = await import(at('dist/runtimes/javascript/vega-guest.js'));
  const inputs = await chartInputs(await guestInputs(RENDERER_RUNTIME));
  await buildUnlessCurrent('charts', isRendererBuilt(inputs), async (formatBytes) => {
    const { image, module } = await buildCharts(inputs);
    return `image ${formatBytes(image)}, rasteriser ${formatBytes(module)}`;
  });
}

/** Calls `build`, which returns the sizes of what it has built, unless that is up to date. */
async function buildUnlessCurrent(name, isCurrent, build) {
  if (isCurrent && !process.argv.includes('--force')) return console.log(`${name}: up to date`);
  const { formatBytes, formatDuration } = await import(at('dist/quantities.js'));
  const started = performance.now();
  const sizes = await build(formatBytes);
  console.log(`${name}: built in ${formatDuration(performance.now() - started)} (${sizes})`);
}

writeRegistries();
compile();
const schemas = await import(at('dist/schema.js'));
addFieldComments(at('dist/schema'), schemas);
pruneTypes(at('dist'), ['index.d.ts', 'serve.d.ts', 'adapters/index.d.ts'], at('types'));
copyDataFiles(schemas.RUNTIME_NAMES);
await buildPrograms();
await buildGuests(schemas.RUNTIME_NAMES);
await buildChartRenderer();
// After the guests, whose inputs are the modules that bundling replaces.
await bundle();
await bundlePage();
await bundleResultApp();
execFileSync(process.execPath, [at('scripts/docs.mjs'), '--ship'], { stdio: 'inherit' });
