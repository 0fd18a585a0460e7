/** AssertionError and the comparison of values that its message contains. */
import { defineHidden } from '../../define.js';
import { framesOf } from '../../error-stack.js';
import { inspect } from '../../inspect.js';
import { validateObject } from './errors.js';

const MESSAGES = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: 'Values have same structure but are not reference-equal:',
  notDeepEqualUnequal: 'Expected values not to be loosely deep-equal:',
};
const SHORT_LENGTH = 12;
const LINE_LENGTH = 80;
const MAX_LINES = 50;

const shown = (value) =>
  inspect(value, {
    compact: false,
    customInspect: false,
    depth: 1000,
    maxArrayLength: Number.POSITIVE_INFINITY,
    showHidden: false,
    showProxy: false,
    sorted: true,
    getters: true,
  });

const isObject = (value) => typeof value === 'object' && value !== null;

/** At most 47 lines. */
function shorten(lines) {
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, 46), '...'];
}

/** Lines of a comparison, collapsing identical lines between differences. */
class Difference {
  text = '';
  cached = '';
  printed = 0;
  identical = 0;
  isSkipped = false;

  #add(line) {
    this.text += `\n  ${line}`;
    this.printed++;
  }

  /** Prints up to three of the identical lines before line `i`. */
  flush(lines, i) {
    if (this.identical > 2) {
      if (this.identical > 3) {
        if (this.identical === 5) this.#add(lines[i - 3]);
        else if (this.identical > 5) {
          this.text += '\n...';
          this.isSkipped = true;
        }
        this.#add(lines[i - 2]);
      }
      this.#add(lines[i - 1]);
    }
    this.identical = 0;
  }

  same(line) {
    this.text += this.cached;
    this.cached = '';
    this.identical++;
    if (this.identical <= 2) this.#add(line);
  }
}

function differs(actual, expected) {
  if (actual === expected || (actual.endsWith(',') && actual.slice(0, -1) === expected)) return false;
  return !(expected.endsWith(',') && expected.slice(0, -1) === actual);
}

function compare(actual, expected, operatorName, message) {
  const bothObjects =
    (isObject(actual) && isObject(expected)) ||
    (typeof actual === 'function' && typeof expected === 'function');
  const operator = operatorName === 'strictEqual' && bothObjects ? 'strictEqualObject' : operatorName;
  const intro = message ?? MESSAGES[operator];
  const whole = shown(actual);
  const left = whole.split('\n');
  const right = shown(expected).split('\n');
  let i = 0;
  let indicator = '';
  if (left.length === 1 && right.length === 1 && left[0] !== right[0]) {
    const length = left[0].length + right[0].length;
    if (length <= SHORT_LENGTH) {
      if (!isObject(actual) && !isObject(expected) && (actual !== 0 || expected !== 0))
        return `${intro}\n\n${left[0]} !== ${right[0]}\n`;
    } else if (operator !== 'strictEqualObject' && length < LINE_LENGTH) {
      while (left[0][i] === right[0][i]) i++;
      if (i > 2) {
        indicator = `\n  ${' '.repeat(i)}^`;
        i = 0;
      }
    }
  }
  let end = '';
  let other = '';
  while (left.length > 0 && right.length > 0 && left.at(-1) === right.at(-1)) {
    const line = left.pop();
    right.pop();
    if (i++ < 3) end = `\n  ${line}${end}`;
    else other = line;
  }
  const count = Math.max(left.length, right.length);
  if (count === 0) return `${message ?? MESSAGES.notIdentical}\n\n${shorten(whole.split('\n')).join('\n')}\n`;
  const difference = new Difference();
  if (i >= 5) {
    end = `\n...${end}`;
    difference.isSkipped = true;
  }
  if (other !== '') end = `\n  ${other}${end}`;
  const headline = `${intro}\n+ actual - expected`;
  const isLeftLonger = left.length >= count;
  const longer = isLeftLonger ? left : right;
  const shorter = isLeftLonger ? right : left;
  for (let at = 0; at < count; at++) {
    if (at >= shorter.length) {
      difference.flush(longer, at);
      if (isLeftLonger) difference.text += `\n+ ${longer[at]}`;
      else difference.cached += `\n- ${longer[at]}`;
      difference.printed++;
    } else if (differs(left[at], right[at])) {
      difference.flush(left, at);
      difference.text += `\n+ ${left[at]}`;
      difference.cached += `\n- ${right[at]}`;
      difference.printed += 2;
    } else difference.same(right[at].endsWith(',') && !left[at].endsWith(',') ? `${left[at]},` : left[at]);
    if (difference.printed > MAX_LINES && at < count - 2)
      return `${headline} ... Lines skipped\n${difference.text}\n...${difference.cached}\n...`;
  }
  return `${headline}${difference.isSkipped ? ' ... Lines skipped' : ''}\n${difference.text}${difference.cached}${end}${indicator}`;
}

function copyError(error) {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(error)), error);
  Object.defineProperty(copy, 'message', { value: error.message });
  return copy;
}

const cut = (text, length) => (text.length > length ? `${text.slice(0, length - 3)}...` : text);

function messageOf(actualValue, expectedValue, operator, message) {
  let [actual, expected] = [actualValue, expectedValue];
  if (actual instanceof Error && expected instanceof Error)
    [actual, expected] = [copyError(actual), copyError(expected)];
  if (operator === 'deepStrictEqual' || operator === 'strictEqual')
    return compare(actual, expected, operator, message);
  if (operator === 'notDeepStrictEqual' || operator === 'notStrictEqual') {
    const isReference = operator === 'notStrictEqual' && (isObject(actual) || typeof actual === 'function');
    const base = MESSAGES[isReference ? 'notStrictEqualObject' : operator];
    const lines = shorten(shown(actual).split('\n'));
    if (lines.length === 1) return `${base}${lines[0].length > 5 ? '\n\n' : ' '}${lines[0]}`;
    return `${base}\n\n${lines.join('\n')}\n`;
  }
  const [left, right] = [shown(actual), shown(expected)];
  if (operator === 'notDeepEqual' && left === right) return cut(`${MESSAGES.notDeepEqual}\n\n${left}`, 1024);
  const [a, b] = [cut(left, 512), cut(right, 512)];
  if (operator === 'deepEqual') return `${MESSAGES.deepEqual}\n\n${a}\n\nshould loosely deep-equal\n\n${b}`;
  if (operator === 'notDeepEqual')
    return `${MESSAGES.notDeepEqualUnequal}\n\n${a}\n\nshould not loosely deep-equal\n\n${b}`;
  return `${a} ${operator} ${b}`;
}

export class AssertionError extends Error {
  constructor(options) {
    validateObject(options, 'options');
    const { message, operator, stackStartFn, actual, expected } = options;
    const isGiven = message !== undefined && message !== null;
    const isCompared = operator === 'deepStrictEqual' || operator === 'strictEqual';
    super(
      isGiven && !isCompared
        ? String(message)
        : messageOf(actual, expected, operator, isGiven ? String(message) : undefined),
    );
    this.generatedMessage = !message;
    defineHidden(this, { name: 'AssertionError' });
    this.code = 'ERR_ASSERTION';
    this.actual = actual;
    this.expected = expected;
    this.operator = operator;
    Error.captureStackTrace?.(this, stackStartFn ?? AssertionError);
    this.stack = `AssertionError [ERR_ASSERTION]: ${this.message}\n${framesOf(this)}`.trimEnd();
  }

  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }

  [inspect.custom](_depth, options) {
    return inspect(this, { ...options, customInspect: false, depth: 0 });
  }
}
