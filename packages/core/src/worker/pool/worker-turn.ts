/** A turn of a job in a pool. */
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { UnsentJob } from '../protocol/messages.ts';
import type { Turn, TurnRequest } from './fair-scheduler.ts';
import type { JobHandle } from './job-handle.ts';
import type { JobOptions } from './pool-thread.ts';

/** What a call needs from the pool. */
export interface WorkerRequest extends Omit<TurnRequest, 'needsWorker'> {
  /** Prefer the thread that ran the last call with this key: it may still have the session's guest. */
  readonly hasAffinity?: boolean;
}

/** A turn together with a thread. The thread stays reserved until the turn is released. */
export interface WorkerTurn extends Turn {
  /** Runs a job that needs the given image, if any. A turn runs one job. */
  run(job: UnsentJob, assets: GuestAssets | undefined, options: JobOptions): JobHandle;
}

/** Where jobs get their turns. */
export interface TurnSource {
  /** Waits for a turn with a thread; undefined if the signal is aborted first. */
  acquire(request: WorkerRequest): Promise<WorkerTurn | undefined>;
}
