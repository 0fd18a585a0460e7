/**
 * Finds the functions whose cost is the same for every call: straight-line code that calls only such functions.
 * Their bodies carry no fuel code; the caller charges their cost together with the call instruction.
 * Invariant: a constant-cost function is reached by direct calls only, so every call is charged.
 */
import type { CallGraph } from './call-graph.ts';

/** A constant-cost function runs without a fuel check, so its cost must be small. */
const MAX_CONSTANT_COST = 1000;
/** Call chains longer than this are metered as usual. */
const MAX_CALL_DEPTH = 16;

const UNKNOWN = -2;
const METERED = -1;

/**
 * The fuel of each constant-cost function, -1 for all others. `reachable` are the functions that the host or a table can
 * call; they are always metered.
 */
export function findConstantCostFunctions(
  graph: CallGraph,
  imported: number,
  reachable: ReadonlySet<number>,
): Int32Array {
  const fuel = new Int32Array(graph.cost.length);
  for (let index = 0; index < fuel.length; index++) {
    fuel[index] = index >= imported && graph.isStraightLine[index] ? UNKNOWN : METERED;
  }
  for (const index of reachable) fuel[index] = METERED;
  const visit = (index: number, depth: number): number => {
    if (fuel[index] !== UNKNOWN) return fuel[index]!;
    // If a cycle leads back here, this value stays: a recursive function has no constant cost.
    fuel[index] = METERED;
    if (depth > MAX_CALL_DEPTH) return METERED;
    let total = graph.cost[index]!;
    for (const callee of graph.callees[index]!) {
      const cost = visit(callee, depth + 1);
      if (cost < 0) return METERED;
      total += cost;
    }
    if (total <= MAX_CONSTANT_COST) fuel[index] = total;
    return fuel[index]!;
  };
  for (let index = imported; index < fuel.length; index++) visit(index, 0);
  return fuel;
}
