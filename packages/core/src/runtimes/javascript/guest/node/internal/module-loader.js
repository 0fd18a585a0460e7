/**
 * Resolves and loads the modules of a program as Node.js does: files and folders, package.json, JSON, CommonJS and ES
 * modules. `loaders` is the table of file name extensions.
 */
import { host, status, statusBuffer } from '../../host-calls.js';
import { load, nodeModule } from '../../node-modules.js';
import { decodeUtf8 } from '../../text-encoding.js';
import { requirePackage } from '../../vendored-packages.js';
import { dirname, join } from '../path.js';
import { codedError } from './errors.js';
import { readFileBytes } from './file-access.js';
import { resolvePackageExports } from './package-exports.js';

const TYPE_MASK = 0o170000;
const REGULAR = 0o100000;
const FOLDER = 0o040000;
const BARRIER = 64;
const SCRIPT_FLAGS = 0;
const MODULE_FLAGS = 1 | BARRIER;
const removeTypes = (source, file) => load('node:internal/typescript').stripTypes(source, file).code;
const MODULE_WORDS = /\b(?:import|export|await)\b/;

/** How files are loaded, by extension: `format` is the module system, `transform` converts the text to JavaScript. */
export const loaders = {
  __proto__: null,
  '.js': { format: 'detect' },
  '.cjs': { format: 'commonjs' },
  '.mjs': { format: 'module' },
  '.json': { format: 'json' },
  '.ts': { format: 'detect', transform: removeTypes },
  '.cts': { format: 'commonjs', transform: removeTypes },
  '.mts': { format: 'module', transform: removeTypes },
};
/** Extensions that `require` adds to a name. */
export const searchedExtensions = ['.js', '.json', '.cjs', '.mjs', '.ts', '.cts', '.mts'];

const fileKind = (path) => (host.stat(path, 1, statusBuffer) === 0 ? status[0] & TYPE_MASK : 0);
const isFile = (path) => fileKind(path) === REGULAR;
const isFolder = (path) => fileKind(path) === FOLDER;
const realpath = (path) => {
  const found = host.realpath(path);
  return typeof found === 'string' ? found : path;
};

export function readText(path) {
  const text = decodeUtf8(readFileBytes(path));
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

const packageFiles = new Map();

/** The contents of a package.json, or undefined. Cached until the file changes. */
function readPackage(folder) {
  const path = join(folder, 'package.json');
  if (!isFile(path)) return undefined;
  const version = `${status[3]}:${status[4]}`;
  const cached = packageFiles.get(path);
  if (cached?.version === version) return cached.data;
  let data;
  try {
    data = JSON.parse(readText(path));
  } catch (cause) {
    throw codedError(Error, 'ERR_INVALID_PACKAGE_CONFIG', `Invalid package config ${path}. ${cause.message}`);
  }
  packageFiles.set(path, { version, data });
  return data;
}

/** The nearest package.json of a file: its folder and its contents. */
function packageScope(file) {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const data = readPackage(folder);
    if (data !== undefined) return { folder, data };
    if (folder === '/') return undefined;
  }
}

function findFile(path) {
  if (isFile(path)) return path;
  for (const extension of searchedExtensions) if (isFile(path + extension)) return path + extension;
  // TypeScript imports a file by the name that its compiler would give it.
  const source = /\.[cm]?js$/.test(path) ? path.replace(/js$/, 'ts') : path;
  return source !== path && isFile(source) ? source : undefined;
}

function findFolder(path) {
  if (!isFolder(path)) return undefined;
  const main = readPackage(path)?.main;
  if (typeof main === 'string' && main !== '') {
    const target = join(path, main);
    const found = findFile(target) ?? findFile(join(target, 'index'));
    if (found !== undefined) return found;
  }
  return findFile(join(path, 'index'));
}

const findPath = (path) => (path.endsWith('/') ? undefined : findFile(path)) ?? findFolder(path);

/** The folders named node_modules in which a bare name is searched. */
export function searchFolders(folder) {
  const found = [];
  for (let current = folder; ; current = dirname(current)) {
    if (!current.endsWith('/node_modules')) found.push(join(current, 'node_modules'));
    if (current === '/') return found;
  }
}

function findInstalled(name, folder, conditions) {
  const [, packageName, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(name) ?? [];
  if (packageName === undefined) return undefined;
  for (const place of searchFolders(folder)) {
    if (!isFolder(place)) continue;
    const root = join(place, packageName);
    const data = readPackage(root);
    if (data?.exports !== undefined && data.exports !== null) {
      const target = resolvePackageExports(data.exports, `.${rest ?? ''}`, conditions, root);
      return findFile(join(root, target));
    }
    const found = findPath(join(place, name));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Resolves a name that starts with `#` with the field `imports` of package.json, or a package's own name. */
function findInScope(name, from, conditions) {
  const scope = packageScope(from);
  if (scope === undefined) return undefined;
  const { folder, data } = scope;
  if (name.startsWith('#')) {
    if (data.imports === undefined) return undefined;
    const target = resolvePackageExports(data.imports, name, conditions, folder);
    return target.startsWith('./') ? findFile(join(folder, target)) : resolve(target, from, conditions)?.path;
  }
  if (data.name === undefined || data.exports === undefined) return undefined;
  if (name !== data.name && !name.startsWith(`${data.name}/`)) return undefined;
  return findFile(
    join(folder, resolvePackageExports(data.exports, `.${name.slice(data.name.length)}`, conditions, folder)),
  );
}

const isPath = (name) => /^(?:\/|\.\.?(?:\/|$))/.test(name);

/**
 * What a name refers to in the file `from`: a Node.js module (`node`), a vendored package (`package`) or a file (`path`);
 * undefined if nothing is found.
 */
export function resolve(name, from, conditions) {
  const node = nodeModule(name);
  if (node !== undefined) return { node };
  let path;
  if (name.startsWith('file:')) path = findPath(decodeURIComponent(new URL(name).pathname));
  else if (isPath(name))
    path = findPath(name.startsWith('/') ? name : join(dirname(from), name) + (/\/$/.test(name) ? '/' : ''));
  else path = findInScope(name, from, conditions) ?? findInstalled(name, dirname(from), conditions);
  if (path !== undefined) return { path: realpath(path) };
  if (isPath(name) || name.startsWith('#')) return undefined;
  const found = host.findPackage(name);
  return typeof found === 'string' ? { package: found } : undefined;
}

function loaderOf(file) {
  const extension = /[^/](\.[^./]*)$/.exec(file)?.[1];
  return loaders[extension] ?? loaders['.js'];
}

/** Parameters of the function that wraps a CommonJS module. */
const WRAPPER = ['(function (exports, require, module, __filename, __dirname) { ', '\n})'];
const wrap = (text) => WRAPPER[0] + text.replace(/^#!.*/, (line) => `//${line.slice(2)}`) + WRAPPER[1];

/** Whether a file is a CommonJS module, an ES module or JSON, and its text as JavaScript. */
export function readModule(file) {
  const loader = loaderOf(file);
  const source = readText(file);
  const text = loader.transform === undefined ? source : loader.transform(source, file);
  if (loader.format !== 'detect') return { format: loader.format, text };
  const type = packageScope(file)?.data.type;
  if (type === 'module' || type === 'commonjs') return { format: type, text };
  // As in Node.js, a file whose package.json says nothing is an ES module if only that can be compiled.
  const isModule = MODULE_WORDS.test(text) && host.compiles(wrap(text), file, SCRIPT_FLAGS) !== 1;
  return { format: isModule ? 'module' : 'commonjs', text };
}

/** Compiles a CommonJS module to the function that runs it. */
export const compileCommonJs = (text, file) => host.evaluate(wrap(text), file, SCRIPT_FLAGS);

export function parseJson(text, file) {
  try {
    return JSON.parse(text);
  } catch (error) {
    error.message = `${file}: ${error.message}`;
    throw error;
  }
}

let evaluated = 0;
let received;
/** Called by the module that `requireEsModule` evaluates. */
export function receive(namespace) {
  received = namespace;
}

/** Evaluates an ES module synchronously and returns its namespace. */
export function requireEsModule(name, hasDefault) {
  const text = JSON.stringify(name);
  const key = `sandbox:require-${evaluated++}`;
  const promise = host.evaluate(
    `import { receive } from 'sandbox:modules'; import * as all from ${text}; receive(all);`,
    key,
    MODULE_FLAGS,
  );
  promise.catch(() => {});
  const state = host.promiseState(promise);
  if (state === 2) throw host.promiseResult(promise);
  if (state === 0) {
    throw codedError(
      Error,
      'ERR_REQUIRE_ASYNC_MODULE',
      `require() cannot be used on an ESM graph with top-level await. Use import() instead.\n  Requiring ${name}`,
    );
  }
  const namespace = received;
  received = undefined;
  if ('module.exports' in namespace) return namespace['module.exports'];
  if (!hasDefault || !('default' in namespace) || '__esModule' in namespace) return namespace;
  host.evaluate(
    `import { receive } from 'sandbox:modules'; export * from ${text}; export { default } from ${text}; export const __esModule = true; import * as self from '${key}-default'; receive(self);`,
    `${key}-default`,
    MODULE_FLAGS,
  );
  const wrapped = received ?? namespace;
  received = undefined;
  return wrapped;
}

export { load, requirePackage };
