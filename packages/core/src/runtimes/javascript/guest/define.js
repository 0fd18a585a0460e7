/** Adds the members of an object to another one, which does not list them. Accessors stay accessors. */
export function defineHidden(target, members) {
  for (const key of Reflect.ownKeys(members))
    Object.defineProperty(target, key, {
      ...Object.getOwnPropertyDescriptor(members, key),
      enumerable: false,
    });
  return target;
}

/** Defines global variables that are not listed. */
export const define = (globals) => defineHidden(globalThis, globals);

/** Adds a member that is an accessor until it is used or assigned to. Then it is the value. */
export function defineLazily(target, name, get) {
  const set = (value) => void defineHidden(target, { [name]: value });
  Object.defineProperty(target, name, {
    get() {
      const value = get();
      set(value);
      return value;
    },
    set,
    configurable: true,
    enumerable: false,
  });
}

/** Sets the text in brackets of `[object …]`. */
export const defineTag = (target, value) =>
  Object.defineProperty(target, Symbol.toStringTag, { value, configurable: true });
