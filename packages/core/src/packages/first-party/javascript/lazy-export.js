/** Exports that are created on first use. Named exports of an ES module need a value when the module is evaluated. */

/** Can be called and constructed, unlike an arrow function. */
function placeholder() {}

/**
 * Returns a stand-in for the value that `resolve` creates. `isFunction` says whether that value is a function. The target
 * has no property that is not configurable, so that the traps can report any property.
 */
export function lazyExport(resolve, isFunction) {
  const target = isFunction ? placeholder.bind() : {};
  let value;
  const handler = {};
  for (const trap of Object.getOwnPropertyNames(Reflect)) {
    if (typeof Reflect[trap] !== 'function') continue;
    handler[trap] = (_, ...args) => {
      value ??= resolve();
      return Reflect[trap](value, ...args);
    };
  }
  handler.get = (_, key) => {
    value ??= resolve();
    return value[key];
  };
  return new Proxy(target, handler);
}
