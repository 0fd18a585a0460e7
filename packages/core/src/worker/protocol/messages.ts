/**
 * The messages between the main thread and a worker. They are plain data for structured clone; large byte arrays are in
 * shared memory and are not copied. Guest code cannot send messages.
 */
import type { SourceFacts } from '../../analysis/program-facts.ts';
import type { RunProfile } from '../../analysis/run-profile-schema.ts';
import type { PictureLimits } from '../../charts/shrink-pixels.ts';
import type { Delta } from '../../engine/delta.ts';
import type { ImageOrigin } from '../../engine/image-identity.ts';
import type { MemoryDiff } from '../../engine/memory-capture.ts';
import type { Entry, TreeEdit } from '../../fs/flat-entries.ts';
import type { FileTree } from '../../fs/immutable-file-tree.ts';
import type { PackedEdit } from '../../fs/packed-edit.ts';
import type { TreeChanges } from '../../fs/tree-changes.ts';
import type { VolumeUsage } from '../../fs/volume.ts';
import type { SharedLayer } from '../../host/shared-layer.ts';
import type { ImportRecord } from '../../kernel/module-import-log.ts';
import type { PackageLibrary } from '../../packages/package-set.ts';
import type { UnpackedWheel, WheelFile } from '../../packages/unpack-wheel.ts';
import type { EncodedResult } from '../../results/encoded-result.ts';
import type { PreparedLibrary } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { Program } from '../../runtimes/runtime.ts';
import type { QuotaLimit } from '../../schema/workspace-quota.ts';
import type { GuestReport, Policy, StoppedAt, TrapReason } from '../../schema.ts';
import type { ToolAnswer } from '../../tools/tool-protocol.ts';
import type { SentAssets } from './prepare-ahead.ts';
import type { PhaseDurations } from './startup-phases.ts';
import type { TreeUpdate, WorkspaceSnapshot } from './tree-updates.ts';

/** The number of messages and runs that belong to no job. Jobs have positive numbers. */
export const NO_JOB = -1;

/** Characters of a program that are stored while it is paused. */
export const MAX_STORED_CODE = 262_144;

/** Guests of sessions that a worker caches. */
export const MAX_CACHED_GUESTS = 8;

/** The limits of one call, combined from the policy and the call options. */
export interface RunLimits
  extends ImageLimits,
    Pick<
      Policy,
      | 'max_processes'
      | 'max_process_depth'
      | 'stdout_max_bytes'
      | 'stderr_max_bytes'
      | 'workspace_max_bytes'
      | 'workspace_max_files'
      | 'home'
      | 'cwd'
    > {
  readonly deterministic: { readonly seed: number; readonly startMs: number } | undefined;
}

/** The read-only mounts of a sandbox. Workers cache the trees they build from them by `id`. */
export interface MountSet {
  readonly id: string;
  readonly mounts: readonly {
    readonly at: string;
    readonly entries: readonly Entry[];
    readonly isFile: boolean;
  }[];
}

/** The state of a session that a run starts from. */
export interface SessionInput {
  /** Key under which workers cache the guest of the session. */
  readonly id: string;
  /** Version of the state. A worker whose cached guest has this version continues with that guest. */
  readonly version: number;
  /** The state, for a worker without such a guest; undefined before the first call, and if `RunJob.workspace` is undefined. */
  readonly delta: Delta | undefined;
  /** The files in /tmp, restored together with `delta`. */
  readonly tmp: readonly Entry[];
  /** Changes that the host made to the workspace since the last call, to be applied to a cached guest. */
  readonly edits: TreeEdit;
  /** The run only reads: its guest is discarded and the state of the session does not change. */
  readonly discardState: boolean;
}

/** The state that a committed call leaves for the next one, as changes to the state it started from. */
export interface SavedState {
  /** The header of the new delta. */
  readonly deltaHeader: Uint8Array;
  /** Number of parts after the header of the old delta that the new one begins with. */
  readonly keptParts: number;
  /** The parts that follow. */
  readonly newParts: readonly MemoryDiff[];
  /** The changes in /tmp. */
  readonly tmp: TreeEdit;
  /** Keys of the sessions whose cached guests made room for this one. */
  readonly evicted: readonly string[];
}

/**
 * Output that is sent while the program runs: none, what the result will contain, or all. With `all` the guest waits for
 * the receiver.
 */
export type StreamedOutput = 'none' | 'capped' | 'all';

/** A run. The files of its workspace and of its session are packed when it is sent. */
export interface RunJob<Files = TreeUpdate | undefined, State = SessionInput | undefined> {
  readonly type: 'run';
  /** The `id` of the assets that the job uses. */
  readonly image: string;
  readonly program: Program;
  readonly stdin: Uint8Array;
  /** Whether the main thread has more standard input, for which the guest asks. */
  readonly hasMoreStdin: boolean;
  readonly limits: RunLimits;
  /** The files that the program starts from. Undefined if the thread has the guest of the session, which has the files. */
  readonly workspace: Files;
  readonly mountSet: MountSet;
  readonly streamOutput: StreamedOutput;
  /** Whether to sample finely and to record complete stacks. */
  readonly profile: boolean;
  /** Present when the interpreter continues a session. */
  readonly session: State;
  /** The tools that the program can call; absent if it has none. */
  readonly tools?: JobTools | undefined;
  /** Processes of other runtimes start in images that the main thread chooses; absent if they have no added packages. */
  readonly findsImages?: true;
}

/** The tools of a run, and the limits that the worker enforces. */
export interface JobTools {
  /** The descriptions of the tools as JSON. */
  readonly catalog: string;
  readonly maxCalls: number;
  /** Calls that a paused program has made before. */
  readonly usedCalls: number;
  readonly maxInFlight: number;
  readonly maxArgumentBytes: number;
  /** Time that the run may wait for tools, which is not part of its time limit. */
  readonly maxWaitMs: number;
  /** Absent if the program may send no requests. */
  readonly network?: JobNetwork | undefined;
  /** The caller offers no tools: the program has only the network. */
  readonly hasNoTools?: boolean;
  /** The calls that a paused program waits for. Absent if the job starts a program. */
  readonly resumed?: readonly ResumedCall[] | undefined;
}

/** The limits of the requests of a run that the worker enforces. */
interface JobNetwork {
  readonly maxRequests: number;
  /** Requests that a paused program has made before. */
  readonly usedRequests: number;
  readonly maxArgumentBytes: number;
}

/** A call that a paused program waits for. */
interface ResumedCall {
  readonly id: number;
  /** Size of its arguments. */
  readonly bytes: number;
}

/** Requests an image that extends that of the assets with packages and preloaded modules. */
export interface ExtendJob {
  readonly type: 'extend';
  /** The `id` of the assets to extend. */
  readonly image: string;
  /** Files of the user's packages; empty if there are none. */
  readonly packages: readonly Entry[];
  /** The libraries for which stubs are among the files. */
  readonly libraries: readonly PreparedLibrary[];
  readonly preload: readonly string[];
  /** Limits of compiling the packages. */
  readonly compileLimits: ImageLimits;
  /** Limits of loading the modules. */
  readonly preloadLimits: ImageLimits;
}

export type ImageLimits = Pick<Policy, 'fuel_budget' | 'timeout_seconds' | 'memory_bytes'>;

/** The fields in which the assets of an extended image differ from those of its base. */
export interface ExtendedImage {
  readonly layers: readonly SharedLayer[];
  readonly origin: ImageOrigin;
  /** Undefined: the image of the base, because no modules are preloaded. */
  readonly image: Uint8Array | undefined;
  readonly minMemoryBytes: number;
}

/** Requests that libraries be prepared for guests. It runs no guest code. */
interface PrepareJob {
  readonly type: 'prepare';
  /** The `id` of the assets with the main module. */
  readonly image: string;
  readonly libraries: readonly PackageLibrary[];
}

/** Requests that a wheel be unpacked and verified. It runs no guest code. */
interface UnpackJob {
  readonly type: 'unpack';
  readonly wheel: WheelFile;
}

/** Asks for the durations of the phases of the thread's first run. */
interface PhasesJob {
  readonly type: 'phases';
}

/** An SVG, or an image as PNG, JPEG or GIF. */
export type PictureSource = string | Uint8Array;

/** Requests a PNG of an image or SVG that a program has created. */
export interface PictureJob {
  readonly type: 'picture';
  readonly source: PictureSource;
  readonly limits: PictureLimits;
}

/** The PNG, or why there is none, as a clause. */
export type DrawnPicture =
  | { readonly image: Uint8Array; readonly width: number; readonly height: number }
  | { readonly problem: string };

export type Job = RunJob | ExtendJob | PrepareJob | UnpackJob | PhasesJob | PictureJob;

/** A run before it is known which thread gets it, and therefore what has to be sent. */
export type UnsentRunJob = RunJob<WorkspaceSnapshot>;

export type UnsentJob = UnsentRunJob | Exclude<Job, RunJob>;

/** The outcome of a run as observed by the worker. */
export interface RunOutcome {
  /** The interpreter was new (`fresh`), keeps the effects of the call, or was reset to its state before the call. */
  readonly state: 'fresh' | 'committed' | 'rolled_back';
  /** The program is waiting for answers from tools and can be resumed. The state is then `committed`. */
  readonly isPaused?: boolean;
  /** A limit ended the program during an import. */
  readonly isImportInterrupted?: boolean;
  /** Time that the run waited for tools; part of `durationMs`. */
  readonly toolWaitMs?: number;
  readonly trap: { readonly reason: TrapReason; readonly detail: string } | undefined;
  /** Absent if the program stopped without a report. */
  readonly report: GuestReport | undefined;
  readonly fuelConsumed: number;
  /** Fuel of drawing charts. It is not part of `fuelConsumed`. */
  readonly chartFuel: number;
  readonly memoryUsedBytes: number;
  readonly durationMs: number;
  /** Time that the run yielded to others; not part of `durationMs`. */
  readonly yieldedMs: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly stdoutDroppedBytes: number;
  readonly stderrDroppedBytes: number;
  readonly changes: TreeChanges;
  /** The workspace before and after the changes, if no other call has changed it meanwhile. Only on the main thread. */
  readonly files?: { readonly before: FileTree; readonly after: FileTree };
  /** Number of paths that the lists of changed files in `changes` omit. */
  readonly filesOmitted: number;
  /** What /tmp and deleted files that are open take of the workspace quota after a committed call. */
  readonly otherUsage: VolumeUsage;
  /** The limit of the last write that the workspace quota refused. */
  readonly exceededQuota: QuotaLimit | undefined;
  readonly imports: readonly ImportRecord[];
  /** Absent if the run used only one slice of fuel. */
  readonly profile: RunProfile | undefined;
  /** What the source shows, if the analysis needs it. */
  readonly program?: SourceFacts | undefined;
  /** Where a limit, a fault or an uncaught exception ended the program. */
  readonly stoppedAt: StoppedAt | undefined;
  /** Number of results that the program displayed beyond the limit. */
  readonly resultsOmitted: number;
  /** Top-level names that the program of a session may have declared. */
  readonly declared: readonly string[];
}

/** What a guest can ask the main thread for while it runs. */
export type HostRequest =
  /** The next bytes of standard input. */
  | { readonly type: 'stdin' }
  /** An answer when all output so far was received. */
  | { readonly type: 'drain' }
  /** Asks for packages (see kernel/package-finder.ts). `used` is the share of its limits that the program has used. */
  | {
      readonly type: 'packages';
      readonly kind: 'module' | 'requirement';
      readonly names: readonly string[];
      readonly used: number;
    }
  | { readonly type: 'image'; readonly question: ImageQuestion; readonly used: number }
  /**
   * Calls a tool. `id` is the number that the guest chose, or a negative number for a child process. With `problem`, the worker has rejected the arguments and sends
   * only their beginning, for the record.
   */
  | {
      readonly type: 'tool_call';
      readonly id: number;
      readonly name: string;
      readonly arguments: string;
      readonly problem?: string | undefined;
    }
  /** Asks for the next bytes of a response, or ends it. */
  | { readonly type: 'network_read' | 'network_close'; readonly handle: number }
  /** Asks for the answer to a call of a paused program. */
  | { readonly type: 'tool_resume'; readonly id: number }
  /** The program no longer waits for these calls. */
  | { readonly type: 'tool_withdraw'; readonly ids: readonly number[]; readonly reason: string };

/** Asks for the image in which a process starts, with the text of its program and the names in the program's folder. */
export interface ImageQuestion {
  readonly code: string;
  readonly names: readonly string[];
}

/** The limits of a request for an image. */
export const IMAGE_REQUEST = { characters: 65_536, names: 1000, nameCharacters: 50_000 };

/** The image in which a process starts, or why it cannot start. */
export type ImageAnswer<Image> =
  | {
      /** Undefined for the boot image. */
      readonly image: Image | undefined;
      /** The added packages that the image does not have, but that others have, as `name==version`. */
      readonly others: readonly string[];
    }
  | { readonly problem: string }
  /** The program of the call has to start again. */
  | 'restart';

/** `Image` is that of the main thread. A thread gets its id. */
export interface HostAnswer<Image = string> {
  /** Bytes of standard input; undefined at its end. */
  readonly bytes?: Uint8Array | undefined;
  /** The answer to a tool call. */
  readonly tool?: ToolAnswer | undefined;
  /** The names of packages that are not there, or that the program has to start again to get them. */
  readonly packages?: readonly string[] | 'restart' | undefined;
  readonly image?: ImageAnswer<Image> | undefined;
}

/** A run as it is sent to a thread. */
export type PackedRunJob = RunJob<
  (Omit<TreeUpdate, 'edit'> & { readonly edit: PackedEdit }) | undefined,
  (Omit<SessionInput, 'tmp' | 'edits'> & { readonly tmp: PackedEdit; readonly edits: PackedEdit }) | undefined
>;

/** The changes of `RunOutcome` without those that `edit` has. */
export interface PackedOutcome extends Omit<RunOutcome, 'changes' | 'files'> {
  readonly changes: Omit<RunOutcome['changes'], 'removed' | 'entries'> & { readonly edit: PackedEdit };
}

export interface PackedSaved extends Omit<SavedState, 'tmp'> {
  readonly tmp: PackedEdit;
}

/** A job as it is sent to a thread. */
export type SentJob = Exclude<Job, RunJob> | PackedRunJob;

export type ToWorker =
  | { readonly type: 'load'; readonly assets: SentAssets }
  | { readonly type: 'unload'; readonly image: string }
  /** Discards the files of a workspace that is not used any more. */
  | { readonly type: 'discard'; readonly workspace: string }
  /** Requests that a guest be prepared before the first job needs it. */
  | { readonly type: 'warm'; readonly image: string; readonly memoryBytes: number }
  | { readonly type: 'answer'; readonly number: number; readonly answer: HostAnswer }
  /** Requests that the thread run optimisation programs when it is idle (see idle-optimization.ts). */
  | { readonly type: 'optimize'; readonly image: string; readonly memoryBytes: number }
  | {
      readonly type: 'job';
      readonly id: number;
      readonly job: SentJob;
      /** The shared buffers of the job that the thread has not received before; added when the job is sent to it. */
      readonly newBuffers?: readonly SharedArrayBuffer[];
    };

export type FromWorker =
  | { readonly type: 'output'; readonly id: number; readonly stream: 1 | 2; readonly bytes: Uint8Array }
  /** Something that the program displays, or an image that it has written. */
  | { readonly type: 'result'; readonly id: number; readonly result: EncodedResult }
  | {
      readonly type: 'request';
      readonly id: number;
      /** Number of the request, which the answer repeats. */
      readonly number: number;
      readonly request: HostRequest;
    }
  | {
      readonly type: 'done';
      readonly id: number;
      readonly outcome: PackedOutcome;
      /** The results that were not sent before. */
      readonly results: readonly EncodedResult[];
    }
  | { readonly type: 'saved'; readonly id: number; readonly saved: PackedSaved }
  | { readonly type: 'extended'; readonly id: number; readonly extended: ExtendedImage }
  | { readonly type: 'prepared'; readonly id: number; readonly libraries: readonly PreparedLibrary[] }
  | { readonly type: 'unpacked'; readonly id: number; readonly unpacked: UnpackedWheel }
  | { readonly type: 'phases'; readonly id: number; readonly durations: PhaseDurations }
  | { readonly type: 'picture'; readonly id: number; readonly picture: DrawnPicture }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }
  /** The optimisation programs of an image have ended. It belongs to no job. */
  | {
      readonly type: 'optimized';
      readonly id: typeof NO_JOB;
      readonly image: string;
      readonly programs: number;
    };
