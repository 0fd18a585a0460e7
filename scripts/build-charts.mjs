/**
 * Builds the chart renderer in packages/core/dist/guests/charts/: bundles Vega and Vega-Lite, loads the bundle into a JavaScript guest and
 * captures its image, meters resvg, and prepares the fonts. Runs in a thread with a large stack, which deep recursion needs.
 */
import { mkdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { build } from 'esbuild';
import { prepareFont } from './chart-font.mjs';

const at = (path) => fileURLToPath(new URL(`../${path}`, import.meta.url));
const FONT_FAMILY = 'DejaVu Sans';
const FONTS = { regular: 'DejaVuSans.ttf', bold: 'DejaVuSans-Bold.ttf' };
const RESVG = {
  path: 'node_modules/@resvg/resvg-wasm/index_bg.wasm',
  sha256: '22bf6e9f9a100d972da0411a69c5ba504367fc1fa87b3b64e3f35e53926d2d70',
};
const STACK_MB = 256;
/** Replaces the module vega-expression. */
const EXPRESSIONS = at('packages/core/src/charts/guest/expression-cache.js');

/** Specifications whose expressions the image contains: one for each kind of chart and scale. */
const TYPICAL_CHARTS = (() => {
  const values = [
    { name: 'a', day: '2026-01-01', x: 1, y: 2 },
    { name: 'b', day: '2026-02-01', x: 2, y: 3 },
  ];
  const nominal = { field: 'name', type: 'nominal' };
  const temporal = { field: 'day', type: 'temporal' };
  const x = { field: 'x', type: 'quantitative' };
  const y = { field: 'y', type: 'quantitative' };
  const binned = { ...x, bin: true };
  const tooltip = [nominal, y];
  return [
    { mark: 'bar', encoding: { x: nominal, y } },
    { mark: { type: 'bar', tooltip: true }, encoding: { x: nominal, y, color: nominal, xOffset: nominal } },
    { mark: 'bar', encoding: { y: nominal, x } },
    { mark: 'bar', encoding: { x: binned, y: { aggregate: 'count' } } },
    { mark: { type: 'line', point: true }, encoding: { x: temporal, y, color: nominal, tooltip } },
    { mark: 'area', encoding: { x: temporal, y } },
    { mark: 'point', encoding: { x, y, color: nominal, size: y } },
    { mark: 'circle', encoding: { x, y, color: x } },
    { mark: 'arc', encoding: { theta: y, color: nominal } },
    { mark: 'rect', encoding: { x: nominal, y: nominal, color: y } },
    { layer: [{ mark: 'line' }, { mark: 'text' }, { mark: 'rule' }], encoding: { x, y } },
    { facet: { column: nominal }, spec: { mark: 'bar', encoding: { x: nominal, y } } },
  ].map((spec) =>
    JSON.stringify({
      $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
      title: 'Title',
      data: { values },
      ...spec,
    }),
  );
})();

/** Runs this file in a thread of its own. Resolves with a description of what was built. */
export function buildCharts(inputs) {
  const thread = new Worker(new URL(import.meta.url), {
    workerData: { charts: inputs },
    resourceLimits: { stackSizeMb: STACK_MB },
  });
  return new Promise((resolve, reject) => {
    thread.on('message', resolve).on('error', reject);
  });
}

/** Vega and Vega-Lite as a module. The widths of the characters are part of it. */
async function bundleVega(widths) {
  const metrics = {
    name: 'font metrics',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^font-metrics$/ }, ({ path }) => ({ path, namespace: 'metrics' }));
      onLoad({ filter: /./, namespace: 'metrics' }, () => ({ contents: metricsModule(widths) }));
    },
  };
  const expressions = {
    name: 'compiled expressions',
    setup({ onResolve }) {
      onResolve({ filter: /^vega-expression$/ }, ({ importer }) =>
        importer === EXPRESSIONS ? undefined : { path: EXPRESSIONS, sideEffects: true },
      );
    },
  };
  const result = await build({
    entryPoints: [at('packages/core/src/charts/guest/render.js')],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    target: 'es2024',
    minify: true,
    legalComments: 'none',
    // Paths of modules must not depend on where a linked node_modules lies.
    preserveSymlinks: true,
    plugins: [metrics, expressions],
  });
  return result.outputFiles[0].text;
}

/** A text with the width of every character; see guest/render.js. */
function metricsModule({ regular, bold }) {
  const codes = Object.keys(regular).map(Number);
  const table = (widths) => {
    const all = Array.from({ length: Math.max(...codes) + 1 }, (_, code) => widths[code] ?? 0);
    return JSON.stringify(String.fromCharCode(...all));
  };
  const average = Math.round(codes.reduce((sum, code) => sum + regular[code], 0) / codes.length);
  return [
    `export const regular = ${table(regular)};`,
    `export const bold = ${table(bold)};`,
    `export const DEFAULT_WIDTH = ${average};`,
  ].join('\n');
}

/** The image of a JavaScript guest that has loaded the bundle. Other guests compile it and draw typical charts, because that uses a lot of memory. */
async function captureRenderer(source) {
  const { loadImage } = await import('../packages/core/dist/worker/thread/load-image.js');
  const { instantiateGuest } = await import('../packages/core/dist/worker/thread/guest-from-image.js');
  const { captureImage } = await import('../packages/core/dist/engine/image.js');
  const { UNLIMITED_RUN } = await import('../packages/core/dist/engine/run-context.js');
  const { IMAGE_TIME_MS } = await import('../packages/core/dist/engine/image-identity.js');
  const { findAssets } = await import('../packages/core/dist/runtimes/artifacts/guest-artifacts.js');
  const { compileBytecode } = await import('../packages/core/dist/runtimes/javascript/build/file-layers.js');
  const { Volume } = await import('../packages/core/dist/fs/volume.js');
  const { RENDER_HANDLE, RENDERER_RUNTIME } = await import(
    '../packages/core/dist/runtimes/javascript/vega-guest.js'
  );
  const { expressionsOf, loadRenderer, prepareExpressions } = await import(
    '../packages/core/dist/runtimes/javascript/build/load-vega.js'
  );
  const template = loadImage(findAssets(RENDERER_RUNTIME), []);
  const create = () => {
    const guest = instantiateGuest(template, 4096);
    guest.beginRun({ ...UNLIMITED_RUN, deterministic: { startMs: IMAGE_TIME_MS, seed: 0 } });
    guest.kernel.volume = new Volume({ maxBytes: 0, maxFiles: 0 }, () => IMAGE_TIME_MS);
    for (const { at, tree } of template.layers) guest.kernel.volume.mount(at, tree);
    return guest;
  };
  const bytecode = compileBytecode(create(), { name: 'sandbox:charts', aliases: [], source });
  const trial = create();
  const texts = expressionsOf(trial, loadRenderer(trial, bytecode), TYPICAL_CHARTS);
  const guest = create();
  const functions = loadRenderer(guest, bytecode);
  prepareExpressions(guest, functions, texts);
  const handles = { ...template.image.header.handles, [RENDER_HANDLE]: functions.render };
  const image = captureImage(guest, template.assets.origin, handles);
  return { image, minMemoryBytes: guest.memory.buffer.byteLength, bytecode: bytecode.length };
}

async function prepareRasteriser() {
  const { prepareModule } = await import('../packages/core/dist/wasm/prepare-module.js');
  const { Guest } = await import('../packages/core/dist/engine/guest.js');
  const { captureImage } = await import('../packages/core/dist/engine/image.js');
  const { RASTERISER_EXPORTS, RASTERISER_LINKAGE } = await import(
    '../packages/core/dist/charts/rasteriser.js'
  );
  const { EMPTY_VOLUME } = await import('../packages/core/dist/worker/thread/guest-from-image.js');
  const { sha256Hex } = await import('../packages/core/dist/framing/digest.js');
  const binary = readFileSync(at(RESVG.path));
  if (sha256Hex(binary) !== RESVG.sha256)
    throw new Error(`${RESVG.path} is not the expected binary (SHA-256 ${sha256Hex(binary)}). Run "npm ci".`);
  const prepared = prepareModule(binary, { exports: RASTERISER_EXPORTS });
  const { minPages } = prepared.memory;
  const stateGlobals = prepared.stateGlobals.map(({ name }) => name);
  const compiled = { module: new WebAssembly.Module(prepared.bytes), minPages, stateGlobals };
  const guest = new Guest(compiled, RASTERISER_LINKAGE, { pages: minPages, maxPages: 4096 }, EMPTY_VOLUME);
  for (const { offset, bytes } of prepared.data) guest.view.bytes(offset, bytes.length).set(bytes);
  const origin = { runtime: 'resvg', module: sha256Hex(prepared.bytes), layers: '' };
  return { module: prepared.bytes, minPages, stateGlobals, origin, image: captureImage(guest, origin, {}) };
}

/** Writes the files that charts/artifacts.ts reads. The description is written last. */
async function writeRenderer({ image, minMemoryBytes, rasteriser, fontFamily, fonts }, inputs) {
  const { CHARTS_FOLDER, fontName } = await import('../packages/core/dist/charts/artifacts.js');
  const { imageDigest } = await import('../packages/core/dist/engine/image-identity.js');
  const { sha256Hex } = await import('../packages/core/dist/framing/digest.js');
  const { replaceFileSync, SHARED_FILE } = await import('../packages/core/dist/host/replace-file.js');
  const folder = at(`packages/core/dist/${CHARTS_FOLDER}`);
  const put = (name, content) => replaceFileSync(`${folder}/${name}`, content, SHARED_FILE);
  mkdirSync(folder, { recursive: true });
  const { module, minPages, stateGlobals, origin } = rasteriser;
  put('vega.image', image);
  put('resvg.wasm', module);
  put('resvg.image', rasteriser.image);
  for (const [i, font] of fonts.entries()) put(fontName(i), font);
  const description = {
    inputs,
    image: { digest: imageDigest(image), bytes: image.length },
    minMemoryBytes,
    rasteriser: { minPages, stateGlobals, origin },
    fontFamily,
    fonts: fonts.map((font) => sha256Hex(font)),
  };
  put('charts.json', `${JSON.stringify(description, null, 2)}\n`);
}

if (workerData?.charts !== undefined) {
  const [regular, bold] = [FONTS.regular, FONTS.bold].map((name) =>
    prepareFont(readFileSync(at(`node_modules/dejavu-fonts-ttf/ttf/${name}`))),
  );
  const bundle = await bundleVega({ regular: regular.widths, bold: bold.widths });
  const built = {
    ...(await captureRenderer(bundle)),
    rasteriser: await prepareRasteriser(),
    fontFamily: FONT_FAMILY,
    fonts: [regular.ttf, bold.ttf],
  };
  await writeRenderer(built, workerData.charts);
  parentPort.postMessage({
    bytecode: built.bytecode,
    image: built.image.length,
    module: built.rasteriser.module.length,
  });
}
