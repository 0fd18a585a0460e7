/**
 * One call of a session, from the state it starts from to the state it leaves. Memory and files are committed together
 * or not at all. The steps are called in order: begin, answer, then one of the commits; or revert at any point.
 */
import { SandboxError } from '../errors.ts';
import type { TreeEdit } from '../fs/flat-entries.ts';
import { FileTree } from '../fs/immutable-file-tree.ts';
import type { VolumeUsage } from '../fs/volume.ts';
import { notableImports } from '../packages/import-costs.ts';
import type { Call } from '../sandbox/call-options.ts';
import { stoppedByHost } from '../sandbox/to-result.ts';
import type { WorkspaceFiles } from '../sandbox/workspace-files.ts';
import type { PausedExecution } from '../schema.ts';
import { cacheDigest } from '../stores/format/content-digest.ts';
import type { SessionState, StoredSession } from '../stores/store.ts';
import type { JobHandle } from '../worker/pool/job-handle.ts';
import type { WorkerTurn } from '../worker/pool/worker-turn.ts';
import type { RunOutcome, SavedState, SessionInput } from '../worker/protocol/messages.ts';
import { claimExecution, renewExecution } from './resume-options.ts';
import type { SessionAccess } from './session-access.ts';
import type { SessionPersistence } from './session-persistence.ts';

export class CallTransaction {
  readonly #access: SessionAccess;
  readonly #persistence: SessionPersistence;
  readonly #workspace: WorkspaceFiles;
  readonly #before: StoredSession;
  readonly #otherUsage: VolumeUsage;
  /** Host edits since the last call, for a guest that continues. */
  #edits: TreeEdit = { removed: [], entries: [] };
  /** The program of the call, if it is paused. */
  #paused: PausedExecution | undefined;
  #progress: 'open' | 'committed' | 'reverted' = 'open';

  private constructor(access: SessionAccess) {
    const { persistence, files: workspace } = access;
    this.#access = access;
    this.#persistence = persistence;
    this.#workspace = workspace;
    this.#before = beforeResume(persistence.contents);
    this.#otherUsage = workspace.otherUsage;
  }

  /**
   * Applies external edits and claims the execution that the call resumes, then writes the files of the call, which are
   * part of the transaction. The claim is not: if the call is reverted or undone, the program is paused again as it was
   * when it was claimed, under another id.
   */
  static async begin(
    access: SessionAccess,
    { files = {}, resumption }: Pick<Call, 'files' | 'resumption'>,
  ): Promise<CallTransaction> {
    const { persistence, files: workspace } = access;
    await persistence.syncExternalEdits(workspace);
    const claimed = claimExecution(persistence.state.paused, resumption);
    if (claimed !== undefined) await persistence.savePaused(claimed);
    const transaction = new CallTransaction(access);
    workspace.write(files);
    transaction.#edits = workspace.takeEdits();
    persistence.setWorkspace(workspace.snapshot());
    return transaction;
  }

  /** The interpreter that the call continues; undefined for a session that starts a fresh one with every call. */
  sessionInput(id: string): SessionInput | undefined {
    if (!this.#persistence.record.auto_persist_globals) return undefined;
    const { version, delta, tmp } = this.#persistence.state;
    return { id, version, delta, tmp, edits: this.#edits, discardState: false };
  }

  /** Applies the files that a call left. The memory of a committed call follows. */
  answer(outcome: RunOutcome, paused: PausedExecution | undefined): void {
    this.#paused = paused;
    const imports = notableImports(outcome.imports, []).map(({ name }) => name);
    this.#persistence.countCall(outcome, imports);
    if (outcome.state === 'rolled_back') return;
    this.#workspace.apply(outcome);
    if (outcome.state === 'committed') this.#workspace.otherUsage = outcome.otherUsage;
    if (outcome.state === 'fresh') this.#commit(this.#after({ delta: undefined, tmp: [] }));
  }

  /** Commits the state that the worker saves after the outcome. Only then can the next call of the session start. */
  async commitInBackground(turn: WorkerTurn, job: JobHandle, { state }: RunOutcome): Promise<void> {
    const unpin = this.#access.pin();
    const { calls } = this.#persistence.record;
    try {
      const isCommitted = await this.#settle(job);
      if (!isCommitted && state === 'committed') this.#persistence.recordLostCommit(calls);
    } catch (cause) {
      this.#revert();
      this.#persistence.recordLostCommit(calls, cause instanceof SandboxError ? cause : undefined);
    } finally {
      unpin();
      turn.release();
    }
  }

  /**
   * Commits a call before it returns, so that a later failure cannot invalidate its result. Throws `store_failed` if
   * the store fails; the caller then reverts the call.
   */
  async commitBeforeAnswer(job: JobHandle, outcome: RunOutcome): Promise<RunOutcome> {
    const isCommitted = await this.#settle(job);
    if (isCommitted) await this.#persistence.flush();
    else await this.revert();
    if (!isCommitted && outcome.state === 'committed')
      return { ...stoppedByHost('worker_lost', outcome.durationMs), state: 'rolled_back' };
    return outcome;
  }

  /**
   * Commits the memory that the worker saved; without it, reverts the call. Returns whether the call is committed. Throws
   * `session_limit` if the memory for it is not available.
   */
  async #settle(job: JobHandle): Promise<boolean> {
    const saved = await job.saved;
    const { state } = this.#before;
    if (saved !== undefined) {
      const after = this.#after(applySaved(state, saved));
      await this.#access.claim([after, state]);
      this.#commit(after);
    } else if (this.#progress === 'open') this.#revert();
    return this.#progress === 'committed';
  }

  #after({ delta, tmp }: Pick<SessionState, 'delta' | 'tmp'>): SessionState {
    const { version } = this.#before.state;
    const next = { version: version + 1, delta, tmp, workspace: this.#workspace.snapshot() };
    return this.#paused === undefined ? next : { ...next, paused: this.#paused };
  }

  #commit(after: SessionState): void {
    this.#progress = 'committed';
    // The host may have edited files while memory was claimed.
    this.#persistence.commit({ ...after, workspace: this.#workspace.snapshot() }, this.#before.state);
  }

  /**
   * Reverts the call, even if it was committed. After a resume, waits until the new id of the paused execution is saved, so
   * that every process finds it when the call has returned. The next operation reports a save that fails.
   */
  async revert(): Promise<void> {
    this.#revert();
    if (this.#persistence.state.paused !== undefined) await this.#persistence.isSaved();
  }

  /** Restores the state before the call. Edits of the host since then are kept. */
  #revert(): void {
    const isCommitted = this.#progress === 'committed';
    if (this.#progress === 'reverted') return;
    this.#progress = 'reverted';
    this.#workspace.revert(this.#before.state.workspace);
    this.#workspace.otherUsage = this.#otherUsage;
    const { paused, version } = this.#before.state;
    if (isCommitted) this.#persistence.restore(this.#before);
    // A worker may hold the guest of this call, with the next version, or an earlier guest without the edits of the host that
    // this call took.
    else this.#persistence.update({ version: version + 2, ...(paused && { paused }) });
    this.#persistence.setWorkspace(this.#workspace.snapshot());
    this.#persistence.save({ isReported: isCommitted });
  }
}

/**
 * The states to which a call is reverted or undone. A claimed execution gets another id, because the id of the claim is
 * visible while the program runs: an approval that was sent with it does not take the outcome of this run into account.
 */
function beforeResume(claimed: StoredSession): StoredSession {
  const { paused } = claimed.state;
  if (paused === undefined) return claimed;
  return { ...claimed, state: { ...claimed.state, paused: renewExecution(paused) } };
}

/** The interpreter after a call. What the call did not change is shared with the state before it. */
function applySaved(
  before: SessionState,
  { deltaHeader, keptParts, newParts, tmp }: SavedState,
): Pick<SessionState, 'delta' | 'tmp'> {
  for (const { bytes, sha256 } of newParts) cacheDigest(bytes, sha256);
  const kept = before.delta?.slice(1, 1 + keptParts) ?? [];
  return {
    delta: [deltaHeader, ...kept, ...newParts.map(({ bytes }) => bytes)],
    // Building a tree takes time for every file, and most calls change none of them.
    tmp:
      tmp.removed.length + tmp.entries.length === 0
        ? before.tmp
        : [...FileTree.from(before.tmp).apply(tmp).values()],
  };
}
