/**
 * Access of operations to the states and files of a session. They are in memory while an operation uses them, and can be
 * unloaded when the store has them, so that a session that is open but idle needs no memory. Host code runs in order with the
 * calls of the session. If processes share the session, a change needs the lease, and a read uses what is committed.
 */
import { type CancelSignal, undefinedIfAborted } from '../concurrency/cancellation.ts';
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { finishInSlices, inSlices } from '../concurrency/slices.ts';
import type { SandboxCore } from '../sandbox/sandbox-core.ts';
import type { WorkspaceStorage } from '../sandbox/workspace.ts';
import { usageOf, type WorkspaceFiles } from '../sandbox/workspace-files.ts';
import { heldBytes } from '../stores/format/state-size.ts';
import type { Holding } from '../stores/state-memory-budget.ts';
import type { LeaseWait, SessionState, StoredSession } from '../stores/store.ts';
import { sessionNotFound } from './session-errors.ts';
import type { CommittedSession, SessionPersistence } from './session-persistence.ts';

/**
 * An operation that starts later than this after an acquisition waits for the next one, so that other processes get a
 * turn.
 */
const MAX_HOLD_MS = 1000;

export class SessionAccess {
  /** Undefined if the session holds its lease while it is open. */
  readonly #lease: CallLease | undefined;
  /** Undefined if the store counts the states itself. */
  readonly #holding: Holding | undefined;
  /** Operations in progress. */
  #uses = 0;
  #loading: Promise<void> | undefined;
  #isFreed = false;
  /** Changes that were reported as done and are being saved. */
  readonly #unsaved = new Set<Promise<void>>();

  /** Called when the store no longer has the session. */
  onGone: () => void = () => {};

  /** Without `leaseWaitMs`, the session holds its lease while it is open. */
  constructor(
    readonly persistence: SessionPersistence,
    readonly core: SandboxCore,
    leaseWaitMs?: number,
  ) {
    const { parts, tenant, events } = core;
    this.loadFiles();
    if (persistence.store.isInMemory !== true)
      this.#holding = parts.pool.held.open(tenant, () => this.#unload());
    if (leaseWaitMs !== undefined) this.#lease = new CallLease(this, leaseWaitMs, persistence.hasLease);
    persistence.onSaveFailed = (error) => events.saveFailed(persistence.record.session_id, error);
  }

  get files(): WorkspaceFiles {
    return this.core.files;
  }

  /** How programs and the host use the files. */
  get storage(): WorkspaceStorage {
    const { core, files, persistence } = this;
    return {
      read: async (work) => {
        core.checkOpen();
        return this.read((committed) => work(committed ? files.with(committed.state.workspace) : files));
      },
      write: async (work) => {
        core.checkOpen();
        return this.use(work);
      },
      save: () => this.saveHostEdits(),
      hasInterpreter: persistence.record.auto_persist_globals,
    };
  }

  /**
   * Counts the memory of the session, and saves a new session; with `commit: 'answer'` it closes the session and throws if
   * that fails.
   */
  async open(): Promise<void> {
    const { persistence } = this;
    try {
      await this.claim(persistence.loadedStates);
      persistence.saveIfNew();
      if (this.core.parts.commit === 'answer' && persistence.isNew) await persistence.flush();
    } catch (cause) {
      this.#free();
      await persistence.release();
      throw cause;
    }
    await this.#lease?.opened();
  }

  /** Saves and releases the session after the calls that were started. Operations that wait for the lease fail. */
  async close(): Promise<void> {
    await this.#lease?.close();
    const turn = await this.#acquireTurn();
    // Only now, because the end of the last call records its thread again.
    this.core.parts.pool.forget(this.core.key);
    try {
      await this.persistence.close();
    } finally {
      this.#free();
      turn.release();
    }
  }

  /** Whether other processes may have changed the session since its last operation. */
  get isReleased(): boolean {
    return this.#lease?.isHeld === false;
  }

  // ---- operations ----

  /** Runs an operation that may change the session. If the signal is aborted, it may run without the lease. */
  use<T>(work: () => Promise<T>, signal?: CancelSignal): Promise<T> {
    const lease = this.#lease;
    if (lease === undefined) return this.#loaded(work);
    return this.#pinned(() => lease.use(() => this.#loaded(work), signal));
  }

  /**
   * Runs an operation that changes nothing. If processes share the session, it is passed what is committed and must not use
   * the states in memory.
   */
  read<T>(work: (committed?: CommittedSession) => Promise<T>): Promise<T> {
    const lease = this.#lease;
    if (lease === undefined) return this.#loaded(() => work());
    return this.#pinned(async () => {
      await Promise.all(this.#unsaved);
      return work(await lease.read());
    });
  }

  /** Runs an operation that uses the current state, after the calls that were started. */
  async inOrder<T>(work: () => Promise<T>): Promise<T> {
    this.core.checkOpen();
    return this.use(() => {
      this.core.checkOpen();
      return this.inTurn(work);
    });
  }

  /** The same for an operation that has access already. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = await this.#acquireTurn();
    try {
      this.persistence.setWorkspace(this.files.snapshot());
      return await work();
    } finally {
      turn.release();
    }
  }

  /** Runs an operation that changes the states. With `commit: 'answer'`, a change that cannot be saved is reverted. */
  change<T>(work: () => Promise<T>): Promise<T> {
    const { persistence } = this;
    return this.inOrder(async () => {
      persistence.reportFailure();
      const before = persistence.contents;
      const result = await work();
      if (this.core.parts.commit === 'background') return result;
      try {
        await persistence.flush();
      } catch (cause) {
        persistence.restore(before);
        this.loadFiles();
        throw cause;
      }
      return result;
    });
  }

  /** Saves host edits without waiting for the next call. Waits only with `commit: 'answer'`. */
  async saveHostEdits(): Promise<void> {
    const isAwaited = this.core.parts.commit === 'answer';
    const saved = this.#loaded(() =>
      this.inTurn(async () => {
        this.persistence.save();
        if (isAwaited) await this.persistence.flush();
      }),
    );
    if (isAwaited) await saved;
    // The session may be closed meanwhile.
    else this.saveInBackground(saved);
  }

  /** Lets later reads wait for a change that is saved in the background. */
  saveInBackground(save: Promise<unknown>): void {
    const end = async () => {
      await this.persistence.isSaved();
      this.#unsaved.delete(ended);
    };
    // A failed save is reported by the next operation.
    const ended = save.then(end, end);
    this.#unsaved.add(ended);
  }

  /** Makes the files of the current state the workspace. The next call reports how much space deleted open files take. */
  loadFiles(): void {
    const { workspace, tmp } = this.persistence.state;
    this.files.replace(workspace);
    this.files.otherUsage = usageOf(tmp);
  }

  /** Waits for the calls that were started. */
  #acquireTurn() {
    return this.core.parts.pool.acquireKey(this.core.tenant, this.core.key);
  }

  // ---- memory ----

  /** Makes room for these states before they replace the current ones. Throws `session_limit`. */
  async claim(states: readonly SessionState[]): Promise<void> {
    await this.#holding?.resize(await finishInSlices(heldBytes(states)));
  }

  #claimStored({ state, undo }: Pick<StoredSession, 'state' | 'undo'>): Promise<void> {
    return this.claim(undo === undefined ? [state] : [state, undo]);
  }

  /** Keeps the states from being unloaded until the returned function is called. */
  pin(): () => void {
    this.#uses++;
    return () => {
      this.#uses--;
      this.#recount();
    };
  }

  /** Counts the states again, unless they change meanwhile: then whoever changes them does. */
  #recount(): void {
    if (this.#holding === undefined || !this.persistence.isLoaded) return;
    const states = this.persistence.loadedStates;
    const count = (bytes: number) => {
      const now = this.persistence.isLoaded ? this.persistence.loadedStates : [];
      if (now.length === states.length && now.every((one, i) => one === states[i])) this.#holding?.set(bytes);
    };
    inSlices(heldBytes(states), count, () => {});
  }

  /** Keeps the states from being unloaded while `work` runs, but does not load them. */
  async #pinned<T>(work: () => Promise<T>): Promise<T> {
    const unpin = this.pin();
    try {
      return await work();
    } finally {
      unpin();
    }
  }

  /** Keeps the states in memory while `work` runs. */
  async #loaded<T>(work: () => Promise<T>): Promise<T> {
    return this.#pinned(async () => {
      if (!this.persistence.isLoaded) {
        this.#loading ??= this.#load();
        await this.#loading;
      }
      return work();
    });
  }

  async #load(): Promise<void> {
    try {
      const stored = await this.persistence.readStates();
      await this.#claimStored(stored);
      this.persistence.load(stored);
      this.files.load(stored.state.workspace);
    } finally {
      this.#loading = undefined;
    }
  }

  async #unload(): Promise<void> {
    const isUnused = () => this.#uses === 0 && !this.#isFreed && this.persistence.isLoaded;
    if (!isUnused() || !(await this.persistence.isSaved()) || !isUnused()) return;
    this.persistence.unload();
    this.files.unload();
    this.core.parts.pool.forgetWorkspace(this.files.id);
    this.#holding?.set(0);
  }

  #free(): void {
    this.#isFreed = true;
    this.#holding?.close();
  }

  // ---- processes that share the session ----

  /** Brings the states up to date, unless an operation is using them. Closes a session that the store no longer has. */
  async bringUpToDate(): Promise<void> {
    try {
      await this.#pinned(async () => this.#lease?.refresh());
    } catch (cause) {
      if (!this.core.isClosed) throw cause;
    }
  }

  /** For the lease, like the methods below. */
  acquire(wait: LeaseWait): Promise<void> {
    return this.persistence.acquire(wait);
  }

  /** A lease that cannot be released expires. */
  async release(): Promise<void> {
    await this.persistence.release().catch(() => {});
  }

  /** Reads the session again if another process has written it. Returns what is in memory then. */
  async refresh(): Promise<CommittedSession> {
    const { persistence } = this;
    this.core.checkOpen();
    const changes = await persistence.readChanges();
    if (changes === 'gone') throw this.#gone();
    if (changes !== undefined) {
      await this.#claimStored(changes.stored);
      persistence.replace(changes);
      this.loadFiles();
    }
    return persistence.committed!;
  }

  /** Returns what is in the store, without changing what is in memory. */
  async readCommitted(): Promise<CommittedSession> {
    const { persistence } = this;
    this.core.checkOpen();
    const committed = await persistence.readCommitted();
    if (committed === 'gone') throw this.#gone();
    const inMemory = persistence.loadedStates;
    if (!inMemory.includes(committed.state)) await this.claim([...inMemory, committed.state]);
    return committed;
  }

  #gone(): Error {
    this.onGone();
    return sessionNotFound(this.persistence.record.session_id);
  }

  /** Waits until the calls that have returned are saved. */
  async settle(): Promise<void> {
    const turn = await this.#acquireTurn();
    await this.persistence.settle();
    turn.release();
  }
}

/** One acquisition of the lease, shared by all operations that start while it lasts. */
class Hold {
  users = 1;
  /** Time of the acquisition. */
  since = Number.POSITIVE_INFINITY;
  readonly controller = new AbortController();
  readonly ready: Promise<void>;
  readonly ended: Promise<void>;
  end: () => void = () => {};

  constructor(acquire: (hold: Hold) => Promise<void>) {
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
    this.ready = acquire(this);
    // Every operation awaits it and reports the error.
    this.ready.catch(() => {});
  }

  get isOpen(): boolean {
    return this.users > 0 && performance.now() - this.since < MAX_HOLD_MS;
  }
}

/**
 * The lease of a session in a store that several processes share. It is held while operations use the session, so that
 * the processes take turns. Invariant: after each acquisition and for every read, the session is compared with the
 * store and read again if another process has written it. A read returns what is committed, even while the lease is
 * held.
 */
class CallLease {
  /** The latest acquisition. */
  #hold: Hold;
  #isHeld: boolean;
  readonly #refreshes = new SerialQueue();

  /** `isHeld`: whether the session was opened with its lease, which `opened` releases. */
  constructor(
    readonly session: SessionAccess,
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
