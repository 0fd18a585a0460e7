/**
 * The timeline of a session in the playground: a tree of calls, checkpoints, forks and rollbacks, and what each call printed
 * and displayed. It is kept within limits: the oldest calls lose their details first. Subscribers receive every change in
 * order.
 */

import type { DisplayResult, LanguageName, SandboxResult } from '@llm-wasm-sandbox/core/internal';
import { type EncodedResult, encodeResult, isoTime } from '@llm-wasm-sandbox/core/internal';

export const TIMELINE_LIMITS = {
  /** Nodes of one timeline. The oldest are removed. */
  nodes: 400,
  /** Characters of code, output and results that the calls of one timeline may hold. */
  detailChars: 8 * 1024 * 1024,
  /** Characters of output that are kept for one call. The rest is dropped. */
  outputChars: 256 * 1024,
  /** Pieces of output that are kept for one call; adjacent output of the same stream is one piece. */
  outputChunks: 2000,
} as const;

export const NODE_KINDS = ['start', 'call', 'files', 'checkpoint', 'fork', 'rollback'] as const;
export const NODE_STATUSES = ['running', 'paused', 'ok', 'failed', 'stopped'] as const;
type NodeKind = (typeof NODE_KINDS)[number];
type NodeStatus = (typeof NODE_STATUSES)[number];

/** One step of a session. */
export interface TimelineNode {
  readonly id: number;
  /** The step whose state this one started from; null for the first. */
  readonly parent: number | null;
  readonly kind: NodeKind;
  readonly created_at: string;
  readonly label: string;
  readonly status: NodeStatus;
  /** The checkpoint of the session with the state after this step; absent if it is not kept. */
  readonly checkpoint?: string | undefined;
  /** The session that a fork created. */
  readonly forked_session?: string;
  readonly language?: LanguageName;
  readonly fuel_consumed?: number;
  readonly duration_ms?: number;
}

interface OutputChunk {
  readonly stream: 'stdout' | 'stderr';
  text: string;
}

/** The program of a call, its output and its outcome. Dropped for old calls. */
export interface CallDetail {
  readonly code: string;
  readonly output: OutputChunk[];
  outputTruncated: boolean;
  readonly results: EncodedResult[];
  /** The result without the fields above. */
  outcome: Omit<SandboxResult, 'stdout' | 'stderr' | 'results'> | undefined;
  /** The error of a call that could not run. */
  error: { readonly code: string; readonly message: string } | undefined;
}

/** A change of a timeline, as subscribers receive it. */
export type TimelineEvent =
  | { readonly type: 'node'; readonly node: TimelineNode; readonly head: number }
  | { readonly type: 'removed'; readonly ids: readonly number[] }
  | { readonly type: 'output'; readonly id: number; readonly stream: OutputChunk['stream']; text: string }
  | { readonly type: 'result'; readonly id: number; readonly result: EncodedResult }
  | {
      readonly type: 'progress';
      readonly id: number;
      readonly fuel_consumed: number;
      readonly fuel_budget: number;
    }
  | { readonly type: 'detail'; readonly id: number; readonly detail: CallDetail }
  | { readonly type: 'files' }
  | { readonly type: 'deleted' };

interface DetailEntry {
  readonly detail: CallDetail;
  /** Characters of code, output and results. */
  chars: number;
  outputChars: number;
}

/** A copy that does not change while it is sent. */
const copyOf = (detail: CallDetail): CallDetail => ({
  ...detail,
  output: detail.output.map((chunk) => ({ ...chunk })),
  results: [...detail.results],
});

export class Timeline {
  readonly #nodes = new Map<number, TimelineNode>();
  readonly #details = new Map<number, DetailEntry>();
  /** Characters of all details. */
  #chars = 0;
  readonly #subscribers = new Set<(event: TimelineEvent) => void>();
  #nextId = 1;
  #head = 0;

  /** Replaces the steps by those that were saved. */
  restore(
    head: number,
    nodes: readonly TimelineNode[],
    details: readonly (readonly [number, CallDetail])[],
  ): void {
    const gone = [...this.#nodes.keys()];
    for (const id of gone) this.#forget(id);
    this.#nodes.clear();
    for (const node of nodes) this.#nodes.set(node.id, node);
    for (const [id, detail] of details) {
      const outputChars = detail.output.reduce((sum, { text }) => sum + text.length, 0);
      const entry = { detail, chars: 0, outputChars };
      this.#details.set(id, entry);
      // biome-ignore lint/plugin: the details of one call, which the timeline limits
      this.#count(id, entry, JSON.stringify(detail).length);
    }
    this.#nextId = Math.max(...this.#nodes.keys()) + 1;
    this.#head = head;
    if (gone.length > 0) this.emit({ type: 'removed', ids: gone });
    for (const node of nodes) this.emit({ type: 'node', node, head });
  }

  /** The step whose state the session has. */
  get head(): number {
    return this.#head;
  }

  get nodes(): TimelineNode[] {
    return [...this.#nodes.values()];
  }

  node(id: number): TimelineNode | undefined {
    return this.#nodes.get(id);
  }

  /** The details of the calls that have them, oldest first. */
  get details(): (readonly [number, CallDetail])[] {
    return [...this.#details].map(([id, { detail }]) => [id, detail] as const);
  }

  /** The details of a call as they are now. */
  detail(id: number): CallDetail | undefined {
    const entry = this.#details.get(id);
    return entry && copyOf(entry.detail);
  }

  /** Calls `receive` for every change; returns a function that ends this. */
  subscribe(receive: (event: TimelineEvent) => void): () => void {
    this.#subscribers.add(receive);
    return () => this.#subscribers.delete(receive);
  }

  get subscribers(): number {
    return this.#subscribers.size;
  }

  emit(event: TimelineEvent): void {
    for (const receive of [...this.#subscribers]) receive(event);
  }

  /**
   * Adds a step after the head, or after `parent`. It becomes the head, unless it does not change the state of the
   * session.
   */
  add(
    step: Pick<TimelineNode, 'kind' | 'label' | 'status'> & Partial<TimelineNode>,
    { parent = this.#head, movesHead = true } = {},
  ): TimelineNode {
    const id = this.#nextId++;
    const known = this.#nodes.has(parent) ? parent : null;
    const node = { ...step, id, parent: known, created_at: isoTime(Date.now()) };
    this.#nodes.set(id, node);
    if (movesHead) this.#head = id;
    this.emit({ type: 'node', node, head: this.#head });
    this.#trimNodes();
    return node;
  }

  update(id: number, change: Partial<TimelineNode>): TimelineNode | undefined {
    const known = this.#nodes.get(id);
    if (known === undefined) return undefined;
    const node = { ...known, ...change };
    this.#nodes.set(id, node);
    this.emit({ type: 'node', node, head: this.#head });
    return node;
  }

  /** Starts the details of a call. */
  begin(id: number, code: string): CallDetail {
    const detail: CallDetail = {
      code,
      output: [],
      outputTruncated: false,
      results: [],
      outcome: undefined,
      error: undefined,
    };
    const entry = { detail, chars: 0, outputChars: 0 };
    this.#details.set(id, entry);
    this.#count(id, entry, code.length);
    return detail;
  }

  addOutput(id: number, stream: OutputChunk['stream'], text: string): void {
    const entry = this.#details.get(id);
    if (entry === undefined) return;
    const { detail } = entry;
    const last = detail.output.at(-1);
    const isSame = last?.stream === stream;
    const isFull = !isSame && detail.output.length >= TIMELINE_LIMITS.outputChunks;
    const kept = isFull ? '' : text.slice(0, Math.max(0, TIMELINE_LIMITS.outputChars - entry.outputChars));
    if (kept.length < text.length) detail.outputTruncated = true;
    if (kept === '') return;
    if (isSame) last.text += kept;
    else detail.output.push({ stream, text: kept });
    entry.outputChars += kept.length;
    this.emit({ type: 'output', id, stream, text: kept });
    this.#count(id, entry, kept.length);
  }

  addResult(id: number, displayed: DisplayResult): void {
    const entry = this.#details.get(id);
    if (entry === undefined) return;
    const result = encodeResult(displayed);
    entry.detail.results.push(result);
    this.emit({ type: 'result', id, result });
    // biome-ignore lint/plugin: a displayed result, at most 8 MiB
    this.#count(id, entry, JSON.stringify(result).length);
  }

  /** Completes the details of a call and sends them to the subscribers. */
  finish(id: number, change: Pick<CallDetail, 'outcome' | 'error'>): void {
    const entry = this.#details.get(id);
    if (entry === undefined) return;
    Object.assign(entry.detail, change);
    this.emit({ type: 'detail', id, detail: copyOf(entry.detail) });
    // biome-ignore lint/plugin: the outcome of one call
    this.#count(id, entry, JSON.stringify(change).length);
  }

  /** Adds to the size of a call, and drops the details of the oldest other calls that exceed the limit. */
  #count(current: number, entry: DetailEntry, chars: number): void {
    entry.chars += chars;
    this.#chars += chars;
    if (this.#chars <= TIMELINE_LIMITS.detailChars) return;
    for (const id of [...this.#details.keys()]) {
      if (this.#chars <= TIMELINE_LIMITS.detailChars) return;
      if (id !== current) this.#forget(id);
    }
  }

  #forget(id: number): void {
    this.#chars -= this.#details.get(id)?.chars ?? 0;
    this.#details.delete(id);
  }

  #trimNodes(): void {
    const removed: number[] = [];
    for (const { id } of this.#nodes.values()) {
      if (this.#nodes.size - removed.length <= TIMELINE_LIMITS.nodes) break;
      if (id !== this.#head) removed.push(id);
    }
    if (removed.length === 0) return;
    for (const id of removed) {
      this.#nodes.delete(id);
      this.#forget(id);
    }
    for (const [id, node] of this.#nodes)
      if (node.parent !== null && removed.includes(node.parent))
        this.#nodes.set(id, { ...node, parent: null });
    this.emit({ type: 'removed', ids: removed });
  }
}
