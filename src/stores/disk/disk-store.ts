/**
 * Sessions as folders that a person can look at, safe against being killed at any moment, against other processes that
 * use the same store, and against whatever somebody put into the folder.
 *
 *   <dir>/<session id>/   see disk/folder.ts
 *   <dir>/.locks/         see disk/lock.ts
 *   <dir>/.trash/         what is being deleted
 */
import { randomUUID } from 'node:crypto';
import { readdir, realpath, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { SandboxError } from '../../errors.ts';
import { applyChanges } from '../../fs/tree-changes.ts';
import { byLastUse } from '../format/stored-session.ts';
import { checkSessionId, foldSessionId, isSessionId, rejectCaseConflict } from '../session-id.ts';
import type { SessionRecord, SessionStore } from '../store.ts';
import { ensureFolder, ensureFolders, inParallel, isAbsent, isFolder, storeFailure } from './safe-files.ts';
import { SessionFolder } from './session-folder.ts';
import { readManifest, salvage, sizeOf } from './session-reader.ts';
import { type Lock, takeLock } from './writer-lease.ts';

/** Memory and files of all states of a session together; more is neither written nor read. */
const MAX_SESSION_BYTES = 4 * 1024 * 1024 * 1024;
const LOCKS = '.locks';
const TRASH = '.trash';

export interface DiskStoreOptions {
  /** Bytes that one session may take, its undo and checkpoints included; 4 GiB unless said otherwise. */
  readonly max_session_bytes?: number;
  /**
   * What a completed write survives. A killed process never loses one; that a loss of power does not either costs some
   * waiting for the disk at every write, and is the default.
   */
  readonly survives?: 'kill' | 'power_loss';
}

/** A store in a folder of the host, which is made when it is first written to. It should lie on a local disk. */
export function diskStore(dir: string, options: DiskStoreOptions = {}): SessionStore {
  const { max_session_bytes = MAX_SESSION_BYTES, survives = 'power_loss' } = options;
  const store = new DiskStore(resolve(dir), max_session_bytes, { lazy: survives === 'kill' });
  return {
    list: () => guard('list the sessions', () => store.list()),
    read: (id) => guard('read', () => store.read(id), id),
    readWorkspace: (id) => guard('read', () => store.readWorkspace(id), id),
    write: (session) =>
      guard(
        'write',
        () => store.asWriter(session.record.session_id, ({ folder, lock }) => folder.write(session, lock)),
        session.record.session_id,
      ),
    delete: (id) => guard('delete', () => store.delete(id), id),
    size: (id) => guard('measure', () => store.size(id), id),
    acquire: (id) => guard('lock', () => store.acquire(id), id),
    edits: (id) => guard('compare', () => store.asWriter(id, ({ folder }) => folder.edits()), id),
  };
}

/** The one place where failures of the file system become errors that say what to do. */
async function guard<T>(doing: string, work: () => Promise<T>, id?: string): Promise<T> {
  try {
    if (id !== undefined) checkSessionId(id);
    return await work();
  } catch (error) {
    if (error instanceof SandboxError && error.code === 'session_damaged') {
      const advice = 'Its files can still be read with readWorkspace(); delete the session to start anew.';
      const message = `Session "${id}" is damaged: ${error.message} ${advice}`;
      throw new SandboxError('session_damaged', message, { cause: error });
    }
    throw storeFailure(error, id === undefined ? doing : `${doing} session "${id}"`);
  }
}

/** A session that this store is the writer of. What is asked of it is done one after the other. */
class Tenure {
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly lock: Lock,
    readonly folder: SessionFolder,
  ) {}

  run<T>(work: (tenure: Tenure) => Promise<T>): Promise<T> {
    const done = this.#last.then(() => work(this));
    this.#last = done.catch(() => {});
    return done;
  }
}

class DiskStore {
  readonly #held = new Map<string, Tenure>();
  #root: Promise<string> | undefined;
  #isTidy = false;

  constructor(
    readonly dir: string,
    readonly maxBytes: number,
    readonly how: { readonly lazy: boolean },
  ) {}

  async list() {
    const records: SessionRecord[] = [];
    const damaged: string[] = [];
    await inParallel(await this.#sessions(), async (id) => {
      try {
        const manifest = await readManifest(join(this.dir, id), id);
        if (manifest !== undefined) records.push(manifest.record);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        damaged.push(id);
      }
    });
    return { records: records.sort(byLastUse), damaged: damaged.sort() };
  }

  read(id: string) {
    const tenure = this.#held.get(id);
    return tenure === undefined ? this.#folder(id).read() : tenure.run(({ folder }) => folder.read());
  }

  async readWorkspace(id: string) {
    try {
      const session = await this.read(id);
      if (session === undefined) return undefined;
      const workspace = new Map(session.state.workspace);
      applyChanges(workspace, await this.#folder(id).peek());
      return { workspace, damage: undefined };
    } catch (error) {
      if (!(error instanceof SandboxError) || error.code !== 'session_damaged') throw error;
      const { path, objects } = this.#folder(id);
      return await salvage(path, id, objects, this.maxBytes, error.message);
    }
  }

  async size(id: string): Promise<number> {
    return sizeOf(join(this.dir, id));
  }

  async delete(id: string): Promise<number> {
    if (!(await isFolder(join(this.dir, id)))) return 0;
    const freed = await this.asWriter(id, ({ folder }) => this.#discard(folder));
    if (!this.#isTidy) await this.#tidy();
    return freed;
  }

  async acquire(id: string): Promise<() => Promise<void>> {
    const root = await this.#ready();
    const lock = await takeLock(join(root, LOCKS), foldSessionId(id), id);
    try {
      rejectCaseConflict(id, await this.#sessions());
    } catch (error) {
      await lock.release();
      throw error;
    }
    const tenure = new Tenure(lock, this.#folder(id));
    this.#held.set(id, tenure);
    let released: Promise<void> | undefined;
    return () => {
      released ??= (async () => {
        this.#held.delete(id);
        await tenure.run(() => lock.release());
      })();
      return released;
    };
  }

  /** Runs `work` as the writer of a session, which this store may be already. */
  async asWriter<T>(id: string, work: (tenure: Tenure) => Promise<T>): Promise<T> {
    const held = this.#held.get(id);
    if (held !== undefined) return held.run(work);
    const release = await this.acquire(id);
    try {
      return await this.#held.get(id)!.run(work);
    } finally {
      await release();
    }
  }

  #folder(id: string): SessionFolder {
    return new SessionFolder(join(this.dir, id), id, this.maxBytes, this.how);
  }

  #ready(): Promise<string> {
    this.#root ??= (async () => {
      await ensureFolders(this.dir);
      return realpath(this.dir);
    })();
    // A folder that could not be made this time may be possible next time.
    this.#root.catch(() => {
      this.#root = undefined;
    });
    return this.#root;
  }

  /** Names of folders that can be sessions. */
  async #sessions(): Promise<string[]> {
    try {
      const entries = await readdir(this.dir, { withFileTypes: true });
      return entries
        .filter((entry) => entry.isDirectory() && isSessionId(entry.name))
        .map(({ name }) => name);
    } catch (error) {
      if (isAbsent(error)) return [];
      throw error;
    }
  }

  /** Moves a folder out of sight in one step, so that no half of a session is ever found, and removes it then. */
  async #discard(folder: SessionFolder): Promise<number> {
    const trash = join(this.dir, TRASH);
    await ensureFolder(trash);
    const freed = await sizeOf(folder.path);
    const doomed = join(trash, randomUUID());
    await rename(folder.path, doomed);
    folder.forget();
    await rm(doomed, { recursive: true, force: true });
    return freed;
  }

  /** Removes what killed processes left: half-deleted sessions, and folders of sessions that never came to be. */
  async #tidy(): Promise<void> {
    this.#isTidy = true;
    const trash = join(this.dir, TRASH);
    for (const name of await readdir(trash)) await rm(join(trash, name), { recursive: true, force: true });
    for (const id of await this.#sessions()) {
      if ((await this.#isBorn(id)) || this.#held.has(id)) continue;
      await this.asWriter(id, async ({ folder }) => {
        if (!(await this.#isBorn(id))) await this.#discard(folder);
      }).catch((error) => {
        if (!(error instanceof SandboxError && error.code === 'session_busy')) throw error;
      });
    }
  }

  async #isBorn(id: string): Promise<boolean> {
    try {
      return (await readManifest(join(this.dir, id), id)) !== undefined;
    } catch (error) {
      if (error instanceof SandboxError) return true;
      throw error;
    }
  }
}
