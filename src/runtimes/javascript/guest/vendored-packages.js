/**
 * Vendored packages as the guest knows them. The host asks for `provide` whenever a program imports one by name, so an
 * import and `requireVendor` get the same module, and it is loaded once.
 */
import { door } from './host-calls.js';

/** Namespaces of the packages that are loaded, by the name each is registered under. */
const namespaces = Object.create(null);
/** The name that a package is registered under, by every name that it was asked for. */
const registered = Object.create(null);
/** The last program that each package was noted for, as programs are counted here. */
const noted = Object.create(null);
let program = 0;

export function beginProgram() {
  program++;
}

/** Makes a package known that is a part of the boot image. */
export function addPackage(name, whole) {
  namespaces[name] = { default: whole };
}

/** Loads a package, by the name it is registered under, unless it is loaded. */
export function provide(name) {
  if (noted[name] === program) return;
  const isLoaded = name in namespaces;
  const found = door.loadPackage(name, isLoaded ? 1 : 0);
  if (typeof found === 'string') throw new ReferenceError(`requireVendor: ${found}`);
  if (!isLoaded && typeof found === 'number')
    throw new RangeError(`could not load package '${name}': out of memory`);
  if (!isLoaded) namespaces[name] = found;
  noted[name] = program;
}

/** A package as a whole, which is what its default export is. */
export function requireVendor(name) {
  if (typeof name !== 'string') throw new TypeError('requireVendor: the name of a package is expected');
  const found = registered[name] ?? door.findPackage(name);
  const key = typeof found === 'string' ? found : name;
  provide(key);
  registered[name] = key;
  return namespaces[key].default;
}
