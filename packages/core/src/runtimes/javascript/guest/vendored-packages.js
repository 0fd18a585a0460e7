/**
 * The vendored packages that this guest has loaded. Both `import` and `requireVendor` load a package through `loadOnce`,
 * so they return the same module.
 */
import { host } from './host-calls.js';

/** Namespaces of the loaded packages by registered name. */
const namespaces = Object.create(null);
/** Registered names of packages by the names given to `requireVendor`. */
const registeredNames = Object.create(null);
/** For each package, the number of the last program for which its import was recorded. */
const recordedFor = Object.create(null);
let programNumber = 0;
/** Whether the program may use packages (inject_setup). */
let isEnabled = true;

export function beginProgram(hasPackages) {
  programNumber++;
  isEnabled = hasPackages;
}

export const hasPackages = () => isEnabled;

export const isLoaded = (name) => name in namespaces;

/** Loads a package by its registered name unless it is loaded, and records the import once per program. */
export function loadOnce(name) {
  if (recordedFor[name] === programNumber) return;
  const isLoaded = name in namespaces;
  const found = host.loadPackage(name, isLoaded ? 1 : 0);
  if (typeof found === 'string') throw new ReferenceError(`requireVendor: ${found}`);
  if (!isLoaded && typeof found === 'number')
    throw new RangeError(`could not load package '${name}': out of memory`);
  if (!isLoaded) namespaces[name] = found;
  recordedFor[name] = programNumber;
}

/** Returns the default export of a package. */
export function requireVendor(name) {
  if (typeof name !== 'string') throw new TypeError('requireVendor: the name must be a string');
  const found = registeredNames[name] ?? host.findPackage(name);
  const key = typeof found === 'string' ? found : name;
  loadOnce(key);
  registeredNames[name] = key;
  return namespaces[key].default;
}

/** Returns a package, by its registered name, as `require` does. */
export function requirePackage(key) {
  if (!isEnabled) {
    const error = new Error(
      `Cannot find module '${key}': packages are disabled for this run (inject_setup is false)`,
    );
    throw Object.assign(error, { code: 'MODULE_NOT_FOUND' });
  }
  loadOnce(key);
  return namespaces[key].default;
}
