/**
 * Splits a module into the facts the rewriter needs and the raw contents it copies.
 * Invariant: what is not understood is refused; nothing here changes a byte.
 */

import { SECTION, SECTION_ORDER } from './binary-format.ts';
import { invalid, Reader } from './binary-io.ts';
import { type IndexSpace, isValueType } from './decode-instruction.ts';

export interface FunctionType {
  readonly params: number;
  readonly results: number;
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

/** Half-open range of bytes in the module. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface DataSegment extends ByteRange {
  /** undefined for a passive segment. */
  readonly offset: number | undefined;
}

export interface ParsedModule {
  readonly bytes: Uint8Array;
  readonly space: IndexSpace;
  readonly types: FunctionType[];
  /** Type of each function, the imported ones first. */
  readonly functionTypes: number[];
  importedFunctions: number;
  importedGlobals: number;
  readonly globals: GlobalType[];
  memory: { minPages: number; maxPages: number | undefined } | undefined;
  readonly exports: Export[];
  /** Functions that can be reached other than by a direct call: through an element segment or ref.func. */
  readonly addressTaken: Set<number>;
  /** Contents of each function body: local declarations and code, without the size. */
  readonly bodies: ByteRange[];
  readonly data: DataSegment[];
  dataCount: number | undefined;
  /** Contents (after the element count) and element count of the sections that are copied and appended to. */
  readonly raw: Map<number, { readonly count: number; readonly contents: Uint8Array }>;
}

const MAGIC = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];

export function parseModule(bytes: Uint8Array): ParsedModule {
  if (!MAGIC.every((byte, i) => bytes[i] === byte)) {
    throw invalid('it does not begin with the magic number and version 1', 0);
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
  const reader = new Reader(bytes, 8);
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
    if (!section.done) throw invalid(`section ${id} has bytes left over`, section.pos);
  }
  if (module.bodies.length !== module.functionTypes.length - module.importedFunctions) {
    throw invalid('the function and code sections disagree about the number of functions');
  }
  if (module.dataCount !== undefined && module.dataCount !== module.data.length) {
    throw invalid('the data count section disagrees with the data section');
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
    throw invalid('it has a start function', section.pos, 'Export that function and let the host call it.');
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
    if (section.u8() !== 0x60) throw invalid('a type is not a function type (GC is not supported)', at);
    module.types.push({ params: valueTypes(section), results: valueTypes(section) });
  }
  module.space.types = count;
}

function valueTypes(section: Reader): number {
  const count = section.count('value types');
  for (let i = 0; i < count; i++) valueType(section);
  return count;
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
    if (kind === 0) addFunction(module, section);
    else if (kind === 1) readTable(module, section);
    else if (kind === 3) readGlobalType(module, section);
    else if (kind === 4) readTag(module, section);
    else if (kind === 2) {
      throw invalid('it imports a memory', at, 'Link it so that it defines its memory itself.');
    } else throw invalid(`unknown kind of import ${kind}`, at);
  }
  module.importedFunctions = module.functionTypes.length;
  module.importedGlobals = module.globals.length;
}

function addFunction(module: ParsedModule, section: Reader): void {
  module.functionTypes.push(index(section, module.space.types, 'type'));
  module.space.functions++;
}

function index(section: Reader, limit: number, what: string): number {
  const at = section.pos;
  const value = section.u32();
  if (value >= limit) throw invalid(`${what} ${value} does not exist (there are ${limit})`, at);
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

function readLimits(
  section: Reader,
  ceiling: number,
  what: string,
): { min: number; max: number | undefined } {
  const at = section.pos;
  const flags = section.u8();
  if (flags & 4) throw invalid(`a ${what} has 64-bit indices (memory64 is not supported)`, at);
  if (flags & 2) throw invalid(`a ${what} is shared (threads are not supported)`, at);
  if (flags > 1) throw invalid(`a ${what} has unknown limits 0x${flags.toString(16)}`, at);
  const min = section.u32();
  const max = flags & 1 ? section.u32() : undefined;
  if (min > ceiling || (max !== undefined && (max < min || max > ceiling))) {
    throw invalid(`a ${what} has impossible limits`, at);
  }
  return { min, max };
}

function readMemories(module: ParsedModule, section: Reader, count: number): void {
  if (count > 1) throw invalid('it has several memories (multi-memory is not supported)', section.pos);
  if (count === 0) return;
  const { min, max } = readLimits(section, 65536, 'memory');
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
  if (mutable > 1) throw invalid('a global has unknown mutability', at);
  module.globals.push({ type, mutable: mutable === 1 });
  module.space.globals++;
}

/** Passes over a constant expression; returns its value where it is a single i32.const. */
function readConstant(module: ParsedModule, section: Reader): number | undefined {
  let value: number | undefined;
  for (let length = 0; ; length++) {
    const at = section.pos;
    const opcode = section.u8();
    if (opcode === 0x0b) return length === 1 ? value : undefined;
    if (opcode === 0x41) value = section.s32();
    else if (opcode === 0x42) section.skipS64();
    else if (opcode === 0x43) section.skip(4);
    else if (opcode === 0x44) section.skip(8);
    else if (opcode === 0x23) index(section, module.globals.length, 'global');
    else if (opcode === 0xd0) valueType(section);
    else if (opcode === 0xd2) module.addressTaken.add(index(section, module.space.functions, 'function'));
    else if (opcode === 0xfd && section.u32() === 12) section.skip(16);
    else if (!EXTENDED_CONSTANT.has(opcode)) {
      throw invalid(`opcode 0x${opcode.toString(16)} is not allowed in a constant`, at);
    }
    if (opcode !== 0x41) value = undefined;
  }
}

/** add, sub and mul of i32 and i64. */
const EXTENDED_CONSTANT = new Set([0x6a, 0x6b, 0x6c, 0x7c, 0x7d, 0x7e]);

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
      else if (section.u8() !== 0) throw invalid(`element segment ${i} is not of functions`, at);
    }
    for (let left = section.count('elements'); left > 0; left--) {
      if (expressions) readConstant(module, section);
      else module.addressTaken.add(index(section, module.space.functions, 'function'));
    }
  }
  module.space.elements = count;
}

function tableZero(module: ParsedModule, at: number): void {
  if (module.space.tables === 0) throw invalid('an element segment has no table to go to', at);
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
    if (flags === 2 && section.u32() !== 0) throw invalid(`data segment ${i} is not for memory 0`, at);
    let offset: number | undefined;
    if (flags !== 1) {
      offset = readConstant(module, section);
      if (offset === undefined) {
        throw invalid(
          `data segment ${i} has an offset that is no i32 constant`,
          at,
          'Link it at fixed addresses.',
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
