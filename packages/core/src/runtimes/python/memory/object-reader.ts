/**
 * Short texts of Python objects, read from guest memory without calling the guest. Only the exact built-in types are
 * read; for other objects, only the class name is shown. Pointers and lengths are hostile: every access is checked by
 * GuestMemory and every loop is bounded, so a text may be wrong but is always short.
 */
import type { CompiledModule, Guest } from '../../../engine/guest.ts';
import {
  countItems,
  DESCRIBED_ITEMS,
  describeItems,
  describeString,
  stringChars,
} from '../../memory/describe-value.ts';
import type { Offsets } from './debug-offsets.ts';

/** Exports that hold the addresses of the built-in types. */
export const TYPE_EXPORTS = [
  'PyBool_Type',
  'PyByteArray_Type',
  'PyBytes_Type',
  'PyCFunction_Type',
  'PyCell_Type',
  'PyDict_Type',
  'PyFloat_Type',
  'PyFrozenSet_Type',
  'PyFunction_Type',
  'PyList_Type',
  'PyLong_Type',
  'PyModule_Type',
  'PyRange_Type',
  'PySet_Type',
  'PyTuple_Type',
  'PyUnicode_Type',
  '_PyNone_Type',
  '_Py_TrueStruct',
] as const;

type TypeName = (typeof TYPE_EXPORTS)[number];

const MAX_NAME_BYTES = 100;
/** Digits of an int, of 30 bits each, up to which its value is shown. */
const MAX_DIGITS = 10;
const DIGIT_BITS = 30n;
/** Type flag of classes: their type derives from `type`. */
const IS_CLASS = 0x8000_0000;
/** Kinds of objects that are not data of the program. */
const NOT_DATA: readonly TypeName[] = ['PyModule_Type', 'PyFunction_Type', 'PyCFunction_Type'];
/** Layout of dict keys: log2 of the size of the index in bytes, kind of entries, number of entries, start of the index. */
const KEYS = { log2IndexBytes: 5, kind: 6, entryCount: 16, index: 20 } as const;
const GENERAL_KEYS = 0;

const decoder = new TextDecoder();

/** The built-in types by address, which is the same in all instances of a module. */
const typesOf = new WeakMap<CompiledModule, ReadonlyMap<number, TypeName>>();

export class ObjectReader {
  readonly #types: ReadonlyMap<number, TypeName>;

  constructor(
    readonly guest: Guest,
    readonly offsets: Offsets,
  ) {
    const known = typesOf.get(guest.compiled);
    this.#types = known ?? new Map(TYPE_EXPORTS.map((name) => [this.#address(name), name]));
    if (known === undefined) typesOf.set(guest.compiled, this.#types);
  }

  #u32(address: number): number {
    return this.guest.view.u32(address);
  }

  #typeOf(object: number): number {
    return this.#u32(object + this.offsets.object_type);
  }

  /** The value of a variable that a closure shares, or the object itself. 0 if there is none. */
  contents(object: number): number {
    const isCell = this.#types.get(this.#typeOf(object)) === 'PyCell_Type';
    return isCell ? this.#u32(object + this.offsets.object_type + 4) : object;
  }

  /** Whether the object is a value rather than a module, a function or a class. */
  isData(object: number): boolean {
    const type = this.#typeOf(object);
    const name = this.#types.get(type);
    if (name !== undefined) return !NOT_DATA.includes(name);
    return this.#u32(type + this.offsets.type_flags) < IS_CLASS;
  }

  /** The text of a string object, shortened to `max` characters; undefined if the object is not a string. */
  string(object: number, max: number): string | undefined {
    const { view } = this.guest;
    if (this.#types.get(this.#typeOf(object)) !== 'PyUnicode_Type') return undefined;
    const length = Math.min(this.#u32(object + this.offsets.unicode_length), max);
    const state = this.#u32(object + this.offsets.unicode_state);
    const width = (state >> 2) & 7;
    const isCompact = (state & 32) !== 0;
    const isAscii = (state & 64) !== 0;
    if (!isCompact || (width !== 1 && width !== 2 && width !== 4)) return undefined;
    // Other strings also have the length and the address of their UTF-8 form.
    const data = object + this.offsets.unicode_ascii_size + (isAscii ? 0 : 8);
    const bytes = view.bytes(data, length * width);
    if (width === 1) return String.fromCharCode.apply(null, bytes as unknown as number[]);
    let text = '';
    for (let i = 0; i < length; i++) {
      const at = i * width;
      const code = bytes[at]! | (bytes[at + 1]! << 8) | (width === 4 ? bytes[at + 2]! << 16 : 0);
      text += String.fromCodePoint(Math.min(code, 0x10ffff));
    }
    return text;
  }

  /** A short text of the value, like its repr. Containers show their length and their first items. */
  describe(object: number, depth = 0): string {
    const { offsets } = this;
    const type = this.#typeOf(object);
    switch (this.#types.get(type)) {
      case '_PyNone_Type':
        return 'None';
      case 'PyBool_Type':
        return object === this.#address('_Py_TrueStruct') ? 'True' : 'False';
      case 'PyLong_Type':
        return this.#int(object);
      case 'PyFloat_Type':
        return this.#float(object);
      case 'PyUnicode_Type':
        return this.#quoted(object, depth);
      case 'PyBytes_Type':
        return `<bytes, ${countItems(this.#u32(object + offsets.bytes_size), 'byte')}>`;
      case 'PyByteArray_Type':
        return `<bytearray, ${countItems(this.#u32(object + offsets.bytes_size), 'byte')}>`;
      case 'PyList_Type': {
        const [items, size] = [this.#u32(object + offsets.list_items), this.#u32(object + offsets.list_size)];
        return this.#sequence(['[', ']'], items, size, depth);
      }
      case 'PyTuple_Type':
        return this.#sequence(
          ['(', ')'],
          object + offsets.tuple_items,
          this.#u32(object + offsets.tuple_size),
          depth,
        );
      case 'PyDict_Type':
        return this.#dict(object, depth);
      case 'PySet_Type':
        return `<set, ${countItems(this.#u32(object + offsets.set_used))}>`;
      case 'PyFrozenSet_Type':
        return `<frozenset, ${countItems(this.#u32(object + offsets.set_used))}>`;
      default:
        return depth > 0 ? `<${this.#typeName(type)}>` : `<${this.#typeName(type)} #${object}>`;
    }
  }

  /** The first entries of a dict whose keys are strings, as names and addresses of their values. */
  *entries(dict: number, max: number): Generator<readonly [key: number, value: number]> {
    // A split dict, of an instance, keeps its values elsewhere.
    if (this.#u32(dict + this.offsets.dict_values) !== 0) return;
    const keys = this.#u32(dict + this.offsets.dict_keys);
    const { view } = this.guest;
    const [log2IndexBytes, kind] = view.bytes(keys + KEYS.log2IndexBytes, 2) as unknown as [number, number];
    const hasHash = kind === GENERAL_KEYS;
    const rowBytes = hasHash ? 12 : 8;
    const rows = Math.min(this.#u32(keys + KEYS.entryCount), max);
    const start = keys + KEYS.index + 2 ** Math.min(log2IndexBytes, 31);
    for (let i = 0; i < rows; i++) {
      const at = start + i * rowBytes + (hasHash ? 4 : 0);
      const [key, value] = [this.#u32(at), this.#u32(at + 4)];
      // A deleted entry.
      if (key !== 0 && value !== 0) yield [key, value];
    }
  }

  #address(name: TypeName): number {
    return (this.guest.exports[name] as WebAssembly.Global).value as number;
  }

  #typeName(type: number): string {
    const bytes = this.guest.view.all;
    const start = this.#u32(type + this.offsets.type_name);
    let end = start;
    while (end < bytes.length && end < start + MAX_NAME_BYTES && bytes[end] !== 0) end++;
    return decoder.decode(bytes.subarray(start, end)).replace(/^.*\./, '');
  }

  #int(object: number): string {
    const tag = this.#u32(object + this.offsets.long_tag);
    const digits = tag >>> 3;
    const sign = (tag & 3) === 2 ? '-' : '';
    if (digits > MAX_DIGITS) return `<int, about 10**${Math.floor(digits * 30 * Math.LOG10E * Math.LN2)}>`;
    let value = 0n;
    for (let i = digits - 1; i >= 0; i--)
      value = (value << DIGIT_BITS) | BigInt(this.#u32(object + this.offsets.long_digits + i * 4));
    return `${sign}${value}`;
  }

  #float(object: number): string {
    const bytes = this.guest.view.bytes(object + this.offsets.float_value, 8);
    const value = new DataView(bytes.buffer, bytes.byteOffset, 8).getFloat64(0, true);
    if (Number.isNaN(value)) return 'nan';
    if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
    return Number.isInteger(value) && Math.abs(value) < 1e16 ? `${value}.0` : String(value);
  }

  #quoted(object: number, depth: number): string {
    const length = this.#u32(object + this.offsets.unicode_length);
    const max = stringChars(depth);
    const text = this.string(object, max) ?? '';
    const quoted = `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`;
    return describeString(quoted, max, length, depth);
  }

  #sequence(brackets: readonly [string, string], items: number, size: number, depth: number): string {
    if (size === 0) return brackets.join('');
    if (depth > 0) return brackets.join(countItems(size));
    return describeItems(brackets, this.#items(items, Math.min(size, DESCRIBED_ITEMS)), size);
  }

  *#items(items: number, count: number): Generator<string> {
    for (let i = 0; i < count; i++) yield this.describe(this.#u32(items + i * 4), 1);
  }

  #dict(object: number, depth: number): string {
    // The number of items follows the header of the object.
    const size = this.#u32(object + this.offsets.object_type + 4);
    if (size === 0) return '{}';
    if (depth > 0) return `{${countItems(size)}}`;
    return describeItems(['{', '}'], this.#describedEntries(object), size);
  }

  *#describedEntries(dict: number): Generator<string> {
    for (const [key, value] of this.entries(dict, DESCRIBED_ITEMS))
      yield `${this.describe(key, 1)}: ${this.describe(value, 1)}`;
  }
}
