/**
 * Describes the outcome of a program for the host: its result, as data if possible, or its error. The values are under the
 * control of the program, so every step is bounded and guarded.
 */
import { framesOf, headline } from './error-stack.js';
import { safeInspect as inspect, typeName } from './inspect.js';
import { failedParse } from './json-parse.js';
import { isLoaded, load } from './node-modules.js';

/** The file name of the current program in stack traces. */
let programFile = '';
export function setProgramFile(file) {
  programFile = file;
}
/** Limits for values and messages. The host enforces its own; these avoid unnecessary work. */
const TEXT_LIMIT = 20_000;
const NAME_LIMIT = 190;
const RESULT_ITEMS = 2_000;
const RESULT_CHARACTERS = 50_000;
const RESULT_DEPTH = 20;
/** Stack frames of the runtime. */
const RUNTIME_FRAME = /^ *at .*\((?:sandbox:[\w/-]+|native)[:)].*$/;

const { setPrototypeOf } = Object;
const { InternalError } = globalThis;
/** Removes the prototype, to which a program could have added a `toJSON` method. */
const bare = (data) => setPrototypeOf(data, null);

const truncate = (text, limit = TEXT_LIMIT) => (text.length <= limit ? text : `${text.slice(0, limit)}…`);

class NotJsonData extends Error {}

/** Copies JSON data, or throws NotJsonData. `room` holds the remaining number of items and characters. */
function toJsonData(value, depth, room) {
  if (--room.items < 0 || room.characters < 0 || depth > RESULT_DEPTH) throw new NotJsonData();
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string' && value.length <= TEXT_LIMIT) {
    room.characters -= value.length;
    return value;
  }
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value !== 'object') throw new NotJsonData();
  if (Array.isArray(value)) {
    if (value.length > room.items) throw new NotJsonData();
    return bare(Array.from(value, (item) => toJsonData(item, depth + 1, room)));
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new NotJsonData();
  const copy = Object.create(null);
  for (const key of Object.keys(value)) {
    room.characters -= key.length;
    if (value[key] !== undefined) copy[key] = toJsonData(value[key], depth + 1, room);
  }
  return copy;
}

export function describeResult(value) {
  if (value === undefined) return {};
  let shown;
  try {
    const room = { items: RESULT_ITEMS, characters: RESULT_CHARACTERS };
    shown = toJsonData(value, 0, room);
    if (room.characters < 0) throw new NotJsonData();
  } catch {
    shown = truncate(inspect(value));
  }
  return { result: shown, result_type: truncate(typeName(value), NAME_LIMIT) };
}

/** Removes the frames of the runtime from a stack trace. */
function withoutRuntimeFrames(text) {
  const kept = [];
  for (const line of text.split('\n')) {
    if (!RUNTIME_FRAME.test(line)) kept.push(line);
    // The list of properties starts after the last frame.
    else if (line.endsWith(' {')) kept.push(`${kept.pop() ?? ''} {`);
  }
  return kept.join('\n');
}

/** Prototypes of the errors that the engine throws. */
const ENGINE_ERRORS = new Set(
  ['TypeError', 'RangeError', 'ReferenceError', 'SyntaxError', 'URIError', 'EvalError', 'InternalError'].map(
    (name) => globalThis[name]?.prototype,
  ),
);

/** Finds the program's line in a stack trace, skipping the constructor of the error's class. */
function locate(stack, className) {
  const pattern = new RegExp(`${programFile.replaceAll('.', '\\.')}:(\\d+)(?::(\\d+))?`);
  for (const frame of stack.split('\n')) {
    const location = pattern.exec(frame);
    if (location !== null && !frame.startsWith(`    at ${className} (`)) return location;
  }
  return pattern.exec(stack);
}

/** Whether the program threw the error, or otherwise the name of the function of the engine or runtime that did. */
function originOf(error, rawStack) {
  const top = rawStack.split('\n', 1)[0];
  if (RUNTIME_FRAME.test(top)) {
    const thrower = /^ *at (.*) \(/.exec(top)?.[1];
    return { raised: false, ...(thrower && { thrower: truncate(thrower, NAME_LIMIT) }) };
  }
  return { raised: !ENGINE_ERRORS.has(Object.getPrototypeOf(error)) };
}

const INNER_ERRORS = 3;

/** The first errors of an AggregateError. */
function describeGroup({ errors }) {
  if (!Array.isArray(errors)) return undefined;
  const available = errors
    .slice(0, INNER_ERRORS)
    .map((inner) => truncate(inner instanceof Error ? headline(inner) : inspect(inner), NAME_LIMIT));
  return { available, length: errors.length };
}

function describe(error, line) {
  if (!(error instanceof Error)) {
    const message = typeof error === 'string' ? error : inspect(error);
    const type = truncate(typeName(error), NAME_LIMIT);
    return { text: message, details: { type, message: truncate(message), line, raised: true } };
  }
  // An error without frames is printed in brackets.
  const text = withoutRuntimeFrames(inspect(error)).replace(/^\[([^\n]*)\](?= \{|$)/, '$1');
  const rawStack = framesOf(error);
  const stack = withoutRuntimeFrames(rawStack).trimEnd();
  const className = typeName(error);
  const location = locate(stack, className);
  const name = String(error.name);
  const details = {
    type: truncate(name === 'Error' ? className : name, NAME_LIMIT),
    message: truncate(String(error.message)),
    line: location ? Number(location[1]) : line,
    column: location?.[2] ? Number(location[2]) : undefined,
    stack: truncate(stack),
    ...originOf(error, rawStack),
    ...describeGroup(error),
  };
  if (error === failedParse.error) {
    const { near, position, length } = failedParse;
    Object.assign(details, { near, position, length });
  }
  // Node.js negates the number.
  if (Number.isInteger(error.errno)) details.errno = Math.abs(error.errno);
  if (typeof error.path === 'string') details.path = truncate(error.path);
  if (isLoaded('node:internal/tools'))
    Object.assign(details, load('node:internal/tools').failedCallOf(error));
  return { text, details, place: placeOf(location) };
}

/** Where the error was thrown. The host adds the variables. */
function placeOf(location) {
  if (location === null) return undefined;
  const name = /^ *at (.*) \(/.exec(location.input)?.[1] ?? '<anonymous>';
  return bare({ file: programFile, line: Number(location[1]), function: truncate(name, NAME_LIMIT) });
}

/** The text for standard error, and the details and the place for the host. `line` is used if the stack trace contains none. */
export function describeError(error, line = null) {
  try {
    const { text, details, place } = describe(error, line);
    return { text: truncate(text), details: bare(details), place };
  } catch {
    // Reading an InternalError fails only if the guest is out of memory.
    if (error instanceof InternalError) {
      return {
        text: 'InternalError: out of memory',
        details: { type: 'InternalError', message: 'out of memory', line },
      };
    }
    return { text: 'an error that cannot be described', details: { type: 'Error', message: '', line } };
  }
}
