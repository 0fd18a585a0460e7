/**
 * Selects the functions that check the fuel counter on entry. Loops check it on every iteration, so only recursion and
 * long call chains are left to bound.
 * Invariant: every cycle in the call graph contains a function that checks, and so does every call chain whose work,
 * not counting loops, can exceed MAX_UNCHECKED_COST. The work between two checks is therefore bounded.
 */
import type { CallGraph } from './call-graph.ts';

/** The most work that a function and its callees may do without a check. */
const MAX_UNCHECKED_COST = 100_000;

const NEW = 0;
const OPEN = 1;
const DONE = 2;

/** 1 for each function that checks on entry. The bodies of the `replaced` functions are calls to the host. */
export function findEntryChecks(
  graph: CallGraph,
  imported: number,
  replaced: { has(index: number): boolean },
): Uint8Array {
  const count = graph.cost.length;
  const checks = new Uint8Array(count);
  for (let index = imported; index < count; index++) {
    // A call through a table or to the host can lead back to this function.
    const leaves = (callee: number) => callee < imported || replaced.has(callee);
    if (graph.callsIndirectly[index] || graph.callees[index]!.some(leaves)) checks[index] = 1;
  }
  const search = new CallGraphSearch(graph, imported, checks);
  // The function that the search visits first in a cycle gets the check. Expensive functions come first, because
  // a check adds least to them.
  const order = Array.from({ length: count - imported }, (_, i) => i + imported);
  order.sort((left, right) => graph.cost[right]! - graph.cost[left]! || left - right);
  for (const index of order) search.from(index);
  return checks;
}

/** Depth-first search with an explicit stack: real modules have call chains thousands of functions long. */
class CallGraphSearch {
  private readonly graph: CallGraph;
  private readonly imported: number;
  private readonly checks: Uint8Array;
  private readonly state: Uint8Array;
  /** Work that a call of each function can cause before the next check. */
  private readonly work: Float64Array;

  constructor(graph: CallGraph, imported: number, checks: Uint8Array) {
    this.graph = graph;
    this.imported = imported;
    this.checks = checks;
    this.state = new Uint8Array(graph.cost.length);
    this.work = Float64Array.from(graph.cost);
  }

  from(root: number): void {
    if (this.state[root] !== NEW) return;
    const path = [root];
    const next = [0];
    this.state[root] = OPEN;
    while (path.length > 0) {
      const index = path.at(-1)!;
      const at = next[next.length - 1]!++;
      const callee = this.graph.callees[index]![at];
      if (callee === undefined) {
        this.finish(index);
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

  private finish(index: number): void {
    this.state[index] = DONE;
    let work = this.graph.cost[index]!;
    for (const callee of this.graph.callees[index]!)
      if (this.state[callee] === DONE) work += this.work[callee]!;
    if (work > MAX_UNCHECKED_COST) this.checks[index] = 1;
    // A check on entry starts a new unchecked stretch, so callers count only the function's own cost.
    this.work[index] = this.checks[index] ? this.graph.cost[index]! : work;
  }
}
