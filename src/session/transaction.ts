/**
 * One call of a session, from the state it starts from to the state it leaves: all of it, memory and files together, or
 * nothing. Its steps are called by the pool in order, each before anything else of the session may happen.
 */
import { notableImports } from '../packages/manifest.ts';
import type { CallFiles, Workspace } from '../sandbox/workspace.ts';
import type { SessionState } from '../stores/store.ts';
import type { RunOutcome, SavedState, SessionInput } from '../worker/protocol.ts';
import type { Session } from './timeline.ts';

export class Transaction {
  /** Absent until it has begun: what others do while it waits for its turn is no concern of its own. */
  #before: SessionState | undefined;
  #isAnswered = false;
  #isSettled = false;

  constructor(
    readonly session: Session,
    readonly workspace: Workspace,
    readonly code: string,
  ) {}

  /**
   * Takes in what was changed outside, then the files that come with the call and go with it, and says where the guest
   * comes from. Absent: a fresh one.
   */
  async begin(id: string, files: CallFiles = {}): Promise<SessionInput | undefined> {
    const { session, workspace } = this;
    await session.takeIn(workspace);
    const before = session.state;
    workspace.write(files);
    this.#before = before;
    session.withWorkspace(workspace.snapshot());
    if (!session.record.auto_persist_globals) return undefined;
    const { version, delta, tmp } = session.state;
    // Versions only grow, so no two programs of one interpreter get the same number.
    const call = delta === undefined ? 1 : version + 1;
    return { id, version, delta, tmp, edits: workspace.takeEdits(), call, discardState: false };
  }

  /** The worker has answered. What a committed call leaves in memory is still on its way. */
  answered(outcome: RunOutcome): void {
    this.#isAnswered = outcome.state !== 'rolled_back';
    const imports = notableImports(outcome.imports, []).map(({ name }) => name);
    this.session.count(outcome.fuelConsumed, imports, this.code);
    if (outcome.state !== 'rolled_back') this.workspace.apply(outcome.changes);
    if (outcome.state === 'fresh') this.#commit({ delta: undefined, tmp: [] });
  }

  saved(saved: SavedState): void {
    this.#commit(saved);
  }

  #commit({ delta, tmp }: Pick<SessionState, 'delta' | 'tmp'>): void {
    this.#isSettled = true;
    const before = this.#before!;
    const next = { version: before.version + 1, delta, tmp, workspace: this.workspace.snapshot() };
    this.session.commit(next, before);
  }

  /** The worker is free, or gone: what was not saved by now never will be. */
  finished(): void {
    if (this.#isSettled || this.#before === undefined) return;
    this.workspace.revert(this.#before.workspace);
    this.session.withWorkspace(this.workspace.snapshot());
    this.session.persist();
    if (this.#isAnswered) this.session.hasLost(this.session.record.calls);
  }
}
