/**
 * The stored form of a timeline: all of its steps, and the details of the most recent calls. A stored timeline that belongs
 * to another session of the same name, or cannot be read, is ignored: the timeline then starts again.
 */

import { languageName } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import {
  type CallDetail,
  NODE_KINDS,
  NODE_STATUSES,
  TIMELINE_LIMITS,
  type TimelineNode,
} from './timeline.ts';

/** Characters of code, output and results that are stored with a timeline. */
const MAX_DETAIL_CHARS = 512 * 1024;

/** More than a server writes. Larger data was changed in the store, and is ignored. */
export const MAX_TIMELINE_BYTES = 4 * 1024 * 1024;

const count = z.number().int().min(0);
const nodeId = z.number().int().min(1);
const text = z.string().max(1000);
const node = z.object({
  id: nodeId,
  parent: nodeId.nullable(),
  kind: z.enum(NODE_KINDS),
  created_at: text,
  label: text,
  status: z.enum(NODE_STATUSES),
  checkpoint: text.optional(),
  forked_session: text.optional(),
  language: languageName.optional(),
  fuel_consumed: count.optional(),
  duration_ms: z.number().min(0).optional(),
});
/** The page shows results and outcomes as text, so their fields need no check. */
const detail = z.object({
  code: z.string(),
  output: z.array(z.object({ stream: z.enum(['stdout', 'stderr']), text: z.string() })),
  outputTruncated: z.boolean(),
  results: z.array(z.looseObject({ id: z.string() })),
  outcome: z.looseObject({ metadata: z.looseObject({}) }).optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});
const savedTimeline = z.object({
  version: z.literal(1),
  session_created_at: z.string(),
  calls: count,
  head: nodeId,
  nodes: z.array(node).min(1).max(TIMELINE_LIMITS.nodes),
  details: z.array(z.tuple([nodeId, detail])).max(TIMELINE_LIMITS.nodes),
});

/** A timeline that was read. */
export interface SavedTimeline {
  /** Calls of the session when the timeline was saved. */
  readonly calls: number;
  readonly head: number;
  readonly nodes: readonly TimelineNode[];
  readonly details: readonly (readonly [number, CallDetail])[];
}

/** The session to which a timeline belongs. */
interface TimelineOwner {
  readonly created_at: string;
  readonly calls: number;
}

export function serializeTimeline(
  { created_at, calls }: TimelineOwner,
  timeline: Pick<SavedTimeline, 'head' | 'nodes' | 'details'>,
): Uint8Array {
  const { head, nodes } = timeline;
  const details: SavedTimeline['details'][number][] = [];
  let chars = 0;
  for (const entry of timeline.details.toReversed()) {
    // biome-ignore lint/plugin: the details of one call, which the timeline limits
    chars += JSON.stringify(entry).length;
    if (chars > MAX_DETAIL_CHARS) break;
    details.unshift(entry);
  }
  const saved = { version: 1, session_created_at: created_at, calls, head, nodes, details };
  // biome-ignore lint/plugin: a timeline of at most 4 MiB
  return Buffer.from(JSON.stringify(saved));
}

/** Returns undefined if the data is not the timeline of this session. */
export function parseTimeline({ created_at }: TimelineOwner, stored: Uint8Array): SavedTimeline | undefined {
  let value: unknown;
  try {
    // biome-ignore lint/plugin: a timeline of at most 4 MiB
    value = JSON.parse(Buffer.from(stored).toString());
  } catch {
    return undefined;
  }
  const { data } = savedTimeline.safeParse(value);
  if (data?.session_created_at !== created_at) return undefined;
  const ids = new Set(data.nodes.map(({ id }) => id));
  return ids.size === data.nodes.length && ids.has(data.head)
    ? (data as unknown as SavedTimeline)
    : undefined;
}
