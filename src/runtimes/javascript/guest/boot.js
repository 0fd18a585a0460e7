/**
 * The guest side of the JavaScript runtime: runs once when the boot image is made, sets up the globals, and leaves
 * eight functions for the host. `start` begins a program, `turn` gives the next timer's function, `provide` loads a
 * package for an import and `preload` one for an image, `fail`, `limit` and `rejected` are told what went wrong, `report`
 * says how it ended. The host runs promise jobs in between.
 */

import { console } from './console.js';
import { crypto } from './crypto.js';
import { shorthand } from './file-helpers.js';
import { door } from './host-calls.js';
import { inspect, typeName } from './inspect.js';
import { os } from './os.js';
import { describeError, describeResult, programFile } from './program-report.js';
import { environment, std } from './std.js';
import { structuredClone } from './structured-clone.js';
import { TextDecoder, TextEncoder } from './text-encoding.js';
import * as timers from './timers.js';
import { URL, URLSearchParams } from './url.js';
import * as packages from './vendored-packages.js';

const { parse, stringify } = JSON;
const SCRIPT = 8 | 64 | 128;
const MODULE = 1 | 64;
/** Node's exit code for a program whose top-level await never ends. */
const UNSETTLED = 13;

const outcome = { exitCode: 0, isSettled: true, result: {}, error: undefined };
const rejections = new Map();

function define(globals) {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
}

/** The first failure is the program's end; later ones are echoes of it. */
export function fail(error, prefix = 'Uncaught', line = undefined) {
  if (outcome.error !== undefined) return;
  const { text, facts } = describeError(error, line);
  outcome.exitCode = 1;
  outcome.error = facts;
  door.writeText(2, `${prefix} ${text}\n`);
}

/** A limit ended the program, with an error if that was inside its code; whatever failed on the way is not the reason. */
export function limit(error, name, message) {
  const end = error instanceof Error ? error : Object.assign(new Error(), { stack: '' });
  for (const [key, value] of [
    ['name', name],
    ['message', message],
  ]) {
    Object.defineProperty(end, key, { value, enumerable: false });
  }
  outcome.error = undefined;
  fail(end);
}

export function rejected(promise, reason, isHandled) {
  if (isHandled) rejections.delete(promise);
  else rejections.set(promise, reason);
}

/** Loads a package for an import. One that fails is the importer's failure and no other. */
export function provide(name) {
  try {
    packages.provide(name);
  } catch (error) {
    for (const [promise, reason] of rejections) if (reason === error) rejections.delete(promise);
    throw error;
  }
}

export const preload = packages.requireVendor;

/** What programs find beyond the language and its libraries, unless they are to run exactly as written. */
const setup = { ...shorthand, requireVendor: packages.requireVendor, _state: {} };
let isSetUp = false;

/** Puts the setup there or takes it away; what a program has put in its place stays. */
function setUp(wanted) {
  if (wanted === isSetUp) return;
  isSetUp = wanted;
  for (const [name, value] of Object.entries(setup)) {
    if (wanted && !Object.hasOwn(globalThis, name)) define({ [name]: value });
    if (!wanted && globalThis[name] === value) delete globalThis[name];
  }
}

/** Import bindings as accessors of the global object: live, read-only, and open to the next program's imports. */
function bind(namespace, specifier, names) {
  for (const [name, local] of names) {
    if (name !== '*' && !(name in namespace)) {
      throw new SyntaxError(`Could not find export '${name}' in module '${specifier}'`);
    }
    const get = name === '*' ? () => namespace : () => namespace[name];
    Object.defineProperty(globalThis, local, { get, configurable: true, enumerable: false });
  }
}

async function importAll(imports) {
  for (const { specifier, names, line } of imports) {
    try {
      bind(await import(specifier), specifier, names);
    } catch (error) {
      fail(error, 'Uncaught', line);
      return false;
    }
  }
  return true;
}

async function execute({ code, file, script, imports, trailing }) {
  if (script === undefined || door.compiles(code, file, SCRIPT) === 1) {
    const { value } = await door.evaluate(code, file, SCRIPT);
    return trailing ? value : undefined;
  }
  if (door.compiles(script, file, SCRIPT) !== 1) {
    await door.evaluate(code, file, MODULE);
    return undefined;
  }
  define({ import_meta: { url: `file://${file}`, main: true } });
  if (!(await importAll(imports))) return undefined;
  const { value } = await door.evaluate(script, file, SCRIPT);
  return trailing ? value : undefined;
}

export async function start(text) {
  const request = parse(text);
  Object.assign(outcome, { exitCode: 0, isSettled: false, result: {}, error: undefined });
  rejections.clear();
  setUp(request.inject_setup);
  packages.beginProgram();
  for (const [name, value] of Object.entries(request.env)) environment.set(name, value);
  programFile(request.file);
  timers.startClock();
  try {
    let value = await execute(request);
    outcome.isSettled = true;
    // The usual last line of a script is a call of its async main function: what that resolves to is meant.
    if (value instanceof Promise) value = await value;
    outcome.result = describeResult(value);
  } catch (error) {
    outcome.isSettled = true;
    fail(error);
  }
}

export function turn() {
  for (const reason of rejections.values()) fail(reason, 'Uncaught (in promise)');
  if (outcome.error !== undefined) return undefined;
  const timer = timers.nextTimer();
  if (timer === undefined && !outcome.isSettled) {
    fail(new Error('the program waits for a promise that nothing will ever settle'), 'Uncaught');
    outcome.exitCode = UNSETTLED;
  }
  return timer;
}

export function report() {
  const { exitCode, result, error } = outcome;
  return stringify({ __proto__: null, exit_code: exitCode, ...(error === undefined ? result : { error }) });
}

define({
  console,
  crypto,
  structuredClone,
  URL,
  URLSearchParams,
  TextEncoder,
  TextDecoder,
  setTimeout: timers.setTimeout,
  setInterval: timers.setInterval,
  setImmediate: timers.setImmediate,
  clearTimeout: timers.clearTimeout,
  clearInterval: timers.clearTimeout,
  clearImmediate: timers.clearTimeout,
  std,
  os,
  print: (...args) => console.log(...args),
  scriptArgs: ['/app/main.js'],
});

setUp(true);

/** Globals of the runtime itself, which are no variables of the program. */
const ownGlobals = new Set(Object.getOwnPropertyNames(globalThis));
const VALUE_CHARACTERS = 100;

/** Whether a program has put something into the object that is there for it. */
function isStateUsed() {
  try {
    return Object.keys(globalThis._state ?? {}).length > 0;
  } catch {
    // It has put something in its place that does not tell.
    return true;
  }
}

/** The program's variables with type and short form: those given by name, and what it put on the global object. */
function variables(declared, most) {
  const added = Object.getOwnPropertyNames(globalThis).filter((name) => !ownGlobals.has(name));
  if (isStateUsed()) added.push('_state');
  const all = new Map([...declared, ...added.map((name) => [name, () => globalThis[name]])]);
  const found = [];
  for (const [name, read] of all) {
    if (found.length >= most) break;
    try {
      const value = read();
      found.push({ name, type: typeName(value), repr: inspect(value).slice(0, VALUE_CHARACTERS) });
    } catch {
      // Declared in a program that failed before it came to it, or not at all.
    }
  }
  return found;
}
Object.defineProperty(globalThis, Symbol.for('sandbox.variables'), { value: variables });

/** Registers a module under its name, so that importing it never reaches the loader. */
function registerModule(name, value) {
  const key = `sandbox:${name}`;
  globalThis[key] = value;
  const names = Object.keys(value);
  const locals = names.map((_, i) => `_${i}`);
  const exported = names.map((export_, i) => `_${i} as ${export_}`);
  const source = `const from = globalThis['${key}'];
const [${locals}] = [${names.map((export_) => `from['${export_}']`)}];
export { ${exported}, from as default };`;
  door.evaluate(source, name, MODULE);
  delete globalThis[key];
}

registerModule('std', std);
registerModule('os', os);
registerModule('sandbox-utils', shorthand);
packages.addPackage('sandbox-utils', shorthand);
