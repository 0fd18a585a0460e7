/**
 * Builds the package: compiles TypeScript, copies the boot scripts, bundles the command line, the worker and the page of the
 * playground, and builds the guest of each runtime unless it is up to date. `--force` rebuilds guests that are up to date;
 * names of runtimes limit the build to their guests.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { addFieldComments } from './add-field-comments.mjs';
import { buildCharts } from './build-charts.mjs';
import { bundle } from './bundle.mjs';
import { bundlePage } from './bundle-page.mjs';
import { pruneTypes } from './prune-types.mjs';

const root = new URL('../', import.meta.url);
const at = (path) => fileURLToPath(new URL(path, root));
/** Folders of dist/ on which the contents of an image depend. */
const IMAGE_INPUTS = ['framing', 'wasm', 'fs', 'kernel', 'engine', 'runtimes', 'packages', 'worker'];

function compile() {
  mkdirSync(at('dist'), { recursive: true });
  for (const name of readdirSync(at('dist'))) {
    if (name !== 'guests') rmSync(at(`dist/${name}`), { recursive: true });
  }
  execFileSync(process.execPath, [at('node_modules/typescript/bin/tsc'), '-p', at('tsconfig.build.json')], {
    stdio: 'inherit',
  });
  chmodSync(at('dist/cli/main.js'), 0o755);
}

function copyDataFiles(runtimes) {
  for (const name of runtimes)
    cpSync(at(`src/runtimes/${name}/guest`), at(`dist/runtimes/${name}/guest`), { recursive: true });
  for (const part of ['lock.json', 'import-costs.json', 'first-party'])
    cpSync(at(`src/packages/${part}`), at(`dist/packages/${part}`), { recursive: true });
  writePyodideLock();
}

/** Copies the list of wheels that Pyodide distributes, because the pyodide package is not installed with this one. */
function writePyodideLock() {
  const read = (name) => JSON.parse(readFileSync(at(`node_modules/pyodide/${name}`), 'utf8'));
  const packages = Object.values(read('pyodide-lock.json').packages)
    .filter(({ file_name }) => file_name.endsWith('.whl'))
    .map(({ name, version, file_name, sha256, imports, depends }) =>
      JSON.stringify({ name, version, file_name, sha256, imports, depends }),
    );
  const head = `{"version":${JSON.stringify(read('package.json').version)},"packages":[`;
  writeFileSync(at('dist/packages/pyodide-lock.json'), `${head}\n${packages.join(',\n')}\n]}\n`);
}

function inputsDigest() {
  const hash = createHash('sha256').update(readFileSync(at('package-lock.json')));
  for (const folder of IMAGE_INPUTS) {
    const paths = readdirSync(at(`dist/${folder}`), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => `${entry.parentPath}/${entry.name}`)
      // The import costs are measured with built guests, so guests cannot depend on them. Error guidance is used by the
      // host only.
      .filter((path) => !/\/import-costs\.(json|js|d\.ts)$|\/runtimes\/\w+\/guidance\//.test(path))
      .sort();
    for (const path of paths) hash.update(path.slice(at('dist/').length)).update(readFileSync(path));
  }
  return hash.digest('hex');
}

async function buildGuests(runtimes, inputs) {
  const { isBuilt } = await import(at('dist/runtimes/guest-artifacts.js'));
  const { build } = await import(at('dist/worker/guest-assets.js'));
  const { describeMissing } = await import(at('dist/packages/vendored-package-table.js'));
  const { formatBytes, formatDuration } = await import(at('dist/quantities.js'));
  const requested = runtimes.filter((name) => process.argv.includes(name));
  for (const runtime of requested.length > 0 ? requested : runtimes) {
    if (isBuilt(runtime, inputs) && !process.argv.includes('--force')) {
      console.log(`${runtime}: up to date`);
      continue;
    }
    const started = performance.now();
    const guest = await build(runtime, inputs, (step) => console.log(`${runtime}: ${step} …`));
    const layers = guest.layers.reduce((sum, layer) => sum + layer.pack.length, 0);
    const sizes = `module ${formatBytes(guest.module.length)}, layers ${formatBytes(layers)}, image ${formatBytes(guest.image.length)}`;
    for (const sentence of describeMissing(guest.missing))
      console.warn(`${runtime}: WARNING: ${sentence}. Fix this and run "npm run build" again.`);
    console.log(`${runtime}: built in ${formatDuration(performance.now() - started)} (${sizes})`);
  }
}

/** Builds the renderer of charts unless it is up to date. It contains the image of a guest. */
async function buildChartRenderer(guestInputs) {
  const { isRendererBuilt } = await import(at('dist/charts/artifacts.js'));
  const { formatBytes, formatDuration } = await import(at('dist/quantities.js'));
  const hash = createHash('sha256').update(guestInputs);
  const sources = [
    'scripts/build-charts.mjs',
    'scripts/chart-font.mjs',
    ...['dist/charts', 'src/charts/guest'].flatMap((folder) =>
      readdirSync(at(folder))
        .sort()
        .map((name) => `${folder}/${name}`),
    ),
  ];
  for (const path of sources) if (path.includes('.', 1)) hash.update(path).update(readFileSync(at(path)));
  const inputs = hash.digest('hex');
  if (isRendererBuilt(inputs) && !process.argv.includes('--force')) {
    console.log('charts: up to date');
    return;
  }
  const started = performance.now();
  const { image, module } = await buildCharts(inputs);
  const sizes = `image ${formatBytes(image)}, rasteriser ${formatBytes(module)}`;
  console.log(`charts: built in ${formatDuration(performance.now() - started)} (${sizes})`);
}

compile();
const schemas = await import(at('dist/schema.js'));
addFieldComments(at('dist/schema'), schemas);
pruneTypes(
  at('dist'),
  ['index.d.ts', 'mcp/index.d.ts', 'adapters/index.d.ts', 'adapters/e2b/index.d.ts'],
  at('types'),
);
copyDataFiles(schemas.RUNTIME_NAMES);
// Before bundling, which mixes the inputs of an image with other code.
const inputs = inputsDigest();
await bundle();
await bundlePage();
await buildGuests(schemas.RUNTIME_NAMES, inputs);
await buildChartRenderer(inputs);
