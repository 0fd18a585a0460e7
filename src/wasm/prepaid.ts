/**
 * Finds functions that cost the same however they are called: straight-line code, calling at most functions of the
 * same kind. They carry no fuel code; whoever calls one pays for it together with the call.
 * Invariant: such a function is reached by direct calls only, so no caller can fail to pay.
 */
import { Reader } from './binary.ts';
import { decode, type IndexSpace, newInstruction } from './decode.ts';
import { skipLocals } from './locals.ts';
import type { ParsedModule } from './module.ts';
import { COST, IS_BULK } from './opcodes.ts';

/** More than this is not prepaid: prepaid work contains no check, so it has to stay short. */
const LARGEST = 1000;
/** Chains of calls longer than this are not followed. */
const DEEPEST = 16;

const UNKNOWN = -2;
const METERED = -1;

const BLOCK = 0x02;
const END = 0x0b;
const CALL = 0x10;
const LAST_CONTROL = 0x1f;
const ALLOWED_CONTROL = new Set([0x01, 0x1a, 0x1b, 0x1c, BLOCK, END, CALL]);

/** Fuel of each prepaid function, -1 for all others. `reachable` are functions the host or a table can call. */
export function findPrepaid(module: ParsedModule, reachable: ReadonlySet<number>): Int32Array {
  const fuel = new Int32Array(module.space.functions).fill(UNKNOWN);
  fuel.fill(METERED, 0, module.importedFunctions);
  for (const index of reachable) fuel[index] = METERED;
  const search = new Search(module, fuel);
  for (let index = module.importedFunctions; index < fuel.length; index++) search.visit(index, 0);
  return fuel;
}

class Search {
  private readonly module: ParsedModule;
  private readonly fuel: Int32Array;
  private readonly space: IndexSpace;
  private readonly ins = newInstruction();

  constructor(module: ParsedModule, fuel: Int32Array) {
    this.module = module;
    this.fuel = fuel;
    this.space = { ...module.space };
  }

  visit(index: number, depth: number): number {
    const known = this.fuel[index]!;
    if (known !== UNKNOWN) return known;
    // Stays if a cycle leads back here: recursion has no constant cost.
    this.fuel[index] = METERED;
    this.fuel[index] = depth > DEEPEST ? METERED : this.measure(index, depth);
    return this.fuel[index]!;
  }

  private measure(index: number, depth: number): number {
    const range = this.module.bodies[index - this.module.importedFunctions]!;
    const reader = new Reader(this.module.bytes, range.start, range.end);
    // Indices of locals are checked when the body is copied.
    skipLocals(reader);
    let total = 0;
    let nesting = 1;
    while (nesting > 0) {
      this.space.locals = Number.MAX_SAFE_INTEGER;
      decode(reader, this.space, this.ins);
      const { slot } = this.ins;
      if (slot <= LAST_CONTROL && !ALLOWED_CONTROL.has(slot)) return METERED;
      if (IS_BULK[slot]) return METERED;
      total += COST[slot]!;
      if (slot === BLOCK) nesting++;
      else if (slot === END) nesting--;
      else if (slot === CALL) {
        const callee = this.visit(this.ins.index, depth + 1);
        if (callee < 0) return METERED;
        total += callee;
      }
      if (total > LARGEST) return METERED;
    }
    return total;
  }
}
