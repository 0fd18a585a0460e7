/**
 * Decodes one instruction at a time. It leaves type checking to the engine that compiles the output, but it checks
 * every index against the original module. The engine cannot do that: prepareModule appends a function, a global, a
 * table and locals, and an index one past the end of the original module would refer to one of those.
 */
import { EMPTY_BLOCK, isValueType } from './binary-format.ts';
import { invalid, type Reader } from './binary-io.ts';
import { bounded } from './constant-expression.ts';
import {
  IMMEDIATE_OF,
  IMMEDIATES,
  type Immediate,
  isPrefix,
  NO_INSTRUCTION,
  opcodeOf,
  rowOf,
} from './opcodes.ts';

/** Sizes of the index spaces of the original module. `locals` is set for each function body. */
export interface IndexSpace {
  types: number;
  functions: number;
  tables: number;
  globals: number;
  tags: number;
  elements: number;
  locals: number;
}

/** The result of `decode`. One object is reused, because a module has millions of instructions. */
export interface Instruction {
  /** Number of the opcode in the opcode table. */
  opcode: number;
  /** Label depth, function index, or type index of a call or block (negative for the short forms of a block). */
  index: number;
  /** Label depths of br_table (the default is last) or of the catch clauses of try_table. */
  labels: number[];
}

export const newInstruction = (): Instruction => ({ opcode: 0, index: 0, labels: [] });

const immediateIndex = (name: Immediate): number => IMMEDIATES.indexOf(name);
const NONE = immediateIndex('none');
const LOCAL = immediateIndex('local');
const MEMARG = immediateIndex('memarg');
const I32 = immediateIndex('i32');

/** Reads the instruction at the reader's position into `into`. */
export function decode(reader: Reader, space: IndexSpace, into: Instruction): void {
  const at = reader.pos;
  const first = reader.u8();
  let opcode = first;
  if (isPrefix(first)) {
    const code = reader.u32();
    opcode = opcodeOf(first, code);
    if (rowOf(opcode) === undefined) {
      throw invalid(`unknown opcode 0x${first.toString(16)} 0x${code.toString(16)}`, at);
    }
  }
  into.opcode = opcode;
  const immediate = IMMEDIATE_OF[opcode]!;
  if (immediate === NONE) return;
  if (immediate === LOCAL) bounded(reader, space.locals, 'local');
  else if (immediate === I32) reader.s32();
  else if (immediate === MEMARG) memarg(reader);
  else if (immediate === NO_INSTRUCTION) throw invalid(`unknown opcode 0x${first.toString(16)}`, at);
  else (READERS[immediate] ?? refuse(opcode, at))(reader, space, into);
}

function refuse(opcode: number, at: number): never {
  const [, , name, , , reason] = rowOf(opcode)!;
  throw invalid(`${name} is not supported (${reason})`, at);
}

function memarg(reader: Reader): void {
  const at = reader.pos;
  const align = reader.u32();
  if (align >= 0x40) throw invalid('a memory access has a memory index (multi-memory is not supported)', at);
  reader.u32();
}

function zeroMemory(reader: Reader): void {
  const at = reader.pos;
  if (reader.u8() !== 0) throw invalid('a memory index is not zero (multi-memory is not supported)', at);
}

function blockType(reader: Reader, space: IndexSpace, into: Instruction): void {
  const at = reader.pos;
  const type = reader.s33();
  into.index = type;
  if (type >= 0) {
    if (type >= space.types) throw invalid(`block type ${type} does not exist`, at);
  } else if (type !== EMPTY_BLOCK - 0x80 && !isValueType(type + 0x80))
    throw invalid('a block type is not supported', at);
}

function valueType(reader: Reader): void {
  const at = reader.pos;
  if (!isValueType(reader.u8())) throw invalid('a value type is not supported (typed references, GC)', at);
}

type ImmediateReader = (reader: Reader, space: IndexSpace, into: Instruction) => void;

/** Readers of the less frequent immediates. `decode` handles the frequent ones itself. */
const READER_OF: { readonly [name in Immediate]?: ImmediateReader } = {
  label: (reader, _, into) => {
    into.index = reader.u32();
  },
  labels: (reader, _, into) => branchTable(reader, into),
  func: (reader, space, into) => {
    into.index = bounded(reader, space.functions, 'function');
  },
  global: (reader, space, into) => {
    into.index = bounded(reader, space.globals, 'global');
  },
  tag: (reader, space) => bounded(reader, space.tags, 'tag'),
  block: blockType,
  catches: (reader, space, into) => {
    blockType(reader, space, into);
    catches(reader, space, into);
  },
  type_table: (reader, space, into) => {
    into.index = bounded(reader, space.types, 'type');
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
  memory: zeroMemory,
  memory2: (reader) => {
    zeroMemory(reader);
    zeroMemory(reader);
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
    zeroMemory(reader);
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

/** READER_OF by index into IMMEDIATES. */
const READERS = IMMEDIATES.map((name) => READER_OF[name]);
