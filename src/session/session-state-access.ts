/**
 * Access of operations to the states of a session: they are in memory while an operation uses them. If processes share
 * the session, a change needs the lease, and a read uses the states that are committed at that time.
 */
import type { CancelSignal } from '../concurrency/cancellation.ts';
import type { Turn } from '../worker/fair-scheduler.ts';
import { CallLease } from './call-lease.ts';
import type { CommittedSession } from './known-revisions.ts';
import { sessionNotFound } from './session-errors.ts';
import type { SessionStateLoader } from './session-state-loader.ts';
import type { SessionStates } from './session-states.ts';

/** What access needs from the session. */
interface AccessedSession {
  isClosed(): boolean;
  checkOpen(): void;
  /** Makes the files of the current state the workspace. */
  loadFiles(): void;
  /** Waits for the calls that were started. */
  acquireTurn(): Promise<Turn>;
  /** Called when the store no longer has the session. */
  onGone(): void;
}

export class SessionStateAccess {
  readonly #states: SessionStates;
  readonly #loader: SessionStateLoader;
  readonly #session: AccessedSession;
  /** Undefined if the session holds its lease while it is open. */
  readonly #lease: CallLease | undefined;
  /** Changes that were reported as done and are being saved. */
  readonly #unsaved = new Set<Promise<void>>();

  constructor(
    states: SessionStates,
    loader: SessionStateLoader,
    session: AccessedSession,
    leaseWaitMs: number | undefined,
  ) {
    this.#states = states;
    this.#loader = loader;
    this.#session = session;
    if (leaseWaitMs === undefined) return;
    const leased = {
      acquire: (wait: Parameters<SessionStates['acquire']>[0]) => states.acquire(wait),
      refresh: () => this.#refresh(),
      readCommitted: () => this.#readCommitted(),
      settle: () => this.#settle(),
      // A lease that cannot be released expires.
      release: () => states.release().catch(() => {}),
    };
    this.#lease = new CallLease(leased, leaseWaitMs, states.hasLease);
  }

  /** Whether other processes may have changed the session since its last operation. */
  get isReleased(): boolean {
    return this.#lease?.isHeld === false;
  }

  /** Ends the acquisition with which the session was opened. */
  async opened(): Promise<void> {
    await this.#lease?.opened();
  }

  /** Runs an operation that may change the session. If the signal is aborted, it may run without the lease. */
  use<T>(work: () => Promise<T>, signal?: CancelSignal): Promise<T> {
    const lease = this.#lease;
    if (lease === undefined) return this.#loader.use(work);
    return this.#loader.pinned(() => lease.use(() => this.#loader.use(work), signal));
  }

  /**
   * Runs an operation that changes nothing. If processes share the session, it is passed what is committed and must not use
   * the states in memory.
   */
  read<T>(work: (committed?: CommittedSession) => Promise<T>): Promise<T> {
    const lease = this.#lease;
    if (lease === undefined) return this.#loader.use(() => work());
    return this.#loader.pinned(async () => {
      await Promise.all(this.#unsaved);
      return work(await lease.read());
    });
  }

  /** Lets later reads wait for a change that is saved in the background. */
  saveInBackground(save: Promise<unknown>): void {
    const end = async () => {
      await this.#states.isSaved();
      this.#unsaved.delete(ended);
    };
    // A failed save is reported by the next operation.
    const ended = save.then(end, end);
    this.#unsaved.add(ended);
  }

  /** Brings the states up to date, unless an operation is using them. Closes a session that the store no longer has. */
  async refresh(): Promise<void> {
    try {
      await this.#loader.pinned(async () => this.#lease?.refresh());
    } catch (cause) {
      if (!this.#session.isClosed()) throw cause;
    }
  }

  /** Waits until the lease is released. Operations that wait for it fail. */
  async close(): Promise<void> {
    await this.#lease?.close();
  }

  async #refresh(): Promise<CommittedSession> {
    this.#session.checkOpen();
    const changes = await this.#states.known.readChanges(this.#states.record);
    if (changes === 'gone') throw this.#gone();
    if (changes !== undefined) {
      const { state, undo } = changes.stored;
      await this.#loader.claim(undo === undefined ? [state] : [state, undo]);
      this.#states.replace(changes.stored, changes.revision);
      this.#session.loadFiles();
    }
    return this.#states.known.committed!;
  }

  async #readCommitted(): Promise<CommittedSession> {
    this.#session.checkOpen();
    const committed = await this.#states.known.readCommitted(this.#states.record);
    if (committed === 'gone') throw this.#gone();
    const inMemory = this.#states.loadedStates;
    if (!inMemory.includes(committed.state)) await this.#loader.claim([...inMemory, committed.state]);
    return committed;
  }

  #gone(): Error {
    this.#session.onGone();
    return sessionNotFound(this.#states.record.session_id);
  }

  /** Waits until the calls that have returned are saved. */
  async #settle(): Promise<void> {
    const turn = await this.#session.acquireTurn();
    await this.#states.settle();
    turn.release();
  }
}
