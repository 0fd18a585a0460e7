/**
 * What the stores with leases share: the sessions whose lease this process holds, with a queue that serialises the
 * operations on each, and error messages that say what to do.
 */
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { SandboxError } from '../errors.ts';
import { checkSessionId } from './session-id.ts';
import type { SessionStore } from './store.ts';

interface HeldSession<Writer> {
  readonly queue: SerialQueue;
  readonly writer: Writer;
}

/** `Writer` is what a store needs to write a session. */
export class SessionWriters<Writer> {
  readonly #held = new Map<string, HeldSession<Writer>>();

  has(id: string): boolean {
    return this.#held.has(id);
  }

  /**
   * Adds a session whose lease was acquired. Returns a function that releases it after the operations that were started.
   * `releaseLease` must not reject.
   */
  add(id: string, writer: Writer, releaseLease: () => Promise<void>): () => Promise<void> {
    const held = { queue: new SerialQueue(), writer };
    this.#held.set(id, held);
    let released: Promise<void> | undefined;
    return () => {
      released ??= (async () => {
        if (this.#held.get(id) === held) this.#held.delete(id);
        await held.queue.run(releaseLease);
      })();
      return released;
    };
  }

  /** Runs `work` in order with the other operations of the writer, or returns undefined if the session is not held. */
  ifHeld<T>(id: string, work: (writer: Writer) => Promise<T>): Promise<T> | undefined {
    const held = this.#held.get(id);
    return held?.queue.run(() => work(held.writer));
  }

  /** Runs `work` as the writer of a session. Acquires the session for this purpose unless it is held already. */
  async run<T>(
    id: string,
    work: (writer: Writer) => Promise<T>,
    acquire: () => Promise<() => Promise<void>>,
  ): Promise<T> {
    const running = this.ifHeld(id, work);
    if (running !== undefined) return running;
    const release = await acquire();
    try {
      return await this.ifHeld(id, work)!;
    } finally {
      await release();
    }
  }
}

type ToStoreError = (error: unknown, operation: string) => SandboxError;

/** The store, with checked ids, and with errors that say what to do. */
export function withStoreErrors(store: SessionStore, toStoreError: ToStoreError): SessionStore {
  const run = <T>(operation: string, work: () => Promise<T>, id?: string) =>
    reportErrors(toStoreError, operation, work, id);
  return {
    list: () => run('list the sessions', () => store.list()),
    read: (id) => run('read', () => store.read(id), id),
    readCheckpoint: (id, name) => run('read', () => store.readCheckpoint!(id, name), id),
    readWorkspace: (id) => run('read', () => store.readWorkspace(id), id),
    write: (session, revision) =>
      run('write', () => store.write(session, revision), session.record.session_id),
    ...(store.revision && { revision: (id: string) => run('read', () => store.revision!(id), id) }),
    delete: (id) => run('delete', () => store.delete(id), id),
    size: (id) => run('determine the size of', () => store.size(id), id),
    acquire: (id, wait) => run('lock', () => store.acquire(id, wait), id),
    edits: (id) => run('check for edits in', () => store.edits(id), id),
  };
}

async function reportErrors<T>(
  toStoreError: ToStoreError,
  operation: string,
  work: () => Promise<T>,
  id?: string,
): Promise<T> {
  try {
    if (id !== undefined) checkSessionId(id);
    return await work();
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'session_damaged') {
      const advice = 'Read its files with readWorkspace(), then delete the session to start over.';
      const message = `Session "${id}" is damaged: ${error.message} ${advice}`;
      throw new SandboxError('session_damaged', message, { cause: error });
    }
    throw toStoreError(error, id === undefined ? operation : `${operation} session "${id}"`);
  }
}
