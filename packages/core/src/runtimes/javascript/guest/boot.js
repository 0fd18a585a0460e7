/**
 * The guest side of the JavaScript runtime. It runs once, when the boot image is built: it defines the globals and exports
 * the functions that the host calls. `start` starts a program, `runTicks` and `nextTimer` are the event loop,
 * `resolveImport` and `importSource` load modules, `fail`, `failAtLimit` and `trackRejection` receive failures, and
 * `report` returns the outcome. The host runs promise jobs between these calls.
 */
import * as asyncContext from './async-context.js';
import * as consoleParts from './console.js';
import * as formatting from './console-format.js';
import * as cryptography from './crypto.js';
import * as defining from './define.js';
import * as displaying from './display.js';
import { correctEngine } from './engine-corrections.js';
import * as errorStack from './error-stack.js';
import { fileHelpers } from './file-helpers.js';
import * as hostCalls from './host-calls.js';
import * as inspection from './inspect.js';
import * as inspectError from './inspect-error.js';
import * as inspectText from './inspect-text.js';
import * as json from './json-parse.js';
import { defineLazyGlobals } from './lazy-globals.js';
import { defineLocaleMethods } from './locale-methods.js';
import * as nodeModules from './node-modules.js';
import * as osModule from './os.js';
import * as events from './program-events.js';
import { describeError, describeResult, setProgramFile } from './program-report.js';
import { beginModules, boot, commonJsNames, defineCommonJs, execute } from './program-source.js';
import { std } from './std.js';
import * as stdFile from './std-file.js';
import * as cloning from './structured-clone.js';
import * as encoding from './text-encoding.js';
import * as timers from './timers.js';
import * as urls from './url.js';
import * as valueTypes from './value-types.js';
import * as packages from './vendored-packages.js';

const { console } = consoleParts;
const { define } = defining;
const { host } = hostCalls;
const { safeInspect, typeName } = inspection;
const { environment, os, setVariable } = osModule;
const { load } = nodeModules;

const { parse, stringify } = JSON;
const MODULE = 1 | 64;
/** A script without top-level await. */
const EXPRESSION = 8 | 64;
/** Exit code of Node.js for a top-level await that never settles. */
const UNSETTLED = 13;

const outcome = { exitCode: 0, isSettled: true, result: {}, error: undefined, place: undefined };
const rejections = new Map();

/**
 * Ends the program, unless it handles the failure itself. Only the first failure counts; later ones are consequences of it.
 * Returns a number if the program has called process.exit, whose exception ends it.
 */
export function fail(error, prefix = 'Uncaught', line = undefined, missing = undefined) {
  if (events.exit.hasExited) return 1;
  if (outcome.error !== undefined) return undefined;
  const isRejection = prefix !== 'Uncaught';
  if (events.hooks.uncaughtException?.(error, isRejection)) return undefined;
  endWithError(error, prefix, line, missing);
  return undefined;
}

function endWithError(error, prefix, line, missing) {
  host.setUncaught(error);
  const { text, details, place } = describeError(error, line);
  outcome.exitCode = 1;
  outcome.error = missing === undefined ? details : { __proto__: null, ...details, missing };
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
  endWithError(limitError, 'Uncaught');
}

export function trackRejection(promise, reason, isHandled) {
  if (isHandled) rejections.delete(promise);
  else rejections.set(promise, reason);
}

/** Removes the rejections with this reason. If loading a module fails, the import fails, which is reported. */
function forgetRejection(error) {
  for (const [promise, reason] of rejections) if (reason === error) rejections.delete(promise);
}

/** Whether a name can only mean a vendored package, so that the module loader need not be loaded. */
function isVendoredName(base, name) {
  if (base.lastIndexOf('/') > '/app'.length || nodeModules.nodeModule(name) !== undefined) return false;
  if (host.findPackage(name) !== name) return false;
  const { statusBuffer } = hostCalls;
  return (
    host.stat('/app/node_modules', 1, statusBuffer) !== 0 &&
    host.stat('/app/package.json', 1, statusBuffer) !== 0
  );
}

/** The full name of the module `name` that the module `base` imports. */
export function resolveImport(base, name) {
  try {
    if (name === 'tools' && nodeModules.isLoaded('node:internal/tools')) {
      return load('node:internal/tools').moduleName();
    }
    if (name === 'sandbox:modules') return name;
    if (packages.hasPackages() && (packages.isLoaded(name) || isVendoredName(base, name))) {
      packages.loadOnce(name);
      return name;
    }
    return load('node:internal/import-source').resolveImport(base, name, packages.hasPackages());
  } catch (error) {
    forgetRejection(error);
    throw error;
  }
}

/** The source of a module that the engine does not know. */
export function importSource(name) {
  if (name.startsWith('sandbox:tools-')) return load('node:internal/tools').moduleSource();
  return load('node:internal/import-source').importSource(name);
}

export const { runTicks } = events;
export const { turnCounter } = asyncContext;

export const preload = packages.requireVendor;

/** Globals that exist unless the program runs without setup (inject_setup is false). */
const { display, text, image } = displaying;
/** The functions that create charts. Their module is loaded on first use. */
const chart = Object.fromEntries(
  ['line', 'bar', 'scatter', 'histogram', 'pie', 'heatmap'].map((kind) => [
    kind,
    (data, options) => load('node:internal/chart').create(kind, data, options),
  ]),
);
const setupGlobals = {
  ...fileHelpers,
  chart,
  display,
  text,
  image,
  requireVendor: packages.requireVendor,
  _state: {},
};
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

export async function start(text) {
  const request = parse(text);
  Object.assign(outcome, { exitCode: 0, isSettled: false, result: {}, error: undefined, place: undefined });
  rejections.clear();
  installSetup(request.inject_setup);
  packages.beginProgram(request.inject_setup);
  const { file, code, args, argv0 } = request;
  Object.assign(events.programSource, { file, code, args, argv0 });
  beginEvents();
  // A process has only the variables that it was started with.
  if (argv0 !== undefined) for (const name of Object.keys(environment)) delete environment[name];
  for (const [name, value] of Object.entries(request.env)) setVariable(name, value);
  setProgramFile(request.file);
  beginModules(request.file);
  timers.startClock();
  try {
    const ended = await execute(request);
    outcome.isSettled = true;
    // Scripts often end with a call to an async main function; the result is the value of its promise, if it settles.
    const value = ended?.value instanceof Promise ? await ended.value : ended?.value;
    outcome.result = describeResult(value);
    if (typeof value === 'object' && value !== null) displaying.displayMain(value);
  } catch (error) {
    outcome.isSettled = true;
    fail(error);
  }
}

/** Starts a program with tools. `names` is a list of the tools as JSON. */
export function startWithTools(text, names) {
  load('node:internal/tools').begin(names);
  return start(text);
}

/** The listeners of `beforeExit` ran and nothing has happened since. */
let isIdle = false;
let hasEnded = false;

function beginEvents() {
  isIdle = false;
  hasEnded = false;
  events.discardTicks();
  Object.assign(events.exit, { code: undefined, hasExited: false });
  events.printed.error = undefined;
  json.failedParse.error = undefined;
  events.hooks.begin?.();
}

/** The callback that calls the listeners of `exit`, once. */
function lastCallback() {
  if (hasEnded || events.hooks.exit === undefined) return undefined;
  hasEnded = true;
  return () => events.hooks.exit(outcome.exitCode);
}

function failRejections() {
  for (const [promise, reason] of rejections) {
    rejections.delete(promise);
    if (events.hooks.unhandledRejection?.(reason, promise)) continue;
    fail(reason, 'Uncaught (in promise)');
  }
}

/** The next callback, a number if callbacks of process.nextTick wait, or undefined if the program is over. */
export function nextTimer() {
  if (events.hasTicks()) return 1;
  if (rejections.size > 0) failRejections();
  if (events.hasTicks()) return 1;
  if (outcome.error !== undefined) return lastCallback();
  const timer = timers.nextTimer();
  if (timer !== undefined) {
    isIdle = false;
    return timer;
  }
  if (!outcome.isSettled) {
    fail(new Error('the program awaits a promise that can never settle'), 'Uncaught');
    outcome.exitCode = events.exit.code ?? UNSETTLED;
    return lastCallback();
  }
  if (!isIdle && !hasEnded && events.hooks.beforeExit !== undefined) {
    isIdle = true;
    return () => events.hooks.beforeExit(outcome.exitCode);
  }
  return lastCallback();
}

export function report() {
  const { result, error, place } = outcome;
  const exitCode = error === undefined ? (events.exit.code ?? outcome.exitCode) : outcome.exitCode;
  const details = error === undefined ? result : { error, stopped_at: place };
  const { printed } = events;
  // Many programs end with `catch (error) { console.error(error); process.exit(1); }`.
  const cause =
    error === undefined && exitCode !== 0 && printed.error !== undefined
      ? { exit_cause: describeError(printed.error).details }
      : undefined;
  return stringify({ __proto__: null, exit_code: exitCode, ...details, ...cause });
}

json.defineParse();
define({
  global: globalThis,
  console,
  Crypto: cryptography.Crypto,
  crypto: cryptography.crypto,
  structuredClone: cloning.structuredClone,
  URL: urls.URL,
  URLSearchParams: urls.URLSearchParams,
  TextEncoder: encoding.TextEncoder,
  TextDecoder: encoding.TextDecoder,
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
correctEngine();
defineLazyGlobals();
defineLocaleMethods();
Object.assign(boot, { fail, resolveImport });
defineCommonJs();

/** Globals of the runtime, which are not variables of the program. */
const runtimeGlobals = new Set([...Object.getOwnPropertyNames(globalThis), 'import_meta']);
const REPR_CHARACTERS = 100;
const { getOwnPropertyDescriptor } = Object;

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
  const hidden = nodeModules.isLoaded('node:internal/tools')
    ? load('node:internal/tools').installedNames()
    : [];
  const isAdded = (name) => !runtimeGlobals.has(name) && !hidden.includes(name);
  const added = new Set(Object.getOwnPropertyNames(globalThis).filter(isAdded));
  if (isStateUsed()) added.add('_state');
  const found = [];
  for (const name of new Set([...declared, ...added])) {
    if (found.length >= maxCount) break;
    try {
      if (getOwnPropertyDescriptor(globalThis, name)?.get !== undefined) {
        // A getter may not return.
        found.push({ name, type: 'accessor', repr: '[Getter]' });
        continue;
      }
      const value = added.has(name) ? globalThis[name] : host.evaluate(name, 'sandbox:variables', EXPRESSION);
      found.push({ name, type: typeName(value), repr: safeInspect(value).slice(0, REPR_CHARACTERS) });
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
nodeModules.addModules({ std, os });

/** The forms of the timer functions that util.promisify returns. */
for (const timer of [timers.setTimeout, timers.setImmediate]) {
  const get = () => load('node:timers/promises')[timer === timers.setTimeout ? 'setTimeout' : 'setImmediate'];
  Object.defineProperty(timer, Symbol.for('nodejs.util.promisify.custom'), {
    get,
    configurable: true,
  });
}

nodeModules.addBootParts({
  'async-context': asyncContext,
  console: consoleParts,
  'console-format': formatting,
  crypto: cryptography,
  'error-stack': errorStack,
  'host-calls': hostCalls,
  inspect: inspection,
  display: displaying,
  'inspect-error': inspectError,
  'inspect-text': inspectText,
  define: defining,
  'node-modules': nodeModules,
  os: osModule,
  'program-events': events,
  'std-file': stdFile,
  'structured-clone': cloning,
  'text-encoding': encoding,
  timers,
  url: urls,
  'value-types': valueTypes,
  'vendored-packages': packages,
});

/** What the modules that wrap CommonJS modules for `import` use. Programs may use it too: it is what `require` does. */
registerModule('sandbox:modules', {
  nodeModule: (name) => load(name),
  commonJs(file) {
    commonJsNames();
    return load('node:internal/commonjs').importCommonJs(file);
  },
  receive: (namespace) => load('node:internal/module-loader').receive(namespace),
});
