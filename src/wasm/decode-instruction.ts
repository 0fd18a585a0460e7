/**
 * Decodes one instruction at a time. It does not check types (the engine that compiles the output does), but it
 * holds one thing the engine cannot: an index must exist in the module as it came. The rewriter appends functions,
 * a global, a table and locals of its own, and an index one past the end must not begin to mean one of those.
 */
import { invalid, type Reader } from './binary-io.ts';
import { IMMEDIATE_OF, IMMEDIATES, type Immediate, rowOf } from './opcodes.ts';

/** How many of each kind the original module has; `locals` is set for each body. */
export interface IndexSpace {
  types: number;
  functions: number;
  tables: number;
  globals: number;
  tags: number;
  elements: number;
  locals: number;
}

/** What the last `decode` saw. One object is reused, since a module has millions of instructions. */
export interface Instruction {
  /** Slot in the opcode table. */
  opcode: number;
  /** Label depth, function index, or type index of a block (negative for the short forms). */
  index: number;
  /** Label depths of br_table (the default last) and of try_table's catches. */
  labels: number[];
}

export const newInstruction = (): Instruction => ({ opcode: 0, index: 0, labels: [] });

/** Value types with a one-byte encoding: the numbers, v128, funcref, externref, exnref. */
export const isValueType = (byte: number): boolean =>
  (byte >= 0x7b && byte <= 0x7f) || byte === 0x70 || byte === 0x6f || byte === 0x69;

const kind = (name: Immediate): number => (IMMEDIATES as readonly Immediate[]).indexOf(name);
const NONE = kind('none');
const LOCAL = kind('local');
const MEMARG = kind('memarg');
const I32 = kind('i32');

/** Reads the instruction at the reader and moves past it. */
export function decode(reader: Reader, space: IndexSpace, into: Instruction): void {
  const at = reader.pos;
  const first = reader.u8();
  let slot = first;
  if (first >= 0xfc && first !== 0xff) {
    const code = reader.u32();
    const size = first === 0xfd ? 0x200 : 0x100;
    slot = code < size ? (first === 0xfc ? 0x100 : first === 0xfd ? 0x200 : 0x400) + code : 0xff;
    if (slot === 0xff) throw invalid(`unknown opcode 0x${first.toString(16)} 0x${code.toString(16)}`, at);
  }
  into.opcode = slot;
  const immediate = IMMEDIATE_OF[slot]!;
  if (immediate === NONE) return;
  if (immediate === LOCAL) bounded(reader, space.locals, 'local');
  else if (immediate === I32) reader.s32();
  else if (immediate === MEMARG) memarg(reader);
  else if (immediate === 255) throw unknownOpcode(slot, at);
  else (READERS[immediate] ?? refusedInstruction(slot, at))(reader, space, into);
}

function refusedInstruction(slot: number, at: number): never {
  const row = rowOf(slot);
  throw invalid(`${row?.[2] ?? 'an instruction'} is refused (${row?.[5] ?? 'unknown operands'})`, at);
}

function unknownOpcode(slot: number, at: number): Error {
  const prefix = slot < 0x100 ? '' : `0x${(slot < 0x200 ? 0xfc : slot < 0x400 ? 0xfd : 0xfe).toString(16)} `;
  const code = slot < 0x100 ? slot : slot < 0x200 ? slot - 0x100 : slot < 0x400 ? slot - 0x200 : slot - 0x400;
  return invalid(`unknown opcode ${prefix}0x${code.toString(16)}`, at);
}

function bounded(reader: Reader, limit: number, what: string): number {
  const at = reader.pos;
  const index = reader.u32();
  if (index >= limit) throw invalid(`${what} ${index} does not exist (there are ${limit})`, at);
  return index;
}

function memarg(reader: Reader): void {
  const at = reader.pos;
  const align = reader.u32();
  if (align >= 0x40) throw invalid('a memory access names its memory (multi-memory is not supported)', at);
  reader.u32();
}

function zero(reader: Reader): void {
  const at = reader.pos;
  if (reader.u8() !== 0) throw invalid('a second memory is used (multi-memory is not supported)', at);
}

function blockType(reader: Reader, space: IndexSpace, into: Instruction): void {
  const at = reader.pos;
  const type = reader.s33();
  into.index = type;
  if (type >= 0) {
    if (type >= space.types) throw invalid(`block type ${type} does not exist`, at);
  } else if (type !== -0x40 && !isValueType(type + 0x80)) throw invalid('a block type is not supported', at);
}

function valueType(reader: Reader): void {
  const at = reader.pos;
  if (!isValueType(reader.u8())) throw invalid('a value type is not supported (typed references, GC)', at);
}

type Operands = (reader: Reader, space: IndexSpace, into: Instruction) => void;

/** The rarer immediates, and how each is read; `decode` itself handles the frequent ones. */
const OPERANDS: { readonly [name in Immediate]?: Operands } = {
  label: (reader, _, into) => {
    into.index = reader.u32();
  },
  labels: (reader, _, into) => branchTable(reader, into),
  func: (reader, space, into) => {
    into.index = bounded(reader, space.functions, 'function');
  },
  global: (reader, space) => bounded(reader, space.globals, 'global'),
  tag: (reader, space) => bounded(reader, space.tags, 'tag'),
  block: blockType,
  catches: (reader, space, into) => {
    blockType(reader, space, into);
    catches(reader, space, into);
  },
  type_table: (reader, space) => {
    bounded(reader, space.types, 'type');
    bounded(reader, space.tables, 'table');
  },
  types: (reader) => {
    for (let left = reader.count('types'); left > 0; left--) valueType(reader);
  },
  heap: valueType,
  i64: (reader) => reader.skipS64(),
  bytes4: (reader) => reader.skip(4),
  bytes8: (reader) => reader.skip(8),
  bytes16: (reader) => reader.skip(16),
  lane: (reader) => reader.skip(1),
  memarg_lane: (reader) => {
    memarg(reader);
    reader.skip(1);
  },
  memory: zero,
  memory2: (reader) => {
    zero(reader);
    zero(reader);
  },
  table: (reader, space) => bounded(reader, space.tables, 'table'),
  table2: (reader, space) => {
    bounded(reader, space.tables, 'table');
    bounded(reader, space.tables, 'table');
  },
  elem: (reader, space) => bounded(reader, space.elements, 'element segment'),
  elem_table: (reader, space) => {
    bounded(reader, space.elements, 'element segment');
    bounded(reader, space.tables, 'table');
  },
  data: (reader) => reader.u32(),
  data_memory: (reader) => {
    reader.u32();
    zero(reader);
  },
};

function branchTable(reader: Reader, into: Instruction): void {
  const count = reader.count('branch targets');
  into.labels.length = 0;
  for (let i = 0; i <= count; i++) into.labels.push(reader.u32());
}

function catches(reader: Reader, space: IndexSpace, into: Instruction): void {
  const count = reader.count('catch clauses');
  into.labels.length = 0;
  for (let i = 0; i < count; i++) {
    const at = reader.pos;
    const form = reader.u8();
    if (form > 3) throw invalid(`unknown catch clause ${form}`, at);
    if (form < 2) bounded(reader, space.tags, 'tag');
    into.labels.push(reader.u32());
  }
}

/** The same by number, as the opcode table counts them. */
const READERS = IMMEDIATES.map((name) => OPERANDS[name]);
