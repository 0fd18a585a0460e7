/**
 * What the host is told about a program: its result as data where that is possible, and how it failed. A program can
 * put anything into the values that end up here, so every step is bounded and guarded.
 */
import { inspect, typeName } from './inspect.js';

/** Where the program that runs now pretends to lie; its frames are those of this file. */
let mainFile = '';
export function programFile(file) {
  mainFile = file;
}
/** How much of a value or a message goes to the host: the host cuts again, this saves the work. */
const TEXT_LIMIT = 20_000;
const NAME_LIMIT = 190;
const RESULT_ITEMS = 2_000;
const RESULT_CHARACTERS = 50_000;
const RESULT_DEPTH = 20;
const OWN_FRAME = /^ *at .*\((?:sandbox:boot|native)[:)].*$/;

/** Data that no longer has a prototype, on which a program could have put a `toJSON` of its own. */
const { setPrototypeOf } = Object;
const { InternalError } = globalThis;
const bare = (data) => setPrototypeOf(data, null);

const cut = (text, limit = TEXT_LIMIT) => (text.length <= limit ? text : `${text.slice(0, limit)}…`);

class NotPlain extends Error {}

/** The value as JSON data, or NotPlain. `room` counts down the items and the characters left. */
function plain(value, depth, room) {
  if (--room.items < 0 || room.characters < 0 || depth > RESULT_DEPTH) throw new NotPlain();
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string' && value.length <= TEXT_LIMIT) {
    room.characters -= value.length;
    return value;
  }
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object') throw new NotPlain();
  if (Array.isArray(value)) {
    if (value.length > room.items) throw new NotPlain();
    return bare(Array.from(value, (item) => plain(item, depth + 1, room)));
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new NotPlain();
  const copy = Object.create(null);
  for (const key of Object.keys(value)) {
    room.characters -= key.length;
    if (value[key] !== undefined) copy[key] = plain(value[key], depth + 1, room);
  }
  return copy;
}

export function describeResult(value) {
  if (value === undefined) return {};
  let shown;
  try {
    const room = { items: RESULT_ITEMS, characters: RESULT_CHARACTERS };
    shown = plain(value, 0, room);
    if (room.characters < 0) throw new NotPlain();
  } catch {
    shown = cut(inspect(value));
  }
  return { result: shown, result_type: cut(typeName(value), NAME_LIMIT) };
}

/** The frames of the program, without those of the runtime around it. */
function ownStack(text) {
  return text
    .split('\n')
    .filter((line) => !OWN_FRAME.test(line))
    .join('\n');
}

/** Classes of what the engine itself throws. */
const ENGINE_ERRORS = new Set(
  ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'URIError', 'EvalError', 'InternalError'].map(
    (name) => globalThis[name]?.prototype,
  ),
);

/** The program's place in a stack, behind the frames of the constructors of its own error classes. */
function placeIn(stack, className) {
  const pattern = new RegExp(`${mainFile}:(\\d+)(?::(\\d+))?`);
  for (const frame of stack.split('\n')) {
    const place = pattern.exec(frame);
    if (place !== null && !frame.startsWith(`    at ${className} (`)) return place;
  }
  return pattern.exec(stack);
}

/** Who threw it: a function of the engine or the runtime by its name, or the program. */
function originOf(error, rawStack) {
  const top = rawStack.split('\n', 1)[0];
  if (OWN_FRAME.test(top)) {
    const thrower = /^ *at (.*) \(/.exec(top)?.[1];
    return { raised: false, ...(thrower && { thrower: cut(thrower, NAME_LIMIT) }) };
  }
  return { raised: !ENGINE_ERRORS.has(Object.getPrototypeOf(error)) };
}

function describe(error, line) {
  if (!(error instanceof Error)) {
    const message = typeof error === 'string' ? error : inspect(error);
    const type = cut(typeName(error), NAME_LIMIT);
    return { text: message, facts: { type, message: cut(message), line, raised: true } };
  }
  const text = ownStack(inspect(error));
  const rawStack = typeof error.stack === 'string' ? error.stack : '';
  const stack = ownStack(rawStack).trimEnd();
  const className = typeName(error);
  const place = placeIn(stack, className);
  const name = String(error.name);
  const facts = {
    type: cut(name === 'Error' ? className : name, NAME_LIMIT),
    message: cut(String(error.message)),
    line: place ? Number(place[1]) : line,
    column: place?.[2] ? Number(place[2]) : undefined,
    stack: cut(stack),
    ...originOf(error, rawStack),
  };
  if (Number.isInteger(error.errno)) facts.errno = error.errno;
  if (typeof error.path === 'string') facts.path = cut(error.path);
  return { text, facts };
}

/** The line for standard error and the facts for the host. `line` is what is known when the stack does not say. */
export function describeError(error, line = null) {
  try {
    const { text, facts } = describe(error, line);
    return { text: cut(text), facts: bare(facts) };
  } catch {
    // An error of QuickJS itself, and no room to look at it: there is just one that this fits.
    if (error instanceof InternalError) {
      return {
        text: 'InternalError: out of memory',
        facts: { type: 'InternalError', message: 'out of memory', line },
      };
    }
    return { text: 'an error that cannot be shown', facts: { type: 'Error', message: '', line } };
  }
}
