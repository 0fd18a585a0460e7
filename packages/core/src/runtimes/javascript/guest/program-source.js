/**
 * Runs the source of a program as Node.js does: a program with module syntax or top-level await is a module, in strict mode;
 * every other program is a script, in sloppy mode. Modules run as scripts too, without their imports, and a program that
 * returns runs as the body of a function. Later programs of a session see its variables.
 */
import { define } from './define.js';
import { host } from './host-calls.js';
import * as nodeModules from './node-modules.js';

const { load } = nodeModules;
const STRICT = 8;
const PLAIN_SCRIPT = 64;
/** A script with top-level await. */
const SCRIPT = PLAIN_SCRIPT | 128;
const MODULE = 1 | 64;

/** Functions of the boot script, which sets them: `fail` and `resolveImport`. */
export const boot = {};

/** The import bindings that the running program cannot assign to. Later programs can. */
let readOnlyBindings = [];

function endReadOnlyBindings() {
  for (const name of readOnlyBindings) {
    const found = Object.getOwnPropertyDescriptor(globalThis, name);
    if (found?.get === undefined || !found.configurable) continue;
    Object.defineProperty(globalThis, name, { ...found, set: (value) => define({ [name]: value }) });
  }
  readOnlyBindings = [];
}

/** Defines import bindings as accessors of the global object: live, read-only, and visible to later programs. */
function bind(namespace, specifier, names, valueNames) {
  for (const [name, local] of names) {
    if (name !== '*' && !(name in namespace)) {
      // In TypeScript it may be the name of a type.
      if (valueNames !== undefined && !valueNames.has(local)) continue;
      throw new SyntaxError(`Could not find export '${name}' in module '${specifier}'`);
    }
    const get = name === '*' ? () => namespace : () => namespace[name];
    Object.defineProperty(globalThis, local, { get, set: undefined, configurable: true, enumerable: false });
    readOnlyBindings.push(local);
  }
}

async function importAll(imports = [], valueNames) {
  for (const { specifier, names, line } of imports) {
    try {
      bind(await import(specifier), specifier, names, valueNames);
    } catch (error) {
      boot.fail(error, 'Uncaught', line, isMissing(error) ? missingModules(imports) : undefined);
      return false;
    }
  }
  return true;
}

const isMissing = (error) => error?.code === 'ERR_MODULE_NOT_FOUND';
const MAX_MISSING = 20;

/** The modules that the program imports and that do not exist. */
function missingModules(imports) {
  return imports
    .slice(0, MAX_MISSING)
    .map(({ specifier }) => specifier)
    .filter((name) => {
      try {
        boot.resolveImport(programFile, name);
        return false;
      } catch (error) {
        return isMissing(error);
      }
    });
}

/** The CommonJS names of the running program: `require`, `module`, `exports`, `__filename` and `__dirname`. */
let commonJs;
let programFile = '/app/main.js';
export function commonJsNames() {
  commonJs ??= load('node:internal/commonjs').beginProgram(programFile);
  return commonJs;
}

export function beginModules(file) {
  programFile = file;
  commonJs = undefined;
  if (readOnlyBindings.length > 0) endReadOnlyBindings();
  if (nodeModules.isLoaded('node:internal/commonjs')) commonJsNames();
}

const COMMONJS_NAMES = {
  require: () => commonJsNames().require,
  module: () => commonJsNames().module,
  exports: () => commonJsNames().exports,
  __filename: () => programFile,
  __dirname: () => programFile.slice(0, programFile.lastIndexOf('/')) || '/',
};

/** Defines the CommonJS names. They are accessors, because each program has its own module. */
export function defineCommonJs() {
  for (const [name, get] of Object.entries(COMMONJS_NAMES)) {
    const set = (value) => define({ [name]: value });
    Object.defineProperty(globalThis, name, { get, set, configurable: true, enumerable: false });
  }
}

/** A program that contains `return` outside of functions is the body of a function, as in a CommonJS file. */
function executeAsFunction(code, file) {
  const { module, require } = commonJsNames();
  return load('node:internal/module-loader')
    .compileCommonJs(code, file)
    .call(module.exports, module.exports, require, module, file, COMMONJS_NAMES.__dirname());
}

const isFunctionBody = (code, file) => host.compiles(`(function () {${code}\n})`, file, 0) === 1;

export function execute({ code, file, script, imports, trailing, awaits, typescript, valueNames, is_file }) {
  if (typescript) return executeTypeScript(code, file);
  if (script !== undefined) return executeModule(code, file, script, imports, trailing, valueNames);
  if (is_file && !/\.m[jt]s$/.test(file) && isFunctionBody(code, file))
    return void executeAsFunction(code, file);
  const isModule = /\.m[jt]s$/.test(file) || (awaits && host.compiles(code, file, PLAIN_SCRIPT) !== 1);
  return evaluateProgram(code, file, isModule ? SCRIPT | STRICT : SCRIPT, trailing, valueNames);
}

/** The URL that `import.meta.resolve` returns: paths need not exist. */
function resolveUrl(name, file) {
  if (/^(\.{0,2}\/|file:)/.test(name)) return new URL(name, `file://${file}`).href;
  const found = boot.resolveImport(file, name);
  return found.startsWith('/') ? `file://${found}` : found;
}

async function executeModule(code, file, script, imports, trailing, valueNames) {
  const flags = SCRIPT | STRICT;
  if (host.compiles(code, file, flags) !== 1) {
    if (host.compiles(script, file, flags) !== 1) {
      try {
        await host.evaluate(code, file, MODULE);
      } catch (error) {
        if (!(error instanceof SyntaxError) || host.compiles(code, file, MODULE) === 1) throw error;
        return executeWithTypes(code, file, valueNames, error);
      }
      return undefined;
    }
    const dirname = COMMONJS_NAMES.__dirname();
    const url = `file://${file}`;
    const resolve = (name) => resolveUrl(`${name}`, file);
    define({ import_meta: { dirname, filename: file, main: true, resolve, url } });
    if (!(await importAll(imports, valueNames))) return undefined;
    return evaluateProgram(script, file, flags, trailing, valueNames);
  }
  return evaluateProgram(code, file, flags, trailing, valueNames);
}

/** Evaluates a program. Its value is wrapped, because a promise would otherwise have to settle before the program has ended. */
async function evaluateProgram(code, file, flags, trailing, valueNames) {
  try {
    const { value } = await host.evaluate(code, file, flags);
    return trailing ? { value } : undefined;
  } catch (error) {
    if (!(error instanceof SyntaxError) || host.compiles(code, file, flags) === 1) throw error;
    if (/\breturn\b/.test(code) && isFunctionBody(code, file)) {
      executeAsFunction(code, file);
      return undefined;
    }
    return executeWithTypes(code, file, valueNames, error);
  }
}

function executeTypeScript(code, file, stripped = undefined) {
  const { code: text, valueNames } =
    stripped ?? load('node:internal/typescript').stripTypes(code, file, true);
  return execute({ code: text, file, valueNames, ...JSON.parse(host.planProgram(text)) });
}

/** Longest program that is tried as TypeScript after it failed to compile as JavaScript. */
const MAX_RETRY_CHARACTERS = 262_144;

/** Runs a program that does not compile as JavaScript as TypeScript. Otherwise throws the error of the compiler. */
function executeWithTypes(code, file, valueNames, error) {
  if (valueNames !== undefined || code.length > MAX_RETRY_CHARACTERS) throw error;
  return executeTypeScript(code, file, load('node:internal/typescript').stripRejected(code, file, error));
}
