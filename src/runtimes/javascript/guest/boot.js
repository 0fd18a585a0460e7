/**
 * The guest side of the JavaScript runtime. It runs once, when the boot image is built: it defines the globals and exports
 * the functions that the host calls. `start` starts a program, `nextTimer` returns the next callback, `providePackage`
 * loads a package for an import and `preload` for an image, `fail`, `failAtLimit` and `trackRejection` receive failures,
 * and `report` returns the outcome. The host runs promise jobs between these calls.
 */

import { console } from './console.js';
import { crypto } from './crypto.js';
import { fileHelpers } from './file-helpers.js';
import { host } from './host-calls.js';
import { inspect, typeName } from './inspect.js';
import { os } from './os.js';
import { describeError, describeResult, setProgramFile } from './program-report.js';
import { environment, std } from './std.js';
import { structuredClone } from './structured-clone.js';
import { TextDecoder, TextEncoder } from './text-encoding.js';
import * as timers from './timers.js';
import { URL, URLSearchParams } from './url.js';
import * as packages from './vendored-packages.js';

const { parse, stringify } = JSON;
const SCRIPT = 8 | 64 | 128;
const MODULE = 1 | 64;
/** A script without top-level await. */
const EXPRESSION = 8 | 64;
/** Exit code of Node.js for a top-level await that never settles. */
const UNSETTLED = 13;

const outcome = { exitCode: 0, isSettled: true, result: {}, error: undefined, place: undefined };
const rejections = new Map();

function define(globals) {
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  }
}

/** Ends the program. Only the first failure counts; later ones are consequences of it. */
export function fail(error, prefix = 'Uncaught', line = undefined) {
  if (outcome.error !== undefined) return;
  const { text, details, place } = describeError(error, line);
  outcome.exitCode = 1;
  outcome.error = details;
  outcome.place = place;
  host.writeText(2, `${prefix} ${text}\n`);
}

/**
 * Ends the program because of a limit. `error` is the interruption if it happened in code of the program; its stack has
 * the line. Replaces any earlier failure.
 */
export function failAtLimit(error, name, message) {
  const limitError = error instanceof Error ? error : Object.assign(new Error(), { stack: '' });
  for (const [key, value] of [
    ['name', name],
    ['message', message],
  ]) {
    Object.defineProperty(limitError, key, { value, enumerable: false });
  }
  outcome.error = undefined;
  fail(limitError);
}

export function trackRejection(promise, reason, isHandled) {
  if (isHandled) rejections.delete(promise);
  else rejections.set(promise, reason);
}

/** Loads a package for an import. If that fails, the import fails; the rejection is not reported separately. */
export function providePackage(name) {
  try {
    packages.loadOnce(name);
  } catch (error) {
    for (const [promise, reason] of rejections) if (reason === error) rejections.delete(promise);
    throw error;
  }
}

export const preload = packages.requireVendor;

/** Globals that exist unless the program runs without setup (inject_setup is false). */
const setupGlobals = { ...fileHelpers, requireVendor: packages.requireVendor, _state: {} };
let isSetupInstalled = false;

/** Adds or removes the setup globals. Values that a program assigned to these names stay. */
function installSetup(wanted) {
  if (wanted === isSetupInstalled) return;
  isSetupInstalled = wanted;
  for (const [name, value] of Object.entries(setupGlobals)) {
    if (wanted && !Object.hasOwn(globalThis, name)) define({ [name]: value });
    if (!wanted && globalThis[name] === value) delete globalThis[name];
  }
}

/** Defines import bindings as accessors of the global object: live, read-only, and visible to later programs. */
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
  if (script === undefined || host.compiles(code, file, SCRIPT) === 1) {
    const { value } = await host.evaluate(code, file, SCRIPT);
    return trailing ? value : undefined;
  }
  if (host.compiles(script, file, SCRIPT) !== 1) {
    await host.evaluate(code, file, MODULE);
    return undefined;
  }
  define({ import_meta: { url: `file://${file}`, main: true } });
  if (!(await importAll(imports))) return undefined;
  const { value } = await host.evaluate(script, file, SCRIPT);
  return trailing ? value : undefined;
}

export async function start(text) {
  const request = parse(text);
  Object.assign(outcome, { exitCode: 0, isSettled: false, result: {}, error: undefined, place: undefined });
  rejections.clear();
  installSetup(request.inject_setup);
  packages.beginProgram();
  for (const [name, value] of Object.entries(request.env)) environment.set(name, value);
  setProgramFile(request.file);
  timers.startClock();
  try {
    let value = await execute(request);
    outcome.isSettled = true;
    // Scripts often end with a call to an async main function; the result is the value of its promise.
    if (value instanceof Promise) value = await value;
    outcome.result = describeResult(value);
  } catch (error) {
    outcome.isSettled = true;
    fail(error);
  }
}

export function nextTimer() {
  for (const reason of rejections.values()) fail(reason, 'Uncaught (in promise)');
  if (outcome.error !== undefined) return undefined;
  const timer = timers.nextTimer();
  if (timer === undefined && !outcome.isSettled) {
    fail(new Error('the program awaits a promise that can never settle'), 'Uncaught');
    outcome.exitCode = UNSETTLED;
  }
  return timer;
}

export function report() {
  const { exitCode, result, error, place } = outcome;
  const details = error === undefined ? result : { error, stopped_at: place };
  return stringify({ __proto__: null, exit_code: exitCode, ...details });
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

installSetup(true);

/** Globals of the runtime, which are not variables of the program. */
const runtimeGlobals = new Set([...Object.getOwnPropertyNames(globalThis), 'import_meta']);
const REPR_CHARACTERS = 100;

/** Whether a program has stored anything in `_state`. */
function isStateUsed() {
  try {
    return Object.keys(globalThis._state ?? {}).length > 0;
  } catch {
    // The program replaced it with an object that cannot be listed.
    return true;
  }
}

/**
 * The program's variables: the declared names that exist, and the properties added to the global object. Each name is
 * evaluated by itself, so that one that is not an identifier does not hide the others.
 */
function variables(declared, maxCount) {
  const added = new Set(Object.getOwnPropertyNames(globalThis).filter((name) => !runtimeGlobals.has(name)));
  if (isStateUsed()) added.add('_state');
  const found = [];
  for (const name of new Set([...declared, ...added])) {
    if (found.length >= maxCount) break;
    try {
      const value = added.has(name) ? globalThis[name] : host.evaluate(name, 'sandbox:variables', EXPRESSION);
      found.push({ name, type: typeName(value), repr: inspect(value).slice(0, REPR_CHARACTERS) });
    } catch {
      // The variable does not exist, or the program failed before it was initialized.
    }
  }
  return found;
}
Object.defineProperty(globalThis, Symbol.for('sandbox.variables'), { value: variables });

/** Registers a built-in module. Importing it then does not call the module loader. */
function registerModule(name, value) {
  const key = `sandbox:${name}`;
  globalThis[key] = value;
  const names = Object.keys(value);
  const locals = names.map((_, i) => `_${i}`);
  const exported = names.map((export_, i) => `_${i} as ${export_}`);
  const source = `const from = globalThis['${key}'];
const [${locals}] = [${names.map((export_) => `from['${export_}']`)}];
export { ${exported}, from as default };`;
  host.evaluate(source, name, MODULE);
  delete globalThis[key];
}

registerModule('std', std);
registerModule('os', os);
registerModule('sandbox-utils', fileHelpers);
packages.addPackage('sandbox-utils', fileHelpers);
