/** Assigns the steps of a timeline to rows and lanes. */
import type { TimelineNode } from '../packages/server/src/playground/timeline.ts';

const MAX_LANES = 6;

export interface Row {
  readonly node: TimelineNode;
  readonly lane: number;
  readonly parentRow: number | undefined;
}

/** The first child of a step continues its lane; each further child opens another one. */
export function layOut(nodes: readonly TimelineNode[]): Row[] {
  const rows: Row[] = [];
  const rowOf = new Map<number, number>();
  const continued = new Set<number>();
  let lanes = 0;
  for (const node of nodes) {
    const parentRow = node.parent === null ? undefined : rowOf.get(node.parent);
    const follows = parentRow !== undefined && !continued.has(node.parent!);
    const lane = follows ? rows[parentRow]!.lane : Math.min(lanes++, MAX_LANES - 1);
    if (follows) continued.add(node.parent!);
    rowOf.set(node.id, rows.length);
    rows.push({ node, lane, parentRow });
  }
  return rows;
}
