/**
 * What the store contains under the latest revisions that this process has read or written. A revision never changes, so
 * the states of the revision that the store reports are the committed ones, whatever happens in this process meanwhile.
 */
import { isDeepStrictEqual } from 'node:util';
import type { SessionRecord, SessionState, SessionStore, StoredSession } from '../stores/store.ts';
import { type CheckpointInfo, describeCheckpoint } from './make-checkpoint.ts';

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

/** The revision that is being written, and the one before it. */
const MAX_KNOWN = 2;

export class KnownRevisions {
  readonly #store: SessionStore;
  /** Newest last. Empty for a store without revisions. */
  readonly #known = new Map<string, CommittedSession>();
  /** The revision of the states in memory; undefined if the store may have others. */
  inMemory: string | undefined;

  constructor(store: SessionStore, session: StoredSession, revision: string | undefined) {
    this.#store = store;
    this.inMemory = revision;
    if (revision !== undefined) this.add(revision, session);
  }

  /** The states in memory, as they are committed. */
  get committed(): CommittedSession | undefined {
    return this.#get(this.inMemory);
  }

  /** A revision may be added before it is written, because only a revision that the store reports is looked up. */
  add(revision: string, session: StoredSession): void {
    if (this.#store.revision === undefined) return;
    this.#known.set(revision, toCommitted(session));
    for (const oldest of this.#known.keys()) if (this.#known.size > MAX_KNOWN) this.#known.delete(oldest);
  }

  #get(revision: string | undefined): CommittedSession | undefined {
    return revision === undefined ? undefined : this.#known.get(revision);
  }

  /** Frees all states. */
  clear(): void {
    this.#known.clear();
    this.inMemory = undefined;
  }

  /** Reads the session if its states in memory are old; `gone` if it was deleted or replaced, or its limits have changed. */
  async readChanges(record: SessionRecord): Promise<ReadSession | 'gone' | undefined> {
    const revision = await this.#store.revision?.(record.session_id);
    if (revision === undefined) return 'gone';
    return revision === this.inMemory ? undefined : this.#read(record, revision);
  }

  /** The session as the store has it, read only if its revision is not known. */
  async readCommitted(record: SessionRecord): Promise<CommittedSession | 'gone'> {
    const revision = await this.#store.revision?.(record.session_id);
    if (revision === undefined) return 'gone';
    const known = this.#get(revision);
    if (known !== undefined) return known;
    const read = await this.#read(record, revision);
    return read === 'gone' ? read : toCommitted(read.stored);
  }

  /** Reads the session. It may have a newer revision than the given one, which the store then never reports again. */
  async #read(
    { session_id, created_at, policy }: SessionRecord,
    revision: string,
  ): Promise<ReadSession | 'gone'> {
    const stored = await this.#store.read(session_id);
    const isSame =
      stored?.record.created_at === created_at && isDeepStrictEqual(stored.record.policy, policy);
    return isSame ? { stored, revision } : 'gone';
  }
}

function toCommitted({ record, state, checkpoints }: StoredSession): CommittedSession {
  return { record, state, checkpoints: checkpoints.map(describeCheckpoint) };
}
