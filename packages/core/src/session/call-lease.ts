/**
 * The lease of a session in a store that several processes share. It is held while operations use the session, so that
 * the processes take turns. Invariant: after each acquisition and for every read, the session is compared with the
 * store and read again if another process has written it. A read returns what is committed, even while the lease is
 * held.
 */

import type { CancelSignal } from '../concurrency/cancellation.ts';
import { undefinedIfAborted } from '../concurrency/cancellation.ts';
import { SerialQueue } from '../concurrency/serial-queue.ts';
import type { LeaseWait } from '../stores/store.ts';
import type { CommittedSession } from './session-persistence.ts';

/**
 * An operation that starts later than this after an acquisition waits for the next one, so that other processes get a
 * turn.
 */
const MAX_HOLD_MS = 1000;

/** What the lease needs from the session. */
export interface LeasedSession {
  acquire(wait: LeaseWait): Promise<void>;
  /** Reads the session again if another process has written it. Returns what is in memory then. */
  refresh(): Promise<CommittedSession>;
  /** Returns what is in the store, without changing what is in memory. */
  readCommitted(): Promise<CommittedSession>;
  /** Waits for pending saves. Never rejects. */
  settle(): Promise<void>;
  /** Releases the lease. Never rejects. */
  release(): Promise<void>;
}

/** One acquisition of the lease, shared by all operations that start while it lasts. */
class Hold {
  users = 1;
  /** Time of the acquisition. */
  since = Number.POSITIVE_INFINITY;
  readonly controller = new AbortController();
  readonly ready: Promise<void>;
  readonly ended: Promise<void>;
  #end: () => void = () => {};

  constructor(acquire: (hold: Hold) => Promise<void>) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.ready = acquire(this);
    // Every operation awaits it and reports the error.
    this.ready.catch(() => {});
  }

  get isOpen(): boolean {
    return this.users > 0 && performance.now() - this.since < MAX_HOLD_MS;
  }

  end(): void {
    this.#end();
  }
}

export class CallLease {
  /** The latest acquisition. */
  #hold: Hold;
  #isHeld: boolean;
  readonly #refreshes = new SerialQueue();

  /** `isHeld`: whether the session was opened with its lease, which `opened` releases. */
  constructor(
    readonly session: LeasedSession,
    readonly waitMs: number,
    isHeld: boolean,
  ) {
    this.#isHeld = isHeld;
    this.#hold = new Hold(async () => {});
    this.#hold.since = performance.now();
    if (!isHeld) this.#leave(this.#hold);
  }

  /** Whether the state in memory is the newest one. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** Ends the acquisition with which the session was opened. */
  async opened(): Promise<void> {
    const hold = this.#hold;
    if (hold.users > 0) this.#leave(hold);
    await hold.ended;
  }

  /**
   * Runs `work` while the lease is held. If the signal is aborted first, `work` runs without the lease, so that it can
   * report the cancellation; it must not use the session then.
   */
  async use<T>(work: () => Promise<T>, signal?: CancelSignal): Promise<T> {
    const hold = this.#join();
    try {
      await undefinedIfAborted(hold.ready, signal);
      return await work();
    } finally {
      this.#leave(hold);
    }
  }

  /** Brings the session up to date, unless an operation is using it. */
  async refresh(): Promise<void> {
    if (!this.#isHeld) await this.read();
  }

  /**
   * Returns the session as it is committed, without waiting for the calls of this process or another one. While the lease
   * is held, the states in memory may not be committed yet, and they may be old if the process was suspended.
   */
  read(): Promise<CommittedSession> {
    return this.#refreshes.run(() => (this.#isHeld ? this.session.readCommitted() : this.session.refresh()));
  }

  /** Makes operations that wait for the lease fail, and waits until the lease is released. */
  async close(): Promise<void> {
    this.#hold.controller.abort();
    await this.#hold.ended;
  }

  #join(): Hold {
    const current = this.#hold;
    if (current.isOpen) {
      current.users++;
      return current;
    }
    this.#hold = new Hold((hold) => this.#acquire(hold, current.ended));
    return this.#hold;
  }

  async #acquire(hold: Hold, previous: Promise<void>): Promise<void> {
    // The hold counts as open until the lease is acquired.
    await previous;
    await this.session.acquire({ ms: this.waitMs, signal: hold.controller.signal });
    hold.since = performance.now();
    this.#isHeld = true;
    try {
      await this.#refreshes.run(() => this.session.refresh());
    } catch (cause) {
      this.#isHeld = false;
      await this.session.release();
      throw cause;
    }
  }

  #leave(hold: Hold): void {
    if (--hold.users > 0) return;
    hold.controller.abort();
    const release = async () => {
      if (!this.#isHeld) return;
      await this.session.settle();
      this.#isHeld = false;
      await this.session.release();
    };
    void hold.ready.then(release, () => {}).then(() => hold.end());
  }
}
