/** Deep equality as util.isDeepStrictEqual and assert.deepEqual define it. */
import { classOf } from '../../value-types.js';

const enumerableSymbols = (value) =>
  Object.getOwnPropertySymbols(value).filter((key) => Object.prototype.propertyIsEnumerable.call(value, key));
const BOXES = new Set(['Number', 'String', 'Boolean', 'BigInt', 'Symbol']);

function equalPrimitives(a, b, isStrict) {
  if (isStrict) return Object.is(a, b);
  // biome-ignore lint/suspicious/noDoubleEquals: loose equality is what assert.deepEqual compares with.
  return a == b || (Number.isNaN(a) && Number.isNaN(b));
}

const isObject = (value) => typeof value === 'object' && value !== null;

class Comparison {
  constructor(isStrict) {
    this.isStrict = isStrict;
    this.pairs = [];
  }

  equal(a, b) {
    if (a === b) return a !== 0 || !this.isStrict || Object.is(a, b);
    if (!isObject(a) || !isObject(b)) {
      if (this.isStrict && (isObject(a) || isObject(b) || typeof a === 'function')) return false;
      if (isObject(a) !== isObject(b)) return false;
      return equalPrimitives(a, b, this.isStrict);
    }
    if (this.isStrict && Object.getPrototypeOf(a) !== Object.getPrototypeOf(b)) return false;
    const kind = classOf(a);
    if (kind !== classOf(b)) return false;
    if (this.isStrict && a[Symbol.toStringTag] !== b[Symbol.toStringTag]) return false;
    if (!this.#sameContent(kind, a, b)) return false;
    const known = this.pairs.find((pair) => pair[0] === a && pair[1] === b);
    if (known !== undefined) return true;
    this.pairs.push([a, b]);
    const result = this.#sameEntries(kind, a, b) && this.#sameProperties(a, b);
    this.pairs.pop();
    return result;
  }

  /** Compares what is not in properties. */
  #sameContent(kind, a, b) {
    if (kind === 'Date') return Object.is(a.getTime(), b.getTime());
    if (kind === 'RegExp') return a.source === b.source && a.flags === b.flags && a.lastIndex === b.lastIndex;
    if (kind === 'Error') {
      return (
        a.message === b.message &&
        a.name === b.name &&
        this.#sameHidden(a, b, 'cause') &&
        this.#sameHidden(a, b, 'errors')
      );
    }
    if (BOXES.has(kind)) return Object.is(a.valueOf(), b.valueOf());
    if (ArrayBuffer.isView(a)) {
      if (a.byteLength !== b.byteLength) return false;
      if (kind.startsWith('Float') && !this.isStrict) return a.every((value, i) => value === b[i]);
      return sameBytes(a.buffer, a.byteOffset, b.buffer, b.byteOffset, a.byteLength);
    }
    if (kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer')
      return a.byteLength === b.byteLength && sameBytes(a, 0, b, 0, a.byteLength);
    if (kind === 'Array') return a.length === b.length;
    if (kind === 'Map' || kind === 'Set') return a.size === b.size;
    if (kind === 'WeakMap' || kind === 'WeakSet' || kind === 'Promise') return false;
    return true;
  }

  #sameHidden(a, b, key) {
    return Object.hasOwn(a, key) === Object.hasOwn(b, key) && this.equal(a[key], b[key]);
  }

  #sameProperties(a, b) {
    if (this.isStrict && !this.#sameSymbols(a, b)) return false;
    // The items of an array of bytes are compared before; listing them as keys would take long.
    if (ArrayBuffer.isView(a)) return true;
    const keys = Object.keys(a);
    if (keys.length !== Object.keys(b).length) return false;
    if (!keys.every((key) => Object.prototype.propertyIsEnumerable.call(b, key))) return false;
    return keys.every((key) => this.equal(a[key], b[key]));
  }

  #sameSymbols(a, b) {
    const symbols = enumerableSymbols(a);
    return (
      symbols.length === enumerableSymbols(b).length &&
      symbols.every((key) => Object.prototype.propertyIsEnumerable.call(b, key) && this.equal(a[key], b[key]))
    );
  }

  #sameEntries(kind, a, b) {
    if (kind === 'Set') return this.#sameSets(a, b);
    return kind === 'Map' ? this.#sameMaps(a, b) : true;
  }

  #sameSets(a, b) {
    const rest = [...b].filter((value) => !a.has(value));
    for (const value of a) {
      if (b.has(value)) continue;
      if (this.isStrict && !isObject(value)) return false;
      const index = rest.findIndex((one) => this.equal(value, one));
      if (index < 0) return false;
      rest.splice(index, 1);
    }
    return true;
  }

  #sameMaps(a, b) {
    const rest = [...b.keys()].filter((key) => !a.has(key));
    for (const [key, value] of a) {
      if (b.has(key)) {
        if (!this.equal(value, b.get(key))) return false;
        continue;
      }
      if (this.isStrict && !isObject(key)) return false;
      const index = rest.findIndex((one) => this.equal(key, one) && this.equal(value, b.get(one)));
      if (index < 0) return false;
      rest.splice(index, 1);
    }
    return true;
  }
}

function sameBytes(a, aOffset, b, bOffset, length) {
  const left = new Uint8Array(a, aOffset, length);
  const right = new Uint8Array(b, bOffset, length);
  return left.every((byte, i) => byte === right[i]);
}

export const isDeepEqual = (a, b) => new Comparison(false).equal(a, b);
export const isDeepStrictEqual = (a, b) => new Comparison(true).equal(a, b);
