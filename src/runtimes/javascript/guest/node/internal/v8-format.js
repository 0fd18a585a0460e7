/** Numbers and letters of the format of v8.serialize, version 15. */
import { Buffer } from '../buffer.js';

export const VERSION = 15;
export const VERSION_TAG = 0xff;
/** The views by their number in the format. */
export const VIEWS = [
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
  Buffer,
  BigInt64Array,
  BigUint64Array,
];
export const ERRORS = {
  E: EvalError,
  R: RangeError,
  F: ReferenceError,
  S: SyntaxError,
  T: TypeError,
  U: URIError,
};
export const FLAGS = { g: 1, i: 2, m: 4, y: 8, u: 16, s: 32, d: 128, v: 256 };
