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
  TYPE_LETTERS,
} from './binary-format.ts';
import { invalid, Reader } from './binary-io.ts';
import { bounded, type LinkConstant, readConstant } from './constant-expression.ts';
import type { IndexSpace } from './decode-instruction.ts';

export interface FunctionType {
  readonly params: number;
  readonly results: number;
  /** Type of the last result; undefined if there are none. */
  readonly lastResult: number | undefined;
  /** Its types as letters, for example `ij>i` for (i32, i64) -> i32. */
  readonly signature: string;
}

interface GlobalType {
  readonly type: number;
  readonly mutable: boolean;
  /** The initial value of a global that the module defines, if it is known at link time. */
  readonly init?: LinkConstant | undefined;
}

export interface Import {
  readonly module: string;
  readonly name: string;
  readonly kind: number;
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
  /** Memory offset of an active segment, relative to `base` if there is one; undefined for a passive segment. */
  readonly offset: number | undefined;
  /** Index of the global to which the offset is relative; only in side modules. */
  readonly base: number | undefined;
}

export interface ElementSegment {
  readonly isActive: boolean;
  readonly table: number;
  /** Offset of an active segment, if it is known at link time. */
  readonly offset: LinkConstant | undefined;
  /** The functions, or undefined if the segment consists of expressions. */
  readonly functions: readonly number[] | undefined;
}

/** Limits on the entries of each section of a side module, several times what the largest libraries have. */
const MAX_ENTRIES: Readonly<Record<number, number>> = {
  [SECTION.type]: 5000,
  [SECTION.import]: 50_000,
  [SECTION.function]: 100_000,
  [SECTION.table]: 10,
  [SECTION.tag]: 100,
  [SECTION.global]: 50_000,
  [SECTION.export]: 50_000,
  [SECTION.element]: 16,
  [SECTION.code]: 100_000,
  [SECTION.data]: 10_000,
};
/** Limit on the functions in an element segment of a side module. */
const MAX_ELEMENTS = 200_000;

/** A side module imports its memory and may have a start function and data at addresses relative to a global. */
type ModuleKind = 'main' | 'side';

export interface ParsedModule {
  readonly bytes: Uint8Array;
  readonly kind: ModuleKind;
  readonly space: IndexSpace;
  readonly imports: Import[];
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
  /** Type index of each tag. */
  readonly tagTypes: number[];
  /** The local declarations and code of each function, without the size field. */
  readonly bodies: ByteRange[];
  readonly elements: ElementSegment[];
  readonly data: DataSegment[];
  start: number | undefined;
  dataCount: number | undefined;
  /** Entry count of each section, and its contents after that count. */
  readonly raw: Map<number, { readonly count: number; readonly contents: Uint8Array }>;
}

export function parseModule(bytes: Uint8Array, kind: ModuleKind = 'main'): ParsedModule {
  if (!HEADER.every((byte, i) => bytes[i] === byte)) {
    throw invalid('bad magic number or version', 0);
  }
  const module: ParsedModule = {
    bytes,
    kind,
    imports: [],
    space: { types: 0, functions: 0, tables: 0, globals: 0, tags: 0, elements: 0, locals: 0 },
    types: [],
    functionTypes: [],
    importedFunctions: 0,
    importedGlobals: 0,
    globals: [],
    memory: undefined,
    exports: [],
    addressTaken: new Set(),
    tagTypes: [],
    bodies: [],
    elements: [],
    data: [],
    start: undefined,
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
    if (module.kind === 'side') {
      module.start = bounded(section, module.space.functions, 'function');
      return;
    }
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
  if (module.kind === 'side' && count > MAX_ENTRIES[id]!)
    throw invalid(`section ${id} has ${count} entries, and the limit is ${MAX_ENTRIES[id]}`, section.pos);
  module.raw.set(id, { count, contents: section.bytes.subarray(section.pos, section.end) });
  READERS[id]!(module, section, count);
}

function readTypes(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    const at = section.pos;
    if (section.u8() !== FUNCTION_TYPE)
      throw invalid('a type is not a function type (GC is not supported)', at);
    const { count: params, letters: from } = valueTypes(section);
    const { count: results, last: lastResult, letters: to } = valueTypes(section);
    module.types.push({ params, results, lastResult, signature: `${from}>${to}` });
  }
  module.space.types = count;
}

function valueTypes(section: Reader): { count: number; last: number | undefined; letters: string } {
  const count = section.count('value types');
  let last: number | undefined;
  let letters = '';
  for (let i = 0; i < count; i++) {
    last = valueType(section);
    letters += TYPE_LETTERS[last];
  }
  return { count, last, letters };
}

function valueType(section: Reader): number {
  const at = section.pos;
  const type = section.u8();
  if (!isValueType(type)) throw invalid(`value type 0x${type.toString(16)} is not supported`, at);
  return type;
}

function readImports(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    const from = section.name();
    const name = section.name();
    const at = section.pos;
    const kind = section.u8();
    module.imports.push({ module: from, name, kind });
    if (kind === EXTERNAL_KIND.function) addFunction(module, section);
    else if (kind === EXTERNAL_KIND.table) readTable(module, section);
    else if (kind === EXTERNAL_KIND.global) readGlobalType(module, section);
    else if (kind === EXTERNAL_KIND.tag) readTag(module, section);
    else if (kind === EXTERNAL_KIND.memory && module.kind === 'side') readMemories(module, section, 1);
    else if (kind === EXTERNAL_KIND.memory) {
      throw invalid('it imports a memory', at, 'Link it so that it defines its own memory.');
    } else throw invalid(`unknown import kind ${kind}`, at);
  }
  module.importedFunctions = module.functionTypes.length;
  module.importedGlobals = module.globals.length;
}

function addFunction(module: ParsedModule, section: Reader): void {
  module.functionTypes.push(bounded(section, module.space.types, 'type'));
  module.space.functions++;
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
  module.tagTypes.push(bounded(section, module.space.types, 'type'));
  module.space.tags++;
}

function readGlobals(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    readGlobalType(module, section);
    const init = readConstant(module, section);
    module.globals.push({ ...module.globals.pop()!, init });
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
    module.exports.push({ name, kind, index: bounded(section, limit, 'export') });
  }
}

function readElements(module: ParsedModule, section: Reader, count: number): void {
  for (let i = 0; i < count; i++) {
    const at = section.pos;
    const flags = section.u32();
    if (flags > 7) throw invalid(`element segment ${i} has unknown flags ${flags}`, at);
    const active = (flags & 1) === 0;
    const table = active && flags & 2 ? bounded(section, module.space.tables, 'table') : 0;
    if (active && table === 0) tableZero(module, at);
    const offset = active ? readConstant(module, section) : undefined;
    const expressions = (flags & 4) !== 0;
    if (flags & 3) {
      if (expressions) valueType(section);
      else if (section.u8() !== 0) throw invalid(`element segment ${i} does not contain functions`, at);
    }
    const functions: number[] = [];
    const length = section.count('elements');
    if (module.kind === 'side' && length > MAX_ELEMENTS)
      throw invalid(`element segment ${i} has ${length} entries, and the limit is ${MAX_ELEMENTS}`, at);
    for (let left = length; left > 0; left--) {
      if (expressions) readConstant(module, section);
      else functions.push(bounded(section, module.space.functions, 'function'));
    }
    for (const index of functions) module.addressTaken.add(index);
    module.elements.push({ isActive: active, table, offset, functions: expressions ? undefined : functions });
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
    let offset: LinkConstant | undefined;
    if (flags !== 1) {
      offset = readConstant(module, section);
      if (offset === undefined || (offset.base !== undefined && module.kind === 'main')) {
        throw invalid(
          `the offset of data segment ${i} is not an i32 constant`,
          at,
          'Link the module at fixed addresses.',
        );
      }
    }
    const contents = section.part(section.count('bytes of data'));
    module.data.push({
      offset: offset === undefined ? undefined : offset.offset >>> 0,
      base: offset?.base,
      start: contents.pos,
      end: contents.end,
    });
  }
}
