/** The methods of Buffer that read and write numbers. */
import { defineHidden } from '../../define.js';
import { codedError, invalidArgType, outOfRange } from './errors.js';

/** Method name without `read` or `write`, method of DataView, and bytes. */
const FIXED = [
  ['UInt8', 'Uint8', 1, 0, 255],
  ['Int8', 'Int8', 1, -128, 127],
  ['UInt16', 'Uint16', 2, 0, 65_535],
  ['Int16', 'Int16', 2, -32_768, 32_767],
  ['UInt32', 'Uint32', 4, 0, 2 ** 32 - 1],
  ['Int32', 'Int32', 4, -(2 ** 31), 2 ** 31 - 1],
  ['Float', 'Float32', 4],
  ['Double', 'Float64', 8],
  ['BigUInt64', 'BigUint64', 8, 0n, 2n ** 64n - 1n],
  ['BigInt64', 'BigInt64', 8, -(2n ** 63n), 2n ** 63n - 1n],
];

function checkOffset(bytes, offset, size) {
  if (typeof offset !== 'number') throw invalidArgType('offset', 'number', offset);
  if (Math.floor(offset) !== offset) throw outOfRange('offset', 'an integer', offset);
  if (bytes.length < size)
    throw codedError(
      RangeError,
      'ERR_BUFFER_OUT_OF_BOUNDS',
      'Attempt to access memory outside buffer bounds',
    );
  if (offset < 0 || offset + size > bytes.length)
    throw outOfRange('offset', `>= 0 and <= ${bytes.length - size}`, offset);
}

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function checkValue(value, min, max, size) {
  if (typeof min === 'bigint') {
    if (typeof value !== 'bigint') throw invalidArgType('value', 'bigint', value);
    if (value < min || value > max) throw outOfRange('value', bigRange(min), value);
    return value;
  }
  const number = Number(value);
  if (number < min || number > max) throw outOfRange('value', range(min, max, size), value);
  return number;
}

const bigRange = (min) => (min === 0n ? '>= 0n and < 2n ** 64n' : '>= -(2n ** 63n) and < 2n ** 63n');
function range(min, max, size) {
  if (size <= 4) return `>= ${min} and <= ${max}`;
  return min === 0 ? `>= 0 and < 2 ** ${size * 8}` : `>= -(2 ** ${size * 8 - 1}) and < 2 ** ${size * 8 - 1}`;
}

function addFixed(methods, [name, type, size, min, max]) {
  for (const order of size === 1 ? [''] : ['LE', 'BE']) {
    const isLittle = order === 'LE';
    methods[`read${name}${order}`] = function read(offset = 0) {
      checkOffset(this, offset, size);
      return viewOf(this)[`get${type}`](offset, isLittle);
    };
    methods[`write${name}${order}`] = function write(value, offset = 0) {
      const number = min === undefined ? Number(value) : checkValue(value, min, max, size);
      checkOffset(this, offset, size);
      viewOf(this)[`set${type}`](offset, number, isLittle);
      return offset + size;
    };
  }
}

function checkByteLength(byteLength) {
  if (byteLength === undefined) throw invalidArgType('byteLength', 'number', byteLength);
  if (typeof byteLength !== 'number') throw invalidArgType('byteLength', 'number', byteLength);
  if (Math.floor(byteLength) !== byteLength) throw outOfRange('byteLength', 'an integer', byteLength);
  if (byteLength < 1 || byteLength > 6) throw outOfRange('byteLength', '>= 1 and <= 6', byteLength);
}

function addVariable(methods, isSigned, isLittle) {
  const name = `${isSigned ? 'Int' : 'UInt'}${isLittle ? 'LE' : 'BE'}`;
  methods[`read${name}`] = function read(offset, byteLength) {
    if (offset === undefined) throw invalidArgType('offset', 'number', offset);
    checkByteLength(byteLength);
    checkOffset(this, offset, byteLength);
    let value = 0;
    for (let i = 0; i < byteLength; i++)
      value = value * 256 + this[offset + (isLittle ? byteLength - 1 - i : i)];
    return isSigned && value >= 2 ** (8 * byteLength - 1) ? value - 2 ** (8 * byteLength) : value;
  };
  methods[`write${name}`] = function write(value, offset, byteLength) {
    checkByteLength(byteLength);
    const bits = 8 * byteLength;
    const number = checkValue(
      value,
      isSigned ? -(2 ** (bits - 1)) : 0,
      2 ** (isSigned ? bits - 1 : bits) - 1,
      byteLength,
    );
    checkOffset(this, offset, byteLength);
    let rest = number < 0 ? number + 2 ** bits : number;
    for (let i = 0; i < byteLength; i++) {
      this[offset + (isLittle ? i : byteLength - 1 - i)] = rest % 256;
      rest = Math.floor(rest / 256);
    }
    return offset + byteLength;
  };
}

export function addNumberMethods(prototype) {
  const methods = {};
  for (const row of FIXED) addFixed(methods, row);
  for (const isSigned of [false, true])
    for (const isLittle of [true, false]) addVariable(methods, isSigned, isLittle);
  for (const [name, value] of Object.entries(methods))
    if (name.includes('UInt')) methods[name.replace('UInt', 'Uint')] = value;
  defineHidden(prototype, methods);
}
