/**
 * Turns a module into one that can be sandboxed: memory from outside, only the named exports, its data segments
 * handed to the caller, instructions metered, and a table through which the host is called.
 * Invariant: append, never insert. What is added goes to the end of its index space, so nothing is renumbered and
 * everything not mentioned here is copied as it came.
 */

import { SECTION } from './binary-format.ts';
import { invalid, Writer } from './binary-io.ts';
import { buildCallGraph } from './call-graph.ts';
import { findConstantCostFunctions } from './constant-cost-functions.ts';
import { extractDataSegments, type MemoryWrite } from './data-segments.ts';
import { findEntryChecks } from './function-entry-checks.ts';
import { FunctionMeter } from './meter-function-body.ts';
import { type ParsedModule, parseModule } from './parse-module.ts';

export interface PrepareOptions {
  /** Names of exports to keep; anything else is dropped. A name the module doesn't export is an error. */
  readonly exports: readonly string[];
  /** false: same output shape but without fuel code (for benchmarks: same module unmetered). Default true. */
  readonly meter?: boolean;
  /**
   * Exported functions whose bodies are replaced by a call into the host, in slot order (slot 1, 2, … of the table
   * exported as "host"). Slot 0 is called with the fuel below zero: it adds to the global "fuel" and returns; if
   * the fuel is still negative then, the guest traps, and no exception handler of the guest can catch that.
   */
  readonly hostOverrides?: readonly string[];
}

export interface PreparedModule {
  readonly bytes: Uint8Array;
  /** Active data segments, taken out of the module: the caller writes them into zeroed memory before boot. */
  readonly data: readonly MemoryWrite[];
  readonly memory: { readonly minPages: number; readonly maxPages: number | undefined };
  /** Export names of all mutable defined globals other than fuel, i.e. state an image must save: 'global:<index>'. */
  readonly stateGlobals: readonly StateGlobal[];
}

export interface StateGlobal {
  readonly name: string;
  readonly type: 'i32' | 'i64' | 'f32' | 'f64';
}

const MAX_PAGES = 65536;
const I64 = 0x7e;
const FUNCREF = 0x70;
const V128 = 0x7b;
const KIND = { function: 0, table: 1, memory: 2, global: 3 } as const;
const NUMBER_TYPES: Readonly<Record<number, StateGlobal['type']>> = {
  127: 'i32',
  126: 'i64',
  125: 'f32',
  124: 'f64',
};

/** What is added, and the index it gets. */
interface Additions {
  readonly emptyType: number;
  readonly refillFunction: number;
  readonly hostTable: number;
  readonly fuelGlobal: number;
  /** Slot of the host table for each function that is replaced. */
  readonly hostSlots: ReadonlyMap<number, number>;
}

/** Pure: the same bytes and options give the same module. Throws SandboxError `module_invalid`. */
export function prepareModule(bytes: Uint8Array, options: PrepareOptions): PreparedModule {
  const module = parseModule(bytes);
  const kept = keepExports(module, options.exports);
  const hostFunctions = options.hostOverrides ?? [];
  const emptyType = module.types.findIndex((type) => type.params === 0 && type.results === 0);
  const additions: Additions = {
    emptyType: emptyType < 0 ? module.types.length : emptyType,
    refillFunction: module.space.functions,
    hostTable: module.space.tables,
    fuelGlobal: module.space.globals,
    hostSlots: hostSlots(module, hostFunctions),
  };
  const stateGlobals = findStateGlobals(module);
  const { code, usesData } = writeCode(module, kept, additions, options.meter ?? true);
  const { placements, section: data } = extractDataSegments(module, usesData);

  const out = new Writer(code.length + 65536);
  out.bytes(bytes, 0, 8);
  const sections: readonly (readonly [number, Uint8Array | undefined])[] = [
    [SECTION.type, appended(module, SECTION.type, emptyType < 0 ? [emptyFunctionType] : [])],
    [SECTION.import, appended(module, SECTION.import, [(to) => importMemory(to, module)])],
    [SECTION.function, appended(module, SECTION.function, [(to) => to.u32(additions.emptyType)])],
    [SECTION.table, appended(module, SECTION.table, [(to) => hostTable(to, 1 + hostFunctions.length)])],
    [SECTION.tag, appended(module, SECTION.tag, [])],
    [SECTION.global, appended(module, SECTION.global, [(to) => to.u8(I64).u8(1).u8(0x42).u8(0).u8(0x0b)])],
    [SECTION.export, writeExports(kept, additions, stateGlobals)],
    [SECTION.element, appended(module, SECTION.element, [])],
    [SECTION.dataCount, data === undefined ? undefined : new Writer().u32(module.data.length).view()],
    [SECTION.code, code],
    [SECTION.data, data],
  ];
  for (const [id, contents] of sections) {
    if (contents !== undefined) out.u8(id).u32(contents.length).bytes(contents);
  }
  return {
    bytes: out.view().slice(),
    data: placements,
    memory: module.memory ?? { minPages: 0, maxPages: undefined },
    stateGlobals,
  };
}

function keepExports(module: ParsedModule, names: readonly string[]): ParsedModule['exports'] {
  const wanted = new Set(names);
  const kept = module.exports.filter((entry) => wanted.has(entry.name));
  for (const { name, kind } of kept) {
    if (kind === KIND.memory) {
      throw invalid(
        `its memory cannot stay exported as ${JSON.stringify(name)}`,
        undefined,
        'Use the imported memory.',
      );
    }
    if (name === 'fuel' || name === 'host' || name.startsWith('global:')) {
      throw invalid(
        `the export name ${JSON.stringify(name)} is needed for the sandbox`,
        undefined,
        'Do not keep it.',
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

function hostSlots(module: ParsedModule, names: readonly string[]): Map<number, number> {
  const slots = new Map<number, number>();
  names.forEach((name, i) => {
    const entry = module.exports.find((candidate) => candidate.name === name);
    const remedy = 'Correct the list of host functions.';
    if (entry?.kind !== KIND.function)
      throw invalid(`it exports no function ${JSON.stringify(name)}`, undefined, remedy);
    if (entry.index < module.importedFunctions)
      throw invalid(`${JSON.stringify(name)} is an import`, undefined, remedy);
    if (slots.has(entry.index))
      throw invalid(`host function ${JSON.stringify(name)} is named twice`, undefined, remedy);
    slots.set(entry.index, i + 1);
  });
  return slots;
}

function findStateGlobals(module: ParsedModule): StateGlobal[] {
  const found: StateGlobal[] = [];
  for (let index = module.importedGlobals; index < module.globals.length; index++) {
    const { type, mutable } = module.globals[index]!;
    if (!mutable) continue;
    if (type === V128) throw invalid(`global ${index} is a mutable v128, which no image can save`);
    const name = NUMBER_TYPES[type];
    if (name !== undefined) found.push({ name: `global:${index}`, type: name });
  }
  return found;
}

/** Contents of a section with entries added at its end; undefined if there would be none. */
function appended(
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

const emptyFunctionType = (to: Writer): unknown => to.u8(0x60).u8(0).u8(0);

/** The largest maximum there is, so that a memory with any smaller one fits. */
function importMemory(to: Writer, module: ParsedModule): void {
  to.name('env').name('memory').u8(2).u8(1);
  to.u32(module.memory?.minPages ?? 0).u32(MAX_PAGES);
}

const hostTable = (to: Writer, slots: number): unknown => to.u8(FUNCREF).u8(1).u32(slots).u32(slots);

function writeExports(
  kept: ParsedModule['exports'],
  additions: Additions,
  state: readonly StateGlobal[],
): Uint8Array {
  const out = new Writer(1024).u32(kept.length + 2 + state.length);
  for (const { name, kind, index } of kept) out.name(name).u8(kind).u32(index);
  out.name('fuel').u8(KIND.global).u32(additions.fuelGlobal);
  out.name('host').u8(KIND.table).u32(additions.hostTable);
  for (const { name } of state)
    out
      .name(name)
      .u8(KIND.global)
      .u32(Number(name.slice('global:'.length)));
  return out.view();
}

function writeCode(
  module: ParsedModule,
  kept: ParsedModule['exports'],
  additions: Additions,
  metered: boolean,
): { code: Uint8Array; usesData: boolean } {
  const reachable = new Set(module.addressTaken);
  for (const { kind, index } of kept) if (kind === KIND.function) reachable.add(index);
  for (const index of additions.hostSlots.keys()) reachable.add(index);
  const facts = buildCallGraph(module);
  const constantCosts = findConstantCostFunctions(facts, module.importedFunctions, reachable);
  const entryChecks = findEntryChecks(facts, module.importedFunctions, additions.hostSlots);
  const meter = new FunctionMeter({ ...module, constantCosts, entryChecks, ...additions });
  const out = new Writer(module.bytes.length * 2).u32(module.bodies.length + 1);
  const body = new Writer(65536);
  for (const [i, range] of module.bodies.entries()) {
    const index = i + module.importedFunctions;
    const type = module.functionTypes[index]!;
    const slot = additions.hostSlots.get(index);
    body.clear();
    if (slot !== undefined) writeHostCall(body, module.types[type]!.params, slot, type, additions.hostTable);
    else if (metered && constantCosts[index]! < 0) {
      meter.write(index, range, module.types[type]!.params, body);
    } else body.bytes(module.bytes, range.start, range.end);
    out.u32(body.length).bytes(body.view());
  }
  writeRefill(body.clear(), additions);
  out.u32(body.length).bytes(body.view());
  return { code: out.view(), usesData: facts.usesData };
}

/** A body that hands its parameters to a slot of the host table. */
function writeHostCall(to: Writer, params: number, slot: number, type: number, table: number): void {
  to.u8(0);
  for (let i = 0; i < params; i++) to.u8(0x20).u32(i);
  to.u8(0x41).signed(slot).u8(0x11).u32(type).u32(table).u8(0x0b);
}

/** Calls slot 0, and traps if the fuel is negative even then: a trap passes every handler of the guest. */
function writeRefill(to: Writer, additions: Additions): void {
  to.u8(0).u8(0x41).u8(0).u8(0x11).u32(additions.emptyType).u32(additions.hostTable);
  to.u8(0x23).u32(additions.fuelGlobal).u8(0x42).u8(0).u8(0x53);
  to.u8(0x04).u8(0x40).u8(0x00).u8(0x0b).u8(0x0b);
}
