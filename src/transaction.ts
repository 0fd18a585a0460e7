/**
 * One call of a session, from the state it starts from to the state it leaves: all of it, memory and files together, or
 * nothing. Its steps are called by the pool in order, each before anything else of the session may happen.
 */
import { notableImports } from './packages/manifest.ts';
import type { Session } from './session.ts';
import type { SessionState } from './stores/store.ts';
import type { RunOutcome, SavedState, SessionPart } from './worker/protocol.ts';
import type { Workspace } from './workspace.ts';

export class Transaction {
  #before: SessionState;
  #isSettled = false;

  constructor(
    readonly session: Session,
    readonly workspace: Workspace,
    readonly code: string,
  ) {
    this.#before = session.state;
  }

  /** Takes in what was changed outside, and says where the guest comes from. Absent: a fresh one. */
  async begin(id: string): Promise<SessionPart | undefined> {
    const { session, workspace } = this;
    if (!session.isBeingMade) {
      await session.settled();
      workspace.edit(await session.store.edits(session.record.session_id));
    }
    session.withWorkspace(workspace.snapshot());
    this.#before = session.state;
    if (!session.record.auto_persist_globals) return undefined;
    const { version, delta, tmp } = session.state;
    // Versions only grow, so no two programs of one interpreter get the same number.
    const call = delta === undefined ? 1 : version + 1;
    return { id, version, delta, tmp, edits: workspace.takeEdits(), call, isPeek: false };
  }

  /** The worker has answered. What a committed call leaves in memory is still on its way. */
  answered(outcome: RunOutcome): void {
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
    const version = this.#before.version + 1;
    const next = { version, delta, tmp, workspace: this.workspace.snapshot() };
    this.session.commit(next, this.#before);
  }

  /** The worker is free, or gone: what was not saved by now never will be. */
  finished(): void {
    if (this.#isSettled) return;
    this.workspace.replace(this.#before.workspace);
    this.session.persist();
  }
}
