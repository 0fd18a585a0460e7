/**
 * One call of a session, from the state it starts from to the state it leaves. Memory and files are committed together
 * or not at all. The steps are called in order: begin, answer, settle; or revert at any point, even after the commit.
 */
import type { TreeEdit } from '../fs/flat-entries.ts';
import { FileTree } from '../fs/immutable-file-tree.ts';
import type { VolumeUsage } from '../fs/volume.ts';
import { notableImports } from '../packages/import-costs.ts';
import type { Call } from '../sandbox/call-options.ts';
import type { Workspace } from '../sandbox/workspace.ts';
import type { PausedExecution } from '../schema.ts';
import { cacheDigest } from '../stores/format/content-digest.ts';
import type { SessionState } from '../stores/store.ts';
import type { RunOutcome, SavedState, SessionInput } from '../worker/protocol.ts';
import { claimExecution, renewExecution } from './resume-options.ts';
import type { SessionStates } from './session-states.ts';
import type { StatesSavepoint } from './update-session-record.ts';

export class CallTransaction {
  readonly #states: SessionStates;
  readonly #workspace: Workspace;
  readonly #before: StatesSavepoint;
  readonly #otherUsage: VolumeUsage;
  /** Host edits since the last call, for a guest that continues. */
  #edits: TreeEdit = { removed: [], entries: [] };
  /** The program of the call, if it is paused. */
  #paused: PausedExecution | undefined;
  #progress: 'open' | 'committed' | 'reverted' = 'open';

  private constructor(states: SessionStates, workspace: Workspace) {
    this.#states = states;
    this.#workspace = workspace;
    this.#before = beforeResume(states.savepoint());
    this.#otherUsage = workspace.otherUsage;
  }

  /**
   * Applies external edits and claims the execution that the call resumes, then writes the files of the call, which are
   * part of the transaction. The claim is not: if the call is reverted or undone, the program is paused again as it was
   * when it was claimed, under another id.
   */
  static async begin(
    states: SessionStates,
    workspace: Workspace,
    { files = {}, resumption }: Pick<Call, 'files' | 'resumption'>,
  ): Promise<CallTransaction> {
    await states.syncExternalEdits(workspace);
    const claimed = claimExecution(states.state.paused, resumption);
    if (claimed !== undefined) await states.savePaused(claimed);
    const transaction = new CallTransaction(states, workspace);
    workspace.write(files);
    transaction.#edits = workspace.takeEdits();
    states.setWorkspace(workspace.snapshot());
    return transaction;
  }

  /** The interpreter that the call continues; undefined for a session that starts a fresh one with every call. */
  sessionInput(id: string): SessionInput | undefined {
    if (!this.#states.record.auto_persist_globals) return undefined;
    const { version, delta, tmp } = this.#states.state;
    return { id, version, delta, tmp, edits: this.#edits, discardState: false };
  }

  /** Applies the files that a call left. The memory of a committed call follows with `settle`. */
  answer(outcome: RunOutcome, paused: PausedExecution | undefined): void {
    this.#paused = paused;
    const imports = notableImports(outcome.imports, []).map(({ name }) => name);
    this.#states.countCall(outcome, imports);
    if (outcome.state === 'rolled_back') return;
    this.#workspace.apply(outcome);
    if (outcome.state === 'committed') this.#workspace.otherUsage = outcome.otherUsage;
    if (outcome.state === 'fresh') this.#commit({ delta: undefined, tmp: [] });
  }

  /** The states that are in memory once the call is committed with what the worker saved. */
  statesAfter(saved: SavedState): SessionState[] {
    const { state } = this.#before;
    const workspace = this.#workspace.snapshot();
    return [{ ...applySaved(state, saved), version: state.version + 1, workspace }, state];
  }

  /** Commits the memory that the worker saved; without it, reverts the call. Returns whether the call is committed. */
  settle(saved: SavedState | undefined): boolean {
    if (saved !== undefined) this.#commit(applySaved(this.#before.state, saved));
    else if (this.#progress === 'open') this.revert();
    return this.#progress === 'committed';
  }

  #commit({ delta, tmp }: Pick<SessionState, 'delta' | 'tmp'>): void {
    this.#progress = 'committed';
    const { state } = this.#before;
    const next = { version: state.version + 1, delta, tmp, workspace: this.#workspace.snapshot() };
    const paused = this.#paused;
    this.#states.commit(paused === undefined ? next : { ...next, paused }, state);
  }

  /** Restores the state before the call. Edits of the host since then are kept. */
  revert(): void {
    const isCommitted = this.#progress === 'committed';
    if (this.#progress === 'reverted') return;
    this.#progress = 'reverted';
    this.#workspace.revert(this.#before.state.workspace);
    this.#workspace.otherUsage = this.#otherUsage;
    const { paused, version } = this.#before.state;
    if (isCommitted) this.#states.restore(this.#before);
    // A worker may hold the guest of this call, with the next version, or an earlier guest without the edits of the host that
    // this call took.
    else this.#states.update({ version: version + 2, ...(paused && { paused }) });
    this.#states.setWorkspace(this.#workspace.snapshot());
    this.#states.persist({ isReported: isCommitted });
  }
}

/**
 * The states to which a call is reverted or undone. A claimed execution gets another id, because the id of the claim is
 * visible while the program runs: an approval that was sent with it does not take the outcome of this run into account.
 */
function beforeResume(claimed: StatesSavepoint): StatesSavepoint {
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
