/**
 * Turns a module into one that can be sandboxed: the result imports its memory, exports only the named items, counts
 * fuel and calls the host through a table. Its data segments are returned separately.
 * Invariant: additions go to the end of their index space, so nothing is renumbered. Everything else is copied
 * unchanged.
 */

import {
  EXTERNAL_KIND,
  FUNCTION_TYPE,
  HEADER,
  MAX_PAGES,
  NUMBER_TYPES,
  type NumberType,
  SECTION,
  VALUE_TYPE,
} from './binary-format.ts';
import { invalid, Writer } from './binary-io.ts';
import { extractDataSegments, type MemoryWrite } from './data-segments.ts';
import { findSymbols, functionTable } from './main-module-symbols.ts';
import type { FunctionObserver } from './meter-function-body.ts';
import { opcodesNamed } from './opcodes.ts';
import { type Export, type ParsedModule, parseModule } from './parse-module.ts';
import { SYMBOLS_SECTION, writeJsonSection } from './sandbox-sections.ts';
import type { StackBound } from './shadow-stack-frames.ts';
import { type Additions, writeCode } from './write-code.ts';

export interface PrepareOptions {
  /** Names of the exports to keep; all others are dropped. The module must export each of them. */
  readonly exports: readonly string[];
  /** If false, the output has the same shape but no fuel code, for benchmarks. Default: true. */
  readonly meter?: boolean;
  /**
   * Exported functions whose bodies are replaced by a call to the host through entry 1, 2, … of the table exported as
   * "host". The guest calls entry 0 when the fuel is below zero; that function can add to the global "fuel". If the
   * fuel is still negative when it returns, the guest traps, and no exception handler of the guest can catch the trap.
   * If the module uses memory.grow, it calls the last entry before, with the number of pages; memory grows by the result.
   */
  readonly hostOverrides?: readonly string[];
  /** A local to publish when fuel runs out in a certain loop. */
  readonly probe?: LoopProbe;
  /**
   * An exported function without results. Every call to it subtracts 1 from the exported i32 global "observations" and,
   * unless the result is negative, first calls the host with its parameters, through the entry of the table "host" that
   * follows those of `hostOverrides`. This costs no fuel.
   */
  readonly observed?: string;
  /**
   * The exported global that points to the stack which the compiler keeps in linear memory. The guest traps if it calls
   * functions while the pointer is below the global that is exported as "stack_limit", so recursion ends at the same depth
   * on every machine.
   */
  readonly stackPointer?: string;
  /**
   * Makes every exported symbol available to side modules: all exported functions become entries of the table exported
   * as "functions", and a custom section lists the symbols (see main-module-symbols.ts).
   */
  readonly linkable?: boolean;
}

/**
 * When the fuel is below zero at the head of a loop, the value of a local is stored in the exported i32 global "probe"
 * before the host is called. Nothing else writes the global.
 */
export interface LoopProbe {
  /** Name of an exported function. */
  readonly function: string;
  /** Position of the loop among the loops of the function, from 0. */
  readonly loop: number;
  /** Index of an i32 local. */
  readonly local: number;
}

export interface PreparedModule {
  readonly bytes: Uint8Array;
  /** The active data segments, which the caller must write into zeroed memory before it runs the module. */
  readonly data: readonly MemoryWrite[];
  readonly memory: { readonly minPages: number; readonly maxPages: number | undefined };
  /** The mutable globals of the module, exported as `global:<index>`, and the stack limit: state that an image must save. */
  readonly stateGlobals: readonly StateGlobal[];
}

interface StateGlobal {
  readonly name: string;
  readonly type: NumberType;
}

const OP = opcodesNamed('end i32.const i64.const');

const STACK_LIMIT = 'stack_limit';
/** Names of added exports. */
const RESERVED_NAMES: ReadonlySet<string> = new Set([
  'fuel',
  'host',
  'functions',
  'probe',
  'observations',
  STACK_LIMIT,
]);

/** The same bytes and options always give the same result. Throws SandboxError `module_invalid`. */
export function prepareModule(bytes: Uint8Array, options: PrepareOptions): PreparedModule {
  const module = parseModule(bytes);
  const kept = keepExports(module, options.exports);
  const hostFunctions = options.hostOverrides ?? [];
  const hostEntries = 1 + hostFunctions.length + (options.observed === undefined ? 0 : 1);
  const { emptyType, admit, functionSections } = addFunctions(module, hostEntries);
  const additions: Additions = {
    emptyType,
    refillFunction: module.space.functions,
    hostTable: module.space.tables,
    fuelGlobal: module.space.globals,
    admit,
    hostEntries: assignHostEntries(module, hostFunctions),
    stack: findStack(module, options),
  };
  const stateGlobals = findStateGlobals(module);
  if (additions.stack !== undefined) stateGlobals.push({ name: STACK_LIMIT, type: 'i32' });
  const symbols = options.linkable ? findSymbols(module) : undefined;
  const isFunction = ({ kind }: Export) => kind === EXTERNAL_KIND.function;
  const callable = (symbols === undefined ? kept : module.exports).filter(isFunction);
  const observer = findObserver(module, options);
  const { code, graph } = writeCode(
    module,
    callable.map(({ index }) => index),
    additions,
    { meter: options.meter ?? true, probe: findProbe(module, options), observer },
  );
  const { writes, section: data } = extractDataSegments(module, graph.usesData);
  const tables = functionTable(symbols, additions.hostTable + 1);
  const { types, functions } = functionSections(graph.growsMemory);
  const entries = hostEntries + (graph.growsMemory ? 1 : 0);

  const out = new Writer(code.length + 65536);
  out.bytes(bytes, 0, HEADER.length);
  const sections: readonly (readonly [number, Uint8Array | undefined])[] = [
    [SECTION.type, types],
    [SECTION.import, appended(module, SECTION.import, [(to) => importMemory(to, module)])],
    [SECTION.function, functions],
    [SECTION.table, appended(module, SECTION.table, [(to) => hostTable(to, entries), ...tables.table])],
    [SECTION.tag, appended(module, SECTION.tag, [])],
    [
      SECTION.global,
      appended(module, SECTION.global, [
        fuelGlobal,
        ...(options.probe ? [zeroGlobal] : []),
        ...(additions.stack ? [zeroGlobal] : []),
        ...(observer ? [zeroGlobal] : []),
      ]),
    ],
    [SECTION.export, writeExports(kept, additions, stateGlobals, options, observer)],
    [SECTION.element, appended(module, SECTION.element, tables.elements)],
    [SECTION.dataCount, data === undefined ? undefined : new Writer().u32(module.data.length).view()],
    [SECTION.code, code],
    [SECTION.data, data],
  ];
  for (const [id, contents] of sections) {
    if (contents !== undefined) out.section(id, contents);
  }
  if (symbols !== undefined) writeJsonSection(out, SYMBOLS_SECTION, symbols.table);
  return {
    bytes: out.view().slice(),
    data: writes,
    memory: module.memory ?? { minPages: 0, maxPages: undefined },
    stateGlobals,
  };
}

/** The functions that ask the host for fuel and, if the module grows its memory, for memory through an entry of its table. */
function addFunctions(module: ParsedModule, entry: number) {
  const found = module.types.findIndex((type) => type.params === 0 && type.results === 0);
  const emptyType = found < 0 ? module.types.length : found;
  const added = found < 0 ? [emptyFunctionType] : [];
  const admit = { type: module.types.length + added.length, entry };
  const functionSections = (growsMemory: boolean) => {
    const types = growsMemory ? [...added, admitFunctionType] : added;
    const functions = (growsMemory ? [emptyType, admit.type] : [emptyType]).map(
      (type) => (to: Writer) => to.u32(type),
    );
    return {
      types: appended(module, SECTION.type, types),
      functions: appended(module, SECTION.function, functions),
    };
  };
  return { emptyType, admit, functionSections };
}

function keepExports(module: ParsedModule, names: readonly string[]): ParsedModule['exports'] {
  const wanted = new Set(names);
  const kept = module.exports.filter((entry) => wanted.has(entry.name));
  for (const { name, kind } of kept) {
    if (kind === EXTERNAL_KIND.memory) {
      throw invalid(
        `the exported memory ${JSON.stringify(name)} cannot be kept`,
        undefined,
        'The prepared module imports its memory. Remove the name from the list of exports to keep.',
      );
    }
    if (RESERVED_NAMES.has(name) || name.startsWith('global:')) {
      throw invalid(
        `the export name ${JSON.stringify(name)} is reserved`,
        undefined,
        'Remove it from the list of exports to keep.',
      );
    }
    wanted.delete(name);
  }
  const [missing] = wanted;
  if (missing !== undefined) {
    throw invalid(
      `it does not export ${JSON.stringify(missing)}`,
      undefined,
      'Correct the list of exports to keep.',
    );
  }
  return kept;
}

function assignHostEntries(module: ParsedModule, names: readonly string[]): Map<number, number> {
  const hostEntries = new Map<number, number>();
  names.forEach((name, i) => {
    const entry = module.exports.find((candidate) => candidate.name === name);
    const remedy = 'Correct the list of host functions.';
    if (entry?.kind !== EXTERNAL_KIND.function)
      throw invalid(`it does not export a function ${JSON.stringify(name)}`, undefined, remedy);
    if (entry.index < module.importedFunctions)
      throw invalid(
        `the function ${JSON.stringify(name)} is imported, so it has no body to replace`,
        undefined,
        remedy,
      );
    if (hostEntries.has(entry.index))
      throw invalid(`host function ${JSON.stringify(name)} is listed twice`, undefined, remedy);
    hostEntries.set(entry.index, i + 1);
  });
  return hostEntries;
}

/** The index of an exported function that the module defines. */
function definedFunction(module: ParsedModule, name: string): number {
  const entry = module.exports.find((candidate) => candidate.name === name);
  if (entry?.kind !== EXTERNAL_KIND.function || entry.index < module.importedFunctions)
    throw invalid(`it does not define and export a function ${JSON.stringify(name)}`);
  return entry.index;
}

function findProbe(module: ParsedModule, { probe }: PrepareOptions) {
  return probe && { ...probe, function: definedFunction(module, probe.function) };
}

function findObserver(module: ParsedModule, options: PrepareOptions): FunctionObserver | undefined {
  const { observed, hostOverrides = [], probe, stackPointer } = options;
  if (observed === undefined) return undefined;
  const index = definedFunction(module, observed);
  const type = module.functionTypes[index]!;
  if (module.types[type]!.results > 0)
    throw invalid(`the function ${JSON.stringify(observed)} cannot be observed: it returns a value`);
  return {
    function: index,
    type,
    entry: hostOverrides.length + 1,
    table: module.space.tables,
    // Follows the globals of the fuel, the probe and the stack limit.
    counter: module.space.globals + 1 + (probe ? 1 : 0) + (stackPointer === undefined ? 0 : 1),
  };
}

function findStack(module: ParsedModule, options: PrepareOptions): StackBound | undefined {
  const { stackPointer: pointer, probe } = options;
  if (pointer === undefined) return undefined;
  const entry = module.exports.find(({ name }) => name === pointer);
  const global = entry?.kind === EXTERNAL_KIND.global ? module.globals[entry.index] : undefined;
  if (entry === undefined || global?.type !== VALUE_TYPE.i32 || !global.mutable)
    throw invalid(`it does not export a mutable i32 global ${JSON.stringify(pointer)}`);
  // The limit follows the globals of the fuel and of the probe.
  return { pointer: entry.index, limit: module.space.globals + (probe ? 2 : 1) };
}

function findStateGlobals(module: ParsedModule): StateGlobal[] {
  const found: StateGlobal[] = [];
  for (let index = module.importedGlobals; index < module.globals.length; index++) {
    const { type, mutable } = module.globals[index]!;
    if (!mutable) continue;
    if (type === VALUE_TYPE.v128) {
      throw invalid(`global ${index} is a mutable v128, which an image cannot save`);
    }
    const numberType = NUMBER_TYPES.find((candidate) => VALUE_TYPE[candidate] === type);
    if (numberType !== undefined) found.push({ name: `global:${index}`, type: numberType });
  }
  return found;
}

/** The contents of a section with entries appended; undefined if the section would be empty. */
export function appended(
  module: ParsedModule,
  id: number,
  extra: readonly ((to: Writer) => void)[],
): Uint8Array | undefined {
  const original = module.raw.get(id);
  const count = (original?.count ?? 0) + extra.length;
  if (count === 0) return undefined;
  const out = new Writer((original?.contents.length ?? 0) + 64).u32(count);
  if (original) out.bytes(original.contents);
  for (const write of extra) write(out);
  return out.view();
}

export const emptyFunctionType = (to: Writer): unknown => to.u8(FUNCTION_TYPE).u8(0).u8(0);

/** From a number of pages to the number that memory.grow gets. */
const admitFunctionType = (to: Writer): unknown =>
  to.u8(FUNCTION_TYPE).u8(1).u8(VALUE_TYPE.i32).u8(1).u8(VALUE_TYPE.i32);

const fuelGlobal = (to: Writer): unknown => to.u8(VALUE_TYPE.i64).u8(1).u8(OP['i64.const']).u8(0).u8(OP.end);

/** An i32 global with the value 0. */
const zeroGlobal = (to: Writer): unknown => to.u8(VALUE_TYPE.i32).u8(1).u8(OP['i32.const']).u8(0).u8(OP.end);

/** With the largest possible maximum, so that a memory with any maximum can be imported. */
function importMemory(to: Writer, module: ParsedModule): void {
  to.name('env').name('memory').u8(EXTERNAL_KIND.memory).u8(1);
  to.u32(module.memory?.minPages ?? 0).u32(MAX_PAGES);
}

const hostTable = (to: Writer, size: number): unknown => to.u8(VALUE_TYPE.funcref).u8(1).u32(size).u32(size);

function writeExports(
  kept: ParsedModule['exports'],
  additions: Additions,
  state: readonly StateGlobal[],
  { probe, linkable }: PrepareOptions,
  observer: FunctionObserver | undefined,
): Uint8Array {
  const optional = [linkable, probe, observer].filter(Boolean).length;
  const out = new Writer(1024).u32(kept.length + 2 + optional + state.length);
  for (const { name, kind, index } of kept) out.name(name).u8(kind).u32(index);
  out.name('fuel').u8(EXTERNAL_KIND.global).u32(additions.fuelGlobal);
  out.name('host').u8(EXTERNAL_KIND.table).u32(additions.hostTable);
  if (linkable)
    out
      .name('functions')
      .u8(EXTERNAL_KIND.table)
      .u32(additions.hostTable + 1);
  if (probe)
    out
      .name('probe')
      .u8(EXTERNAL_KIND.global)
      .u32(additions.fuelGlobal + 1);
  if (observer) out.name('observations').u8(EXTERNAL_KIND.global).u32(observer.counter);
  for (const { name } of state) {
    const index = name === STACK_LIMIT ? additions.stack!.limit : Number(name.slice('global:'.length));
    out.name(name).u8(EXTERNAL_KIND.global).u32(index);
  }
  return out.view();
}
