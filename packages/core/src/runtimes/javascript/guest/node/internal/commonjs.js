/** CommonJS modules: `require`, `module` and the cache. ES modules that are required are evaluated synchronously. */
import { defineHidden } from '../../define.js';
import { host, status, statusBuffer } from '../../host-calls.js';
import { builtinModules, isLoaded, load, nodeModule } from '../../node-modules.js';
import { requirePackage } from '../../vendored-packages.js';
import { dirname } from '../path.js';
import { codedError, invalidArgType, invalidArgValue } from './errors.js';
import {
  compileCommonJs,
  loaders,
  parseJson,
  readModule,
  requireEsModule,
  resolve,
  searchFolders,
} from './module-loader.js';

const CONDITIONS = ['node', 'require', 'module-sync'];

/** Versions of the cached files, so that a file that a later program of the session changed is loaded again. */
const versions = new Map();
let programNumber = 0;

function versionOf(file) {
  return host.stat(file, 1, statusBuffer) === 0 ? `${status[3]}:${status[4]}` : '';
}

export class Module {
  constructor(id = '', parent = undefined) {
    this.id = id;
    this.path = dirname(id);
    this.exports = {};
    defineHidden(this, { parent });
    this.filename = null;
    this.loaded = false;
    this.children = [];
    this.paths = [];
    if (parent?.children !== undefined && !parent.children.includes(this)) parent.children.push(this);
  }

  require(name) {
    return requireFrom(this, name);
  }

  load(file) {
    this.filename = file;
    this.paths = searchFolders(dirname(file));
    const { format, text } = readModule(file);
    if (format === 'json') this.exports = parseJson(text, file);
    else if (format === 'module') this.exports = requireEsModule(file, true);
    else this._compile(text, file);
    this.loaded = true;
  }

  _compile(text, file) {
    return compileCommonJs(text, file).call(
      this.exports,
      this.exports,
      makeRequire(this),
      this,
      file,
      dirname(file),
    );
  }
}

Module.Module = Module;
Module._cache = Object.create(null);
Module._extensions = Object.create(null);
Module._pathCache = Object.create(null);
Module.globalPaths = [];
for (const extension of ['.js', '.json', '.node']) {
  Module._extensions[extension] = (module, file) => {
    if (loaders[extension] === undefined)
      throw codedError(Error, 'ERR_DLOPEN_FAILED', `${file}: native addons cannot be loaded`);
    module.load(file);
  };
}
Module.builtinModules = builtinModules;
Module.isBuiltin = (name) => nodeModule(`${name}`) !== undefined;
Module.wrapper = ['(function (exports, require, module, __filename, __dirname) { ', '\n});'];
Module.wrap = (script) => Module.wrapper[0] + script + Module.wrapper[1];
Module._nodeModulePaths = searchFolders;
Module._resolveFilename = (name, parent) => resolveFilename(name, parent);
Module._load = (name, parent) => requireFrom(parent ?? mainModule(), name);

function requireStack(parent) {
  const stack = [];
  for (let module = parent; module; module = module.parent) stack.push(module.filename ?? module.id);
  return stack;
}

function notFound(name, parent) {
  const stack = requireStack(parent);
  const list = stack.length > 0 ? `\nRequire stack:\n- ${stack.join('\n- ')}` : '';
  const error = new Error(`Cannot find module '${name}'${list}`);
  error.code = 'MODULE_NOT_FOUND';
  error.requireStack = stack;
  return error;
}

function checkName(name) {
  if (typeof name !== 'string') throw invalidArgType('id', 'string', name);
  if (name === '') throw invalidArgValue('id', name, 'must be a non-empty string');
}

function find(name, parent) {
  const found = resolve(name, parent.filename ?? '/app/[eval]', CONDITIONS);
  if (found !== undefined) return found;
  if (name.startsWith('node:'))
    throw codedError(Error, 'ERR_UNKNOWN_BUILTIN_MODULE', `No such built-in module: ${name}`);
  throw notFound(name, parent);
}

function resolveFilename(name, parent) {
  checkName(name);
  const { node, path } = find(name, parent);
  if (node !== undefined) return name;
  return path ?? name;
}

function isStale(file) {
  const version = versions.get(file);
  if (version === undefined || version.program === programNumber) return false;
  version.program = programNumber;
  return version.text !== versionOf(file);
}

function requireFrom(parent, name) {
  checkName(name);
  if (name === 'tools' && isLoaded('node:internal/tools')) return load('node:internal/tools').toolsObject();
  const found = find(name, parent);
  if (found.node !== undefined) return load(found.node);
  if (found.package !== undefined) return requirePackage(found.package);
  const cached = Module._cache[found.path];
  if (cached !== undefined && !isStale(found.path)) {
    if (!parent.children.includes(cached)) parent.children.push(cached);
    return cached.exports;
  }
  const module = new Module(found.path, parent);
  Module._cache[found.path] = module;
  versions.set(found.path, { program: programNumber, text: versionOf(found.path) });
  let isComplete = false;
  try {
    module.load(found.path);
    isComplete = true;
  } finally {
    if (!isComplete) {
      delete Module._cache[found.path];
      const index = parent.children.indexOf(module);
      if (index >= 0) parent.children.splice(index, 1);
    }
  }
  return module.exports;
}

export function makeRequire(module) {
  const require = function require(name) {
    return requireFrom(module, name);
  };
  require.resolve = (name) => resolveFilename(name, module);
  require.resolve.paths = (name) => (nodeModule(name) === undefined ? searchFolders(module.path) : null);
  require.main = main;
  require.extensions = Module._extensions;
  require.cache = Module._cache;
  return require;
}

Module.createRequire = (filename) => {
  const path =
    filename instanceof URL || /^file:/.test(filename)
      ? decodeURIComponent(new URL(filename).pathname)
      : filename;
  if (typeof path !== 'string' || !path.startsWith('/')) {
    throw invalidArgValue(
      'filename',
      filename,
      'must be a file URL object, file URL string, or absolute path string',
    );
  }
  const module = new Module(path);
  module.filename = path.endsWith('/') ? `${path}noop.js` : path;
  module.path = dirname(module.filename);
  return makeRequire(module);
};

let main;
/** The module of the running program, which is not a file. */
export function mainModule() {
  return main;
}

/** Prepares `module` and `require` for a program. Modules stay cached between the programs of a session. */
export function beginProgram(file) {
  programNumber++;
  main = new Module('.', null);
  main.filename = file;
  main.path = dirname(file);
  main.paths = searchFolders(main.path);
  return { module: main, exports: main.exports, require: makeRequire(main) };
}
/** Loads the CommonJS module or JSON file that an ES module imports. */
export function importCommonJs(file) {
  return requireFrom(main, file);
}
