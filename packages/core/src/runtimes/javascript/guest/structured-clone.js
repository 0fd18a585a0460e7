/** structuredClone for the types of the language. Functions, symbols, promises and weak collections cannot be cloned. */

const cloneFailure = (value) => {
  const what = typeof value === 'object' ? `#<${value.constructor?.name ?? 'Object'}>` : String(value);
  return new DOMException(`${what} could not be cloned.`, 'DataCloneError');
};

const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const UNCLONEABLE = [WeakMap, WeakSet, WeakRef, Promise];
const BOXES = [Number, String, Boolean, BigInt];

function cloneError(value, copy) {
  const error = new Error(value.message);
  Object.setPrototypeOf(error, (ERRORS[value.name] ?? Error).prototype);
  if (typeof value.stack === 'string') error.stack = value.stack;
  if ('cause' in value) {
    const cause = copy(value.cause);
    Object.defineProperty(error, 'cause', {
      value: cause,
      writable: true,
      configurable: true,
      enumerable: false,
    });
  }
  return error;
}

/** Whether a value is a Blob. Its class is loaded on first use, by reading the global. */
function isBlob(value) {
  const descriptor = Object.getOwnPropertyDescriptor(globalThis, 'Blob');
  return typeof descriptor?.value === 'function' && value instanceof descriptor.value;
}

/** The empty clone of an object and the function that fills it. Two steps, because objects may contain themselves. */
function createClone(value, copy) {
  if (Array.isArray(value)) return [new Array(value.length), fillProperties];
  if (value instanceof Date) return [new Date(value.getTime())];
  if (value instanceof RegExp) return [new RegExp(value.source, value.flags)];
  if (value instanceof Map) return [new Map(), fillMap];
  if (value instanceof Set) return [new Set(), fillSet];
  if (value instanceof ArrayBuffer) return [value.slice(0)];
  if (ArrayBuffer.isView(value)) {
    const length = value instanceof DataView ? value.byteLength : value.length;
    return [new value.constructor(copy(value.buffer), value.byteOffset, length)];
  }
  if (value instanceof Error) return [cloneError(value, copy)];
  if (BOXES.some((box) => value instanceof box)) return [Object(value.valueOf())];
  // Blobs cannot change.
  if (isBlob(value)) return [value];
  if (typeof value === 'function' || UNCLONEABLE.some((type) => value instanceof type))
    throw cloneFailure(value);
  return [{}, fillProperties];
}

function fillProperties(value, clone, copy) {
  for (const key of Object.keys(value)) clone[key] = copy(value[key]);
}

function fillMap(value, clone, copy) {
  for (const [key, item] of [...value]) clone.set(copy(key), copy(item));
}

function fillSet(value, clone, copy) {
  for (const item of [...value]) clone.add(copy(item));
}

export function structuredClone(value, options) {
  const seen = new Map();
  const copy = (item) => {
    if (typeof item === 'symbol') throw cloneFailure(item);
    if ((typeof item !== 'object' && typeof item !== 'function') || item === null) return item;
    if (seen.has(item)) return seen.get(item);
    const [clone, fill] = createClone(item, copy);
    seen.set(item, clone);
    fill?.(item, clone, copy);
    return clone;
  };
  for (const buffer of options?.transfer ?? []) {
    if (!(buffer instanceof ArrayBuffer)) throw cloneFailure(buffer);
    seen.set(buffer, buffer.transfer());
  }
  return copy(value);
}
