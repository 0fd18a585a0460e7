/**
 * Derives calls to the built-in `chart` from the calls to plotting packages in a program: `plt.plot(x, y)` is
 * `chart.line(x, y)`. The program is untrusted text; only lines of limited length are read, in linear time.
 */
import { oneLine } from '../../../analysis/quote-guest-text.ts';
import { CHART_OPTIONS, CHARTS } from './advice.ts';

const MAX_LINES = 2000;
const MAX_LINE_CHARS = 300;
const MAX_CALLS = 3;
const MAX_CALL_CHARS = 160;

/** Colors and formats of lines, which `chart` does not have. */
const STYLE = /^['"][^'"]{0,20}['"]$/;
const CALL = /([A-Za-z_][\w.]{0,60})(\[[^[\]]{1,20}\])?\.([a-z_]{3,16})\(/g;
/** What the owner of a plotting function is called: a module or axes. */
const OWNER = /(?:^|\.)(?:plt|pyplot|px|express|sns|seaborn|ax|axs|axes|axis|ax\d|ax_\w{1,20}|\w{1,20}_ax)$/;
const TITLE = /\.(?:set_)?(?:sup)?title\(\s*(['"][^'"]{1,60}['"])/;

/** The arguments of a call whose text begins after the parenthesis; undefined if it does not end on the line. */
function splitArguments(text: string): string[] | undefined {
  const found: string[] = [];
  let depth = 0;
  let quote = '';
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    const char = text[i]!;
    if (quote !== '') {
      if (char === '\\') i++;
      else if (char === quote) quote = '';
    } else if (char === "'" || char === '"') quote = char;
    else if ('([{'.includes(char)) depth++;
    else if (depth === 0 && (char === ',' || char === ')')) {
      found.push(text.slice(start, i).trim());
      start = i + 1;
      if (char === ')') return found.filter((one) => one !== '');
    } else if (')]}'.includes(char)) depth--;
  }
  return undefined;
}

/** The values of x, then of y; or data and the names of its columns. */
function chartArguments(kind: string, values: readonly string[]): string[] {
  const options = new Map<string, string>();
  const positional: string[] = [];
  for (const value of values) {
    const equals = value.indexOf('=');
    const name = value.slice(0, Math.max(equals, 0)).trimEnd();
    if (!/^[a-z_]{1,20}$/.test(name) || value[equals + 1] === '=') {
      if (!STYLE.test(value) && !value.startsWith('*')) positional.push(value);
      continue;
    }
    const option = CHART_OPTIONS.get(name);
    if (option !== undefined) options.set(option, value.slice(equals + 1).trimStart());
  }
  const data = options.get('data');
  const labels = options.get('labels');
  if (data !== undefined) positional.unshift(data);
  // Without data, `color` is a colour and not a column.
  const isTable = data !== undefined || options.has('x') || options.has('y');
  if (kind === 'pie' && labels !== undefined) positional.unshift(labels);
  const used = kind === 'bar' || kind === 'scatter' || kind === 'line' || kind === 'pie' ? 2 : 1;
  const names = ['x', 'y', 'color'].filter((name) => isTable && options.has(name));
  if (kind === 'histogram' && options.has('bins')) names.push('bins');
  return [
    ...positional.slice(0, isTable ? 1 : used),
    ...names.map((name) => `${name}=${options.get(name)!}`),
  ];
}

/** The kind of chart of `frame.plot(kind='bar')` and `frame.plot.bar()`. */
function frameChart(owner: string, name: string, values: readonly string[]): [string, string[]] | undefined {
  const isAccessor = owner.endsWith('.plot');
  if (!isAccessor && name !== 'plot') return undefined;
  const kindOption = values.find((value) => /^kind\s*=/.test(value));
  const wanted = isAccessor ? name : (/['"]([a-z]{1,12})['"]/.exec(kindOption ?? '')?.[1] ?? 'plot');
  const kind = CHARTS.get(wanted);
  const frame = isAccessor ? owner.slice(0, -'.plot'.length) : owner;
  return kind === undefined ? undefined : [kind, [`data=${frame}`, ...values]];
}

/** The call to `chart` for a call to a plotting package, or undefined. */
function chartCall(
  owner: string,
  index: string,
  name: string,
  values: readonly string[],
  title: string | undefined,
) {
  const kind = OWNER.test(owner) ? CHARTS.get(name) : undefined;
  const [chart, all] = kind !== undefined ? [kind, values] : (frameChart(owner + index, name, values) ?? []);
  if (chart === undefined || all === undefined) return undefined;
  const args = chartArguments(chart, all);
  const ownTitle = all.find((value) => /^title\s*=/.test(value))?.replace(/^title\s*=\s*/, '') ?? title;
  if (args.length === 0) return undefined;
  return `display(chart.${chart}(${[...args, ...(ownTitle === undefined ? [] : [`title=${ownTitle}`])].join(', ')}))`;
}

/** Calls to `chart` that draw what the program wanted to draw. */
export function chartCalls(source: string): string[] {
  const found = new Set<string>();
  const lines = source.split('\n', MAX_LINES).filter((line) => line.length <= MAX_LINE_CHARS);
  const titles = lines.map((line) => TITLE.exec(line)?.[1]).filter((title) => title !== undefined);
  // Several titles belong to several charts, and it is not known which title belongs to which chart.
  const title = titles.length === 1 ? titles[0] : undefined;
  for (const line of lines) {
    for (const match of line.matchAll(CALL)) {
      if (found.size >= MAX_CALLS) return [...found];
      const [text, owner = '', index = '', name = ''] = match;
      const values = splitArguments(line.slice(match.index + text.length));
      const call = values && chartCall(owner, index, name, values, title);
      if (call !== undefined && call.length <= MAX_CALL_CHARS) found.add(oneLine(call, MAX_CALL_CHARS));
    }
  }
  return [...found];
}
