/**
 * Loads the Node.js modules on first use. Each is a file of bytecode that exports a function, which receives `load` and
 * returns the exports. Modules reach each other and the parts of the boot script only through `load`.
 */
import { host } from './host-calls.js';
import { COMMANDS, IMPLEMENTED, UNAVAILABLE } from './node-module-names.js';

/** Without the prefix, these are names of packages. */
const ONLY_WITH_PREFIX = new Set(['sqlite', 'test']);

const loaded = Object.create(null);
/** Parts of the boot script, by names that begin with `boot:`. */
const bootParts = Object.create(null);
const known = new Set([...IMPLEMENTED, ...UNAVAILABLE, ...COMMANDS]);

export function addBootParts(parts) {
  for (const [name, part] of Object.entries(parts)) bootParts[`boot:${name}`] = part;
}

/** Adds modules that are part of the boot script. */
export function addModules(modules) {
  for (const [name, module] of Object.entries(modules)) {
    loaded[`node:${name}`] = module;
    known.add(name);
  }
}

/**
 * Loads a module by its name with the prefix `node:`. The names of internal modules begin with `node:internal/`. The host
 * recognises the function by its name; see memory/stack-reader.ts.
 */
function loadNodeModule(name) {
  if (name in bootParts) return bootParts[name];
  if (name in loaded) return loaded[name];
  const plain = name.slice('node:'.length);
  if (UNAVAILABLE.includes(plain)) {
    loaded[name] = loadNodeModule('node:internal/unavailable').createModule(plain);
    return loaded[name];
  }
  const namespace = host.loadPackage(name, 0);
  if (typeof namespace !== 'object') throw new Error(`could not load ${name}: ${namespace}`);
  const module = { exports: {} };
  loaded[name] = module.exports;
  try {
    namespace.default(loadNodeModule, module, module.exports);
  } catch (error) {
    delete loaded[name];
    throw error;
  }
  const { exports } = module;
  loaded[name] = exports.__esModule === true && 'default' in exports ? exports.default : exports;
  return loaded[name];
}

export { loadNodeModule as load };

export const isLoaded = (name) => name in loaded;

/** The name, with prefix, of the Node.js module that a program requests, or undefined. */
export function nodeModule(name) {
  const hasPrefix = name.startsWith('node:');
  const plain = hasPrefix ? name.slice('node:'.length) : name;
  if (!known.has(plain) || (!hasPrefix && ONLY_WITH_PREFIX.has(plain))) return undefined;
  return `node:${plain}`;
}

/** The names that `module.builtinModules` lists. */
export const builtinModules = [...IMPLEMENTED, ...UNAVAILABLE]
  .filter((name) => !ONLY_WITH_PREFIX.has(name))
  .sort();
