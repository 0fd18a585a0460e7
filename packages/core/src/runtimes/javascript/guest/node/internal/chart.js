/**
 * Charts for common cases: `chart.line`, `bar`, `scatter`, `histogram`, `pie` and `heatmap` turn data into Vega-Lite
 * specifications, which the host draws.
 */
import { display } from '../../display.js';

const SCHEMA = 'https://vega.github.io/schema/vega-lite/v6.json';
const MIME = 'application/vnd.vegalite.v6+json';
/** More rows take too long to draw. */
const MAX_ROWS = 10_000;
const MAX_NAMES = 20;
const OPTIONS = ['x', 'y', 'color', 'title', 'width', 'height', 'stacked', 'bins'];
/** Columns of a histogram. */
const END = 'end of interval';
const COUNT = 'number of rows';
/** Column names for data that has none. They are not shown. */
const UNNAMED = ['x', 'y', 'color'];
/** Width of a character of a label, in pixels. */
const CHARACTER = 6.5;

/** A chart. It is displayed as the last expression or with `display(chart)`; `spec` is its Vega-Lite specification. */
class Chart {
  constructor(kind, spec) {
    this.kind = kind;
    this.spec = spec;
  }

  toJSON() {
    return this.spec;
  }

  toSpec() {
    return this.spec;
  }

  show() {
    display(this);
  }

  [Symbol.for('Jupyter.display')]() {
    return { [MIME]: this.spec, 'text/plain': this.#text() };
  }

  [Symbol.for('nodejs.util.inspect.custom')]() {
    return this.#text();
  }

  #text() {
    const { title, data } = this.spec;
    const rows = data.values.length === 1 ? '1 row' : `${data.values.length} rows`;
    return `Chart(${this.kind}, ${rows}${title === undefined ? '' : `, ${JSON.stringify(title)}`})`;
  }
}

function valueOf(value) {
  if (value === undefined || value === null) return null;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  if (typeof value === 'bigint') return Number(value);
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

const isSequence = (value) =>
  Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
const isRecord = (value) =>
  typeof value === 'object' && value !== null && !isSequence(value) && !(value instanceof Date);

function fromColumns(columns) {
  const names = Object.keys(columns);
  const lengths = new Set(names.map((name) => columns[name].length));
  if (lengths.size > 1) {
    const sizes = names.map((name) => `${name}: ${columns[name].length}`).join(', ');
    throw new RangeError(`the columns have different lengths (${sizes})`);
  }
  const [length = 0] = lengths;
  const rows = Array.from({ length }, (_, i) =>
    Object.fromEntries(names.map((name) => [name, columns[name][i]])),
  );
  return { names, rows };
}

function fromSequence(items) {
  const [first] = items;
  if (isRecord(first))
    return { names: [...new Set(items.flatMap((item) => Object.keys(item)))], rows: items };
  if (!isSequence(first)) return { names: ['x', 'y'], rows: items.map((y, x) => ({ x, y })) };
  if (first.length > 3)
    throw new TypeError(
      `rows with ${first.length} values have no names. Pass an array of objects, or an object of columns`,
    );
  const names = ['x', 'y', 'color'].slice(0, first.length);
  return { names, rows: items.map((item) => Object.fromEntries(names.map((name, i) => [name, item[i]]))) };
}

/** The names of the columns, and the rows as objects. */
function tableOf(data) {
  if (typeof data?.objects === 'function' && typeof data.columnNames === 'function')
    return { names: data.columnNames(), rows: data.objects() };
  if (data instanceof Map) return fromSequence([...data]);
  if (isSequence(data)) return fromSequence([...data]);
  if (isRecord(data)) {
    const values = Object.values(data);
    if (values.length > 0 && values.every(isSequence)) return fromColumns(data);
    if (typeof data[Symbol.iterator] === 'function') return fromSequence([...data]);
    return fromSequence(Object.entries(data));
  }
  const found = data === null ? 'null' : typeof data;
  throw new TypeError(
    `expected an array of objects, an object of columns or an array of pairs, not ${found}`,
  );
}

/** The cells of an array of rows as records. */
function matrixCells(data) {
  if (!isSequence(data) || data.length === 0 || !data.every(isSequence)) return data;
  return data.flatMap((row, y) => Array.from(row, (color, x) => ({ x, y, color })));
}

/** Number of edits that turn one text into another. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)));
    row = next;
  }
  return row[b.length];
}

function nearest(name, names) {
  const wanted = name.toLowerCase().slice(0, 100);
  const near = names
    .map((other) => ({ other, edits: distance(wanted, other.toLowerCase().slice(0, 100)) }))
    .sort((a, b) => a.edits - b.edits)[0];
  return near !== undefined && near.edits <= Math.max(1, wanted.length * 0.4) ? near.other : undefined;
}

function check(name, names) {
  if (name === undefined || names.includes(name)) return;
  const near = nearest(String(name), names);
  const shown =
    names
      .slice(0, MAX_NAMES)
      .map((other) => JSON.stringify(other))
      .join(', ') || 'none';
  throw new RangeError(
    `there is no column ${JSON.stringify(name)}.${near === undefined ? '' : ` Did you mean ${JSON.stringify(near)}?`} The columns are ${shown}`,
  );
}

const DATE = /^\d{4}-\d\d(?:-\d\d(?:[T ].{0,30})?)?$/;

/** The type of a column in Vega-Lite, from its values. */
function typeOf(rows, name) {
  const values = rows.map((row) => row[name]).filter((value) => value !== null && value !== undefined);
  if (values.length > 0 && values.every((value) => typeof value === 'number')) return 'quantitative';
  if (values.length > 0 && values.every((value) => typeof value === 'string' && DATE.test(value)))
    return 'temporal';
  return 'nominal';
}

function channel(rows, name, type = typeOf(rows, name), more = {}) {
  // These characters have a special meaning in field names of Vega-Lite.
  const field = name.replaceAll(/[\\.[\]]/g, '\\$&');
  const title = UNNAMED.includes(name) ? null : name;
  return { field, type, title, ...(type === 'nominal' && { sort: null }), ...more };
}

/** The columns as series: a row for each value. */
const fold = (rows, x, names) =>
  rows.flatMap((row) => names.map((name) => ({ [x]: row[x], series: name, value: row[name] })));

/** Counts the values of a column in intervals of equal width, at round numbers. */
function binned(rows, x, color, bins) {
  const numbers = rows.filter((row) => typeof row[x] === 'number');
  if (numbers.length === 0) throw new RangeError(`the column ${JSON.stringify(x)} has no numbers`);
  const low = numbers.reduce((least, row) => Math.min(least, row[x]), Number.POSITIVE_INFINITY);
  const high = numbers.reduce((most, row) => Math.max(most, row[x]), Number.NEGATIVE_INFINITY);
  const wanted = (high - low) / Math.max(1, bins) || 1;
  const unit = 10 ** Math.floor(Math.log10(wanted));
  const step = unit * [1, 2, 2.5, 5, 10].find((factor) => factor * unit >= wanted * 0.999);
  const first = Math.floor(low / step);
  const last = Math.max(first + 1, Math.ceil(high / step));
  const counts = new Map();
  for (const row of numbers) {
    const group = color === undefined ? null : row[color];
    if (!counts.has(group)) counts.set(group, new Map());
    const index = Math.min(Math.floor(row[x] / step), last - 1);
    counts.get(group).set(index, (counts.get(group).get(index) ?? 0) + 1);
  }
  const round = (value) => Number(value.toFixed(10));
  return [...counts].flatMap(([group, found]) =>
    Array.from({ length: last - first }, (_, i) => ({
      [x]: round((first + i) * step),
      [END]: round((first + i + 1) * step),
      [COUNT]: found.get(first + i) ?? 0,
      ...(color !== undefined && { [color]: group }),
    })),
  );
}

const withColor = (encoding, rows, color) =>
  color === undefined ? encoding : { ...encoding, color: channel(rows, color) };

/** A position on an axis that need not contain zero. Integers from 1900 to 2100 are formatted as years. */
function position(rows, name) {
  if (typeOf(rows, name) !== 'quantitative') return channel(rows, name);
  const isYear = rows.every(
    ({ [name]: value }) => value === null || (Number.isInteger(value) && value >= 1900 && value <= 2100),
  );
  const more = { scale: { zero: false }, ...(isYear && { axis: { format: 'd' } }) };
  return channel(rows, name, 'quantitative', more);
}

/** A position on the horizontal axis. Labels are centered below their ticks, also at the ends. */
function xPosition(rows, name) {
  const encoded = position(rows, name);
  if (encoded.type === 'nominal') return encoded;
  return { ...encoded, axis: { labelFlush: false, ...encoded.axis, ...dayAxis(rows, name) } };
}

/** Labels for dates of up to two weeks, which Vega otherwise labels with weekdays, months and years in turn. */
function dayAxis(rows, name) {
  const values = rows.map((row) => row[name] ?? null).filter((value) => value !== null);
  if (!values.every((value) => typeof value === 'string' && value.length === 10)) return {};
  const times = values.map((value) => Date.parse(value)).sort((a, b) => a - b);
  const days = (times.at(-1) - times[0]) / 86_400_000;
  if (!(days <= 14)) return {};
  return { format: '%b %d', tickCount: { interval: 'day', step: days <= 7 ? 1 : 2 } };
}

/** An axis whose labels are horizontal if all of them have room. */
function labelAxis(rows, name, width) {
  const labels = new Set(rows.map((row) => String(row[name])));
  const longest = [...labels].reduce((most, { length }) => Math.max(most, length), 0);
  return { axis: { labelAngle: longest * CHARACTER <= width / labels.size ? 0 : -40 } };
}

const BUILDERS = {
  line: (rows, { x, y, color }) => ({
    mark: { type: 'line', point: rows.length <= 40 },
    encoding: withColor({ x: xPosition(rows, x), y: position(rows, y) }, rows, color),
  }),
  bar(rows, { x, y, color, stacked = true, width }) {
    const isHorizontal = typeOf(rows, x) === 'quantitative' && typeOf(rows, y) === 'nominal';
    const [label, value] = isHorizontal ? [y, x] : [x, y];
    const axis = isHorizontal ? {} : labelAxis(rows, label, width);
    const labels = channel(rows, label, 'nominal', axis);
    const values = channel(rows, value, 'quantitative');
    const encoding = isHorizontal ? { x: values, y: labels } : { x: labels, y: values };
    if (color !== undefined && !stacked)
      encoding[isHorizontal ? 'yOffset' : 'xOffset'] = channel(rows, color, 'nominal');
    return { mark: 'bar', encoding: withColor(encoding, rows, color) };
  },
  scatter: (rows, { x, y, color }) => ({
    mark: { type: 'point', filled: true },
    encoding: withColor({ x: xPosition(rows, x), y: position(rows, y) }, rows, color),
  }),
  histogram: (rows, { x, color }) => ({
    mark: 'bar',
    encoding: withColor(
      {
        x: { ...channel(rows, x, 'quantitative'), bin: 'binned', axis: { labelFlush: false } },
        x2: { field: END },
        y: { ...channel(rows, COUNT, 'quantitative'), title: 'count' },
      },
      rows,
      color,
    ),
  }),
  pie: (rows, { x, y }) => ({
    mark: { type: 'arc', stroke: 'white' },
    encoding: {
      theta: channel(rows, y, 'quantitative', { stack: true }),
      color: channel(rows, x, 'nominal'),
    },
  }),
  heatmap(rows, { x, y, color, width }) {
    if (color === undefined) throw new TypeError('a heat map needs color, the column with its values');
    const cells = (name, axis) => {
      const type = typeOf(rows, name) === 'quantitative' ? 'ordinal' : 'nominal';
      return channel(rows, name, type, { sort: null, ...axis });
    };
    const encoding = { x: cells(x, labelAxis(rows, x, width)), y: cells(y) };
    return { mark: 'rect', encoding: { ...encoding, color: channel(rows, color, 'quantitative') } };
  },
};

/** The columns for x and y, by default the first that fit. */
function chooseColumns(kind, names, rows, { x, y }) {
  for (const name of [x, y].flat()) check(name, names);
  const chosen = x ?? names.find((name) => name !== y);
  if (y !== undefined || kind === 'histogram') return { x: chosen, y };
  const others = names.filter((name) => name !== chosen);
  const found = others.find((name) => typeOf(rows, name) === 'quantitative') ?? others[0];
  if (found !== undefined) return { x: chosen, y: found };
  const shown = names.map((name) => JSON.stringify(name)).join(', ');
  throw new RangeError(`the data has no second column for y. The columns are ${shown}`);
}

/** The data and options of a call in which values are passed as arrays for x and y. */
function withColumns(data, options) {
  if (isSequence(options)) return [{ x: data, y: options }, {}];
  const { x, y, ...rest } = options;
  if (data === undefined && isSequence(x)) return y === undefined ? [x, rest] : [{ x, y }, rest];
  return [data, options];
}

function build(kind, givenData, givenOptions) {
  const [data, options] = withColumns(givenData, givenOptions);
  const unknown = Object.keys(options).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, OPTIONS);
    throw new TypeError(
      `there is no option ${JSON.stringify(unknown)}.${near === undefined ? '' : ` Did you mean ${near}?`} The options are ${OPTIONS.join(', ')}`,
    );
  }
  const { names, rows: given } = tableOf(kind === 'heatmap' ? matrixCells(data) : data);
  if (given.length === 0) throw new RangeError('the data has no rows');
  let rows = given.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, valueOf(value)])),
  );
  const isList = kind === 'histogram' && isSequence(data) && !isRecord(data[0]);
  let { x, y } = chooseColumns(kind, names, rows, isList ? { x: 'y', ...options } : options);
  let { color } = options;
  if (color === undefined && names.includes('color') && names[0] === 'x' && names[1] === 'y') color = 'color';
  check(color, names);
  const isFolded = Array.isArray(y);
  if (isFolded) [rows, y, color] = [fold(rows, x, y), 'value', 'series'];
  if (kind === 'histogram') rows = binned(rows, x, color, options.bins ?? 20);
  if (rows.length > MAX_ROWS)
    throw new RangeError(
      `the data has ${rows.length} rows, and at most ${MAX_ROWS} are drawn. Sample or aggregate it`,
    );
  const used = new Set([x, y, color, END, COUNT]);
  const values = rows.map((row) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => used.has(name))),
  );
  const { title, width = kind === 'pie' ? 360 : 560, height = kind === 'pie' ? 360 : 320 } = options;
  const parts = BUILDERS[kind](rows, { ...options, x, y, color, width });
  if (isFolded) for (const name of ['y', 'color']) parts.encoding[name].title = null;
  const spec = { $schema: SCHEMA, data: { values }, width, height, ...parts };
  return new Chart(kind, title === undefined ? spec : { ...spec, title: String(title) });
}

/** Creates a chart. Errors name the function that the program called. */
export function create(kind, data, options = {}) {
  try {
    return build(kind, data, options);
  } catch (error) {
    if (error instanceof Error) error.message = `chart.${kind}: ${error.message}`;
    throw error;
  }
}
