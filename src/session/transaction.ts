/**
 * One call of a session, from the state it starts from to the state it leaves. Memory and files are committed together
 * or not at all. The steps are called in order: begin, answer, settle; or revert at any point, even after the commit.
 */
import { FileTree } from '../fs/file-tree.ts';
import type { TreeEdit } from '../fs/flat-entries.ts';
import type { VolumeUsage } from '../fs/volume.ts';
import { notableImports } from '../packages/manifest.ts';
import type { CallFiles, Workspace } from '../sandbox/workspace.ts';
import type { PausedExecution } from '../schema.ts';
import { cacheDigest } from '../stores/format/content-digest.ts';
import type { SessionState } from '../stores/store.ts';
import type { RunOutcome, SavedState, SessionInput } from '../worker/protocol.ts';
import type { TimelineMark } from './session-record.ts';
import type { SessionTimeline } from './timeline.ts';

export class Transaction {
  readonly #timeline: SessionTimeline;
  readonly #workspace: Workspace;
  readonly #before: TimelineMark;
  readonly #otherUsage: VolumeUsage;
  /** Host edits since the last call, for a guest that continues. */
  #edits: TreeEdit = { removed: [], entries: [] };
  /** The program of the call, if it is paused. */
  #paused: PausedExecution | undefined;
  #progress: 'open' | 'committed' | 'reverted' = 'open';

  private constructor(timeline: SessionTimeline, workspace: Workspace) {
    this.#timeline = timeline;
    this.#workspace = workspace;
    this.#before = timeline.mark();
    this.#otherUsage = workspace.otherUsage;
  }

  /** Applies external edits, then writes the files of the call, which are part of the transaction. */
  static async begin(
    timeline: SessionTimeline,
    workspace: Workspace,
    files: CallFiles = {},
  ): Promise<Transaction> {
    await timeline.syncExternalEdits(workspace);
    const transaction = new Transaction(timeline, workspace);
    workspace.write(files);
    transaction.#edits = workspace.takeEdits();
    timeline.setWorkspace(workspace.snapshot());
    return transaction;
  }

  /** The interpreter that the call continues; undefined for a session that starts a fresh one with every call. */
  sessionInput(id: string): SessionInput | undefined {
    if (!this.#timeline.record.auto_persist_globals) return undefined;
    const { version, delta, tmp } = this.#timeline.state;
    return { id, version, delta, tmp, edits: this.#edits, discardState: false };
  }

  /** Applies the files that a call left. The memory of a committed call follows with `settle`. */
  answer(outcome: RunOutcome, paused: PausedExecution | undefined): void {
    this.#paused = paused;
    const imports = notableImports(outcome.imports, []).map(({ name }) => name);
    this.#timeline.countCall(outcome, imports);
    if (outcome.state === 'rolled_back') return;
    this.#workspace.apply(outcome.changes);
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
    this.#timeline.commit(paused === undefined ? next : { ...next, paused }, state);
  }

  /** Restores the state before the call. Edits of the host since then are kept. */
  revert(): void {
    const isCommitted = this.#progress === 'committed';
    if (this.#progress === 'reverted') return;
    this.#progress = 'reverted';
    this.#workspace.revert(this.#before.state.workspace);
    this.#workspace.otherUsage = this.#otherUsage;
    if (isCommitted) this.#timeline.restore(this.#before);
    this.#timeline.setWorkspace(this.#workspace.snapshot());
    this.#timeline.persist(isCommitted);
  }
}

/** The interpreter after a call. What the call did not change is shared with the state before it. */
function applySaved(
  before: SessionState,
  { deltaHeader, keptDiffs, newDiffs, tmp }: SavedState,
): Pick<SessionState, 'delta' | 'tmp'> {
  for (const { bytes, sha256 } of newDiffs) cacheDigest(bytes, sha256);
  const kept = before.delta?.slice(1, 1 + keptDiffs) ?? [];
  return {
    delta: [deltaHeader, ...kept, ...newDiffs.map(({ bytes }) => bytes)],
    tmp: [...FileTree.from(before.tmp).apply(tmp).values()],
  };
}
