/**
 * Renders a Vega-Lite or Vega specification to SVG. Runs in a guest of its own without files or network; the bundle is loaded
 * when the image of that guest is built. The specification comes from a program.
 */

// Generated at build time: strings with the widths of characters. The code of the character at index N is the width of the
// character with code N, in thousandths of the font size.
import { bold, DEFAULT_WIDTH, regular } from 'font-metrics';
import { parse, textMetrics, View, Warn } from 'vega';
import { compile } from 'vega-lite';
import { describeChart } from './describe-chart.js';
import { SvgRenderer } from './svg-renderer.js';

export { expressions, prepare } from './expression-cache.js';

/** Size of charts whose specification has none, as a config of Vega-Lite. */
const DEFAULT_SIZE = {
  continuousWidth: 480,
  continuousHeight: 300,
  discreteWidth: { step: 32 },
  discreteHeight: { step: 24 },
};
const MAX_EDGE = 16_384;
/** Charts with more rows have no descriptions for screen readers, which take more room than the points themselves. */
const MAX_DESCRIBED = 200;

const isBold = (weight) => weight === 'bold' || Number(weight) >= 600;

textMetrics.width = (item, text) => {
  const widths = isBold(item.fontWeight) ? bold : regular;
  let sum = 0;
  for (const character of text == null ? '' : String(text))
    sum += widths.charCodeAt(character.codePointAt(0)) || DEFAULT_WIDTH;
  return (sum / 1000) * (item.fontSize ?? 11);
};

/** Nothing is loaded. `rejectUrls` rejects specifications with URLs; images and links of marks are left out. */
const refuse = () => Promise.reject(new Error('not available'));
const loader = { load: refuse, sanitize: refuse, http: refuse, file: refuse };

/** Problems that Vega reports without failing. */
const logger = (warnings) => {
  const ignore = () => log;
  const warn = (...texts) => {
    warnings.push(texts.join(' '));
    return log;
  };
  const log = { level: () => Warn, error: fail, warn, info: ignore, debug: ignore };
  return log;
};

function fail(...texts) {
  const [first] = texts;
  throw first instanceof Error ? first : new Error(texts.join(' '));
}

const MARKS = [
  ...[
    'arc',
    'area',
    'bar',
    'boxplot',
    'circle',
    'errorband',
    'errorbar',
    'geoshape',
    'image',
    'line',
    'point',
    'rect',
  ],
  ...['rule', 'square', 'text', 'tick', 'trail'],
];
const COMPOSITIONS = ['layer', 'concat', 'hconcat', 'vconcat', 'facet', 'repeat', 'spec'];

/** Throws if it is clear what is wrong with a specification; Vega-Lite itself reports little. */
function checkMark({ mark, ...spec }) {
  if (COMPOSITIONS.some((name) => spec[name] !== undefined)) return;
  const type = mark?.type ?? mark;
  if (type === undefined) throw new Error('the specification has no mark');
  if (!MARKS.includes(type)) throw new Error(`there is no mark "${type}". The marks are ${MARKS.join(', ')}`);
}

/** The specification compiled to Vega; one that is already for Vega is returned unchanged. */
function toVega(spec, log) {
  if (!String(spec.$schema ?? '').includes('vega-lite') && String(spec.$schema ?? '').includes('/vega/'))
    return spec;
  checkMark(spec);
  const { config = {}, width, height, ...rest } = spec;
  const view = { ...DEFAULT_SIZE, ...config.view };
  const sized = {
    ...rest,
    ...(width !== undefined && { width: width === 'container' ? view.continuousWidth : width }),
    ...(height !== undefined && { height: height === 'container' ? view.continuousHeight : height }),
  };
  const isDescribed = !(spec.data?.values?.length > MAX_DESCRIBED);
  return compile(sized, { config: { aria: isDescribed, ...config, view }, logger: log }).spec;
}

/** Throws if the specification refers to data that is not part of it. */
function rejectUrls(node) {
  if (typeof node !== 'object' || node === null) return;
  for (const { url, name } of Array.isArray(node.data) ? node.data : []) {
    if (url === undefined) continue;
    const what = typeof url === 'string' ? url.slice(0, 200) : name;
    throw new Error(
      `the data "${what}" is at a URL, and charts load nothing. Read the data in the program and pass it as values`,
    );
  }
  for (const mark of Array.isArray(node.marks) ? node.marks : []) rejectUrls(mark);
}

/** Returns JSON: the SVG with its size and description, or an error. */
export function render(text) {
  const warnings = [];
  try {
    const log = logger(warnings);
    const vega = toVega(JSON.parse(text), log);
    rejectUrls(vega);
    const view = new View(parse(vega), { loader, renderer: 'none', logger: log });
    runCompletely(view);
    const { width, height, origin } = sizeOf(view);
    const renderer = new SvgRenderer(loader);
    renderer.initialize(null, width, height, origin).background(view.background());
    const svg = renderer.render(view.scenegraph().root).svg();
    return JSON.stringify({
      svg,
      width,
      height,
      chart: describeChart(vega, view),
      warnings: warnings.slice(0, 5),
    });
  } catch (error) {
    const message = error === null ? OUT_OF_MEMORY : error instanceof Error ? error.message : String(error);
    return JSON.stringify({ error: message.slice(0, 1000) });
  }
}

const OUT_OF_MEMORY = 'drawing it takes too much memory. Aggregate or sample the data';

/** QuickJS throws null if it has no memory for an error. Vega ignores that, and the chart would be incomplete. */
function runCompletely(view) {
  const { clear } = view._heap;
  let isComplete = true;
  view._heap.clear = () => {
    isComplete = false;
    clear();
  };
  view.run();
  if (!isComplete) throw new Error(OUT_OF_MEMORY);
}

function sizeOf(view) {
  const { left, top, right, bottom } = view.padding();
  const [x, y] = view.origin();
  const width = Math.ceil(view._viewWidth + left + right);
  const height = Math.ceil(view._viewHeight + top + bottom);
  if (!(width > 0 && height > 0)) throw new Error('its width or height is 0');
  if (!(width <= MAX_EDGE && height <= MAX_EDGE))
    throw new Error(`it has ${width} × ${height} pixels, and the maximum is ${MAX_EDGE} in each direction`);
  return { width, height, origin: [x + left, y + top] };
}
