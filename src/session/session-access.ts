/**
 * Access of operations to the states of a session: they are in memory while an operation uses them. If processes share
 * the session, a change needs the lease, and a read brings the states up to date first.
 */
import type { Turn } from '../worker/fair-scheduler.ts';
import { CallLease } from './call-lease.ts';
import { sessionNotFound } from './session-errors.ts';
import type { SessionMemory } from './session-memory.ts';
import type { SessionTimeline } from './timeline.ts';

/** What access needs from the session. */
interface AccessedSession {
  checkOpen(): void;
  /** Makes the files of the current state the workspace. */
  loadFiles(): void;
  /** Waits for the calls that were started. */
  acquireTurn(): Promise<Turn>;
  /** Called when the store no longer has the session. */
  onGone(): void;
}

export class SessionAccess {
  readonly #timeline: SessionTimeline;
  readonly #memory: SessionMemory;
  readonly #session: AccessedSession;
  /** Undefined if the session holds its lease while it is open. */
  readonly #lease: CallLease | undefined;

  constructor(
    timeline: SessionTimeline,
    memory: SessionMemory,
    session: AccessedSession,
    leaseWaitMs: number | undefined,
  ) {
    this.#timeline = timeline;
    this.#memory = memory;
    this.#session = session;
    if (leaseWaitMs === undefined) return;
    const leased = {
      acquire: (wait: Parameters<SessionTimeline['acquire']>[0]) => timeline.acquire(wait),
      refresh: () => this.#refresh(),
      settle: () => this.#settle(),
      // A lease that cannot be released expires.
      release: () => timeline.release().catch(() => {}),
    };
    this.#lease = new CallLease(leased, leaseWaitMs, timeline.hasLease);
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
  use<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const lease = this.#lease;
    if (lease === undefined) return this.#memory.use(work);
    return this.#memory.pinned(() => lease.use(() => this.#memory.use(work), signal));
  }

  /** Runs an operation that changes nothing, on the states that the last writer left. */
  read<T>(work: () => Promise<T>): Promise<T> {
    return this.#memory.pinned(async () => {
      await this.#lease?.refresh();
      return this.#memory.use(work);
    });
  }

  /** Waits until the lease is released. Operations that wait for it fail. */
  async close(): Promise<void> {
    await this.#lease?.close();
  }

  async #refresh(): Promise<void> {
    this.#session.checkOpen();
    const changes = await this.#timeline.readChanges();
    if (changes === undefined) return;
    if (changes === 'gone') {
      this.#session.onGone();
      throw sessionNotFound(this.#timeline.record.session_id);
    }
    const { state, undo } = changes.stored;
    await this.#memory.claim(undo === undefined ? [state] : [state, undo]);
    this.#timeline.replace(changes.stored, changes.revision);
    this.#session.loadFiles();
  }

  /** Waits until the calls that have returned are saved. */
  async #settle(): Promise<void> {
    const turn = await this.#session.acquireTurn();
    await this.#timeline.settle();
    turn.release();
  }
}
