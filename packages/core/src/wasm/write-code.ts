/**
 * Writes the code section of a prepared module: metered function bodies, calls to the host in place of the bodies that it
 * overrides, and the functions that ask the host for fuel and for memory.
 */

import { EMPTY_BLOCK } from './binary-format.ts';
import { Writer } from './binary-io.ts';
import { buildCallGraph, type CallGraph, findConstantCostFunctions } from './call-graph.ts';
import { findEntryChecks } from './entry-fuel-checks.ts';
import { FunctionMeter, type MeterContext } from './meter-function-body.ts';
import { opcodesNamed } from './opcodes.ts';
import type { ParsedModule } from './parse-module.ts';
import { findAddedFrames, type StackBound, writeFreeStack } from './shadow-stack-frames.ts';

/** Indices of the items that the rewriter adds. */
export interface Additions {
  readonly emptyType: number;
  readonly refillFunction: number;
  readonly hostTable: number;
  readonly fuelGlobal: number;
  /** The type and the entry in the host table of the function that follows `refillFunction` if the module grows its memory. */
  readonly admit: { readonly type: number; readonly entry: number } | undefined;
  /** Entry in the host table for each replaced function. */
  readonly hostEntries: ReadonlyMap<number, number>;
  readonly stack: StackBound | undefined;
}

interface CodeOptions {
  /** If false, no fuel code is added. */
  readonly meter: boolean;
  readonly probe: MeterContext['probe'];
  readonly observer: MeterContext['observer'];
}

const OP = opcodesNamed(
  'unreachable if end call_indirect local.get global.get i32.const i64.const i32.lt_s i64.lt_s',
);

/** `callable` are the functions that code outside of the module can call, other than through a table. */
export function writeCode(
  module: ParsedModule,
  callable: Iterable<number>,
  additions: Additions,
  { meter: metered, probe, observer }: CodeOptions,
): { code: Uint8Array; graph: CallGraph } {
  const reachable = new Set(module.addressTaken);
  for (const index of callable) reachable.add(index);
  for (const index of additions.hostEntries.keys()) reachable.add(index);
  const { stack, admit, hostTable } = additions;
  const graph = buildCallGraph(module, stack?.pointer);
  const constantCosts = findConstantCostFunctions(graph, module.importedFunctions, reachable);
  const entryChecks = findEntryChecks(graph, module.importedFunctions, additions.hostEntries);
  const addedFrames =
    stack === undefined
      ? new Uint8Array(graph.cost.length)
      : findAddedFrames(graph, module.importedFunctions, reachable, additions.hostEntries);
  const meter = new FunctionMeter({
    ...module,
    constantCosts,
    entryChecks,
    addedFrames,
    ...additions,
    admitFunction: additions.refillFunction + 1,
    probe,
    observer,
  });
  const asksForMemory = admit !== undefined && graph.growsMemory;
  const out = new Writer(module.bytes.length * 2).u32(module.bodies.length + (asksForMemory ? 2 : 1));
  const body = new Writer(65536);
  for (const [i, range] of module.bodies.entries()) {
    const index = i + module.importedFunctions;
    const type = module.functionTypes[index]!;
    const entry = additions.hostEntries.get(index);
    body.clear();
    if (entry !== undefined) writeHostCall(body, module.types[type]!.params, entry, type, hostTable);
    else if (metered && constantCosts[index]! < 0) {
      meter.write(index, range, module.types[type]!, body);
    } else body.bytes(module.bytes, range.start, range.end);
    out.u32(body.length).bytes(body.view());
  }
  writeRefill(body.clear(), additions);
  out.u32(body.length).bytes(body.view());
  if (asksForMemory) {
    writeHostCall(body.clear(), 1, admit.entry, admit.type, hostTable);
    out.u32(body.length).bytes(body.view());
  }
  return { code: out.view(), graph };
}

/** A body that calls an entry of the host table with its own parameters. */
function writeHostCall(to: Writer, params: number, entry: number, type: number, table: number): void {
  to.u8(0);
  for (let i = 0; i < params; i++) to.u8(OP['local.get']).u32(i);
  to.u8(OP['i32.const']).signed(entry).u8(OP.call_indirect).u32(type).u32(table).u8(OP.end);
}

/** A body that calls entry 0 of the host table. It traps if the stack has overflowed or the fuel is still negative. */
function writeRefill(to: Writer, additions: Additions): void {
  to.u8(0);
  if (additions.stack !== undefined) {
    writeFreeStack(to, additions.stack);
    to.u8(OP['i32.const']).u8(0).u8(OP['i32.lt_s']).u8(OP.if).u8(EMPTY_BLOCK).u8(OP.unreachable).u8(OP.end);
  }
  to.u8(OP['i32.const']).u8(0);
  to.u8(OP.call_indirect).u32(additions.emptyType).u32(additions.hostTable);
  to.u8(OP['global.get']).u32(additions.fuelGlobal).u8(OP['i64.const']).u8(0).u8(OP['i64.lt_s']);
  to.u8(OP.if).u8(EMPTY_BLOCK).u8(OP.unreachable).u8(OP.end).u8(OP.end);
}
