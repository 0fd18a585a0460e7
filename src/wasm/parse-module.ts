/**
 * Parses a module into the facts that prepareModule needs and the section contents that it copies.
 * Invariant: anything unknown is an error. The bytes are not modified.
 */
import {
  EXTERNAL_KIND,
  FUNCTION_TYPE,
  HEADER,
  isValueType,
  MAX_PAGES,
  SECTION,
  SECTION_ORDER,
} from './binary-format.ts';
import { invalid, Reader } from './binary-io.ts';
import type { IndexSpace } from './decode-instruction.ts';
import { isPrefix, opcodeOf, opcodesNamed } from './opcodes.ts';

export interface FunctionType {
  readonly params: number;
  readonly results: number;
  /** Type of the last result; undefined if there are none. */
  readonly lastResult: number | undefined;
}

export interface GlobalType {
  readonly type: number;
  readonly mutable: boolean;
}

export interface Export {
  readonly name: string;
  readonly kind: number;
  readonly index: number;
}

/** A half-open range of bytes in the module. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface DataSegment extends ByteRange {
  /** Memory offset of an active segment; undefined for a passive one. */
  readonly offset: number | undefined;
}

export interface ParsedModule {
  readonly bytes: Uint8Array;
  readonly space: IndexSpace;
  readonly types: FunctionType[];
  /** Type index of each function. Imported functions come first. */
  readonly functionTypes: number[];
  importedFunctions: number;
  importedGlobals: number;
  readonly globals: GlobalType[];
  memory: { minPages: number; maxPages: number | undefined } | undefined;
  readonly exports: Export[];
  /** Functions that can be called indirectly, because an element segment or ref.func refers to them. */
  readonly addressTaken: Set<number>;
  /** The local declarations and code of each function, without the size field. */
  readonly bodies: ByteRange[];
  readonly data: DataSegment[];
  dataCount: number | undefined;
  /** Entry count of each section, and its contents after that count. */
  readonly raw: Map<number, { readonly count: number; readonly contents: Uint8Array }>;
}

export function parseModule(bytes: Uint8Array): ParsedModule {
  if (!HEADER.every((byte, i) => bytes[i] === byte)) {
    throw invalid('bad magic number or version', 0);
  }
  const module: ParsedModule = {
    bytes,
    space: { types: 0, functions: 0, tables: 0, globals: 0, tags: 0, elements: 0, locals: 0 },
    types: [],
    functionTypes: [],
    importedFunctions: 0,
    importedGlobals: 0,
    globals: [],
    memory: undefined,
    exports: [],
    addressTaken: new Set(),
    bodies: [],
    data: [],
    dataCount: undefined,
    raw: new Map(),
  };
  const reader = new Reader(bytes, HEADER.length);
  let last = 0;
  while (!reader.done) {
    const at = reader.pos;
    const id = reader.u8();
    const section = reader.part(reader.u32());
    if (id === SECTION.custom) continue;
    const rank = SECTION_ORDER.indexOf(id) + 1;
    if (rank === 0) throw invalid(`unknown section ${id}`, at);
    if (rank <= last) throw invalid(`section ${id} is repeated or out of order`, at);
    last = rank;
    readSection(module, id, section);
    if (!section.done) throw invalid(`section ${id} has extra bytes`, section.pos);
  }
  if (module.bodies.length !== module.functionTypes.length - module.importedFunctions) {
    throw invalid('the function section and the code section have different lengths');
  }
  if (module.dataCount !== undefined && module.dataCount !== module.data.length) {
    throw invalid('the data count section does not match the data section');
  }
  return module;
}

const READERS: Readonly<Record<number, (module: ParsedModule, section: Reader, count: number) => void>> = {
  [SECTION.type]: readTypes,
  [SECTION.import]: readImports,
  [SECTION.function]: readFunctions,
  [SECTION.table]: readTables,
  [SECTION.memory]: readMemories,
  [SECTION.tag]: readTags,
  [SECTION.global]: readGlobals,
  [SECTION.export]: readExports,
  [SECTION.element]: readElements,
  [SECTION.code]: readBodies,
  [SECTION.data]: readData,
};

function readSection(module: ParsedModule, id: number, section: Reader): void {
  if (id === SECTION.start) {
    throw invalid(
      'it has a start function',
      section.pos,
      'Export the function so that the host can call it.',
    );
  }
  if (id === SECTION.dataCount) {
    module.dataCount = section.u32();
    return;
  }
  const count = section.count('entries');
  module.raw.set(id, { count, contents: section.bytes.subarray(section.pos, section.end) });
  READERS[id]!(module, section, count);
}

function readTypes(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    const at = section.pos;
    if (section.u8() !== FUNCTION_TYPE)
      throw invalid('a type is not a function type (GC is not supported)', at);
    const params = valueTypes(section).count;
    const { count: results, last: lastResult } = valueTypes(section);
    module.types.push({ params, results, lastResult });
  }
  module.space.types = count;
}

function valueTypes(section: Reader): { count: number; last: number | undefined } {
  const count = section.count('value types');
  let last: number | undefined;
  for (let i = 0; i < count; i++) last = valueType(section);
  return { count, last };
}

function valueType(section: Reader): number {
  const at = section.pos;
  const type = section.u8();
  if (!isValueType(type)) throw invalid(`value type 0x${type.toString(16)} is not supported`, at);
  return type;
}

function readImports(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    section.name();
    section.name();
    const at = section.pos;
    const kind = section.u8();
    if (kind === EXTERNAL_KIND.function) addFunction(module, section);
    else if (kind === EXTERNAL_KIND.table) readTable(module, section);
    else if (kind === EXTERNAL_KIND.global) readGlobalType(module, section);
    else if (kind === EXTERNAL_KIND.tag) readTag(module, section);
    else if (kind === EXTERNAL_KIND.memory) {
      throw invalid('it imports a memory', at, 'Link it so that it defines its own memory.');
    } else throw invalid(`unknown import kind ${kind}`, at);
  }
  module.importedFunctions = module.functionTypes.length;
  module.importedGlobals = module.globals.length;
}

function addFunction(module: ParsedModule, section: Reader): void {
  module.functionTypes.push(index(section, module.space.types, 'type'));
  module.space.functions++;
}

function index(section: Reader, limit: number, item: string): number {
  const at = section.pos;
  const value = section.u32();
  if (value >= limit) throw invalid(`${item} ${value} does not exist (there are ${limit})`, at);
  return value;
}

function readFunctions(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) addFunction(module, section);
}

function readTables(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) readTable(module, section);
}

function readTable(module: ParsedModule, section: Reader): void {
  valueType(section);
  readLimits(section, 0xffff_ffff, 'table');
  module.space.tables++;
}

function readLimits(section: Reader, limit: number, item: string): { min: number; max: number | undefined } {
  const at = section.pos;
  const flags = section.u8();
  if (flags & 4) throw invalid(`a ${item} has 64-bit indices (memory64 is not supported)`, at);
  if (flags & 2) throw invalid(`a ${item} is shared (threads are not supported)`, at);
  if (flags > 1) throw invalid(`a ${item} has unknown limit flags 0x${flags.toString(16)}`, at);
  const min = section.u32();
  const max = flags & 1 ? section.u32() : undefined;
  if (min > limit || (max !== undefined && (max < min || max > limit))) {
    throw invalid(`a ${item} has limits out of range`, at);
  }
  return { min, max };
}

function readMemories(module: ParsedModule, section: Reader, count: number): void {
  if (count > 1) throw invalid('it has more than one memory (multi-memory is not supported)', section.pos);
  if (count === 0) return;
  const { min, max } = readLimits(section, MAX_PAGES, 'memory');
  module.memory = { minPages: min, maxPages: max };
}

function readTags(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) readTag(module, section);
}

function readTag(module: ParsedModule, section: Reader): void {
  const at = section.pos;
  if (section.u8() !== 0) throw invalid('a tag has an unknown attribute', at);
  index(section, module.space.types, 'type');
  module.space.tags++;
}

function readGlobals(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    readGlobalType(module, section);
    readConstant(module, section);
  }
}

function readGlobalType(module: ParsedModule, section: Reader): void {
  const type = valueType(section);
  const at = section.pos;
  const mutable = section.u8();
  if (mutable > 1) throw invalid('a global has an unknown mutability flag', at);
  module.globals.push({ type, mutable: mutable === 1 });
  module.space.globals++;
}

const OP = opcodesNamed(
  'end',
  'i32.const',
  'i64.const',
  'f32.const',
  'f64.const',
  'v128.const',
  'global.get',
  'ref.null',
  'ref.func',
);
/** Arithmetic that the extended constant expressions proposal allows. */
const CONSTANT_ARITHMETIC: ReadonlySet<number> = new Set(
  Object.values(opcodesNamed('i32.add', 'i32.sub', 'i32.mul', 'i64.add', 'i64.sub', 'i64.mul')),
);

/** Skips a constant expression. Returns its value if it is a single i32.const. */
function readConstant(module: ParsedModule, section: Reader): number | undefined {
  let value: number | undefined;
  for (let length = 0; ; length++) {
    const at = section.pos;
    const first = section.u8();
    const opcode = isPrefix(first) ? opcodeOf(first, section.u32()) : first;
    if (opcode === OP.end) return length === 1 ? value : undefined;
    value = undefined;
    if (opcode === OP['i32.const']) value = section.s32();
    else if (opcode === OP['i64.const']) section.skipS64();
    else if (opcode === OP['f32.const']) section.skip(4);
    else if (opcode === OP['f64.const']) section.skip(8);
    else if (opcode === OP['v128.const']) section.skip(16);
    else if (opcode === OP['global.get']) index(section, module.globals.length, 'global');
    else if (opcode === OP['ref.null']) valueType(section);
    else if (opcode === OP['ref.func']) {
      module.addressTaken.add(index(section, module.space.functions, 'function'));
    } else if (!CONSTANT_ARITHMETIC.has(opcode)) {
      throw invalid(`opcode 0x${first.toString(16)} is not allowed in a constant expression`, at);
    }
  }
}

function readExports(module: ParsedModule, section: Reader, count: number): void {
  const { space } = module;
  const limits = [space.functions, space.tables, module.memory ? 1 : 0, space.globals, space.tags];
  const seen = new Set<string>();
  for (let i = 0; i < count; i++) {
    const at = section.pos;
    const name = section.name();
    if (seen.has(name)) throw invalid(`it exports ${JSON.stringify(name)} twice`, at);
    seen.add(name);
    const kind = section.u8();
    const limit = limits[kind];
    if (limit === undefined) throw invalid(`export ${JSON.stringify(name)} has unknown kind ${kind}`, at);
    module.exports.push({ name, kind, index: index(section, limit, 'export') });
  }
}

function readElements(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    const at = section.pos;
    const flags = section.u32();
    if (flags > 7) throw invalid(`element segment ${i} has unknown flags ${flags}`, at);
    const active = (flags & 1) === 0;
    if (active && flags & 2) index(section, module.space.tables, 'table');
    else if (active) tableZero(module, at);
    if (active) readConstant(module, section);
    const expressions = (flags & 4) !== 0;
    if (flags & 3) {
      if (expressions) valueType(section);
      else if (section.u8() !== 0) throw invalid(`element segment ${i} does not contain functions`, at);
    }
    for (let left = section.count('elements'); left > 0; left--) {
      if (expressions) readConstant(module, section);
      else module.addressTaken.add(index(section, module.space.functions, 'function'));
    }
  }
  module.space.elements = count;
}

function tableZero(module: ParsedModule, at: number): void {
  if (module.space.tables === 0) throw invalid('an element segment refers to a missing table', at);
}

function readBodies(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    const body = section.part(section.u32());
    module.bodies.push({ start: body.pos, end: body.end });
  }
}

function readData(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    const at = section.pos;
    const flags = section.u32();
    if (flags > 2) throw invalid(`data segment ${i} has unknown flags ${flags}`, at);
    if (flags === 2 && section.u32() !== 0)
      throw invalid(`data segment ${i} is not for memory 0 (multi-memory is not supported)`, at);
    let offset: number | undefined;
    if (flags !== 1) {
      offset = readConstant(module, section);
      if (offset === undefined) {
        throw invalid(
          `the offset of data segment ${i} is not an i32 constant`,
          at,
          'Link the module at fixed addresses.',
        );
      }
    }
    const contents = section.part(section.count('bytes of data'));
    module.data.push({
      offset: offset === undefined ? undefined : offset >>> 0,
      start: contents.pos,
      end: contents.end,
    });
  }
}
