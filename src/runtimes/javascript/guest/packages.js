/**
 * Vendored packages as the guest knows them. The host asks for `provide` whenever a program imports one by name, so an
 * import and `requireVendor` get the same module, and it is loaded once.
 */
import { door } from './door.js';

/** Namespaces of the packages that are loaded. */
const namespaces = Object.create(null);

/** Makes a package known that is a part of the boot image. */
export function addPackage(name, whole) {
  namespaces[name] = { default: whole };
}

/** Loads a package, by the name it is registered under, unless it is loaded. */
export function provide(name) {
  const isLoaded = name in namespaces;
  const found = door.loadPackage(name, isLoaded ? 1 : 0);
  if (isLoaded) return;
  if (typeof found === 'string') throw new ReferenceError(`requireVendor: ${found}`);
  if (typeof found === 'number') throw new RangeError(`could not load package '${name}': out of memory`);
  namespaces[name] = found;
}

/** A package as a whole, which is what its default export is. */
export function requireVendor(name) {
  if (typeof name !== 'string') throw new TypeError('requireVendor: the name of a package is expected');
  const found = door.findPackage(name);
  const key = typeof found === 'string' ? found : name;
  provide(key);
  return namespaces[key].default;
}
