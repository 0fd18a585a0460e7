/** What the calls, the interpreter and the interface of a sandbox share: where its programs run, and whether it is open. */
import { randomUUID } from 'node:crypto';
import type { Cancellation, CancelSignal } from '../concurrency/cancellation.ts';
import { SandboxError } from '../errors.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import type { GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { deterministicMode } from '../schema.ts';
import type { JobHandle } from '../worker/pool/job-handle.ts';
import type { WorkerTurn } from '../worker/pool/worker-turn.ts';
import type { SessionInput, UnsentRunJob } from '../worker/protocol/messages.ts';
import type { Call } from './call-options.ts';
import type { SandboxParts } from './create-parts.ts';
import { ImageResolver } from './image-resolver.ts';
import { observerOf } from './interpreter.ts';
import { EventLog } from './log-events.ts';
import { WorkspaceFiles } from './workspace-files.ts';

/** What a program starts from. */
interface RunStart {
  readonly assets: GuestAssets;
  /** The interpreter that it continues; absent if it gets a fresh one. */
  readonly session?: SessionInput | undefined;
  readonly tree: FileTree;
}

export class SandboxCore {
  /** Calls with the same key run one after another. */
  readonly key = randomUUID();
  readonly tenant: string;
  readonly events: EventLog;
  readonly images: ImageResolver;
  /** The calls that have not returned. */
  readonly calls = new Set<Cancellation>();
  #isClosed = false;

  constructor(
    readonly parts: SandboxParts,
    readonly files = emptyFiles(parts),
  ) {
    const { policy, pool, image } = parts;
    this.tenant = parts.tenant ?? this.key;
    this.images = new ImageResolver(image, { policy, pool, tenant: this.tenant });
    this.events = new EventLog(parts.logger, image.runtime);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Throws `sandbox_closed`. */
  checkOpen(): void {
    if (!this.#isClosed) return;
    throw new SandboxError(
      'sandbox_closed',
      'The sandbox is closed. Create another one with createSandbox().',
    );
  }

  /** Cancels the calls. */
  close(): void {
    this.#isClosed = true;
    for (const call of this.calls) call.abort();
    this.parts.pool.forgetWorkspace(this.files.id);
  }

  /** Waits for a worker; undefined if the signal is aborted first. */
  acquire(signal: CancelSignal | undefined, hasAffinity = false): Promise<WorkerTurn | undefined> {
    return this.parts.pool.acquire({ tenant: this.tenant, key: this.key, signal, hasAffinity });
  }

  /** Sends the program of a call to the worker. */
  start(turn: WorkerTurn, call: Call, { assets, session, tree }: RunStart): JobHandle {
    const { policy, mountSet } = this.parts;
    const job: UnsentRunJob = {
      type: 'run',
      image: assets.id,
      program: call.program,
      stdin: call.stdin.bytes,
      hasMoreStdin: call.stdin.isStream,
      limits: {
        ...call.limits,
        memory_bytes: policy.memory_bytes,
        max_processes: policy.max_processes,
        max_process_depth: policy.max_process_depth,
        stdout_max_bytes: policy.stdout_max_bytes,
        stderr_max_bytes: policy.stderr_max_bytes,
        workspace_max_bytes: policy.workspace_max_bytes,
        workspace_max_files: policy.workspace_max_files,
        home: policy.home,
        cwd: policy.cwd,
        deterministic: deterministicMode(policy),
      },
      workspace: { id: this.files.id, tree },
      mountSet,
      streamOutput: call.output.start(),
      profile: call.profile,
      session,
      ...(call.tools && { tools: call.tools.job }),
      ...(call.packages?.areOfProcesses && { findsImages: true as const }),
    };
    const limitMs = call.limits.timeout_seconds * 1000 + (job.tools?.maxWaitMs ?? 0);
    return turn.run(job, assets, { limitMs, signal: call.signal, observer: observerOf(call) });
  }
}

function emptyFiles({ policy }: SandboxParts): WorkspaceFiles {
  const startMs = deterministicMode(policy)?.startMs;
  return new WorkspaceFiles(startMs === undefined ? Date.now : () => startMs, {
    maxBytes: policy.workspace_max_bytes,
    maxFiles: policy.workspace_max_files,
  });
}
