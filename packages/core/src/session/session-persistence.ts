/**
 * A session and its storage: what it contains, whether the store has that, and the lease to write it. The caller serialises all
 * changes; this class never waits for a guest. Saves run in the background, one after another, and only the newest contents are
 * saved. In a store that processes share, the contents of a revision never change, so those of the revision that the store
 * reports are the committed ones, whatever happens in this process meanwhile.
 */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { SandboxError } from '../errors.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import type { WorkspaceFiles } from '../sandbox/workspace-files.ts';
import type { PausedExecution, SessionPolicy } from '../schema.ts';
import { checkSessionId, rejectCaseConflict } from '../stores/session-id.ts';
import type { LeaseWait, SessionRecord, SessionState, SessionStore, StoredSession } from '../stores/store.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import {
  type CheckpointInfo,
  checkpointState,
  describeCheckpoint,
  releaseStates,
  withCheckpoint,
  withoutCheckpoint,
} from './make-checkpoint.ts';
import {
  committed,
  countCall,
  importsIn,
  newSession,
  policyFor,
  restarted,
  restored,
  rolledBack,
  type SessionSettings,
  statesIn,
  withoutStates,
  withState,
  withWorkspace,
} from './session-contents.ts';
import {
  commitLost,
  isUnknownCommit,
  nothingToUndo,
  saveError,
  sessionExists,
  sessionNotFound,
} from './session-errors.ts';

/** What this process has of a session. */
type SessionStatus =
  /** The store does not have the session yet. */
  | { readonly kind: 'new'; readonly contents: StoredSession }
  | { readonly kind: 'loaded'; readonly contents: StoredSession }
  /** Only the store has the states. */
  | { readonly kind: 'unloaded'; readonly contents: StoredSession }
  /** The store does not have the newest contents, because a save failed. */
  | {
      readonly kind: 'failed';
      readonly contents: StoredSession;
      readonly error: SandboxError;
      readonly isReported: boolean;
    };

/** A session as the store had it at one point in time. */
export interface CommittedSession {
  readonly record: SessionRecord;
  readonly state: SessionState;
  /** Oldest first. */
  readonly checkpoints: readonly CheckpointInfo[];
}

interface ReadSession {
  readonly stored: StoredSession;
  readonly revision: string;
}

/** How a session was opened. */
interface OpenedSession {
  readonly policy: SessionPolicy;
  readonly isNew?: boolean;
  /** Releases the lease; absent without one. */
  readonly release?: (() => Promise<void>) | undefined;
  readonly revision: string | undefined;
}

/** The revision that is being written, and the one before it. */
const MAX_KNOWN = 2;

export class SessionPersistence {
  /** The store did not have the session when it was opened. */
  readonly isNew: boolean;
  #status: SessionStatus;
  /** Whether the store has the session with this record. */
  readonly #isStored: boolean;
  /** The host added files. Only those are checked before a call, because the guest cannot exceed the quota. */
  #mustCheckQuota = true;
  /** Edits from outside are part of the contents, but no save has started since. */
  #hasUnsavedEdits = false;
  readonly #saves = new SerialQueue();
  /** The newest contents to save; older ones that still wait are skipped. */
  #latest: StoredSession | undefined;
  #lostCommit: SandboxError | undefined;
  /** What the store has under the latest revisions, newest last. Empty for a store without revisions. */
  readonly #known = new Map<string, CommittedSession>();
  /** The revision of the contents in memory; undefined if the store may have others. */
  #revision: string | undefined;
  #releaseLease: (() => Promise<void>) | undefined;
  /** Called for every save that fails. */
  onSaveFailed: (error: SandboxError) => void = () => {};

  private constructor(
    readonly store: SessionStore,
    stored: StoredSession,
    { policy, isNew = false, release, revision }: OpenedSession,
  ) {
    this.isNew = isNew;
    this.#releaseLease = release;
    this.#isStored = !isNew && isDeepStrictEqual(policy, stored.record.policy);
    const contents = withState({ ...stored, record: { ...stored.record, policy } }, stored.state);
    this.#status = { kind: isNew ? 'new' : 'loaded', contents };
    this.#revision = revision;
    if (revision !== undefined) this.#remember(revision, stored);
  }

  /** Opens a stored session as its only writer, or creates one, empty or as a fork of `origin`. */
  static async open(
    store: SessionStore,
    settings: SessionSettings,
    origin?: Pick<StoredSession, 'record' | 'state'>,
    wait?: LeaseWait,
  ): Promise<SessionPersistence> {
    const release = await store.acquire(settings.session_id, wait);
    try {
      const revision = await store.revision?.(settings.session_id);
      const found = await store.read(settings.session_id);
      const policy = policyFor(settings, found?.record);
      const stored = found ?? newSession(settings, policy, origin);
      return new SessionPersistence(store, stored, { policy, isNew: found === undefined, release, revision });
    } catch (cause) {
      await release();
      throw cause;
    }
  }

  /** Opens a stored session without becoming its writer; undefined if it does not exist or its record has to be changed. */
  static async openShared(
    store: SessionStore,
    settings: SessionSettings,
  ): Promise<SessionPersistence | undefined> {
    const revision = await store.revision?.(settings.session_id);
    const found = revision && (await store.read(settings.session_id));
    if (!found) return undefined;
    const policy = policyFor(settings, found.record);
    if (!isDeepStrictEqual(policy, found.record.policy)) return undefined;
    return new SessionPersistence(store, found, { policy, revision });
  }

  /** Creates another session from the current state or a checkpoint of this one; `saveIfNew` saves it. */
  async fork(newId: string, checkpoint?: string): Promise<SessionPersistence> {
    const { record } = this;
    checkSessionId(newId);
    rejectCaseConflict(newId, [record.session_id]);
    if ((await this.store.read(newId)) !== undefined) throw sessionExists(newId);
    const state = checkpoint === undefined ? this.state : await this.#checkpointState(checkpoint);
    const origin = { record: { ...record, imports: importsIn(state, record) }, state };
    return SessionPersistence.open(this.store, { ...record, session_id: newId }, origin);
  }

  // ---- contents ----

  /** What the session contains. Throws if the states are not in memory. */
  get contents(): StoredSession {
    const { kind, contents } = this.#status;
    if (kind === 'unloaded')
      throw new SandboxError('internal', 'The states of the session are not in memory.');
    return contents;
  }

  set contents(contents: StoredSession) {
    this.#status = { ...this.#status, contents };
  }

  get record(): SessionRecord {
    return this.#status.contents.record;
  }

  get state(): SessionState {
    return this.contents.state;
  }

  get isLoaded(): boolean {
    return this.#status.kind !== 'unloaded';
  }

  /** The states that are in memory. */
  get loadedStates(): SessionState[] {
    return statesIn(this.#status.contents);
  }

  /** Frees the states, which must be saved. */
  unload(): void {
    this.#status = { kind: 'unloaded', contents: withoutStates(this.contents) };
    this.#latest = undefined;
    this.#known.clear();
    this.#revision = undefined;
  }

  /** Reads the states that `unload` freed; `load` restores them. */
  async readStates(): Promise<Pick<StoredSession, 'state' | 'undo'>> {
    const { session_id } = this.record;
    const stored = await this.store.read(session_id);
    if (stored === undefined) throw sessionNotFound(session_id);
    return stored;
  }

  load({ state, undo }: Pick<StoredSession, 'state' | 'undo'>): void {
    const { contents } = this.#status;
    this.#status = { kind: 'loaded', contents: withState({ ...contents, undo }, state) };
  }

  /** Records the image in which the session continues. Guests that run in another one are not used again. */
  setImage(preload: readonly string[]): void {
    this.recordPackages(preload);
    this.update({ version: this.state.version + 1 });
  }

  /** Records the packages of processes. They are not part of the interpreter. */
  recordPackages(preload: readonly string[]): void {
    this.contents = { ...this.contents, record: { ...this.record, preload: [...preload] } };
  }

  /** Counts a call, whatever its outcome. */
  countCall(outcome: RunOutcome, imports: readonly string[]): void {
    this.contents = { ...this.contents, record: countCall(this.record, outcome, imports) };
  }

  /** Replaces the paused execution or the version of the current state; memory and files stay. */
  update(changed: Partial<Pick<SessionState, 'paused' | 'version'>>): void {
    this.contents = withState(this.contents, { ...this.state, ...changed });
  }

  /** Replaces the files of the current state; the memory stays. */
  setWorkspace(workspace: FileTree): void {
    this.contents = withWorkspace(this.contents, workspace);
  }

  /**
   * Applies external edits: changes that other programs made to the session's files in the store. Throws
   * `quota_exceeded` if the files are too large, and keeps throwing until some of them are deleted. Throws as `flush`
   * does if a save failed.
   */
  async syncExternalEdits(files: WorkspaceFiles): Promise<void> {
    // During the first save, no other program can have edited the files.
    if (this.#status.kind !== 'new') {
      await this.flush();
      const edits = await this.store.edits(this.record.session_id);
      files.edit(edits);
      const isEdited = edits.removed.length + edits.entries.length > 0;
      this.#hasUnsavedEdits ||= isEdited;
      this.#mustCheckQuota ||= isEdited;
      if (this.#mustCheckQuota) files.checkQuota();
      this.#mustCheckQuota = false;
    }
    this.setWorkspace(files.snapshot());
  }

  /** Replaces the current state with the one that a call left, and keeps `before` for undo. */
  commit(next: SessionState, before: SessionState): void {
    this.contents = committed(this.contents, next, before);
    this.save();
  }

  /** Saves the current state with a paused execution. Throws if that fails; the state is then as before. */
  async savePaused(paused: PausedExecution): Promise<void> {
    const before = this.contents;
    this.update({ paused });
    this.save();
    await this.flush().catch((cause: unknown) => {
      this.restore(before);
      throw cause;
    });
  }

  /** Restores earlier contents after a change that could not be saved; the caller reports that failure. */
  restore(before: StoredSession): void {
    this.contents = restored(this.contents, before);
    this.save({ isReported: true });
  }

  checkpoint(name: string | undefined): CheckpointInfo {
    const [contents, made] = withCheckpoint(this.contents, name);
    this.contents = contents;
    this.save();
    return made;
  }

  checkpoints(): CheckpointInfo[] {
    return this.#status.contents.checkpoints.map(describeCheckpoint);
  }

  deleteCheckpoint(name: string): void {
    this.contents = withoutCheckpoint(this.contents, name);
    this.save();
  }

  /** Restores a checkpoint, or the state before the last call. */
  async rollback(name: string | undefined): Promise<void> {
    const target = name === undefined ? this.contents.undo : await this.#checkpointState(name);
    if (target === undefined) throw nothingToUndo();
    const { contents } = this;
    this.contents = rolledBack(name === undefined ? { ...contents, undo: undefined } : contents, target);
    this.save({ isDeferred: true });
  }

  /** Replaces the interpreter with a new one. The files stay. */
  restart(): void {
    this.contents = restarted(this.contents);
    this.save({ isDeferred: true });
  }

  #checkpointState(name: string): Promise<SessionState> {
    return checkpointState(this.store, this.contents, name);
  }

  // ---- saving ----

  /** Saves a session that the store does not have yet, or has with other limits. */
  saveIfNew(): void {
    if (!this.#isStored) this.save();
  }

  /**
   * Saves the contents in the background, after the saves that are in progress. `isReported` says that the caller
   * already knows of a failure, so that the next call only has to retry. With `isDeferred`, the caller continues first, even
   * if the store writes without waiting.
   */
  save({ isReported = false, isDeferred = false } = {}): void {
    const { contents } = this;
    const status = this.#status;
    // The caller was told to read the state, so what the store has must not change again. The next operation reads it.
    if (
      isReported &&
      this.store.revision !== undefined &&
      status.kind === 'failed' &&
      isUnknownCommit(status.error)
    )
      return;
    this.#latest = contents;
    this.#hasUnsavedEdits = false;
    void this.#saves[isDeferred ? 'runLater' : 'run'](async () => {
      if (this.#latest === contents) await this.#write(contents, isReported);
    });
  }

  async #write(contents: StoredSession, isReported: boolean): Promise<void> {
    const revision = randomUUID();
    // Only a revision that the store reports is looked up.
    this.#remember(revision, contents);
    try {
      await this.store.write(contents, revision);
      this.#revision = revision;
      if (this.#latest === contents) this.#latest = undefined;
      const releases = this.store.readCheckpoint !== undefined;
      const now = this.#status.contents;
      this.#status = { kind: 'loaded', contents: releases ? releaseStates(now, contents.checkpoints) : now };
    } catch (cause) {
      const error = saveError(cause);
      this.#revision = undefined;
      this.#status = { kind: 'failed', contents: this.#status.contents, error, isReported };
      this.onSaveFailed(error);
    }
  }

  /** Waits for pending saves. Returns whether the store has everything. */
  async isSaved(): Promise<boolean> {
    await this.#saves.idle();
    return this.#status.kind !== 'failed' && !this.#hasUnsavedEdits;
  }

  /** Waits for pending saves. After a failure, the contents in memory are not used again. */
  async settle(): Promise<void> {
    if (await this.isSaved()) return;
    if (this.#status.kind === 'failed') {
      const { error, contents, isReported } = this.#status;
      if (!isReported) this.#lostCommit ??= error;
      this.#status = { kind: 'loaded', contents };
    }
    this.#latest = undefined;
    this.#hasUnsavedEdits = false;
    this.#revision = undefined;
  }

  /** Records that a call which was reported as committed was not saved; the next operation reports it. */
  recordLostCommit(call: number, reason?: SandboxError): void {
    this.#lostCommit = commitLost(call, reason);
    this.onSaveFailed(this.#lostCommit);
  }

  /** Whether the store does not have the newest contents and the caller knows it. */
  get hasReportedFailure(): boolean {
    return this.#status.kind === 'failed' && this.#status.isReported;
  }

  /** Waits until everything is saved. Throws if a save failed; if that was reported before, first tries again. */
  async flush(): Promise<void> {
    await this.#saves.idle();
    if (this.hasReportedFailure) {
      this.save();
      await this.#saves.idle();
    }
    this.#throwFailure();
  }

  /** Throws if a save failed and that was not reported yet. Does not wait for saves. */
  reportFailure(): void {
    if (!this.hasReportedFailure) this.#throwFailure();
  }

  #throwFailure(): void {
    let error = this.#lostCommit;
    this.#lostCommit = undefined;
    if (this.#status.kind === 'failed') {
      error ??= this.#status.error;
      this.#status = { ...this.#status, isReported: true };
    }
    if (error !== undefined) throw error;
  }

  // ---- lease and revisions ----

  get hasLease(): boolean {
    return this.#releaseLease !== undefined;
  }

  /** Becomes the only writer again. */
  async acquire(wait: LeaseWait): Promise<void> {
    this.#releaseLease = await this.store.acquire(this.record.session_id, wait);
  }

  /** Lets others write. */
  async release(): Promise<void> {
    const release = this.#releaseLease;
    this.#releaseLease = undefined;
    await release?.();
  }

  async close(): Promise<void> {
    await this.flush().finally(() => this.release());
  }

  #remember(revision: string, { record, state, checkpoints }: StoredSession): void {
    if (this.store.revision === undefined) return;
    this.#known.set(revision, { record, state, checkpoints: checkpoints.map(describeCheckpoint) });
    for (const oldest of this.#known.keys()) if (this.#known.size > MAX_KNOWN) this.#known.delete(oldest);
  }

  /** What is in memory, as it is committed. */
  get committed(): CommittedSession | undefined {
    return this.#revision === undefined ? undefined : this.#known.get(this.#revision);
  }

  /** Reads the session if what is in memory is old; `gone` if it was deleted or replaced, or its limits have changed. */
  async readChanges(): Promise<ReadSession | 'gone' | undefined> {
    const revision = await this.store.revision?.(this.record.session_id);
    if (revision === undefined) return 'gone';
    return revision === this.#revision ? undefined : this.#read(revision);
  }

  /** Replaces everything with what another process has written. */
  replace({ stored, revision }: ReadSession): void {
    // A worker may hold guests with the version of the current state and the next one, which are not used again.
    const version = Math.max(stored.state.version, this.#status.contents.state.version + 2);
    const contents = withState(stored, { ...stored.state, version });
    this.#status = { kind: 'loaded', contents };
    this.#mustCheckQuota = true;
    this.#remember(revision, contents);
    this.#revision = revision;
  }

  /** The session as the store has it, read only if its revision is not known. */
  async readCommitted(): Promise<CommittedSession | 'gone'> {
    const revision = await this.store.revision?.(this.record.session_id);
    if (revision === undefined) return 'gone';
    const known = this.#known.get(revision);
    if (known !== undefined) return known;
    const read = await this.#read(revision);
    if (read === 'gone') return read;
    const { record, state, checkpoints } = read.stored;
    return { record, state, checkpoints: checkpoints.map(describeCheckpoint) };
  }

  /** Reads the session. It may have a newer revision than the given one, which the store then never reports again. */
  async #read(revision: string): Promise<ReadSession | 'gone'> {
    const { session_id, created_at, policy } = this.record;
    const stored = await this.store.read(session_id);
    const isSame =
      stored?.record.created_at === created_at && isDeepStrictEqual(stored.record.policy, policy);
    return isSame ? { stored, revision } : 'gone';
  }
}
