/** Patterns in the URLs of curl: sets such as {a,b} and ranges such as [1-3], [001-100:10] and [a-z]. */
import { CurlError } from './curl-options.js';

const MAX_PATTERNS = 100;

function malformed(text, problem, at) {
  const message = `${problem} in URL position ${at + 1}:\n${text}\n${' '.repeat(at)}^`;
  return new CurlError(3, message);
}

/** Reads a set from its brace: `[values, end]`. */
function readSet(text, start) {
  const values = [''];
  for (let at = start + 1; at < text.length; at++) {
    let character = text[at];
    if (character === '}') {
      if (at === start + 1) throw malformed(text, 'empty string within braces', at);
      return [values, at + 1];
    }
    if (character === '{' || character === '[') throw malformed(text, 'nested brace', at);
    if (character === ']') throw malformed(text, 'unexpected close bracket', at);
    if (character === ',') values.push('');
    else {
      if (character === '\\' && at + 1 < text.length) character = text[++at];
      values[values.length - 1] += character;
    }
  }
  throw malformed(text, 'unmatched brace', start);
}

function* steps(first, last, step, show) {
  for (let value = first; value <= last; value += step) yield show(value);
}

/** The values of a range, each time they are iterated; undefined if its bounds do not fit. */
function rangeOf([first, last, step], show) {
  const isValid =
    step >= 1 && (first === last ? step === 1 : first < last && step <= last - first) && last <= 2 ** 53;
  return isValid ? { [Symbol.iterator]: () => steps(first, last, step, show) } : undefined;
}

/** Reads a range from its bracket: `[values, end]`. */
function readRange(text, start) {
  const rest = text.slice(start + 1);
  if (!/^[a-z\d]/i.test(rest)) throw malformed(text, 'bad range specification', start + 1);
  const letters = /^([a-z])-(.)(?::(\d+))?\]/i.exec(rest);
  const numbers = /^(\d+)-[ \t]*(\d+)(?::(\d+))?\]/.exec(rest);
  const [whole, first, last, step = '1'] = letters ?? numbers ?? [''];
  const end = start + 1 + whole.length;
  let values;
  if (letters !== null) {
    const bounds = [first.charCodeAt(0), last.charCodeAt(0), Number(step)];
    if (bounds[1] - bounds[0] <= 25) values = rangeOf(bounds, (code) => String.fromCharCode(code));
  } else if (numbers !== null) {
    const width = first.startsWith('0') ? first.length : 0;
    values = rangeOf([first, last, step].map(Number), (number) => String(number).padStart(width, '0'));
  }
  if (values !== undefined) return [values, end];
  const begun = /^\d+-[ \t]*(?:\d+:)?/.exec(rest)?.[0].length ?? 0;
  throw malformed(text, 'bad range', whole === '' ? start + 1 + begun : end);
}

/** A bracket that begins no range: an address, or nothing. */
function literalBracket(text, at) {
  const end = text.indexOf(']', at) + 1;
  const inside = text.slice(at, end);
  return inside === '[]' || (inside.includes(':') && URL.canParse(`http://${inside}/`)) ? inside : '';
}

/** The parts of a URL: texts, and the values of patterns. */
function readParts(text) {
  const parts = [''];
  for (let at = 0; at < text.length; ) {
    const literal = text[at] === '[' ? literalBracket(text, at) : '';
    if (literal === '' && (text[at] === '{' || text[at] === '[')) {
      const [values, end] = text[at] === '{' ? readSet(text, at) : readRange(text, at);
      if (parts.push(values, '') > 2 * MAX_PATTERNS) throw malformed(text, 'too many globs', end);
      at = end;
      continue;
    }
    if (text[at] === '}' || text[at] === ']') throw malformed(text, 'unmatched close brace/bracket', at);
    const isEscaped = text[at] === '\\' && /[{}[\]]/.test(text[at + 1] ?? '');
    const added = literal || text[at + Number(isEscaped)];
    parts[parts.length - 1] += added;
    at += added.length + Number(isEscaped);
  }
  return parts;
}

function* combine(parts, index, url, values) {
  if (index === parts.length) yield { url, values };
  else
    for (const value of parts[index])
      yield* combine(parts, index + 2, url + value + parts[index + 1], [...values, value]);
}

/** The URLs of a pattern with the values that they contain. The last pattern changes first. */
export function* expand(text) {
  const parts = readParts(text);
  yield* combine(parts, 1, parts[0], []);
}

/** The name of a file, in which #1 stands for the value of the first pattern. */
export const fileName = (name, values) =>
  name.replace(/#(\d+)/g, (mark, number) => values[number - 1] ?? mark);
