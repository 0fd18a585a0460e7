/**
 * Runs host code in order with the calls of a session, on the state that they left. With `commit: 'answer'`, a change that
 * cannot be saved is reverted.
 */
import { usageOf, type Workspace } from '../sandbox/workspace.ts';
import type { Commit } from '../schema.ts';
import type { Turn } from '../worker/fair-scheduler.ts';
import type { SessionStateAccess } from './session-state-access.ts';
import type { SessionStateLoader } from './session-state-loader.ts';
import type { SessionStates } from './session-states.ts';

/** What the operations need from the session. */
interface OperatedSession {
  readonly states: SessionStates;
  readonly workspace: Workspace;
  readonly loader: SessionStateLoader;
  readonly access: SessionStateAccess;
  readonly commit: Commit;
  checkOpen(): void;
  /** Waits for the calls that were started. */
  acquireTurn(): Promise<Turn>;
}

export class OrderedOperations {
  readonly #session: OperatedSession;

  constructor(session: OperatedSession) {
    this.#session = session;
  }

  /** Runs an operation that changes the states of the session. */
  change<T>(work: () => Promise<T>): Promise<T> {
    const { states, workspace, commit } = this.#session;
    return this.inOrder(async () => {
      states.reportFailure();
      const before = states.savepoint();
      const result = await work();
      if (commit === 'background') return result;
      try {
        await states.flush();
      } catch (cause) {
        states.restore(before);
        loadFiles(states, workspace);
        throw cause;
      }
      return result;
    });
  }

  /** Runs an operation that uses the current state. */
  async inOrder<T>(work: () => Promise<T>): Promise<T> {
    const { access } = this.#session;
    this.#session.checkOpen();
    return access.use(() => {
      this.#session.checkOpen();
      return this.inTurn(work);
    });
  }

  /** The same for an operation that has access already. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const { states, workspace } = this.#session;
    const turn = await this.#session.acquireTurn();
    try {
      states.setWorkspace(workspace.snapshot());
      return await work();
    } finally {
      turn.release();
    }
  }

  /** Saves host edits without waiting for the next call. Waits only with `commit: 'answer'`. */
  async saveHostEdits(): Promise<void> {
    const { states, loader, access, commit } = this.#session;
    const saved = loader.use(() =>
      this.inTurn(async () => {
        states.persist();
        if (commit === 'answer') await states.flush();
      }),
    );
    if (commit === 'answer') await saved;
    // The session may be closed meanwhile.
    else access.saveInBackground(saved);
  }
}

/** Makes the files of the current state the workspace. The next call reports how much space deleted open files take. */
export function loadFiles(states: SessionStates, workspace: Workspace): void {
  const { state } = states;
  workspace.replace(state.workspace);
  workspace.otherUsage = usageOf(state.tmp);
}
