/**
 * Where worker threads run: in this process (thread-host.ts) or in a process of their own (isolation/isolated-host.ts). The pool
 * does not depend on which of the two it uses.
 */
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { FromWorker, ToWorker, UnsentJob } from '../protocol/messages.ts';
import type { SentAssets } from '../protocol/prepare-ahead.ts';

/** A worker thread as the pool sees it. */
export interface WorkerThread {
  /** Approximate fuel that its current job has used. */
  readonly fuelSpent: number;
  /** How long the program of a run has been running; undefined if it has not started. */
  runningMs(job: number): number | undefined;
  /** Sends a message. Throws if the message cannot be cloned. With a job comes what limits the answers to it. */
  send(message: ToWorker, job?: UnsentJob): void;
  /** Cancels a job, even one that has not arrived yet. */
  cancel(job: number): void;
  /** Whether the thread keeps the process alive. A new thread does not. */
  setRef(keepsAlive: boolean): void;
  /** Resolves when the thread has ended. */
  terminate(): Promise<void>;
}

/** Receives what a thread sends, and its end. */
export interface ThreadEvents {
  message(message: FromWorker): void;
  /** Called once. */
  exit(): void;
}

export interface WorkerHost {
  /** Starts a thread. What the host itself needs is freed with its last thread. */
  start(events: ThreadEvents): WorkerThread;
  /** Begins to load a guest while the first thread starts, if that thread can use the result. Returns what it receives. */
  prepareAhead(assets: GuestAssets): SentAssets;
  /** Sets whether long-running programs have to yield. */
  setYield(isWanted: boolean): void;
  /** Creates a host in which no guest has run; undefined if it would share its boundary with this one. */
  fresh(): WorkerHost | undefined;
}
