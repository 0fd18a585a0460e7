/**
 * The states of a session: the current one, the one before the last call, and the checkpoints; and their storage. States
 * are immutable and share their bytes, so a checkpoint, an undo or a fork is a reference and costs nothing. The caller
 * serialises all changes; this class never waits for a guest.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { SandboxError } from '../errors.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import type { WorkspaceFiles } from '../sandbox/workspace-files.ts';
import type { PausedExecution, SessionPolicy } from '../schema.ts';
import { checkSessionId, rejectCaseConflict } from '../stores/session-id.ts';
import type {
  Checkpoint,
  LeaseWait,
  SessionRecord,
  SessionState,
  SessionStore,
  StoredSession,
} from '../stores/store.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import { KnownRevisions } from './known-revisions.ts';
import {
  type CheckpointInfo,
  checkpointState,
  describeCheckpoint,
  makeCheckpoint,
  releaseStates,
} from './make-checkpoint.ts';
import {
  checkpointNotFound,
  commitLost,
  isUnknownCommit,
  nothingToUndo,
  saveError,
  sessionExists,
  sessionNotFound,
} from './session-errors.ts';
import type { SessionSettings, StatesSavepoint } from './update-session-record.ts';
import { countCall, EMPTY_STATE, newSession, policyFor, withPaused } from './update-session-record.ts';

/** How the states of a session were opened. */
interface OpenedStates {
  readonly policy: SessionPolicy;
  /** The store does not have the session yet. */
  readonly isNew?: boolean;
  /** Releases the lease; absent without one. */
  readonly release?: (() => Promise<void>) | undefined;
  readonly revision: string | undefined;
}

export class SessionStates {
  /** The store does not have the session yet. */
  readonly isNew: boolean;
  #record: SessionRecord;
  #state: SessionState;
  #undo: SessionState | undefined;
  /** Whether the states are in memory, and not only in the store. */
  #isLoaded = true;
  #checkpoints: Map<string, Checkpoint>;
  /** What the interpreter had imported, by its memory. */
  readonly #importsOf = new WeakMap<object, readonly string[]>();
  /** Whether the store has the session with this record. */
  readonly #isStored: boolean;
  /** The first save is in progress, so no other program can have edited the session's files. */
  #isFirstSave = false;
  /** The host added files. Only those are checked before a call, because the guest cannot exceed the quota. */
  #mustCheckQuota = true;
  /** Edits from outside are part of the state, but no save has started since. */
  #hasUnsavedEdits = false;
  readonly #saves = new SerialQueue();
  /** The newest state to save; older ones that still wait are skipped. */
  #latest: StoredSession | undefined;
  /** Why the newest state is not in the store; a later save clears it. */
  #saveFailure: { readonly error: SandboxError; isReported: boolean } | undefined;
  #lostCommit: SandboxError | undefined;
  readonly known: KnownRevisions;
  #releaseLease: (() => Promise<void>) | undefined;
  /** Called for every save that fails. */
  onSaveFailed: (error: SandboxError) => void = () => {};

  private constructor(
    readonly store: SessionStore,
    stored: StoredSession,
    { policy, isNew = false, release, revision }: OpenedStates,
  ) {
    this.isNew = isNew;
    this.#releaseLease = release;
    this.known = new KnownRevisions(store, stored, revision);
    this.#record = withPaused({ ...stored.record, policy }, stored.state);
    this.#isStored = !isNew && isDeepStrictEqual(policy, stored.record.policy);
    this.#state = stored.state;
    this.#undo = stored.undo;
    this.#checkpoints = new Map(stored.checkpoints.map((checkpoint) => [checkpoint.name, checkpoint]));
  }

  /** Opens a stored session as its only writer, or creates one, empty or as a fork of `origin`. */
  static async open(
    store: SessionStore,
    settings: SessionSettings,
    origin?: Pick<StoredSession, 'record' | 'state'>,
    wait?: LeaseWait,
  ): Promise<SessionStates> {
    const release = await store.acquire(settings.session_id, wait);
    try {
      const revision = await store.revision?.(settings.session_id);
      const found = await store.read(settings.session_id);
      const policy = policyFor(settings, found?.record);
      const stored = found ?? newSession(settings, policy, origin);
      return new SessionStates(store, stored, { policy, isNew: found === undefined, release, revision });
    } catch (cause) {
      await release();
      throw cause;
    }
  }

  /** Opens a stored session without becoming its writer; undefined if it does not exist or its record has to be changed. */
  static async openShared(
    store: SessionStore,
    settings: SessionSettings,
  ): Promise<SessionStates | undefined> {
    const revision = await store.revision?.(settings.session_id);
    const found = revision && (await store.read(settings.session_id));
    if (!found) return undefined;
    const policy = policyFor(settings, found.record);
    if (!isDeepStrictEqual(policy, found.record.policy)) return undefined;
    return new SessionStates(store, found, { policy, revision });
  }

  /** Creates another session from the current state or a checkpoint of this one; `persistIfNew` saves it. */
  async fork(newId: string, checkpoint?: string): Promise<SessionStates> {
    checkSessionId(newId);
    rejectCaseConflict(newId, [this.#record.session_id]);
    if ((await this.store.read(newId)) !== undefined) throw sessionExists(newId);
    const state = checkpoint === undefined ? this.#state : await this.#checkpointState(checkpoint);
    const origin = { record: { ...this.#record, imports: this.#importsIn(state) }, state };
    return SessionStates.open(this.store, { ...this.#record, session_id: newId }, origin);
  }

  get hasLease(): boolean {
    return this.#releaseLease !== undefined;
  }

  /** Becomes the only writer again. */
  async acquire(wait: LeaseWait): Promise<void> {
    this.#releaseLease = await this.store.acquire(this.#record.session_id, wait);
  }

  /** Lets others write. */
  async release(): Promise<void> {
    const release = this.#releaseLease;
    this.#releaseLease = undefined;
    await release?.();
  }

  /** Replaces everything with what another process has written. */
  replace({ record, state, undo, checkpoints }: StoredSession, revision: string): void {
    // A worker may hold guests with the version of the current state and the next one, which are not used again.
    this.#state = { ...state, version: Math.max(state.version, this.#state.version + 2) };
    this.#record = withPaused(record, state);
    this.#undo = undo;
    this.#checkpoints = new Map(checkpoints.map((checkpoint) => [checkpoint.name, checkpoint]));
    this.#isLoaded = true;
    this.#mustCheckQuota = true;
    this.known.add(revision, { record: this.#record, state: this.#state, undo, checkpoints });
    this.known.inMemory = revision;
  }

  /** Waits for pending saves. After a failure, the states in memory are not used again. */
  async settle(): Promise<void> {
    if (await this.isSaved()) return;
    if (!this.hasReportedFailure) this.#lostCommit ??= this.#saveFailure?.error;
    this.#saveFailure = undefined;
    this.#latest = undefined;
    this.#hasUnsavedEdits = false;
    this.known.inMemory = undefined;
  }

  /** Saves a session that the store does not have yet, or has with other limits. */
  persistIfNew(): void {
    if (this.#isStored) return;
    this.persist();
    this.#isFirstSave = this.isNew;
    void this.#saves.idle().then(() => {
      this.#isFirstSave = false;
    });
  }

  get record(): SessionRecord {
    return this.#record;
  }

  get state(): SessionState {
    this.#checkLoaded();
    return this.#state;
  }

  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** The states that are in memory. */
  get loadedStates(): SessionState[] {
    const states = [this.#state, this.#undo, ...[...this.#checkpoints.values()].map(({ state }) => state)];
    return states.filter((state) => state !== undefined);
  }

  /** Waits for pending saves. Returns whether the store has everything. */
  async isSaved(): Promise<boolean> {
    await this.#saves.idle();
    return this.#saveFailure === undefined && !this.#hasUnsavedEdits;
  }

  /** Frees the states, which must be saved. */
  unload(): void {
    this.#state = { ...EMPTY_STATE, version: this.#state.version };
    this.#undo = undefined;
    this.#latest = undefined;
    this.known.clear();
    this.#isLoaded = false;
  }

  /** Reads the states that `unload` freed; `load` restores them. */
  async readStates(): Promise<Pick<StoredSession, 'state' | 'undo'>> {
    const stored = await this.store.read(this.#record.session_id);
    if (stored === undefined) throw sessionNotFound(this.#record.session_id);
    return stored;
  }

  load(state: SessionState, undo: SessionState | undefined): void {
    this.#replaceState(state);
    this.#undo = undo;
    this.#isLoaded = true;
  }

  #checkLoaded(): void {
    if (!this.#isLoaded) throw new SandboxError('internal', 'The states of the session are not in memory.');
  }

  /** Records the image in which the session continues. Guests that run in another one are not used again. */
  setImage(preload: readonly string[]): void {
    this.#record = { ...this.#record, preload: [...preload] };
    this.update({ version: this.#state.version + 1 });
  }

  /** Records the packages of processes. They are not part of the interpreter. */
  recordPackages(preload: readonly string[]): void {
    this.#record = { ...this.#record, preload: [...preload] };
  }

  /** Counts a call, whatever its outcome. */
  countCall(outcome: RunOutcome, imports: readonly string[]): void {
    this.#record = countCall(this.#record, outcome, imports);
  }

  /**
   * Applies external edits: changes that other programs made to the session's files in the store. Throws
   * `quota_exceeded` if the files are too large, and keeps throwing until some of them are deleted. Throws as `flush`
   * does if a save failed.
   */
  async syncExternalEdits(workspace: WorkspaceFiles): Promise<void> {
    if (!this.#isFirstSave) {
      await this.flush();
      const edits = await this.store.edits(this.#record.session_id);
      workspace.edit(edits);
      const isEdited = edits.removed.length + edits.entries.length > 0;
      this.#hasUnsavedEdits ||= isEdited;
      this.#mustCheckQuota ||= isEdited;
      if (this.#mustCheckQuota) workspace.checkQuota();
      this.#mustCheckQuota = false;
    }
    this.setWorkspace(workspace.snapshot());
  }

  /** Replaces the current state with the one that a call left, and keeps `before` for undo. */
  commit(next: SessionState, before: SessionState): void {
    this.#undo = before;
    this.#replaceState(next);
    if (next.delta !== undefined) this.#importsOf.set(next.delta, this.#record.imports);
    this.persist();
  }

  /** The imports of a state. If they are not known, because a store had the state, those of all calls. */
  #importsIn({ delta }: SessionState): readonly string[] {
    return delta === undefined ? [] : (this.#importsOf.get(delta) ?? this.#record.imports);
  }

  /** The record says whether the current state is paused, so that a store can list it. */
  #replaceState(state: SessionState): void {
    this.#state = state;
    this.#record = withPaused(this.#record, state);
  }

  /** Saves the current state with a paused execution. Throws if that fails; the state is then as before. */
  async savePaused(paused: PausedExecution): Promise<void> {
    const before = this.savepoint();
    this.update({ paused });
    this.persist();
    await this.flush().catch((cause: unknown) => {
      this.restore(before);
      throw cause;
    });
  }

  /** Replaces the paused execution or the version of the current state; memory and files stay. */
  update(changed: Partial<Pick<SessionState, 'paused' | 'version'>>): void {
    this.#replaceState({ ...this.#state, ...changed });
  }

  /** Replaces the files of the current state; the memory stays. */
  setWorkspace(workspace: FileTree): void {
    this.#checkLoaded();
    // An unchanged state stays the same object, because stores encode each state only once.
    if (workspace !== this.#state.workspace) this.#state = { ...this.#state, workspace };
  }

  checkpoint(name: string | undefined): CheckpointInfo {
    const made = makeCheckpoint(this.#checkpoints, name, this.#state);
    this.#checkpoints.set(made.name, made);
    this.persist();
    return describeCheckpoint(made);
  }

  checkpoints(): CheckpointInfo[] {
    return [...this.#checkpoints.values()].map(describeCheckpoint);
  }

  deleteCheckpoint(name: string): void {
    if (!this.#checkpoints.delete(name)) throw checkpointNotFound(name, this.#checkpoints.keys());
    this.persist();
  }

  /** Restores a checkpoint, or the state before the last call. */
  async rollback(name: string | undefined): Promise<void> {
    const target = name === undefined ? this.#undo : await this.#checkpointState(name);
    if (target === undefined) throw nothingToUndo();
    if (name === undefined) this.#undo = undefined;
    this.#record = { ...this.#record, imports: this.#importsIn(target) };
    // The old state gets a new version, so that no live guest is mistaken for it.
    this.#replaceState({ ...target, version: this.#state.version + 1 });
    this.persist({ isDeferred: true });
  }

  /** Replaces the interpreter with a new one. The files stay. */
  restart(): void {
    const { version, workspace } = this.#state;
    this.#record = { ...this.#record, imports: [], declared: [] };
    this.#replaceState({ ...EMPTY_STATE, version: version + 1, workspace });
    this.persist({ isDeferred: true });
  }

  #checkpointState(name: string): Promise<SessionState> {
    return checkpointState(this.store, this.#record.session_id, this.#checkpoints, name);
  }

  /** The current states, for `restore`. */
  savepoint(): StatesSavepoint {
    return { state: this.#state, undo: this.#undo, checkpoints: new Map(this.#checkpoints) };
  }

  /** Restores earlier states after a change that could not be saved; the caller reports that failure. */
  restore({ state, undo, checkpoints }: StatesSavepoint): void {
    // A worker may hold a guest with the version of the abandoned state, so that version is not used again.
    this.#replaceState({ ...state, version: this.#state.version + 1 });
    this.#undo = undo;
    this.#checkpoints = new Map(checkpoints);
    this.persist({ isReported: true });
  }

  /**
   * Saves the current state in the background, after the saves that are in progress. `isReported` says that the caller
   * already knows of a failure, so that the next call only has to retry. With `isDeferred`, the caller continues first, even
   * if the store writes without waiting.
   */
  persist({ isReported = false, isDeferred = false } = {}): void {
    this.#checkLoaded();
    // The caller was told to read the state, so what the store has must not change again. The next operation reads it.
    if (isReported && this.store.revision !== undefined && isUnknownCommit(this.#saveFailure?.error)) return;
    const checkpoints = [...this.#checkpoints.values()];
    const stored: StoredSession = { record: this.#record, state: this.#state, undo: this.#undo, checkpoints };
    this.#latest = stored;
    this.#hasUnsavedEdits = false;
    void this.#saves[isDeferred ? 'runLater' : 'run'](async () => {
      if (this.#latest !== stored) return;
      const revision = randomUUID();
      this.known.add(revision, stored);
      try {
        await this.store.write(stored, revision);
        this.known.inMemory = revision;
        if (this.#latest === stored) this.#latest = undefined;
        this.#saveFailure = undefined;
        if (this.store.readCheckpoint !== undefined) releaseStates(this.#checkpoints, stored.checkpoints);
      } catch (cause) {
        const error = saveError(cause);
        this.known.inMemory = undefined;
        this.#saveFailure = { error, isReported };
        this.onSaveFailed(error);
      }
    });
  }

  /** Records that a call which was reported as committed was not saved; the next operation reports it. */
  recordLostCommit(call: number, reason?: SandboxError): void {
    this.#lostCommit = commitLost(call, reason);
    this.onSaveFailed(this.#lostCommit);
  }

  /** Whether the newest state is not in the store and the caller knows it. */
  get hasReportedFailure(): boolean {
    return this.#saveFailure?.isReported === true;
  }

  /** Waits until everything is saved. Throws if a save failed; if that was reported before, first tries again. */
  async flush(): Promise<void> {
    await this.#saves.idle();
    if (this.hasReportedFailure) {
      this.persist();
      await this.#saves.idle();
    }
    this.#throwFailure();
  }

  /** Throws if a save failed and that was not reported yet. Does not wait for saves. */
  reportFailure(): void {
    if (!this.hasReportedFailure) this.#throwFailure();
  }

  #throwFailure(): void {
    const lost = this.#lostCommit;
    this.#lostCommit = undefined;
    if (this.#saveFailure !== undefined) this.#saveFailure.isReported = true;
    const error = lost ?? this.#saveFailure?.error;
    if (error !== undefined) throw error;
  }

  async close(): Promise<void> {
    await this.flush().finally(() => this.release());
  }
}
