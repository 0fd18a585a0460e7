/**
 * A store in a folder of the host that several processes can share. A process that is killed at any moment leaves every
 * session in the state of a completed write. Sessions are validated when they are read, because the files may have been
 * changed by other programs.
 *
 *   <dir>/<session id>/   see session-folder.ts
 *   <dir>/.locks/         see writer-lease.ts
 *   <dir>/.trash/         sessions that are being deleted
 */
import { randomUUID } from 'node:crypto';
import { readdir, realpath, rename } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { forEachConcurrently } from '../../concurrency/for-each-concurrently.ts';
import { SandboxError } from '../../errors.ts';
import type { TreeEdit } from '../../fs/flat-entries.ts';
import { FileTree } from '../../fs/immutable-file-tree.ts';
import { foldSessionId, isSessionId, rejectCaseConflict } from '../session-id.ts';
import { SessionWriters, withStoreErrors } from '../session-writers.ts';
import {
  byLastUse,
  type RecoveredWorkspace,
  type SessionRecord,
  type SessionStore,
  type StoredSession,
} from '../store.ts';
import { readDiskManifest } from './disk-manifest.ts';
import { isNotFound, toStoreError } from './file-errors.ts';
import { folderSize, removeFolder } from './folder-size.ts';
import { type Durability, ensureFolder, ensureFolderPath, isFolder } from './safe-files.ts';
import { SessionFolder } from './session-folder.ts';
import { acquireLease, type WriterLease } from './writer-lease.ts';

const DEFAULT_MAX_SESSION_BYTES = 4 * 1024 * 1024 * 1024;
const LOCKS = '.locks';
const TRASH = '.trash';

/** Options of `diskStore`. */
export interface DiskStoreOptions {
  /**
   * Maximum size of one session in bytes, including its undo state and checkpoints. A larger session is neither written nor
   * read. Default: 4 GiB.
   */
  readonly maxSessionBytes?: number;
  /**
   * What a completed write survives. `strict`: the end of the process and a power failure, because every write is flushed to
   * the disk. `relaxed`: the end of the process; a power failure can lose the latest writes. `relaxed` is faster.
   * Default: `strict`.
   */
  readonly durability?: 'strict' | 'relaxed';
}

/**
 * Creates a store in a folder. The folder should be on a local disk. The first write creates the folder if it does not
 * exist.
 */
export function diskStore(dir: string, options: DiskStoreOptions = {}): SessionStore {
  const { maxSessionBytes = DEFAULT_MAX_SESSION_BYTES, durability = 'strict' } = options;
  return withStoreErrors(new DiskStore(resolve(dir), maxSessionBytes, durability), toStoreError);
}

/** A session whose writer lease this store holds. */
interface SessionWriter {
  readonly lease: WriterLease;
  readonly folder: SessionFolder;
}

class DiskStore implements SessionStore {
  readonly #writers = new SessionWriters<SessionWriter>();
  #root: Promise<string> | undefined;
  #hasCleanedUp = false;

  constructor(
    readonly dir: string,
    readonly maxSessionBytes: number,
    readonly durability: Durability,
  ) {}

  async list() {
    const records: SessionRecord[] = [];
    const damaged: string[] = [];
    await forEachConcurrently(await this.#sessionIds(), async (id) => {
      try {
        const manifest = await readDiskManifest(join(this.dir, id), id);
        if (manifest !== undefined) records.push(manifest.record);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        damaged.push(id);
      }
    });
    return { records: records.sort(byLastUse), damaged: damaged.sort() };
  }

  read(id: string) {
    return this.#writers.ifHeld(id, ({ folder }) => folder.read()) ?? this.#folder(id).read();
  }

  readCheckpoint(id: string, name: string) {
    const reading = this.#writers.ifHeld(id, ({ folder }) => folder.readCheckpoint(name));
    return reading ?? this.#folder(id).readCheckpoint(name);
  }

  async readWorkspace(id: string): Promise<RecoveredWorkspace | undefined> {
    try {
      const session = await this.read(id);
      if (session === undefined) return undefined;
      const edits = await this.#folder(id).peekEdits();
      return { workspace: FileTree.of(session.state.workspace).apply(edits), damage: undefined };
    } catch (error) {
      if (!(error instanceof SandboxError) || error.code !== 'session_damaged') throw error;
      return await this.#folder(id).recoverWorkspace(error.message);
    }
  }

  write(session: StoredSession): Promise<void> {
    return this.#asWriter(session.record.session_id, ({ folder, lease }) => folder.write(session, lease));
  }

  edits(id: string): Promise<TreeEdit> {
    return this.#asWriter(id, ({ folder }) => folder.edits());
  }

  size(id: string): Promise<number> {
    return folderSize(join(this.dir, id));
  }

  async delete(id: string): Promise<number> {
    if (!(await isFolder(join(this.dir, id)))) return 0;
    const freed = await this.#asWriter(
      id,
      ({ folder }) => this.#remove(folder),
      () => this.#lock(id),
    );
    if (!this.#hasCleanedUp) await this.#cleanUp();
    return freed;
  }

  async acquire(id: string): Promise<() => Promise<void>> {
    const release = await this.#lock(id);
    try {
      rejectCaseConflict(id, await this.#sessionIds());
    } catch (error) {
      await release();
      throw error;
    }
    return release;
  }

  /** Acquires a session even if its id conflicts with that of another one. A session with a conflict can only be deleted. */
  async #lock(id: string): Promise<() => Promise<void>> {
    const root = await this.#createRoot();
    const lease = await acquireLease(join(root, LOCKS), foldSessionId(id), id);
    const folder = this.#folder(id);
    return this.#writers.add(id, { lease, folder }, () => {
      folder.close();
      return lease.release();
    });
  }

  /** Runs `work` as the writer of a session. Acquires the session for this purpose unless the store already holds it. */
  #asWriter<T>(
    id: string,
    work: (writer: SessionWriter) => Promise<T>,
    acquire = () => this.acquire(id),
  ): Promise<T> {
    return this.#writers.run(id, work, acquire);
  }

  #folder(id: string): SessionFolder {
    return new SessionFolder(join(this.dir, id), id, this.maxSessionBytes, this.durability);
  }

  #createRoot(): Promise<string> {
    this.#root ??= (async () => {
      await ensureFolderPath(this.dir);
      return realpath(this.dir);
    })();
    // A failure is not cached, because the next attempt may succeed.
    this.#root.catch(() => {
      this.#root = undefined;
    });
    return this.#root;
  }

  /** Returns the names of all folders that can be sessions. */
  async #sessionIds(): Promise<string[]> {
    try {
      const entries = await readdir(this.dir, { withFileTypes: true });
      return entries
        .filter((entry) => entry.isDirectory() && isSessionId(entry.name))
        .map(({ name }) => name);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }

  /** Moves a folder to the trash with one rename, so that no reader finds part of a session, and then deletes it. */
  async #remove(folder: SessionFolder): Promise<number> {
    const trash = join(this.dir, TRASH);
    await ensureFolder(trash);
    // An unreadable file must not keep the session from being deleted.
    const freed = await folderSize(folder.path).catch(() => 0);
    const trashed = join(trash, randomUUID());
    await rename(folder.path, trashed);
    folder.clearCache();
    // The session is already deleted. The next deletion by a new process removes what remains.
    await removeFolder(trashed).catch(() => {});
    return freed;
  }

  /** Removes what killed processes left: partly deleted sessions, and folders of sessions without a commit. */
  async #cleanUp(): Promise<void> {
    this.#hasCleanedUp = true;
    const trash = join(this.dir, TRASH);
    for (const name of await readdir(trash)) await removeFolder(join(trash, name));
    for (const id of await this.#sessionIds()) {
      if ((await this.#isCommitted(id)) || this.#writers.has(id)) continue;
      await this.#asWriter(id, async ({ folder }) => {
        if (!(await this.#isCommitted(id))) await this.#remove(folder);
      }).catch((error) => {
        if (!(error instanceof SandboxError && error.code === 'session_busy')) throw error;
      });
    }
  }

  /** Whether a folder contains a session, damaged or not. */
  async #isCommitted(id: string): Promise<boolean> {
    try {
      return (await readDiskManifest(join(this.dir, id), id)) !== undefined;
    } catch (error) {
      if (error instanceof SandboxError) return true;
      throw error;
    }
  }
}
