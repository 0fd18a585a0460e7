/**
 * A job that a worker thread is running: its result, the state it saves afterwards, and when the thread is free again.
 * Both promises always settle, even if the thread is lost.
 */
import { type ErrorCode, SandboxError } from '../../errors.ts';
import type { UnpackedWheel } from '../../packages/unpack-wheel.ts';
import type { EncodedResult } from '../../results/encoded-result.ts';
import type { GuestAssets, PreparedLibrary } from '../../runtimes/artifacts/guest-artifacts.ts';
import type {
  DrawnPicture,
  ExtendedImage,
  FromWorker,
  HostAnswer,
  HostRequest,
  RunOutcome,
  SavedState,
} from '../protocol/messages.ts';
import type { PhaseDurations } from '../protocol/startup-phases.ts';

/** The result of a job. A lost worker is a result, not an exception, because the guest may have caused it. */
export type JobResult =
  | { readonly type: 'done'; readonly outcome: RunOutcome }
  | { readonly type: 'extended'; readonly extended: ExtendedImage }
  | { readonly type: 'prepared'; readonly libraries: readonly PreparedLibrary[] }
  | { readonly type: 'unpacked'; readonly unpacked: UnpackedWheel }
  | { readonly type: 'phases'; readonly durations: PhaseDurations }
  | { readonly type: 'picture'; readonly picture: DrawnPicture }
  | { readonly type: 'lost' };

/** Receives what a job reports while it runs. */
export interface JobObserver {
  output?(stream: 1 | 2, bytes: Uint8Array): void;
  /** Answers a request of the guest. Must not reject. */
  answer?(request: HostRequest): Promise<HostAnswer<GuestAssets>>;
  result?(result: EncodedResult): void;
}

/** A message with its lists of files unpacked. */
export type UnpackedMessage =
  | Exclude<FromWorker, { readonly type: 'optimized' | 'done' | 'saved' }>
  | (Omit<Extract<FromWorker, { readonly type: 'done' }>, 'outcome'> & { readonly outcome: RunOutcome })
  | (Omit<Extract<FromWorker, { readonly type: 'saved' }>, 'saved'> & { readonly saved: SavedState });

export interface JobHandle {
  /** The answer. Rejects when the worker reports a fault of the host. */
  readonly result: Promise<JobResult>;
  /** The state that a committed run left. Resolves when the thread is free again, with undefined if there is none. */
  readonly saved: Promise<SavedState | undefined>;
  /** Approximate fuel that the run has used so far. */
  readonly fuelSpent: number;
}

export class ActiveJob implements JobHandle {
  readonly result: Promise<JobResult>;
  readonly saved: Promise<SavedState | undefined>;
  #isSaving = false;
  #resolve!: (result: JobResult) => void;
  #reject!: (cause: unknown) => void;
  #finish!: (saved: SavedState | undefined) => void;

  constructor(
    readonly id: number,
    readonly observer: JobObserver,
    readonly readFuelSpent: () => number,
    readonly reply: (number: number, answer: HostAnswer<GuestAssets>) => void,
  ) {
    this.result = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.saved = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get fuelSpent(): number {
    return this.readFuelSpent();
  }

  /** Whether the caller has the answer of a committed call whose state is not saved yet. */
  get isSaving(): boolean {
    return this.#isSaving;
  }

  /** Handles one message of the worker; returns whether the job is over. */
  receive(message: UnpackedMessage): boolean {
    switch (message.type) {
      case 'output':
        this.observer.output?.(message.stream, message.bytes);
        return false;
      case 'result':
        this.observer.result?.(message.result);
        return false;
      case 'request':
        void this.#answer(message.number, message.request);
        return false;
      case 'saved':
        this.#finish(message.saved);
        return true;
      case 'failed':
        this.#reject(new SandboxError(message.code as ErrorCode, message.message));
        break;
      case 'done':
        for (const result of message.results) this.observer.result?.(result);
        this.#resolve(message);
        // A committed call is answered before its state is saved; the thread is busy until then.
        this.#isSaving = message.outcome.state === 'committed';
        if (this.#isSaving) return false;
        break;
      default:
        this.#resolve(message);
    }
    this.#finish(undefined);
    return true;
  }

  async #answer(number: number, request: HostRequest): Promise<void> {
    this.reply(number, (await this.observer.answer?.(request)) ?? {});
  }

  /** The thread ended. What it did not answer or save is lost. */
  lose(): void {
    this.#resolve({ type: 'lost' });
    this.#finish(undefined);
  }
}
