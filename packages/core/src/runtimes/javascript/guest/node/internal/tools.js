/**
 * The tools of the caller: the global `tools` and the module of the same name. A call is sent to the host immediately and returns a
 * promise.
 */
import { framesOf } from '../../error-stack.js';
import { host } from '../../host-calls.js';
import { programSource } from '../../program-events.js';
import { ENOSYS, forgetCalls, sendCall } from './async-calls.js';

const { parse, stringify } = JSON;
const { defineProperty } = Object;
const MAX_LINE = 500;
const MAX_NAME = 190;
/** The number of keys of a path in an error. */
const MAX_PATH = 64;

export class ToolError extends Error {
  constructor(message, code = 'failed', tool = undefined) {
    super(message);
    this.code = code;
    this.tool = tool;
  }
}
for (const [key, value] of Object.entries({ name: 'ToolError' }))
  defineProperty(ToolError.prototype, key, { value, writable: true, configurable: true });

/** The calls of errors that this module created. The program can create such errors too. */
const failedCalls = new WeakMap();

function toolError(message, code, tool) {
  const error = new ToolError(message, code, tool);
  failedCalls.set(error, { raised: false, code, tool: stringOf(tool) });
  return error;
}

const stringOf = (value) => String(value).slice(0, MAX_NAME);

/** What the report says about an error of a call; undefined for other errors. */
export const failedCallOf = (error) => failedCalls.get(error);

// ---- arguments ----

/** Why JSON would change a value without an error; undefined if it would not. */
function whyLossy(value) {
  if (typeof value === 'number' && !Number.isFinite(value)) return String(value);
  if (typeof value === 'bigint') return 'a BigInt';
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'symbol') return 'a symbol';
  if (value instanceof Map) return 'a Map';
  if (value instanceof Set) return 'a Set';
  return undefined;
}

/** Returns a function for `stringify` that rejects values which JSON would change without an error. */
function lossyRejecter(tool) {
  /** The object that contains an object, and its key there. */
  const places = new Map();
  return function reject(key, value) {
    const what = whyLossy(value);
    if (what === undefined) {
      if (typeof value === 'object' && value !== null) places.set(value, [this, key]);
      return value;
    }
    const path = [];
    for (let place = [this, key]; place !== undefined && path.length < MAX_PATH; place = places.get(place[0]))
      if (place[1] !== '') path.unshift(String(place[1]).slice(0, 50));
    const where =
      path.length === 0 ? 'the arguments' : `the argument ${stringify(path.join('.').slice(0, 200))}`;
    throw toolError(
      `${where}: ${what} is not JSON data; pass a string, an array or a plain object`,
      'invalid_arguments',
      tool,
    );
  };
}

function encodeArguments(tool, args) {
  const [first = {}] = args;
  const isObject =
    typeof first === 'object' && first !== null && !Array.isArray(first) && !(first instanceof Promise);
  if (args.length > 1 || !isObject)
    throw toolError(
      `${tool} takes one object with its arguments, as in tools.${tool}({ name: value })`,
      'invalid_arguments',
      tool,
    );
  try {
    return stringify(first, lossyRejecter(tool));
  } catch (error) {
    if (error instanceof ToolError) throw error;
    throw toolError(`the arguments are not JSON data: ${error?.message}`, 'invalid_arguments', tool);
  }
}

// ---- calls ----

/** The error of a call that the host has not accepted. */
function refusedCall(tool, errno) {
  return errno === ENOSYS
    ? toolError('no tools are available in this call of the session', 'unknown_tool', tool)
    : toolError('the host rejected the call: its name or its arguments are too long', 'limit', tool);
}

/** The error of a call, with the place of the call. */
function failedCall(tool, made, message, code) {
  const error = toolError(message, code, tool);
  error.stack = `ToolError: ${message}\n${framesOf(made)}`;
  return error;
}

function startCall(tool, args) {
  const made = new Error();
  const promise = new Promise((resolve, reject) => {
    sendCall(tool, encodeArguments(tool, args), ({ value, code, message, refusal }) => {
      if (refusal !== undefined) reject(refusedCall(tool, refusal));
      else if (code === undefined) resolve(value);
      else reject(failedCall(tool, made, message, code));
    });
  });
  return guardResult(promise, tool, made);
}

/** The index after the parenthesis that closes the one at `start`, or -1. */
function endOfCall(text, start) {
  let depth = 0;
  let quote = '';
  for (let i = start; i < text.length; i++) {
    const character = text[i];
    if (quote !== '') {
      if (character === '\\') i++;
      else if (character === quote) quote = '';
    } else if (character === '"' || character === "'" || character === '`') quote = character;
    else if (character === '(') depth++;
    else if (character === ')' && --depth === 0) return i + 1;
  }
  return -1;
}

/** The line of a call with the missing `await`. */
function correctedLine(tool, { stack }) {
  const { file, code } = programSource;
  const frame = String(stack)
    .split('\n')
    .find((line) => line.includes(`${file}:`));
  const number = Number(/:(\d+)(?::\d+)?\)?$/.exec(frame ?? '')?.[1] ?? 0);
  const line = (number > 0 ? code.split('\n', number)[number - 1] : '')?.trim() ?? '';
  const last = tool.slice(tool.lastIndexOf('.') + 1);
  const start = Math.max(line.indexOf('tools'), 0) || line.indexOf(`${last}(`);
  const from = line.startsWith('tools') ? 0 : start;
  const open = from < 0 ? -1 : line.indexOf('(', from);
  const end = open < 0 || line.length > MAX_LINE ? -1 : endOfCall(line, open);
  if (end < 0) return `await tools.${tool}({ … })`;
  const after = line.slice(end);
  const made = `await ${line.slice(from, end)}`;
  return line.slice(0, from) + (/^\s*(?:\?\.|[.[(])/.test(after) ? `(${made})` : made) + after;
}

/** A promise that throws when a program uses it as the result. */
function guardResult(promise, tool, made) {
  const misused = () => {
    promise.catch(() => {});
    throw new TypeError(`tools.${tool}(…) is a promise, not its result. Write: ${correctedLine(tool, made)}`);
  };
  return new Proxy(promise, {
    get(target, key) {
      if (key === 'then' || key === 'catch' || key === 'finally') return target[key].bind(target);
      if (key === 'constructor') return Promise;
      if (key === Symbol.toPrimitive) return misused;
      return typeof key === 'symbol' ? target[key] : misused();
    },
    set: misused,
    has: (target, key) => (typeof key === 'symbol' ? key in target : misused()),
    ownKeys: misused,
  });
}

// ---- names ----

const isReserved = (key) => typeof key === 'symbol' || key === 'then' || key === 'toJSON';

/** A name that no tool has. Calling it asks the host, which suggests other names. */
function unknownTool(path) {
  const call = (...args) => startCall(path, args);
  return new Proxy(call, {
    get: (target, key) => (isReserved(key) || key in target ? target[key] : unknownTool(`${path}.${key}`)),
  });
}

function withUnknown(space, prefix) {
  return new Proxy(space, {
    get: (target, key) => {
      if (isReserved(key) || key in target) return target[key];
      return unknownTool(prefix === '' ? key : `${prefix}.${key}`);
    },
  });
}

function makeTool(name) {
  const tool = (...args) => startCall(name, args);
  defineProperty(tool, 'name', { value: name });
  return tool;
}

const call = (name, args) => startCall(String(name), args === undefined ? [] : [args]);

function searchTools(query = '', limit = 10) {
  return parse(host.toolSearch(String(query), Number(limit)));
}

function describeTool(name) {
  const text = typeof name === 'function' ? name.name : String(name);
  const found = parse(host.toolDescribe(text));
  if (found === null)
    throw toolError(
      `there is no tool ${stringify(text.slice(0, 200))}; search_tools(query) lists the available tools`,
      'unknown_tool',
      text,
    );
  return found;
}

/** Builds the object `tools` from `[name, path]` of every tool. */
function buildTools(names) {
  const spaces = { __proto__: null };
  const byName = {};
  const root = Object.create(null);
  for (const [name, path] of names) {
    const tool = makeTool(name);
    let target = root;
    path.slice(0, -1).forEach((part, i) => {
      const key = path.slice(0, i + 1).join('.');
      spaces[key] ??= Object.create(null);
      if (!(part in target)) target[part] = withUnknown(spaces[key], key);
      target = spaces[key];
    });
    const last = path.at(-1);
    if (!(last in target)) target[last] = tool;
    byName[name] = tool;
    // The original name of a tool in its namespace.
    const own = name.slice(name.lastIndexOf('.') + 1);
    if (!(own in target)) defineProperty(target, own, { value: tool, enumerable: false });
  }
  for (const [name, tool] of Object.entries(byName))
    if (!(name in root)) defineProperty(root, name, { value: tool, enumerable: false });
  return root;
}

let globals = {};
let exported = {};
let generation = 0;

/** Installs the tools of a program. */
export function begin(text) {
  forgetCalls();
  generation++;
  const functions = { call, search_tools: searchTools, describe_tool: describeTool, ToolError };
  const root = Object.assign(buildTools(parse(text)), functions);
  const tools = withUnknown(root, '');
  exported = { ...root };
  const { call: _, ...names } = functions;
  globals = { tools, ...names };
  for (const [name, value] of Object.entries(globals))
    defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
}

/** The global names of the tools. */
export const installedNames = () => Object.keys(globals);
/** The name of the module `tools` of this program. */
export const moduleName = () => `sandbox:tools-${generation}`;
/** What `require` returns. */
export const toolsObject = () => globals.tools;
/** The source of that module. */
export function moduleSource() {
  const names = Object.keys(exported);
  const picked = names.map((name, i) => `const _${i} = whole[${stringify(name)}];`).join('');
  const list = [...names.map((name, i) => `_${i} as ${stringify(name)}`), 'whole as default'];
  return `import { nodeModule } from 'sandbox:modules'; const whole = nodeModule('node:internal/tools').toolsObject();${picked}export { ${list.join(', ')} };`;
}
