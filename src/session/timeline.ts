/**
 * The state of a session on the host: what the next call starts from, what it can go back to, and what the store has.
 * States are immutable and share their bytes, so a checkpoint, an undo or a fork is a reference and costs nothing. The
 * caller serialises all changes; this class never waits for a guest.
 */
import { isDeepStrictEqual } from 'node:util';
import { SandboxError } from '../errors.ts';
import type { Entry } from '../fs/entries.ts';
import { MAX_VARIABLES } from '../runtimes/language.ts';
import { LANGUAGES } from '../runtimes/languages.ts';
import type { Workspace } from '../sandbox/workspace.ts';
import { type PolicyInput, parse, type RuntimeName, type SessionPolicy, sessionPolicy } from '../schema.ts';
import { checkSessionId, rejectCaseConflict } from '../stores/session-id.ts';
import type {
  Checkpoint,
  SessionRecord,
  SessionState,
  SessionStore,
  StoredSession,
} from '../stores/store.ts';
import { type CheckpointInfo, describeCheckpoint, makeCheckpoint } from './checkpoint.ts';

export interface SessionSettings {
  readonly session_id: string;
  readonly runtime: RuntimeName;
  readonly auto_persist_globals: boolean;
  readonly preload: readonly string[];
  /** Limits that win over those the session has, and are its own from then on. */
  readonly policy: Omit<PolicyInput, 'mounts'>;
}

const EMPTY: SessionState = { version: 0, delta: undefined, workspace: new Map(), tmp: [] };

export class Session {
  #record: SessionRecord;
  #state: SessionState;
  #undo: SessionState | undefined;
  readonly #checkpoints: Map<string, Checkpoint>;
  /** The store has it, and with this record. */
  readonly #isStored: boolean;
  /** It is on its way into the store for the first time: nobody can have changed its files there. */
  #isBeingMade = false;
  #writing: Promise<void> = Promise.resolve();
  #writeFailure: unknown;

  private constructor(
    readonly store: SessionStore,
    stored: StoredSession,
    policy: SessionPolicy,
    /** Nothing of it is in the store. */
    readonly isNew: boolean,
    readonly release: () => Promise<void>,
  ) {
    this.#record = { ...stored.record, policy };
    this.#isStored = !isNew && isDeepStrictEqual(policy, stored.record.policy);
    this.#state = stored.state;
    this.#undo = stored.undo;
    this.#checkpoints = new Map(stored.checkpoints.map((checkpoint) => [checkpoint.name, checkpoint]));
  }

  /** Opens a session of the store as its only writer, or begins one, from nothing or as the fork of `origin`. */
  static async open(store: SessionStore, settings: SessionSettings, origin?: Session): Promise<Session> {
    const release = await store.acquire(settings.session_id);
    try {
      const found = await store.read(settings.session_id);
      if (found !== undefined) checkSettings(found.record, settings);
      const policy = parse(sessionPolicy, { ...found?.record.policy, ...settings.policy }, 'policy');
      const stored = found ?? begin(settings, policy, origin);
      return new Session(store, stored, policy, found === undefined, release);
    } catch (cause) {
      await release();
      throw cause;
    }
  }

  /** Opens a session that the store has, as its only writer and as it is; throws `session_not_found`. */
  static async resume(store: SessionStore, session_id: string): Promise<Session> {
    const found = await store.read(session_id);
    if (found === undefined) throw noSession(session_id);
    return Session.open(store, found.record);
  }

  /** Another session that starts from the present state of this one; the two know nothing of each other afterwards. */
  async fork(newId: string): Promise<Session> {
    checkSessionId(newId);
    rejectCaseConflict(newId, [this.#record.session_id]);
    if ((await this.store.read(newId)) !== undefined) {
      throw new SandboxError(
        'session_mismatch',
        `There is already a session ${newId}. Choose another name for the fork.`,
      );
    }
    const made = await Session.open(this.store, { ...this.#record, session_id: newId }, this);
    made.announce();
    return made;
  }

  /** Writes a session that its store does not have yet, or has with other limits. */
  announce(): void {
    if (this.#isStored) return;
    this.persist();
    this.#isBeingMade = this.isNew;
    void this.#writing.then(() => {
      this.#isBeingMade = false;
    });
  }

  get record(): SessionRecord {
    return this.#record;
  }

  /** Names that programs may have declared, for those languages that cannot list their own. */
  get declared(): readonly string[] {
    return this.#record.declared;
  }

  get state(): SessionState {
    return this.#state;
  }

  /** Accounts a call, whatever became of it. */
  count(fuel: number, imports: readonly string[], code: string): void {
    const names = LANGUAGES[this.#record.runtime].declaredNames(code);
    this.#record = {
      ...this.#record,
      declared: [...new Set([...this.#record.declared, ...names])].slice(-MAX_VARIABLES),
      last_used_at: new Date().toISOString(),
      calls: this.#record.calls + 1,
      fuel_consumed: this.#record.fuel_consumed + fuel,
      imports: [...new Set([...this.#record.imports, ...imports])].sort(),
    };
  }

  /**
   * Takes in what was changed outside: in `workspace` by the host, in the store by a person. Throws `quota_exceeded` when
   * that is too much, again and again until some of it is gone.
   */
  async takeIn(workspace: Workspace): Promise<void> {
    if (!this.#isBeingMade) {
      await this.#writing;
      workspace.edit(await this.store.edits(this.#record.session_id));
      workspace.checkQuota();
    }
    this.withWorkspace(workspace.snapshot());
  }

  /** Takes over what a call left. The state before it stays for undo. */
  commit(next: SessionState, before: SessionState): void {
    this.#undo = before;
    this.#state = next;
    this.persist();
  }

  /** Replaces the files, as the host edited them; memory stays. */
  withWorkspace(workspace: ReadonlyMap<string, Entry>): void {
    this.#state = { ...this.#state, workspace: new Map(workspace) };
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
    if (!this.#checkpoints.delete(name)) throw this.#noCheckpoint(name);
    this.persist();
  }

  /** Goes back to a checkpoint, or to the state before the last call. */
  rollback(name: string | undefined): void {
    const target = name === undefined ? this.#undo : this.#checkpoints.get(name)?.state;
    if (target === undefined) {
      throw name === undefined
        ? new SandboxError(
            'session_not_found',
            'There is no call to undo: the last one was already undone, or there was none.',
          )
        : this.#noCheckpoint(name);
    }
    if (name === undefined) this.#undo = undefined;
    // A new version, although an old state: guests that went on from here must not be taken for it.
    this.#state = { ...target, version: this.#state.version + 1 };
    this.persist();
  }

  #noCheckpoint(name: string): SandboxError {
    const there = [...this.#checkpoints.keys()];
    const listing = there.length > 0 ? `There are: ${there.join(', ')}` : 'There are none';
    return new SandboxError(
      'session_not_found',
      `The session has no checkpoint ${JSON.stringify(name)}. ${listing}.`,
    );
  }

  /** Writes the present state to the store, behind what is being written already; only the newest waits. */
  persist(): void {
    const stored: StoredSession = {
      record: this.#record,
      state: this.#state,
      undo: this.#undo,
      checkpoints: [...this.#checkpoints.values()],
    };
    this.#latest = stored;
    this.#writing = this.#writing.then(async () => {
      if (this.#latest !== stored) return;
      try {
        await this.store.write(stored);
        this.#writeFailure = undefined;
      } catch (cause) {
        // Told to the next caller: the session goes on in memory, but its owner must know.
        this.#writeFailure = cause;
      }
    });
  }
  #latest: StoredSession | undefined;

  /** A call that was said to be committed could not be kept: whoever asks next whether all is well must know. */
  hasLost(call: number): void {
    const what = `What call ${call} left could not be saved, so the session is as before it`;
    this.#lost = new SandboxError('store_failed', `${what}. Run it again.`);
  }
  #lost: SandboxError | undefined;

  /** Waits until everything is in the store; throws what went wrong there. */
  async flush(): Promise<void> {
    await this.#writing;
    const failure = this.#lost ?? this.#writeFailure;
    this.#lost = undefined;
    this.#writeFailure = undefined;
    if (failure !== undefined) throw failure;
  }

  async close(): Promise<void> {
    try {
      await this.flush();
    } finally {
      await this.release();
    }
  }
}

function begin(settings: SessionSettings, policy: SessionPolicy, origin: Session | undefined): StoredSession {
  const { session_id, runtime, auto_persist_globals, preload } = settings;
  const now = new Date().toISOString();
  const record: SessionRecord = {
    session_id,
    runtime,
    auto_persist_globals,
    preload,
    policy,
    created_at: now,
    last_used_at: now,
    calls: 0,
    fuel_consumed: 0,
    // What the interpreter has in it comes along; what it took to get there does not.
    imports: origin?.record.imports ?? [],
    declared: origin?.record.declared ?? [],
  };
  return { record, state: origin?.state ?? EMPTY, undo: undefined, checkpoints: [] };
}

export function noSession(session_id: string): SandboxError {
  const name = JSON.stringify(session_id.slice(0, 100));
  return new SandboxError('session_not_found', `There is no session ${name}.`);
}

function checkSettings(record: SessionRecord, settings: SessionSettings): void {
  for (const field of ['runtime', 'auto_persist_globals', 'preload'] as const) {
    if (String(record[field]) === String(settings[field])) continue;
    const facts = `${field} ${record[field]}, not ${settings[field]}`;
    throw new SandboxError(
      'session_mismatch',
      `The session ${record.session_id} has ${facts}. Open it as it is, or use another session_id.`,
    );
  }
}
