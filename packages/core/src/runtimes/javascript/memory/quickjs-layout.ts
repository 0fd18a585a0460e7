/**
 * Offsets of QuickJS structures in guest memory, for the binary with the digest in ../build/index.ts. QuickJS publishes no
 * table of them; test/sandbox/fuel-profile.test.ts fails if one is wrong.
 */

/** Function that interprets bytecode, its dispatch loop, and the local that points to the next instruction. */
export const INTERPRETER_PROBE = { function: 'JS_CallInternal', loop: 5, local: 7 } as const;

/** Function that stores the stack trace in an error, and its parameters: context, error, and five others. */
export const BACKTRACE = {
  function: 'build_backtrace',
  parameters: ['i32', 'i64', 'i64', 'i32', 'i32', 'i32', 'i32'],
} as const;

export const CONTEXT = { runtime: 8 } as const;
/** Relative to the state of Math.random in the context. Both are values. */
export const FROM_RANDOM = { globalObject: -24, globalVariables: -16 } as const;
export const RUNTIME = { atoms: 568, currentFrame: 652 } as const;
export const FRAME = { previous: 0, function: 8, arguments: 16, variables: 20, pc: 28 } as const;
export const BYTECODE = {
  code: 12,
  codeLength: 16,
  name: 20,
  variables: 24,
  captured: 28,
  argumentCount: 32,
  variableCount: 34,
  capturedCount: 42,
  file: 56,
  line: 60,
  linesLength: 72,
  lines: 76,
} as const;
/** Definition of a variable in bytecode. */
export const VARIABLE = { name: 0, flags: 12, isLexical: 2, size: 20 } as const;
/** Variable of an enclosing function that a function uses. The kinds from `firstGlobal` on are not local to a function. */
export const CAPTURED = { kind: 0, kindMask: 7, firstGlobal: 3, name: 4, size: 8 } as const;
/** Relative to a function object: the addresses of its captured variables. */
export const FUNCTION = { captured: 28 } as const;
export const OBJECT = { flags: 8, class: 10, shape: 12, properties: 16, data: 24 } as const;
export const IS_FAST_ARRAY = 16;
/** Relative to the object. */
export const ARRAY = { values: 28, count: 32 } as const;
export const MAP_STATE = { records: 4, count: 12 } as const;
/** Entry of a map or set, in a list in order of insertion. `isDeleted` is a bit. */
export const MAP_RECORD = { isDeleted: 4, list: 12 } as const;
/** A list: addresses of the last and the first item, or of the previous and the next one. */
export const LIST = { next: 4 } as const;
/** Data of an iterator of a map or set: the collection, undefined at the end; what it returns; the last entry it returned. */
export const MAP_ITERATOR = { source: 0, kind: 8, record: 12 } as const;
export const SHAPE = { hashMask: 16, propertyCount: 24, prototype: 36, hashTable: 40 } as const;
/** Row of a shape: hash chain and flags, then the name. */
export const PROPERTY = { flagsShift: 26, kindMask: 0x30, atom: 4, size: 8 } as const;
export const PROPERTY_KIND = { value: 0x00, accessor: 0x10, reference: 0x20 } as const;
/** A variable that closures share, and where its value is. */
export const REFERENCE = { value: 12 } as const;
export const STRING = { kindShift: 28, data: 16 } as const;
export const BIG_INT = { limbs: 4 } as const;

export const TAG = {
  bigInt: -9,
  symbol: -8,
  string: -7,
  rope: -6,
  object: -1,
  int: 0,
  bool: 1,
  null: 2,
  undefined: 3,
  uninitialized: 4,
  shortBigInt: 7,
} as const;
/** Added to the upper half of a value that is a float. */
export const FLOAT_ADDEND = 0x7ff8_000a;

/** Classes of objects whose data is bytecode. */
export const BYTECODE_CLASSES: ReadonlySet<number> = new Set([13, 17, 55, 59]);
/** Other functions. */
export const NATIVE_CLASSES: ReadonlySet<number> = new Set([12, 14, 15, 16, 53, 54, 56, 57]);
/** Iterators of maps and of sets. */
export const MAP_ITERATOR_CLASSES: ReadonlySet<number> = new Set([44, 45]);
export const CLASS = {
  object: 1,
  array: 2,
  error: 3,
  date: 10,
  map: 36,
  set: 37,
  proxy: 51,
  promise: 52,
} as const;
