/** Text for util.inspect: quoting of strings, width of characters, and the layout of entries in lines. */

const MIN_LINE_WIDTH = 16;
const ESCAPED =
  /[\x00-\x1f\x27\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const ESCAPED_IN_QUOTES =
  /[\x00-\x1f\x5c\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
const PLAIN = /^[\x20-\x26\x28-\x5b\x5d-\x7e]*$/;
const SHORT_ESCAPES = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '\\': '\\\\',
  "'": "\\'",
};
const WIDE =
  /[\u1100-\u115f\u231a\u231b\u2329\u232a\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2e80-\u303e\u3041-\u3247\u3250-\u4dbf\u4e00-\ua4c6\ua960-\ua97c\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6b\uff01-\uff60\uffe0-\uffe6\u{1b000}-\u{1b001}\u{1f004}\u{1f0cf}\u{1f18e}\u{1f191}-\u{1f19a}\u{1f200}-\u{1f251}\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{20000}-\u{3fffd}]/u;
const NO_WIDTH = /\p{Mn}|\p{Me}|\p{Cc}|[\u200b-\u200f]/u;
const COLORS = /\x1b\[\d\d?m/g;

function escapeCharacter(char) {
  const code = char.charCodeAt(0);
  const hex = code.toString(16);
  return SHORT_ESCAPES[char] ?? (code > 0xff ? `\\u${hex}` : `\\x${hex.toUpperCase().padStart(2, '0')}`);
}

/** The string as a literal, in the quotes that need no escapes if possible. */
export function quote(text) {
  if (PLAIN.test(text)) return `'${text}'`;
  if (!text.includes("'")) return `'${text.replace(ESCAPED, escapeCharacter)}'`;
  const mark = !text.includes('"') ? '"' : !text.includes('`') && !text.includes('${') ? '`' : "'";
  return mark + text.replace(mark === "'" ? ESCAPED : ESCAPED_IN_QUOTES, escapeCharacter) + mark;
}

/** Escapes the characters of a name that stands in brackets instead of quotes. */
export const escapeName = (text) => text.replace(ESCAPED, escapeCharacter);

export const removeColors = (text) => text.replace(COLORS, '');

/** Columns that a text occupies in a terminal. */
export function textWidth(text, hasColors = false) {
  const plain = hasColors ? removeColors(text) : text;
  if (/^[\x20-\x7e]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const char of plain.normalize('NFC')) width += WIDE.test(char) ? 2 : NO_WIDTH.test(char) ? 0 : 1;
  return width;
}

export const moreItems = (count, noun = 'item') => `... ${count} more ${noun}${count > 1 ? 's' : ''}`;

/** The color of a text of a type, if colors are enabled. */
const COLOR_OF = {
  special: [36, 39],
  number: [33, 39],
  bigint: [33, 39],
  boolean: [33, 39],
  undefined: [90, 39],
  null: [1, 22],
  string: [32, 39],
  symbol: [32, 39],
  date: [35, 39],
  regexp: [31, 39],
  module: [4, 24],
};
export function style(ctx, text, type) {
  const color = ctx.colors ? COLOR_OF[type] : undefined;
  return color === undefined ? text : `\x1b[${color[0]}m${text}\x1b[${color[1]}m`;
}

export function formatNumber(ctx, value) {
  return style(ctx, Object.is(value, -0) ? '-0' : separated(ctx, `${value}`), 'number');
}

/** Inserts underscores between groups of three digits if `numericSeparator` is set. */
function separated(ctx, text) {
  if (!ctx.numericSeparator || /[^\d.-]/.test(text)) return text;
  const [whole, fraction] = text.split('.');
  const grouped = whole.replace(/\d(?=(?:\d{3})+$)/g, '$&_');
  return fraction === undefined ? grouped : `${grouped}.${fraction.replace(/\d{3}(?=\d)/g, '$&_')}`;
}

export function formatPrimitive(ctx, value) {
  if (typeof value === 'string') return formatString(ctx, value);
  if (typeof value === 'number') return formatNumber(ctx, value);
  if (typeof value === 'bigint') return style(ctx, `${separated(ctx, `${value}`)}n`, 'bigint');
  if (typeof value === 'symbol') return style(ctx, escapeSymbol(value), 'symbol');
  return style(ctx, `${value}`, value === null ? 'null' : typeof value);
}

export const escapeSymbol = (value) => escapeName(Symbol.prototype.toString.call(value));

function formatString(ctx, value) {
  let text = value;
  let trailer = '';
  if (value.length > ctx.maxStringLength) {
    text = value.slice(0, ctx.maxStringLength);
    trailer = moreItems(value.length - ctx.maxStringLength, 'character');
  }
  if (
    ctx.compact !== true &&
    text.length > MIN_LINE_WIDTH &&
    text.length > ctx.breakLength - ctx.indentationLvl - 4 &&
    text.includes('\n')
  ) {
    const lines = text.split(/(?<=\n)/);
    return (
      lines
        .map((line) => style(ctx, quote(line), 'string'))
        .join(` +\n${' '.repeat(ctx.indentationLvl + 2)}`) + trailer
    );
  }
  return style(ctx, quote(text), 'string') + trailer;
}

/** Arranges the entries of a long array in columns. */
export function groupArrayElements(ctx, output, value) {
  const isCut = ctx.maxArrayLength < output.length;
  const count = isCut ? output.length - 1 : output.length;
  const widths = [];
  let totalLength = 0;
  let maxLength = 0;
  for (let i = 0; i < count; i++) {
    const width = textWidth(output[i], ctx.colors);
    widths.push(width);
    totalLength += width + 2;
    if (width > maxLength) maxLength = width;
  }
  const actualMax = maxLength + 2;
  if (
    !(actualMax * 3 + ctx.indentationLvl < ctx.breakLength && (totalLength / actualMax > 5 || maxLength <= 6))
  )
    return output;
  const averageBias = Math.sqrt(actualMax - totalLength / output.length);
  const biasedMax = Math.max(actualMax - 3 - averageBias, 1);
  const columns = Math.min(
    Math.round(Math.sqrt(2.5 * biasedMax * count) / biasedMax),
    Math.floor((ctx.breakLength - ctx.indentationLvl) / actualMax),
    ctx.compact * 4,
    15,
  );
  if (columns <= 1) return output;
  const columnWidths = [];
  for (let i = 0; i < columns; i++) {
    let width = 0;
    for (let j = i; j < count; j += columns) if (widths[j] > width) width = widths[j];
    columnWidths.push(width + 2);
  }
  const isNumeric =
    value !== undefined &&
    output.every((_, i) => typeof value[i] === 'number' || typeof value[i] === 'bigint');
  const lines = [];
  for (let i = 0; i < count; i += columns) {
    const end = Math.min(i + columns, count);
    let line = '';
    let j = i;
    for (; j < end - 1; j++) {
      const width = columnWidths[j - i] + output[j].length - widths[j];
      line += isNumeric ? `${output[j]}, `.padStart(width) : `${output[j]}, `.padEnd(width);
    }
    line += isNumeric
      ? output[j].padStart(columnWidths[j - i] + output[j].length - widths[j] - 2)
      : output[j];
    lines.push(line);
  }
  if (isCut) lines.push(output[count]);
  return lines;
}

function fitsInLine(ctx, output, start, base) {
  let length = output.length + start;
  if (length + output.length > ctx.breakLength) return false;
  for (const entry of output) {
    length += ctx.colors ? removeColors(entry).length : entry.length;
    if (length > ctx.breakLength) return false;
  }
  return base === '' || !base.includes('\n');
}

/** Puts the entries of an object on one line if they fit, and otherwise on one line each. */
export function joinEntries(ctx, entries, base, braces, isArray, recurseTimes, value) {
  const head = base === '' ? '' : `${base} `;
  const indentation = `\n${' '.repeat(ctx.indentationLvl)}`;
  let output = entries;
  if (ctx.compact === true) {
    if (fitsInLine(ctx, output, 0, base)) {
      return `${braces[0]}${base ? ` ${base}` : ''} ${output.join(', ')} ${braces[1]}`;
    }
    const start = base === '' && braces[0].length === 1 ? ' ' : `${base ? ` ${base}` : ''}${indentation}  `;
    return `${braces[0]}${start}${output.join(`,${indentation}  `)} ${braces[1]}`;
  }
  if (typeof ctx.compact === 'number' && ctx.compact >= 1) {
    if (isArray && output.length > 6) output = groupArrayElements(ctx, output, value);
    if (ctx.currentDepth - recurseTimes < ctx.compact && entries.length === output.length) {
      const start = output.length + ctx.indentationLvl + braces[0].length + base.length + 10;
      if (fitsInLine(ctx, output, start, base)) {
        const line = output.join(', ');
        if (!line.includes('\n')) return `${head}${braces[0]} ${line} ${braces[1]}`;
      }
    }
  }
  return `${head}${braces[0]}${indentation}  ${output.join(`,${indentation}  `)}${indentation}${braces[1]}`;
}
