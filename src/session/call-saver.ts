/** Commits what a call left, before or after it returns. A call that cannot be committed is reverted. */
import { SandboxError } from '../errors.ts';
import { stoppedByHost } from '../sandbox/to-result.ts';
import type { JobHandle } from '../worker/job-handle.ts';
import type { WorkerTurn } from '../worker/pool.ts';
import type { RunOutcome } from '../worker/protocol.ts';
import type { CallTransaction } from './call-transaction.ts';
import type { SessionStateLoader } from './session-state-loader.ts';
import type { SessionStates } from './session-states.ts';

export class CallSaver {
  readonly #states: SessionStates;
  readonly #loader: SessionStateLoader;

  constructor(states: SessionStates, loader: SessionStateLoader) {
    this.#states = states;
    this.#loader = loader;
  }

  /** Commits the state that the worker saves after the outcome. Only then can the next call of the session start. */
  async inBackground(
    turn: WorkerTurn,
    job: JobHandle,
    transaction: CallTransaction,
    { state }: RunOutcome,
  ): Promise<void> {
    const unpin = this.#loader.pin();
    try {
      const isCommitted = await this.#settle(job, transaction);
      if (!isCommitted && state === 'committed') this.#states.recordLostCommit(this.#states.record.calls);
    } catch (cause) {
      transaction.revert();
      const reason = cause instanceof SandboxError ? cause : undefined;
      this.#states.recordLostCommit(this.#states.record.calls, reason);
    } finally {
      unpin();
      turn.release();
    }
  }

  /**
   * Commits a call before it returns, so that a later failure cannot invalidate its result. Throws `store_failed` if
   * the store fails; the caller then reverts the call.
   */
  async beforeAnswer(job: JobHandle, transaction: CallTransaction, outcome: RunOutcome): Promise<RunOutcome> {
    const isCommitted = await this.#settle(job, transaction);
    if (isCommitted) await this.#states.flush();
    else await this.revert(transaction);
    if (!isCommitted && outcome.state === 'committed')
      return { ...stoppedByHost('worker_lost', outcome.durationMs), state: 'rolled_back' };
    return outcome;
  }

  /**
   * Reverts a call. After a resume, waits until the new id of the paused execution is saved, so that every process finds it
   * when the call has returned. The next operation reports a save that fails.
   */
  async revert(transaction: CallTransaction): Promise<void> {
    transaction.revert();
    if (this.#states.state.paused !== undefined) await this.#states.isSaved();
  }

  /** Commits what the worker saved, if it saved anything. Throws `session_limit` if the memory for it is not available. */
  async #settle(job: JobHandle, transaction: CallTransaction): Promise<boolean> {
    const saved = await job.saved;
    if (saved !== undefined) await this.#loader.claim(transaction.statesAfter(saved));
    return transaction.settle(saved);
  }
}
