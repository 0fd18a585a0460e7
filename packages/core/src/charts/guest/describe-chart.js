/**
 * Describes a rendered chart with the fields of E2B: type, title, labels and elements. The values are those that are drawn, after
 * all transforms, read from the scenegraph.
 */

/** Points and bars of a description. */
const MAX_POINTS = 2000;
const MAX_CHARTS = 20;
const TYPES = { rect: 'bar', line: 'line', area: 'line', trail: 'line', symbol: 'scatter', arc: 'pie' };
const SERIES_TYPES = ['line', 'scatter'];
const SCALES = {
  time: 'datetime',
  utc: 'datetime',
  band: 'categorical',
  point: 'categorical',
  ordinal: 'categorical',
};

const textOf = (value) =>
  Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : undefined;
const titleOf = ({ title }) => textOf(title?.text ?? title) ?? null;

/** The groups with axes of their own: the whole chart, or the parts of one that is concatenated or faceted. */
function plots(node, found = []) {
  if (found.length >= MAX_CHARTS) return found;
  const marks = node.marks ?? [];
  if (marks.some(isDrawn)) found.push(node);
  else for (const mark of marks) if (mark.type === 'group') plots(mark, found);
  return found;
}

/** Whether a mark shows data. A group that contains one line for each color counts as a mark. */
const isDrawn = (mark) => drawnMark(mark) !== undefined;

function drawnMark(mark) {
  if (mark.type === 'group') {
    const isPaths = mark.from?.facet !== undefined && mark.marks?.length === 1 && mark.axes === undefined;
    return isPaths ? drawnMark(mark.marks[0]) : undefined;
  }
  return TYPES[mark.type] !== undefined && mark.from?.data !== undefined ? mark : undefined;
}

const fieldOf = (channel) =>
  typeof channel?.field === 'string' ? channel.field.replaceAll(/\\(.)/g, '$1') : undefined;

/** All items of the marks with a name. */
function itemsOf(view, name) {
  const items = [];
  const visit = (mark) => {
    if (mark.name === name && mark.marktype !== 'group') items.push(...mark.items.slice(0, MAX_POINTS));
    else for (const item of mark.items ?? []) for (const child of item.items ?? []) visit(child);
  };
  visit(view.scenegraph().root);
  return items.slice(0, MAX_POINTS);
}

function toValue(value, scale) {
  if (value === null || value === undefined) return null;
  if (scale === 'datetime') {
    const time = new Date(value);
    return Number.isNaN(time.getTime()) ? null : time.toISOString();
  }
  return typeof value === 'number' || typeof value === 'string' || typeof value === 'boolean'
    ? value
    : String(value);
}

/** How to read a position of an item: its field, or the difference of two for parts of stacks and ranges. */
function reader({ [0]: from, [1]: to }, scale) {
  const field = fieldOf(from);
  const end = fieldOf(to);
  if (field === undefined) return undefined;
  if (end === undefined || scale === 'categorical') return ({ datum }) => toValue(datum[field], scale);
  if (/_(start|end)$/.test(field) && /_(start|end)$/.test(end))
    return ({ datum }) => Math.abs(datum[field] - datum[end]);
  return ({ datum }) => {
    const ends = [datum[field], datum[end]].sort((a, b) => a - b).map((value) => toValue(value, scale));
    return ends.join(' – ');
  };
}

function scaleTypes(vega, plot) {
  const types = new Map();
  for (const { name, type = 'linear' } of [...(vega.scales ?? []), ...(plot.scales ?? [])])
    types.set(name, SCALES[type] ?? type);
  return types;
}

function axisTitle(vega, plot, orients) {
  const axes = [...(plot.axes ?? []), ...(plot === vega ? [] : (vega.axes ?? []))];
  return (
    textOf(axes.find(({ orient, title }) => orients.includes(orient) && title !== undefined)?.title) ?? null
  );
}

/** The first layer determines the type. Series of other layers with lines or points are added if their names are new. */
function describePlot(vega, view, plot) {
  const [first, ...others] = plot.marks
    .filter(isDrawn)
    .map((mark) => describeMark(vega, view, plot, drawnMark(mark)));
  if (!SERIES_TYPES.includes(first.type)) return first;
  const names = new Set(first.elements.map(({ label }) => label));
  let room = MAX_POINTS - first.elements.reduce((sum, { points }) => sum + points.length, 0);
  for (const { label, points } of others.flatMap(({ type, elements }) =>
    SERIES_TYPES.includes(type) ? elements : [],
  )) {
    if (names.has(label) || points.length > room) continue;
    names.add(label);
    room -= points.length;
    first.elements.push({ label, points });
  }
  return first;
}

function describeMark(vega, view, plot, mark) {
  const { x, xc, x2, y, yc, y2, fill, stroke, startAngle, endAngle, outerRadius } = mark.encode?.update ?? {};
  const types = scaleTypes(vega, plot);
  const items = itemsOf(view, mark.name);
  const colorField = fieldOf([fill, stroke].flat().find((channel) => fieldOf(channel) !== undefined));
  const colorOf = ({ datum }) => (colorField === undefined ? undefined : toValue(datum[colorField]));
  const title = titleOf(plot) ?? titleOf(vega);
  if (mark.type === 'arc') {
    const angle = reader([endAngle, startAngle], 'linear');
    const elements = items.map((item) => ({
      label: String(colorOf(item) ?? ''),
      angle: (Math.abs(item.endAngle - item.startAngle) * 180) / Math.PI,
      radius: item.outerRadius ?? outerRadius?.value ?? null,
      ...(angle !== undefined && { value: angle(item) }),
    }));
    return { type: 'pie', title, elements };
  }
  const xScale = types.get((x ?? xc)?.scale) ?? 'linear';
  const yScale = types.get((y ?? yc)?.scale) ?? 'linear';
  const readX = reader([x ?? xc, x2], xScale);
  const readY = reader([y ?? yc, y2], yScale);
  const labels = {
    title,
    x_label: axisTitle(vega, plot, ['bottom', 'top']),
    y_label: axisTitle(vega, plot, ['left', 'right']),
    x_unit: null,
    y_unit: null,
  };
  if (readX === undefined || readY === undefined) return { type: 'unknown', ...labels, elements: [] };
  if (mark.type === 'rect') {
    // A heat map has a position in both directions and its value in the color.
    if (xScale === 'categorical' && yScale === 'categorical') {
      const elements = items.map((item) => ({
        x: readX(item),
        y: readY(item),
        value: colorOf(item) ?? null,
      }));
      return { type: 'unknown', ...labels, elements };
    }
    const isHorizontal =
      yScale === 'categorical' || (fieldOf(x2) === undefined && fieldOf(y2) !== undefined && !isStack(y2));
    const [label, value] = isHorizontal ? [readY, readX] : [readX, readY];
    const elements = items.map((item) => ({
      label: String(label(item)),
      group: String(colorOf(item) ?? ''),
      value: value(item),
    }));
    return { type: 'bar', ...labels, elements };
  }
  const series = new Map();
  for (const item of items) {
    const label = String(colorOf(item) ?? '');
    if (!series.has(label)) series.set(label, []);
    series.get(label).push([readX(item), readY(item)]);
  }
  const elements = [...series].map(([label, points]) => ({ label, points }));
  return { type: TYPES[mark.type], ...labels, x_scale: xScale, y_scale: yScale, elements };
}

const isStack = (channel) => /_(start|end)$/.test(fieldOf(channel) ?? '');

/** The description of a chart; a chart with several plots is a superchart. */
export function describeChart(vega, view) {
  try {
    const charts = plots(vega).map((plot) => describePlot(vega, view, plot));
    if (charts.length === 1) return charts[0];
    if (charts.length > 1) return { type: 'superchart', title: titleOf(vega), elements: charts };
  } catch {
    // A specification of an unusual form.
  }
  return { type: 'unknown', title: titleOf(vega), elements: [] };
}
