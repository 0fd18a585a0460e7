/**
 * What the main thread and a worker say to each other. Everything here is plain data that structured clone carries;
 * large bytes lie in shared memory and are sent without copying. No message ever comes from guest code.
 */
import type { ImageOrigin } from '../engine/image-format.ts';
import type { Entry } from '../fs/entries.ts';
import type { TreeChanges, TreeEdit } from '../fs/tree-changes.ts';
import type { ImportRecord } from '../kernel/import-log.ts';
import type { BuiltGuest, GuestAssets } from '../runtimes/guest-artifacts.ts';
import type { GuestReport, RuntimeName, TrapReason } from '../schema.ts';

/** The numbers of one call, after policy and call options were put together. */
export interface RunLimits {
  readonly fuelBudget: number;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
  readonly stdoutMaxBytes: number;
  readonly stderrMaxBytes: number;
  readonly workspaceMaxBytes: number;
  readonly workspaceMaxFiles: number;
  readonly deterministic: { readonly seed: number; readonly startMs: number } | undefined;
}

/** Read-only trees of a sandbox. `id` lets a worker keep what it built from them. */
export interface MountSet {
  readonly id: string;
  readonly mounts: readonly {
    readonly at: string;
    readonly entries: readonly Entry[];
    readonly isFile: boolean;
  }[];
}

/** The part of a run that has a past: where its interpreter comes from. */
export interface SessionInput {
  /** Workers keep the guests of sessions under this name. */
  readonly id: string;
  /** Which state the call starts from; a worker whose guest is in just that state goes on with it. */
  readonly version: number;
  /** That state, for a worker that has no such guest; absent before the first call. */
  readonly delta: Uint8Array | undefined;
  readonly tmp: readonly Entry[];
  /** What the host changed in the workspace since, for a guest that goes on. */
  readonly edits: TreeEdit;
  /** How many calls this interpreter has seen, this one included. */
  readonly call: number;
  /** The run only looks: the guest it ran in is thrown away, and the session is as if it had not been. */
  readonly discardState: boolean;
}

/** What a call left for the next one. */
export interface SavedState {
  readonly delta: Uint8Array;
  readonly tmp: readonly Entry[];
}

export interface RunJob {
  readonly type: 'run';
  /** Of the assets to run in. */
  readonly image: string;
  readonly code: string;
  readonly env: Readonly<Record<string, string>>;
  readonly injectSetup: boolean;
  readonly stdin: Uint8Array;
  readonly limits: RunLimits;
  readonly workspace: readonly Entry[];
  readonly mountSet: MountSet;
  /** Whether output is wanted as it comes. */
  readonly streamOutput: boolean;
  /** Present when the interpreter lives on after the call. */
  readonly session: SessionInput | undefined;
}

export interface BuildJob {
  readonly type: 'build';
  readonly runtime: RuntimeName;
}

/** Asks for an image with more in it than that of the assets. */
export interface ExtendJob {
  readonly type: 'extend';
  readonly image: string;
  /** Sources of the caller's own packages; none when there are no entries. */
  readonly packages: readonly Entry[];
  readonly preload: readonly string[];
  readonly limits: Pick<RunLimits, 'fuelBudget' | 'timeoutMs' | 'memoryBytes'>;
}

/** What the assets of an extended image have that those it was made from have not. */
export interface ExtendedImage {
  readonly layers: readonly { readonly at: string; readonly bytes: Uint8Array }[];
  readonly origin: ImageOrigin;
  readonly image: Uint8Array;
  readonly minMemoryBytes: number;
}

export type Job = RunJob | BuildJob | ExtendJob;

/** How a run ended, as far as the worker can tell. */
export interface RunOutcome {
  /** What became of the interpreter: it was new, it lives on, or it is as before the call. */
  readonly state: 'fresh' | 'committed' | 'rolled_back';
  readonly trap: { readonly reason: TrapReason; readonly detail: string } | undefined;
  /** Of a program that called exit from below the runtime, or that the boot script reported on. */
  readonly report: GuestReport | undefined;
  readonly fuelConsumed: number;
  readonly memoryUsedBytes: number;
  readonly durationMs: number;
  /** Time it stood aside for others, which is not part of its duration. */
  readonly yieldedMs: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutDroppedBytes: number;
  readonly stderrDroppedBytes: number;
  readonly changes: TreeChanges;
  readonly imports: readonly ImportRecord[];
}

export type ToWorker =
  | { readonly type: 'load'; readonly assets: GuestAssets }
  | { readonly type: 'unload'; readonly image: string }
  /** Asks for a guest to be there before a job wants one. */
  | { readonly type: 'warm'; readonly image: string; readonly memoryBytes: number }
  | { readonly type: 'job'; readonly id: number; readonly job: Job };

export type FromWorker =
  | { readonly type: 'output'; readonly id: number; readonly stream: 1 | 2; readonly bytes: Uint8Array }
  | { readonly type: 'progress'; readonly id: number; readonly step: string }
  | { readonly type: 'done'; readonly id: number; readonly outcome: RunOutcome }
  | { readonly type: 'saved'; readonly id: number; readonly saved: SavedState }
  | { readonly type: 'built'; readonly id: number; readonly guest: BuiltGuest }
  | { readonly type: 'extended'; readonly id: number; readonly extended: ExtendedImage }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string };

/** Words of the shared control block of a worker. */
export const CONTROL = { cancelledJob: 0, fuelMillions: 1, words: 2 } as const;
/** Fuel is told to the main thread in units of this. */
export const FUEL_UNIT = 1_000_000;

/** A copy of bytes in shared memory, so that further threads get it for nothing. */
export function toShared(bytes: Uint8Array): Uint8Array {
  if (bytes.buffer instanceof SharedArrayBuffer && bytes.byteLength === bytes.buffer.byteLength) return bytes;
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length));
  shared.set(bytes);
  return shared;
}
