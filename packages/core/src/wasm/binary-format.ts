/**
 * Constants of the WebAssembly binary format, except for the opcodes.
 * Source: the binary format chapter of the WebAssembly core specification; tags come from the exception handling
 * proposal.
 */

/** Magic number and version 1. */
export const HEADER: readonly number[] = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

export const SECTION = {
  custom: 0,
  type: 1,
  import: 2,
  function: 3,
  table: 4,
  memory: 5,
  global: 6,
  export: 7,
  start: 8,
  element: 9,
  code: 10,
  data: 11,
  dataCount: 12,
  tag: 13,
} as const;

/** The order in which sections appear in a module. It is not the order of their ids. */
export const SECTION_ORDER: readonly number[] = [
  SECTION.type,
  SECTION.import,
  SECTION.function,
  SECTION.table,
  SECTION.memory,
  SECTION.tag,
  SECTION.global,
  SECTION.export,
  SECTION.start,
  SECTION.element,
  SECTION.dataCount,
  SECTION.code,
  SECTION.data,
];

/** Value types with a one-byte encoding. */
export const VALUE_TYPE = {
  i32: 0x7f,
  i64: 0x7e,
  f32: 0x7d,
  f64: 0x7c,
  v128: 0x7b,
  funcref: 0x70,
  externref: 0x6f,
  exnref: 0x69,
} as const;

/** One letter for each value type, in the notation of Emscripten where it has one. */
export const TYPE_LETTERS: Readonly<Record<number, string>> = {
  [VALUE_TYPE.i32]: 'i',
  [VALUE_TYPE.i64]: 'j',
  [VALUE_TYPE.f32]: 'f',
  [VALUE_TYPE.f64]: 'd',
  [VALUE_TYPE.v128]: 'V',
  [VALUE_TYPE.funcref]: 'F',
  [VALUE_TYPE.externref]: 'E',
  [VALUE_TYPE.exnref]: 'X',
};

const IS_VALUE_TYPE = new Uint8Array(256);
for (const byte of Object.values(VALUE_TYPE)) IS_VALUE_TYPE[byte] = 1;

export const isValueType = (byte: number): boolean => IS_VALUE_TYPE[byte] === 1;

export const NUMBER_TYPES = ['i32', 'i64', 'f32', 'f64'] as const;
export type NumberType = (typeof NUMBER_TYPES)[number];

/** First byte of a function type. */
export const FUNCTION_TYPE = 0x60;

/** Block type of a block without parameters and results. */
export const EMPTY_BLOCK = 0x40;

/** Kinds of imports and exports. */
export const EXTERNAL_KIND = { function: 0, table: 1, memory: 2, global: 3, tag: 4 } as const;

export const PAGE_BYTES = 65_536;

/** Maximum number of pages of a 32-bit memory. */
export const MAX_PAGES = 65_536;
