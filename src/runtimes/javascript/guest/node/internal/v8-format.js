/**
 * Bytes for v8.serialize: the objects of a value as a list in JSON, in which they refer to each other by number. The bytes are not
 * those of V8. Data to decode is untrusted: anything invalid throws.
 */
import { Buffer } from '../buffer.js';

const HEADER = 'structured-clone-1\n';
const VIEWS = {
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  DataView,
  BigInt64Array,
  BigUint64Array,
};
const ERRORS = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
const UNCLONEABLE = [WeakMap, WeakSet, WeakRef, Promise];
const BOXES = [Number, String, Boolean, BigInt];

const notCloneable = (value) =>
  new Error(
    `${typeof value === 'object' ? `#<${value.constructor?.name ?? 'Object'}>` : String(value)} could not be cloned.`,
  );
const invalidData = () => new Error('Unable to deserialize cloned data.');
const define = (object, name, value, enumerable) =>
  Object.defineProperty(object, name, { value, writable: true, enumerable, configurable: true });
const base64Of = (buffer, offset, length) => Buffer.from(buffer, offset, length).toString('base64');

/** An object as its type and contents. `ref` returns what stands for a value in them. */
function describeObject(value, ref) {
  const properties = () => Object.keys(value).map((key) => [key, ref(value[key])]);
  if (Array.isArray(value)) return ['Array', value.length, properties()];
  if (Buffer.isBuffer(value)) return ['Buffer', base64Of(value.buffer, value.byteOffset, value.byteLength)];
  if (ArrayBuffer.isView(value)) {
    const type = Object.keys(VIEWS).find((name) => value instanceof VIEWS[name]);
    if (type === undefined) throw notCloneable(value);
    return [type, base64Of(value.buffer, value.byteOffset, value.byteLength)];
  }
  if (value instanceof ArrayBuffer) return ['ArrayBuffer', base64Of(value, 0, value.byteLength)];
  if (value instanceof Date) return ['Date', ref(value.getTime())];
  if (value instanceof RegExp) return ['RegExp', value.source, value.flags];
  if (value instanceof Map) return ['Map', [...value].map(([key, item]) => [ref(key), ref(item)])];
  if (value instanceof Set) return ['Set', [...value].map(ref)];
  if (value instanceof Error) {
    const fields = ['message', 'cause'].filter((name) => Object.hasOwn(value, name));
    if (typeof value.stack === 'string') fields.push('stack');
    const type = Object.hasOwn(ERRORS, value.name) ? value.name : 'Error';
    return [
      'Error',
      type,
      fields.map((name) => [name, ref(name === 'message' ? String(value[name]) : value[name])]),
    ];
  }
  if (BOXES.some((box) => value instanceof box)) return ['Box', ref(value.valueOf())];
  if (UNCLONEABLE.some((type) => value instanceof type)) throw notCloneable(value);
  return ['Object', properties()];
}

export function encodeValue(root) {
  const ids = new Map();
  const objects = [];
  const ref = (value) => {
    switch (typeof value) {
      case 'undefined':
        return ['undefined'];
      case 'boolean':
      case 'string':
        return value;
      case 'number':
        return Number.isFinite(value) && !Object.is(value, -0)
          ? value
          : ['number', Object.is(value, -0) ? '-0' : String(value)];
      case 'bigint':
        return ['bigint', String(value)];
      case 'object':
        if (value === null) return null;
        if (!ids.has(value)) ids.set(value, objects.push(value) - 1);
        return ['object', ids.get(value)];
      default:
        throw notCloneable(value);
    }
  };
  const start = ref(root);
  const described = [];
  // The list grows while it is read, so that nested objects need no recursion.
  for (const object of objects) described.push(describeObject(object, ref));
  return Buffer.from(HEADER + JSON.stringify([start, described]));
}

/** The object without the values that it contains. */
function createObject([type, first, second]) {
  switch (type) {
    case 'Object':
      return {};
    case 'Array':
      return Object.assign([], { length: first });
    case 'Map':
      return new Map();
    case 'Set':
      return new Set();
    case 'Date':
      return new Date(primitiveOf(first));
    case 'RegExp':
      return new RegExp(first, second);
    case 'Box':
      return Object(primitiveOf(first));
    case 'Buffer':
      return Buffer.from(first, 'base64');
    case 'Error': {
      const error = Object.setPrototypeOf(new Error(), ERRORS[first].prototype);
      delete error.message;
      return define(error, 'stack', undefined, false);
    }
    default: {
      const { buffer } = new Uint8Array(Buffer.from(first, 'base64'));
      if (type === 'ArrayBuffer') return buffer;
      if (!Object.hasOwn(VIEWS, type)) throw invalidData();
      return new VIEWS[type](buffer);
    }
  }
}

/** Adds the values that an object contains, which may be the object itself. */
function fillObject(object, [type, first, second], valueOf) {
  if (type === 'Map') for (const [key, value] of first) object.set(valueOf(key), valueOf(value));
  else if (type === 'Set') for (const value of first) object.add(valueOf(value));
  else if (type === 'Object' || type === 'Array' || type === 'Error')
    for (const [key, value] of type === 'Object' ? first : second)
      define(object, key, valueOf(value), type !== 'Error');
}

function primitiveOf(ref) {
  if (!Array.isArray(ref)) return ref;
  const [type, text] = ref;
  if (type === 'undefined') return undefined;
  return type === 'bigint' ? BigInt(text) : Number(text);
}

export function decodeValue(bytes) {
  const text = Buffer.from(bytes).toString();
  if (!text.startsWith(HEADER))
    throw new Error('Unable to deserialize cloned data due to invalid or unsupported version.');
  try {
    const [start, described] = JSON.parse(text.slice(HEADER.length));
    const objects = described.map(createObject);
    const valueOf = (ref) => {
      if (!Array.isArray(ref) || ref[0] !== 'object') return primitiveOf(ref);
      if (!Number.isInteger(ref[1]) || !Object.hasOwn(objects, ref[1])) throw invalidData();
      return objects[ref[1]];
    };
    for (const [i, description] of described.entries()) fillObject(objects[i], description, valueOf);
    return valueOf(start);
  } catch {
    throw invalidData();
  }
}
