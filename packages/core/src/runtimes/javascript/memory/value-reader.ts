/**
 * Short texts of JavaScript values, read from guest memory without calling the guest, so that no getter and no proxy
 * runs. Pointers and lengths are hostile: every access is checked by GuestMemory and every loop is bounded, so a text may
 * be wrong but is always short.
 */
import type { Guest } from '../../../engine/guest.ts';
import {
  countItems,
  DESCRIBED_ITEMS,
  describeItems,
  describeString,
  stringChars,
} from '../../memory/describe-value.ts';
import type { NamedValue } from '../../memory/stack-walker.ts';
import {
  ARRAY,
  BIG_INT,
  BYTECODE_CLASSES,
  CLASS,
  FLOAT_ADDEND,
  IS_FAST_ARRAY,
  MAP_STATE,
  NATIVE_CLASSES,
  OBJECT,
  PROPERTY,
  PROPERTY_KIND,
  REFERENCE,
  RUNTIME,
  SHAPE,
  STRING,
  TAG,
} from './quickjs-layout.ts';

const MAX_NAME_CHARS = 200;
/** Characters of a name in the text of an object. */
const MAX_SHOWN_NAME_CHARS = 40;
const MAX_LIMBS = 10;
/** Properties of an object that are searched for a name. */
const MAX_SEARCHED = 16;
/** Atoms with this bit are integers. */
const INT_ATOM = 0x8000_0000;

export class ValueReader {
  constructor(
    readonly guest: Guest,
    readonly runtime: number,
  ) {}

  #u32(address: number): number {
    return this.guest.view.u32(address);
  }

  /** The object that a value refers to, or 0. */
  objectAt(address: number): number {
    return this.#tag(address) === TAG.object ? this.#u32(address) : 0;
  }

  classOf(object: number): number {
    return this.guest.view.u16(object + OBJECT.class);
  }

  /** Whether the value exists and is not a function. */
  isData(address: number): boolean {
    if (this.#tag(address) === TAG.uninitialized) return false;
    const object = this.objectAt(address);
    if (object === 0) return true;
    const kind = this.classOf(object);
    return !BYTECODE_CLASSES.has(kind) && !NATIVE_CLASSES.has(kind);
  }

  /** The text of a property name or identifier. */
  atom(atom: number): string {
    if ((atom & INT_ATOM) !== 0) return String(atom & ~INT_ATOM);
    return this.#text(this.#u32(this.#u32(this.runtime + RUNTIME.atoms) + atom * 4), MAX_NAME_CHARS) ?? '';
  }

  /** The string in the property `name` of a function; undefined if it was replaced by something else. */
  functionName(object: number): string | undefined {
    const address = this.#property(object, 'name');
    if (address === undefined || this.#tag(address) !== TAG.string) return undefined;
    return this.#text(this.#u32(address), MAX_NAME_CHARS);
  }

  /** The properties of an object that hold a value, starting after the first `skip`. */
  *properties(object: number, max: number, skip = 0): Generator<NamedValue> {
    const shape = this.#u32(object + OBJECT.shape);
    const rows = shape + SHAPE.hashTable + 4 * (this.#u32(shape + SHAPE.hashMask) + 1);
    const count = Math.min(this.#u32(shape + SHAPE.propertyCount), skip + max);
    const values = this.#u32(object + OBJECT.properties);
    for (let i = skip; i < count; i++) {
      const row = rows + i * PROPERTY.size;
      const atom = this.#u32(row + PROPERTY.atom);
      const kind = (this.#u32(row) >>> PROPERTY.flagsShift) & PROPERTY.kindMask;
      const at = values + i * 8;
      if (atom === 0) continue;
      if (kind === PROPERTY_KIND.value) yield [this.atom(atom), at];
      else if (kind === PROPERTY_KIND.reference)
        yield [this.atom(atom), this.#u32(this.#u32(at) + REFERENCE.value)];
    }
  }

  /** Number of properties, including deleted ones. */
  propertyCount(object: number): number {
    return this.#u32(this.#u32(object + OBJECT.shape) + SHAPE.propertyCount);
  }

  /** A short text of the value. Arrays and objects show their size and their first items. */
  describe(address: number, depth = 0): string {
    const low = this.#u32(address);
    switch (this.#tag(address)) {
      case TAG.int:
        return String(low | 0);
      case TAG.bool:
        return low === 0 ? 'false' : 'true';
      case TAG.null:
        return 'null';
      case TAG.undefined:
        return 'undefined';
      case TAG.shortBigInt:
        return `${low | 0}n`;
      case TAG.bigInt:
        return this.#bigInt(low);
      case TAG.string:
        return this.#quoted(low, depth);
      case TAG.rope:
        return `<string, ${this.#u32(low)} characters>`;
      case TAG.symbol:
        return '<symbol>';
      case TAG.object:
        return this.#object(low, depth);
      default:
        return this.#float(address);
    }
  }

  #tag(address: number): number {
    return this.guest.view.i32(address + 4);
  }

  #float(address: number): string {
    const bits = new DataView(new ArrayBuffer(8));
    bits.setUint32(0, this.#u32(address), true);
    bits.setUint32(4, (this.#u32(address + 4) + FLOAT_ADDEND) >>> 0, true);
    return String(bits.getFloat64(0, true));
  }

  #bigInt(address: number): string {
    const limbs = this.#u32(address);
    if (limbs > MAX_LIMBS) return `<bigint, about 10**${Math.floor(limbs * 32 * Math.log10(2))}>`;
    let value = 0n;
    for (let i = limbs - 1; i >= 0; i--)
      value = (value << 32n) | BigInt(this.#u32(address + BIG_INT.limbs + i * 4));
    return `${BigInt.asIntN(limbs * 32, value)}n`;
  }

  #text(string: number, max: number): string | undefined {
    const head = this.#u32(string);
    const kind = (this.#u32(string + 4) >>> STRING.kindShift) & 3;
    const isWide = head >>> 31 === 1;
    const length = Math.min(head & 0x7fff_ffff, max);
    let data = string + STRING.data;
    // A part of another string, which starts at an offset in bytes; or characters that are stored elsewhere.
    if (kind === 1) data = this.#u32(data) + STRING.data + this.#u32(data + 4);
    else if (kind === 2) data = this.#u32(data);
    else if (kind !== 0) return undefined;
    const bytes = this.guest.view.bytes(data, isWide ? length * 2 : length);
    if (!isWide) return String.fromCharCode.apply(null, bytes as unknown as number[]);
    let text = '';
    for (let i = 0; i < length; i++) text += String.fromCharCode(bytes[2 * i]! | (bytes[2 * i + 1]! << 8));
    return text;
  }

  #quoted(string: number, depth: number): string {
    const length = this.#u32(string) & 0x7fff_ffff;
    const max = stringChars(depth);
    return describeString(JSON.stringify(this.#text(string, max) ?? ''), max, length, depth);
  }

  #object(object: number, depth: number): string {
    switch (this.classOf(object)) {
      case CLASS.array:
        return this.#array(object, depth);
      case CLASS.object:
        return this.#plainObject(object, depth);
      case CLASS.map:
        return `<Map, ${countItems(this.#u32(this.#u32(object + OBJECT.data) + MAP_STATE.count))}>`;
      case CLASS.set:
        return `<Set, ${countItems(this.#u32(this.#u32(object + OBJECT.data) + MAP_STATE.count))}>`;
      case CLASS.proxy:
        return '<Proxy>';
      default:
        return `<${this.className(object) ?? 'object'}${depth > 0 ? '' : ` #${object}`}>`;
    }
  }

  #array(object: number, depth: number): string {
    if ((this.guest.view.u8(object + OBJECT.flags) & IS_FAST_ARRAY) === 0) return '<sparse array>';
    const size = this.#u32(object + ARRAY.count);
    if (size === 0) return '[]';
    if (depth > 0) return `[${countItems(size)}]`;
    const values = this.#u32(object + ARRAY.values);
    return describeItems(['[', ']'], this.#items(values, Math.min(size, DESCRIBED_ITEMS)), size);
  }

  *#items(values: number, count: number): Generator<string> {
    for (let i = 0; i < count; i++) yield this.describe(values + i * 8, 1);
  }

  #plainObject(object: number, depth: number): string {
    const size = this.propertyCount(object);
    const className = this.className(object)?.slice(0, MAX_SHOWN_NAME_CHARS);
    const prefix = className === undefined || className === 'Object' ? '' : `${className} `;
    if (size === 0) return `${prefix}{}`;
    if (depth > 0) return `${prefix}{${countItems(size)}}`;
    return describeItems([`${prefix}{`, '}'], this.#describedProperties(object), size);
  }

  *#describedProperties(object: number): Generator<string> {
    for (const [name, address] of this.properties(object, DESCRIBED_ITEMS))
      yield `${name.slice(0, MAX_SHOWN_NAME_CHARS)}: ${this.describe(address, 1)}`;
  }

  isUndefined(address: number): boolean {
    return this.#tag(address) === TAG.undefined;
  }

  /** Whether two values are the same number, object or string in memory. */
  isSame(a: number, b: number): boolean {
    return this.#u32(a) === this.#u32(b) && this.#tag(a) === this.#tag(b);
  }

  /** The name of the function in the property `constructor` of the prototype. */
  className(object: number): string | undefined {
    const prototype = this.#u32(this.#u32(object + OBJECT.shape) + SHAPE.prototype);
    const address = prototype === 0 ? undefined : this.#property(prototype, 'constructor');
    const target = address === undefined ? 0 : this.objectAt(address);
    return target === 0 ? undefined : this.functionName(target);
  }

  #property(object: number, wanted: string): number | undefined {
    for (const [name, address] of this.properties(object, MAX_SEARCHED)) if (name === wanted) return address;
    return undefined;
  }
}
