/**
 * Finds functions that cost the same however they are called: straight-line code, calling at most functions of the
 * same kind. They carry no fuel code; whoever calls one pays for it together with the call.
 * Invariant: such a function is reached by direct calls only, so no caller can fail to pay.
 */
import type { CallGraph } from './call-graph.ts';

/** More than this is not prepaid: prepaid work contains no check, so it has to stay short. */
const MAX_CONSTANT_COST = 1000;
/** Chains of calls longer than this are not followed. */
const MAX_CALL_DEPTH = 16;

const UNKNOWN = -2;
const METERED = -1;

/** Fuel of each prepaid function, -1 for all others. `reachable` are functions the host or a table can call. */
export function findConstantCostFunctions(
  facts: CallGraph,
  imported: number,
  reachable: ReadonlySet<number>,
): Int32Array {
  const fuel = new Int32Array(facts.cost.length);
  for (let index = 0; index < fuel.length; index++) {
    fuel[index] = index >= imported && facts.isStraightLine[index] ? UNKNOWN : METERED;
  }
  for (const index of reachable) fuel[index] = METERED;
  const visit = (index: number, depth: number): number => {
    if (fuel[index] !== UNKNOWN) return fuel[index]!;
    // Stays if a cycle leads back here: recursion has no constant cost.
    fuel[index] = METERED;
    if (depth > MAX_CALL_DEPTH) return METERED;
    let total = facts.cost[index]!;
    for (const callee of facts.callees[index]!) {
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
