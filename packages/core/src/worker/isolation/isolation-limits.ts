/**
 * Checks what a process that runs guests sends for a job against the limits of that job. The process enforces the same limits; a
 * message beyond them comes from one that guest code has taken over.
 */
import { GRACE } from '../../engine/run-context.ts';
import { SandboxError } from '../../errors.ts';
import { entryBytes, FileTree } from '../../fs/immutable-file-tree.ts';
import type { PackedEdit } from '../../fs/packed-edit.ts';
import type { EncodedResult } from '../../results/encoded-result.ts';
import { RESULT_LIMITS } from '../../results/result-limits.ts';
import { MAX_REPORT_BYTES } from '../../runtimes/runtime.ts';
import { maxPathBytes } from '../../schema/workspace-quota.ts';
import { MAX_TOOL_CALLS } from '../../tools/tool-limits.ts';
import { MAX_LISTED_CHARS } from '../protocol/limit-changed-files.ts';
import {
  type ExtendJob,
  type FromWorker,
  type HostRequest,
  IMAGE_REQUEST,
  MAX_CACHED_GUESTS,
  type PackedOutcome,
  type PackedSaved,
  type PictureJob,
  type RunOutcome,
  type SavedState,
  type UnsentJob,
  type UnsentRunJob,
} from '../protocol/messages.ts';
import { unpackOutcome, unpackSaved } from '../protocol/packed-messages.ts';
import type { PortableExtension } from './isolation-protocol.ts';

const MIB = 1024 * 1024;
/** Output that may be on its way in addition to a single write, which is at most as large as the memory of the guest. */
const UNDRAINED_BYTES = 4 * MIB;
/** Requests that may be unanswered: tool calls, and as many withdrawals. */
const MAX_OPEN_REQUESTS = 2 * MAX_TOOL_CALLS + 100;
/** Characters of a request for packages. */
const MAX_PACKAGE_REQUEST_CHARS = 5000;
/** The same for an image. */
const MAX_IMAGE_REQUEST_CHARS = IMAGE_REQUEST.characters + IMAGE_REQUEST.nameCharacters + 5000;
/** Characters of all results: their forms, of which images are in base64, and what describes them. */
const MAX_RESULT_CHARS = 2 * RESULT_LIMITS.totalBytes;
/** What a header of a state, an index of a layer and the like take in addition to what a limit covers. */
const MARGIN_BYTES = 64 * MIB;
/** A message that belongs to no job. */
export const MAX_IDLE_MESSAGE_BYTES = MARGIN_BYTES;
/** Characters that a byte of a path can take in JSON, and what a row contains besides paths. */
const MAX_CHARS_PER_PATH_BYTE = 6;
const MAX_ROW_CHARS = 5000;

type Message = Exclude<FromWorker, { readonly type: 'optimized' }>;
type Tree = Pick<FileTree, 'bytes' | 'size' | 'pathBytes'>;

/** Characters and numbers in data, or Infinity if there are more than `max`. */
export function sizeWithin(data: unknown, max: number): number {
  let size = 0;
  const pending = [data];
  while (pending.length > 0) {
    const value = pending.pop();
    size += typeof value === 'string' ? value.length : 1;
    if (typeof value === 'object' && value !== null) {
      for (const key of Object.keys(value)) {
        if (!Array.isArray(value)) size += key.length;
        pending.push((value as Record<string, unknown>)[key]);
      }
    }
    if (size + pending.length > max) return Number.POSITIVE_INFINITY;
  }
  return size;
}

const isAtMost = (data: unknown, max: number) => sizeWithin(data, max) <= max;
const totalLength = (items: readonly { readonly length: number }[]) =>
  items.reduce((sum, { length }) => sum + length, 0);

/** What the other process may send for one job. */
export class JobLimits {
  readonly #job: UnsentJob;
  readonly #outputBytes = { 1: 0, 2: 0 };
  #results = 0;
  #resultChars = 0;
  /** Requests without an answer, and the output that each `drain` among them waits for. */
  readonly #open = new Map<number, number>();
  #undrained = 0;
  /** The part of it for which a `drain` waits. */
  #awaited = 0;
  #phase: 'running' | 'saving' | 'over' = 'running';

  constructor(job: UnsentJob) {
    this.#job = job;
  }

  /** No message of the job is larger. Each part is compared with its own limit afterwards. */
  get maxMessageBytes(): number {
    const job = this.#job;
    if (job.type === 'extend') return 2 * maxImageBytes(job);
    if (job.type !== 'run') return MARGIN_BYTES;
    const { limits, session, workspace } = job;
    const state = Math.max(limits.memory_bytes, totalLength(session?.delta ?? []));
    const files =
      Math.max(limits.workspace_max_bytes, workspace.tree.bytes) + maxRowChars(job, workspace.tree);
    return 2 * (state + 2 * files + limits.stdout_max_bytes + limits.stderr_max_bytes) + 4 * MARGIN_BYTES;
  }

  /** A request is answered. */
  answered(number: number): void {
    const drained = this.#open.get(number) ?? 0;
    this.#undrained -= drained;
    this.#awaited -= drained;
    this.#open.delete(number);
  }

  /** Whether the job has ended, so that further messages have no receiver. */
  get isOver(): boolean {
    return this.#phase === 'over';
  }

  /** Whether the process may send this message now. */
  accepts(message: Message): boolean {
    if (message.type === 'failed') return this.#enter('over');
    const job = this.#job;
    if (job.type !== 'run') {
      return job.type === 'picture' && message.type === 'picture' && this.#enter('over')
        ? isWithinLimits(job, message.picture)
        : false;
    }
    if (message.type === 'saved')
      return this.#phase === 'saving' && this.#enter('over') && isSavable(job, message.saved);
    if (this.#phase !== 'running') return false;
    switch (message.type) {
      case 'output':
        return this.#acceptOutput(job, message.stream, message.bytes.length);
      case 'result':
        return this.#acceptResult(message.result);
      case 'request':
        return this.#acceptRequest(job, message.number, message.request);
      case 'done':
        this.#enter(message.outcome.state === 'committed' ? 'saving' : 'over');
        return (
          isPossible(job, message.outcome) && message.results.every((result) => this.#acceptResult(result))
        );
      default:
        return false;
    }
  }

  /** Whether the process may send this image now. */
  acceptsImage(extension: PortableExtension): boolean {
    const job = this.#job;
    return job.type === 'extend' && this.#phase === 'running' && this.#enter('over')
      ? isWithinMemory(job, extension)
      : false;
  }

  #enter(phase: 'saving' | 'over'): true {
    this.#phase = phase;
    return true;
  }

  #acceptOutput({ streamOutput, limits }: UnsentRunJob, stream: 1 | 2, bytes: number): boolean {
    if (streamOutput === 'none') return false;
    if (streamOutput === 'all') {
      this.#undrained += bytes;
      return this.#undrained <= limits.memory_bytes + UNDRAINED_BYTES;
    }
    this.#outputBytes[stream] += bytes;
    return this.#outputBytes[stream] <= (stream === 1 ? limits.stdout_max_bytes : limits.stderr_max_bytes);
  }

  #acceptResult(result: EncodedResult): boolean {
    this.#resultChars += sizeWithin(result, MAX_RESULT_CHARS);
    return ++this.#results <= RESULT_LIMITS.count && this.#resultChars <= MAX_RESULT_CHARS;
  }

  #acceptRequest(job: UnsentRunJob, number: number, request: HostRequest): boolean {
    const isOffered =
      request.type === 'stdin'
        ? job.hasMoreStdin
        : request.type === 'drain'
          ? job.streamOutput === 'all'
          : request.type === 'packages'
            ? isAtMost(request, MAX_PACKAGE_REQUEST_CHARS)
            : request.type === 'image'
              ? job.findsImages === true && isAtMost(request, MAX_IMAGE_REQUEST_CHARS)
              : job.tools !== undefined;
    if (!isOffered || this.#open.has(number) || this.#open.size >= MAX_OPEN_REQUESTS) return false;
    const waitsFor = request.type === 'drain' ? this.#undrained - this.#awaited : 0;
    this.#awaited += waitsFor;
    this.#open.set(number, waitsFor);
    return true;
  }
}

/** Whether a tree is within the quota, or not larger than it was: a session may have been stored with a larger quota. */
function isWithinQuota({ limits }: UnsentRunJob, before: Tree, after: Tree, root: string): boolean {
  const pathBytes = ({ pathBytes, size }: Tree) => pathBytes + size * (root.length + 1);
  return (
    after.bytes <= Math.max(before.bytes, limits.workspace_max_bytes) &&
    after.size <= Math.max(before.size, limits.workspace_max_files) &&
    pathBytes(after) <= Math.max(pathBytes(before), maxPathBytes(limits.workspace_max_files))
  );
}

/** Whether a run with these limits can have this outcome. */
function isPossible(job: UnsentRunJob, outcome: PackedOutcome): boolean {
  const { limits, session, program, tools, workspace } = job;
  const { state, changes, report } = outcome;
  const keepsState = session !== undefined && !session.discardState;
  const names = [...changes.created, ...changes.modified, ...changes.deleted];
  return (
    (state === 'fresh') !== keepsState &&
    (outcome.isPaused !== true || (state === 'committed' && tools !== undefined)) &&
    Buffer.byteLength(outcome.stdout) <= limits.stdout_max_bytes &&
    Buffer.byteLength(outcome.stderr) <= limits.stderr_max_bytes &&
    outcome.fuelConsumed <= limits.fuel_budget + 2 * GRACE.fuel &&
    isAtMost(report, MAX_REPORT_BYTES) &&
    (outcome.profile?.stacks === undefined || job.profile) &&
    totalLength(outcome.declared) <= program.code.length &&
    totalLength(names) <= MAX_LISTED_CHARS &&
    isUnpackable(job, workspace.tree, changes.edit)
  );
}

/** Whether an edit is small enough to be unpacked. Its files are compared with the quota afterwards. */
function isUnpackable(job: UnsentRunJob, before: Tree, edit: PackedEdit): boolean {
  const contents = edit.reduce((sum, { small, large }) => sum + small.length + totalLength(large), 0);
  const rows = edit.reduce((sum, part) => sum + part.rows.length, 0);
  return (
    contents <= Math.max(before.bytes, job.limits.workspace_max_bytes) && rows <= maxRowChars(job, before)
  );
}

/** Characters of the rows of an edit. */
function maxRowChars({ limits }: UnsentRunJob, before: Tree): number {
  const files = Math.max(before.size, limits.workspace_max_files);
  const paths = Math.max(before.pathBytes, maxPathBytes(limits.workspace_max_files));
  return MAX_CHARS_PER_PATH_BYTE * paths + MAX_ROW_CHARS * (files + 1);
}

/** The outcome of a run. Throws if its files exceed the quota, which only a process that guest code has taken over sends. */
export function* outcomeWithinQuota(
  job: UnsentRunJob,
  packed: PackedOutcome,
): Generator<unknown, RunOutcome> {
  const outcome = yield* unpackOutcome(packed, job.workspace.tree);
  const { before, after } = outcome.files!;
  if (outcome.changes.removed.length > before.size || !isWithinQuota(job, before, after, '/app'))
    throw beyondQuota();
  return outcome;
}

/** The state of a session after a run. Throws if its temporary files exceed the quota. */
export function* stateWithinQuota(job: UnsentRunJob, packed: PackedSaved): Generator<unknown, SavedState> {
  const saved = yield* unpackSaved(packed);
  const { removed, entries } = saved.tmp;
  if (removed.length + entries.length === 0) return saved;
  const before = FileTree.from(job.session!.tmp);
  if (removed.length > before.size || !isWithinQuota(job, before, before.apply(saved.tmp), '/tmp'))
    throw beyondQuota();
  return saved;
}

const beyondQuota = () =>
  new SandboxError('internal', 'A worker sent more files than the quota of the workspace allows.');

/** Whether a run with these limits can leave this state. */
function isSavable(
  job: UnsentRunJob,
  { deltaHeader, newParts, tmp, evicted, keptParts }: PackedSaved,
): boolean {
  const { limits, session } = job;
  const parts = newParts.reduce((sum, { bytes }) => sum + bytes.length, 0);
  // Page diffs hold less than twice the pages, and deleted files count towards the quota.
  const files = Math.max(limits.workspace_max_bytes, job.workspace.tree.bytes);
  return (
    deltaHeader.length <= MARGIN_BYTES &&
    parts <= 2 * Math.max(limits.memory_bytes, totalLength(session!.delta ?? [])) + files + MARGIN_BYTES &&
    keptParts <= Math.max(0, (session!.delta?.length ?? 0) - 1) &&
    evicted.length <= MAX_CACHED_GUESTS &&
    isUnpackable(job, FileTree.from(session!.tmp), tmp)
  );
}

function isWithinLimits(
  { limits }: PictureJob,
  picture: Extract<FromWorker, { readonly type: 'picture' }>['picture'],
): boolean {
  if ('problem' in picture) return true;
  const { image, width, height } = picture;
  return image.length <= limits.maxBytes && width <= limits.maxEdge && height <= limits.maxEdge;
}

/** The image holds the memory of a guest, and a layer the packages with their bytecode. */
function isWithinMemory(job: ExtendJob, { image, minMemoryBytes, addedLayers }: PortableExtension): boolean {
  const memory = maxMemoryBytes(job);
  const layers = addedLayers.reduce((sum, { index, data }) => sum + index.length + data.length, 0);
  return (
    minMemoryBytes <= memory + MARGIN_BYTES &&
    (image?.length ?? 0) <= memory + MARGIN_BYTES &&
    layers <= maxLayerBytes(job)
  );
}

const maxMemoryBytes = ({ compileLimits, preloadLimits }: ExtendJob) =>
  Math.max(compileLimits.memory_bytes, preloadLimits.memory_bytes);

const maxLayerBytes = ({ packages }: ExtendJob) =>
  4 * packages.reduce((sum, entry) => sum + entryBytes(entry), 0) + MARGIN_BYTES;

const maxImageBytes = (job: ExtendJob) => maxMemoryBytes(job) + maxLayerBytes(job) + MARGIN_BYTES;
