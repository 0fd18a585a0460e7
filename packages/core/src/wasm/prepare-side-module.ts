/**
 * Turns a side module, a library in Emscripten's format for dynamic linking, into one that the linker can load: the result
 * counts fuel on the counter of the main module, imports the globals that it defined, and has neither data segments nor a
 * start function. Two custom sections hold its data and everything else that the linker has to know.
 * Invariant: instantiating the result changes only the entries of the function table that the linker assigned to it.
 */
import { EXTERNAL_KIND, HEADER, SECTION, VALUE_TYPE } from './binary-format.ts';
import { invalid, Writer } from './binary-io.ts';
import { bindOwnImports } from './bind-own-imports.ts';
import { extractRelativeData } from './data-segments.ts';
import { type DylinkInfo, readDylink } from './dylink-section.ts';
import { FLOAT_STATUS_SIGNATURES, withFloatStatus } from './float-status.ts';
import { slotsOf } from './main-module-symbols.ts';
import { type Import, type ParsedModule, parseModule } from './parse-module.ts';
import { appended, emptyFunctionType } from './prepare-module.ts';
import {
  ADDED_IMPORTS,
  INITIALISERS,
  SIDE_DATA_SECTION,
  SIDE_FACTS_SECTION,
  type SideGlobal,
  type SideModuleFacts,
  START_EXPORT,
  writeCustomSection,
  writeJsonSection,
} from './sandbox-sections.ts';
import { checkFunctions, MAX_MODULE_BYTES } from './side-module-limits.ts';
import { writeCode } from './write-code.ts';

const FUNCTION_MODULES: ReadonlySet<string> = new Set(['env', 'wasi_snapshot_preview1']);
const BASE_GLOBALS = ['__memory_base', '__table_base', '__stack_pointer'] as const;
/** Imports of code that was compiled for exceptions in JavaScript, and of JavaScript that is stored in the module. */
const REFUSED_IMPORTS = /^(invoke_|__cxa_find_matching_catch|emscripten_asm_const|emscripten_dlopen)/;
/** Exports with which Emscripten finds JavaScript that is stored in the module. */
const REFUSED_EXPORTS = /^(__em_js__|__start_em_asm$|__stop_em_asm$|sandbox:)/;

type BaseGlobal = (typeof BASE_GLOBALS)[number];

/** The imports of a module by purpose. */
interface SideImports {
  readonly functions: [string, string][];
  readonly tags: string[];
  readonly gotMem: string[];
  readonly gotFunc: string[];
  /** Index of each global that the linker sets to an address. */
  readonly bases: Map<BaseGlobal, number>;
  hasTable: boolean;
}

/** Signatures of host functions by `module.name`, in the notation of FunctionType. */
export type HostSignatures = ReadonlyMap<string, string>;

interface SideOptions {
  /** The functions of the main module, which replace weak functions of the same name. */
  readonly mainFunctions?: ReadonlySet<string>;
  /** If false, the fuel code is left out, for measurements. Default: true. */
  readonly meter?: boolean;
  /** An import of one of these functions must have its type: JavaScript functions accept any. Default: none. */
  readonly hostSignatures?: HostSignatures;
}

/** The same bytes and options always give the same result. Throws SandboxError `module_invalid`. */
export function prepareSideModule(
  original: Uint8Array,
  { mainFunctions = new Set(), meter = true, hostSignatures = new Map() }: SideOptions = {},
): Uint8Array {
  if (original.length > MAX_MODULE_BYTES) throw invalid(`it has more than ${MAX_MODULE_BYTES} bytes`);
  const dylink = readDylink(original);
  const parsed = parseModule(original, 'side');
  checkSignatures(parsed, hostSignatures);
  checkFunctions(parsed);
  const { bytes: withOwnCalls, bound } = bindOwnImports(parsed, mainFunctions);
  const bytes = withFloatStatus(parseModule(withOwnCalls, 'side'));
  const module = parseModule(bytes, 'side');
  const imports = sortImports(module);
  refuseOwnTablesAndMemories(module, imports);
  const globals = findGlobals(module, imports);
  checkElements(module, imports, dylink);
  const exported = findExports(module);
  const data = extractRelativeData(module, imports.bases.get('__memory_base') ?? -1, dylink.memoryBytes);

  const emptyType = module.types.findIndex((type) => type.params === 0 && type.results === 0);
  const addedTable = imports.hasTable ? 1 : 0;
  const fuelGlobal = module.space.globals;
  const stackPointer = imports.bases.get('__stack_pointer');
  const additions = {
    emptyType: emptyType < 0 ? module.types.length : emptyType,
    refillFunction: module.space.functions,
    hostTable: addedTable,
    fuelGlobal,
    admit: undefined,
    hostEntries: new Map<number, number>(),
    stack: { pointer: stackPointer ?? fuelGlobal + 2, limit: fuelGlobal + 1 },
  };
  const callable = module.exports.filter(({ kind }) => kind === EXTERNAL_KIND.function);
  const { code, graph } = writeCode(
    module,
    [...callable.map(({ index }) => index), ...(module.start === undefined ? [] : [module.start])],
    additions,
    { meter, probe: undefined, observer: undefined },
  );
  if (graph.usesData) throw invalid('it copies or drops data segments (threads are not supported)');
  if (graph.tableWrite !== undefined)
    throw invalid(`it uses ${graph.tableWrite}, and only the linker may change the function table`);
  if (graph.growsMemory)
    throw invalid('it uses memory.grow, and only the allocator of the main module may grow the memory');

  const facts: SideModuleFacts = {
    ...dylink,
    weak: [...dylink.weak],
    functions: imports.functions.filter(([from, name]) => from !== 'env' || !bound.has(name)),
    bound: [...bound],
    tags: imports.tags,
    gotMem: imports.gotMem,
    gotFunc: imports.gotFunc,
    globals,
    ...exported,
    hasStart: module.start !== undefined,
    data: data.map(({ offset, bytes: part }) => [offset, part.length]),
  };
  const global = (name: string, type: number, mutable: boolean) => (to: Writer) =>
    to
      .name(ADDED_IMPORTS)
      .name(name)
      .u8(EXTERNAL_KIND.global)
      .u8(type)
      .u8(mutable ? 1 : 0);
  const addedImports = [
    ...globals.map(({ mutable }, i) => global(`global:${i}`, VALUE_TYPE.i32, mutable)),
    global('fuel', VALUE_TYPE.i64, true),
    global('stack_limit', VALUE_TYPE.i32, true),
    ...(stackPointer === undefined ? [global('stack_pointer', VALUE_TYPE.i32, true)] : []),
    (to: Writer) =>
      to.name(ADDED_IMPORTS).name('host').u8(EXTERNAL_KIND.table).u8(VALUE_TYPE.funcref).u8(0).u32(1),
  ];
  const out = new Writer(code.length + 65536);
  out.bytes(bytes, 0, HEADER.length);
  const sections: readonly (readonly [number, Uint8Array | undefined])[] = [
    [SECTION.type, appended(module, SECTION.type, emptyType < 0 ? [emptyFunctionType] : [])],
    [SECTION.import, appended(module, SECTION.import, addedImports)],
    [SECTION.function, appended(module, SECTION.function, [(to) => to.u32(additions.emptyType)])],
    [SECTION.tag, appended(module, SECTION.tag, [])],
    [SECTION.export, writeExports(callable, module.start)],
    [SECTION.element, appended(module, SECTION.element, [])],
    [SECTION.code, code],
  ];
  for (const [id, contents] of sections) {
    if (contents !== undefined) out.section(id, contents);
  }
  writeJsonSection(out, SIDE_FACTS_SECTION, facts);
  const contents = new Writer();
  for (const write of data) contents.bytes(write.bytes);
  writeCustomSection(out, SIDE_DATA_SECTION, contents.view());
  return out.view().slice();
}

function sortImports(module: ParsedModule): SideImports {
  const found: SideImports = {
    functions: [],
    tags: [],
    gotMem: [],
    gotFunc: [],
    bases: new Map(),
    hasTable: false,
  };
  let globalIndex = 0;
  for (const entry of module.imports) {
    if (entry.kind === EXTERNAL_KIND.global) sortGlobal(module, entry, globalIndex++, found);
    else sortOther(entry, found);
  }
  return found;
}

const refusedImport = ({ module, name }: Import, reason: string, remedy?: string) =>
  invalid(`it imports ${JSON.stringify(`${module}.${name}`)}${reason}`, undefined, remedy);

function sortGlobal(parsed: ParsedModule, entry: Import, index: number, found: SideImports): void {
  const { module, name } = entry;
  const { type, mutable } = parsed.globals[index]!;
  const isGot = module === 'GOT.mem' || module === 'GOT.func';
  const base = BASE_GLOBALS.find((candidate) => module === 'env' && candidate === name);
  if (!isGot && base === undefined) throw refusedImport(entry, ', a global that the linker does not provide');
  if (type !== VALUE_TYPE.i32 || mutable !== (isGot || base === '__stack_pointer'))
    throw refusedImport(entry, ' with the wrong type');
  if (base !== undefined) {
    if (found.bases.has(base)) throw refusedImport(entry, ' more than once');
    found.bases.set(base, index);
  } else (module === 'GOT.mem' ? found.gotMem : found.gotFunc).push(name);
}

function sortOther(entry: Import, found: SideImports): void {
  const { module, name, kind } = entry;
  if (kind === EXTERNAL_KIND.function) {
    if (!FUNCTION_MODULES.has(module)) throw refusedImport(entry, ' from an unknown module');
    if (REFUSED_IMPORTS.test(name))
      throw refusedImport(
        entry,
        ', which runs JavaScript on the host',
        'Guests do not allow that, so this library cannot be used. Choose another package.',
      );
    found.functions.push([module, name]);
  } else if (kind === EXTERNAL_KIND.tag && module === 'env') found.tags.push(name);
  else if (kind === EXTERNAL_KIND.table && module === 'env' && name === '__indirect_function_table') {
    if (found.hasTable) throw refusedImport(entry, ' more than once');
    found.hasTable = true;
  } else if (kind !== EXTERNAL_KIND.memory || module !== 'env' || name !== 'memory')
    throw refusedImport(entry, ', which the linker does not provide');
}

/** Checks the functions that JavaScript calls, or that may be functions of JavaScript. */
function checkSignatures(module: ParsedModule, hostSignatures: HostSignatures): void {
  const signatureOf = (index: number) => module.types[module.functionTypes[index]!]!.signature;
  const functions = module.imports.filter(({ kind }) => kind === EXTERNAL_KIND.function);
  for (const [i, entry] of functions.entries()) {
    const found = signatureOf(i);
    const name = `${entry.module}.${entry.name}`;
    const expected = hostSignatures.get(name) ?? FLOAT_STATUS_SIGNATURES.get(name) ?? found;
    if (found !== expected) throw refusedImport(entry, ` with the type ${found} instead of ${expected}`);
    if (/[VX]/.test(found)) throw refusedImport(entry, ', a function with vectors or exceptions as values');
  }
  const initialisers: ReadonlySet<string> = new Set(INITIALISERS);
  const called = module.exports.filter(
    ({ kind, name }) => kind === EXTERNAL_KIND.function && initialisers.has(name),
  );
  if (module.start !== undefined) called.push({ name: START_EXPORT, kind: 0, index: module.start });
  for (const { name, index } of called)
    if (signatureOf(index) !== '>') throw invalid(`the function ${name} has parameters or results`);
}

function refuseOwnTablesAndMemories(module: ParsedModule, { hasTable }: SideImports): void {
  if (module.raw.has(SECTION.memory)) throw invalid('it defines a memory of its own');
  if (module.raw.has(SECTION.table) || module.space.tables > (hasTable ? 1 : 0))
    throw invalid('it defines a table of its own');
}

function findGlobals(module: ParsedModule, { bases }: SideImports): SideGlobal[] {
  const [memory, table] = [bases.get('__memory_base'), bases.get('__table_base')];
  return module.globals.slice(module.importedGlobals).map(({ type, mutable, init }, i): SideGlobal => {
    if (type !== VALUE_TYPE.i32) throw invalid(`global ${module.importedGlobals + i} is not an i32`);
    if (init !== undefined) {
      const { offset } = init;
      if (init.base === undefined) return { mutable, base: 'none', offset };
      if (init.base === memory) return { mutable, base: 'memory', offset };
      if (init.base === table) return { mutable, base: 'table', offset };
    }
    throw invalid(`the value of global ${module.importedGlobals + i} is not known at link time`);
  });
}

function checkElements(module: ParsedModule, { bases }: SideImports, { tableSize }: DylinkInfo): void {
  const base = bases.get('__table_base');
  for (const { isActive, offset, functions } of module.elements) {
    if (!isActive) continue;
    if (functions === undefined || offset === undefined || offset.base === undefined || offset.base !== base)
      throw invalid('an element segment is not a list of functions relative to __table_base');
    if (offset.offset < 0 || offset.offset + functions.length > tableSize)
      throw invalid(`an element segment exceeds the table size that the module declares (${tableSize})`);
  }
}

function findExports(module: ParsedModule): Pick<SideModuleFacts, 'exportedFunctions' | 'exportedData'> {
  const slots = slotsOf(module.elements);
  const exportedFunctions: [string, number][] = [];
  const exportedData: [string, number][] = [];
  for (const { name, kind, index } of module.exports) {
    if (REFUSED_EXPORTS.test(name))
      throw invalid(`it exports ${JSON.stringify(name)}, which is reserved or refers to JavaScript`);
    if (kind === EXTERNAL_KIND.function) exportedFunctions.push([name, slots.get(index) ?? -1]);
    else if (kind === EXTERNAL_KIND.global) {
      const { mutable, init } = module.globals[index]!;
      if (mutable || init === undefined)
        throw invalid(`the exported global ${JSON.stringify(name)} is not the address of a symbol`);
      exportedData.push([name, init.offset]);
    } else if (kind !== EXTERNAL_KIND.tag)
      throw invalid(`it exports ${JSON.stringify(name)}, which is a memory or a table`);
  }
  return { exportedFunctions, exportedData };
}

function writeExports(functions: ParsedModule['exports'], start: number | undefined): Uint8Array {
  const entries = functions.map(({ name, index }) => [name, index] as const);
  if (start !== undefined) entries.push([START_EXPORT, start]);
  return new Writer(1024)
    .vector(entries, (to, [name, index]) => to.name(name).u8(EXTERNAL_KIND.function).u32(index))
    .view();
}
