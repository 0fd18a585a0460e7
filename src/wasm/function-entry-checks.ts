/**
 * Decides which functions look at the fuel when they are entered. Loops look at every turn, so what is left is
 * recursion, and long chains of calls.
 * Invariant: every cycle of calls passes a function that checks, and so does every chain whose work, without loops,
 * could exceed LONGEST; so no run between two checks is longer than a fixed bound.
 */
import type { CallGraph } from './call-graph.ts';

/** Instructions a function may cause, by itself and by those it calls, without a check. */
const MAX_UNCHECKED_COST = 100_000;

const NEW = 0;
const OPEN = 1;
const DONE = 2;

/** 1 for functions that check at entry. `replaced` are functions whose body is a call into the host. */
export function findEntryChecks(
  facts: CallGraph,
  imported: number,
  replaced: { has(index: number): boolean },
): Uint8Array {
  const count = facts.cost.length;
  const checks = new Uint8Array(count);
  for (let index = imported; index < count; index++) {
    // A table or the host can lead anywhere, also back to this function.
    const leaves = (callee: number) => callee < imported || replaced.has(callee);
    if (facts.callsIndirectly[index] || facts.callees[index]!.some(leaves)) checks[index] = 1;
  }
  const walk = new CallGraphSearch(facts, imported, checks);
  // A cycle is cut at the function the walk meets first: a large one, where a check is not felt.
  const order = Array.from({ length: count - imported }, (_, i) => i + imported);
  order.sort((left, right) => facts.cost[right]! - facts.cost[left]! || left - right);
  for (const index of order) walk.from(index);
  return checks;
}

/** Depth-first, with a stack of its own: real modules have chains of calls thousands of functions long. */
class CallGraphSearch {
  private readonly facts: CallGraph;
  private readonly imported: number;
  private readonly checks: Uint8Array;
  private readonly state: Uint8Array;
  /** Work a call of the function may cause before the next check. */
  private readonly work: Float64Array;

  constructor(facts: CallGraph, imported: number, checks: Uint8Array) {
    this.facts = facts;
    this.imported = imported;
    this.checks = checks;
    this.state = new Uint8Array(facts.cost.length);
    this.work = Float64Array.from(facts.cost);
  }

  from(root: number): void {
    if (this.state[root] !== NEW) return;
    const path = [root];
    const next = [0];
    this.state[root] = OPEN;
    while (path.length > 0) {
      const index = path.at(-1)!;
      const at = next[next.length - 1]!++;
      const callee = this.facts.callees[index]![at];
      if (callee === undefined) {
        this.close(index);
        path.pop();
        next.pop();
      } else if (callee < this.imported) continue;
      else if (this.state[callee] === OPEN) this.checks[callee] = 1;
      else if (this.state[callee] === NEW) {
        this.state[callee] = OPEN;
        path.push(callee);
        next.push(0);
      }
    }
  }

  private close(index: number): void {
    this.state[index] = DONE;
    let work = this.facts.cost[index]!;
    for (const callee of this.facts.callees[index]!)
      if (this.state[callee] === DONE) work += this.work[callee]!;
    // A function that checks ends the run of its caller; what it does after that is a run of its own.
    if (work > MAX_UNCHECKED_COST) this.checks[index] = 1;
    this.work[index] = this.checks[index] ? this.facts.cost[index]! : work;
  }
}
