/**
 * A session's folder in the hands of its only writer.
 *
 * A write goes: objects and the new files of the workspace, all under names of their own → session.json, by renaming,
 * which is the commit → workspace/ file by file → workspace.json → objects that nothing refers to are removed. Killed
 * before the commit, the folder holds the old state and some files nobody knows; killed after it, session.json names
 * the paths that workspace/ may still lack, and the next writer brings them up to date from the objects.
 *
 *   session.json     the record, and which objects make up state, undo and checkpoints
 *   workspace/       the files of /app, for people
 *   workspace.json   how they looked when they were put there
 *   objects/         contents by digest
 *   staging/         what is being written
 */
import { lstat, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SandboxError } from '../../errors.ts';
import { utf8Length } from '../../fs/file-names.ts';
import type { TreeEdit } from '../../fs/tree-changes.ts';
import { sha256 } from '../format/digest.ts';
import {
  type Changes,
  decodeChanges,
  describeSession,
  encodeChanges,
  encodePretty,
  encodeState,
  MAX_SESSION_FILE_BYTES,
  MAX_TREE_BYTES,
  type SessionManifest,
  type TreeEntry,
} from '../format/manifest.ts';
import { checkSession, statesOf } from '../format/stored-session.ts';
import type { StoredSession } from '../store.ts';
import { compareOutside, difference } from './external-edits.ts';
import { layable } from './host-names.ts';
import { readBaseline, writeBaseline } from './mirror-baseline.ts';
import { MissingObject, Objects, objectName, refTo } from './object-files.ts';
import {
  damaged,
  ensureFolder,
  inParallel,
  isFolder,
  readFileSafely,
  replaceFile,
  stageFile,
  syncFolder,
} from './safe-files.ts';
import { readManifest, readSession, readTree, SESSION_FILE, WORKSPACE_FOLDER } from './session-reader.ts';
import { Mirror } from './workspace-mirror.ts';
import type { Lock } from './writer-lease.ts';

/** What the writer knows of the folder, which nobody else changes, workspace/ excepted. */
interface Known {
  readonly commit: string;
  /** The workspace as the session has it, edits that were told included. */
  readonly tree: ReadonlyMap<string, TreeEntry>;
  /** What of it is in workspace/, and how it looked there. */
  readonly laid: ReadonlyMap<string, string>;
  /** Paths of workspace/ that may not be as the tree says, with the digest of the file there if it is not. */
  readonly dirty: Changes;
}

/** How often somebody who only looks looks again, because a writer was at work meanwhile. */
const PEEKS = 5;

const NO_EDITS: TreeEdit = { removed: [], entries: [] };

export class SessionFolder {
  readonly objects: Objects;
  readonly #staging: string;
  readonly #mirror: Mirror;
  #known: Known | undefined;
  #foldsCase: boolean | undefined;

  constructor(
    readonly path: string,
    readonly id: string,
    readonly maxBytes: number,
    /** Whether to wait until the disk has what is written. */
    readonly how: { readonly lazy: boolean },
  ) {
    this.#staging = join(path, 'staging');
    this.objects = new Objects(join(path, 'objects'), this.#staging, how);
    this.#mirror = new Mirror(join(path, WORKSPACE_FOLDER), how);
  }

  /** The whole session, verified; undefined when there is none. */
  async read(): Promise<StoredSession | undefined> {
    if (!(await isFolder(this.objects.folder))) {
      if ((await readManifest(this.path, this.id)) === undefined) return undefined;
      throw damaged(this.objects.folder, 'is not a folder');
    }
    return readSession(this.path, this.id, this.objects, this.maxBytes);
  }

  /** Commits a session, or throws and leaves the one before. */
  async write(session: StoredSession, lock: Lock): Promise<void> {
    checkSession(session);
    const [current, ...others] = [...statesOf(session)].map(([, state]) => encodeState(state));
    const { workspace: tree } = current!;
    const foldsCase = await this.#prepare();
    const known = await this.#load().catch(orNothing);
    const target = this.#layable(tree, foldsCase);
    const changes = new Map([...difference(known, target), ...(known?.dirty ?? [])]);

    const objects = new Map([current!, ...others].flatMap((state) => [...state.objects]));
    const unsynced = changes.size > 0 ? encodeChanges(changes) : undefined;
    if (unsynced !== undefined) objects.set(objectName('changes', refTo(unsynced)), unsynced);
    const manifest = describeSession(session, unsynced);
    const text = encodePretty(manifest);
    this.#refuseTooLarge(objects, text);

    const staged = new Map<string, string>();
    try {
      const contents = async (path: string) => session.state.workspace.get(path)!.data!;
      await bothOrNeither(this.objects.write(objects), this.#stage(changes.keys(), target, contents, staged));
      if (!(await lock.isHeld())) throw lostLock(this.id);
      this.#known = undefined;
      await replaceFile(this.#staging, join(this.path, SESSION_FILE), text, this.how);
      await syncFolder(this.path, this.how);
    } catch (error) {
      await discard(staged);
      throw error;
    }
    this.#known = { commit: manifest.commit, tree, laid: known?.laid ?? new Map(), dirty: changes };
    // The state is committed; should the folder for people fall behind, the next call says so and tries again.
    await this.#settle(target, staged).catch(() => discard(staged));
    await this.objects.keepOnly(objects).catch(() => {});
  }

  /**
   * What somebody else changed in workspace/ since the last commit, told to whoever only looks: nothing is written, and
   * no lock is needed. While a commit is on its way into the folder, nobody can tell, and nothing is told.
   */
  async peek(): Promise<TreeEdit> {
    for (let attempt = 0; attempt < PEEKS; attempt++) {
      const manifest = await readManifest(this.path, this.id);
      if (manifest === undefined || !this.#mirror.exists()) return NO_EDITS;
      const { commit, state, unsynced } = manifest;
      const baseline = await readBaseline(this.path);
      if (unsynced !== null && baseline?.synced !== commit) return NO_EDITS;
      const entries = await readTree(this.objects, state.workspace).catch(orMissing);
      if (entries === undefined) continue;
      const tree = new Map(entries.map((entry) => [entry.path, entry]));
      const laid = new Map([...(baseline?.looks ?? [])].filter(([path]) => tree.has(path)));
      const foldsCase = await this.#isFolding();
      const { edits } = await compareOutside(this.#mirror, { tree, laid }, foldsCase);
      if ((await readManifest(this.path, this.id))?.commit === commit) return edits;
    }
    return NO_EDITS;
  }

  /** What changed in workspace/ since the last answer, after the folder has what the last commit put there. */
  async edits(): Promise<TreeEdit> {
    let known = await this.#load();
    if (known === undefined) return NO_EDITS;
    const foldsCase = await this.#prepare();
    // Without the folder there is nothing to compare with. That is no wish to delete all files, so they are laid again.
    // What was told since the last commit is in the session's hands, and comes with its next write.
    if (!this.#mirror.exists()) {
      this.#known = undefined;
      const { commit, tree } = (await this.#load())!;
      const dirty = new Map([...this.#layable(tree, foldsCase).keys()].map((path) => [path, null]));
      known = this.#known = { commit, tree, laid: new Map(), dirty };
    }
    if (known.dirty.size > 0) {
      const target = this.#layable(known.tree, foldsCase);
      const staged = new Map<string, string>();
      const contents = (path: string) => this.#object(target.get(path)!);
      try {
        await this.#stage(known.dirty.keys(), target, contents, staged);
        known = await this.#settle(target, staged);
      } finally {
        await discard(staged);
      }
    }
    const { edits, next } = await compareOutside(this.#mirror, known, foldsCase);
    this.#known = { ...known, ...next };
    return edits;
  }

  /** Forgets what is known, because the folder is gone. */
  forget(): void {
    this.#known = undefined;
    this.#foldsCase = undefined;
    this.objects.forget();
  }

  /** Makes the folders, removes what a killed writer left, and tells whether names that differ by case are the same. */
  async #prepare(): Promise<boolean> {
    if (this.#foldsCase !== undefined) return this.#foldsCase;
    if (!(await isFolder(this.path))) {
      await ensureFolder(this.path);
      await syncFolder(dirname(this.path), this.how);
    }
    await ensureFolder(this.#staging);
    for (const name of await readdir(this.#staging)) {
      await rm(join(this.#staging, name), { recursive: true, force: true });
    }
    this.#foldsCase = await this.#isFolding();
    return this.#foldsCase;
  }

  /** Whether the file system finds the staging folder under another name. */
  #isFolding(): Promise<boolean> {
    return lstat(join(this.path, 'STAGING')).then(
      () => true,
      () => false,
    );
  }

  /** What is on the disk, read once; undefined when there is no session. */
  async #load(): Promise<Known | undefined> {
    if (this.#known !== undefined) return this.#known;
    const manifest = await readManifest(this.path, this.id);
    if (manifest === undefined) return undefined;
    try {
      this.#known = await this.#understand(manifest);
    } catch (error) {
      throw error instanceof MissingObject ? damaged(error.message, 'is missing') : error;
    }
    return this.#known;
  }

  async #understand({ commit, state, unsynced }: SessionManifest): Promise<Known> {
    const tree = new Map((await readTree(this.objects, state.workspace)).map((entry) => [entry.path, entry]));
    const baseline = await readBaseline(this.path);
    const dirty = new Map<string, string | null>();
    if (unsynced !== null && baseline?.synced !== commit) {
      const path = join(this.objects.folder, objectName('changes', unsynced));
      if (unsynced.bytes > MAX_TREE_BYTES) throw damaged(path, `is said to have ${unsynced.bytes} bytes`);
      for (const [found, before] of decodeChanges(await this.objects.read('changes', unsynced), path)) {
        if (!(await this.#isEdited(found, before, tree.get(found)))) dirty.set(found, before);
      }
    }
    const laid = new Map<string, string>();
    for (const path of this.#layable(tree, await this.#prepare()).keys()) {
      const look = baseline?.looks.get(path);
      if (look !== undefined) laid.set(path, look);
      // Nobody remembers whether it ever was there; to lay it again is the mistake that loses nothing.
      else if (baseline === undefined && this.#mirror.stat(this.#mirror.path(path)) === undefined)
        dirty.set(path, null);
    }
    return { commit, tree, laid, dirty };
  }

  /** Whether a file is neither what it was before a commit nor what the commit made it, so that a person did it. */
  async #isEdited(path: string, before: string | null, after: TreeEntry | undefined): Promise<boolean> {
    const found = this.#mirror.look(path);
    if (found?.kind !== 'file') return false;
    if (found.bytes > this.maxBytes) return true;
    const bytes = await readFileSafely(this.#mirror.path(path), { maxBytes: this.maxBytes });
    if (bytes === undefined) return false;
    const digest = sha256(bytes);
    return digest !== before && !(after?.kind === 'file' && digest === after.sha256);
  }

  #layable(tree: ReadonlyMap<string, TreeEntry>, foldsCase: boolean): Map<string, TreeEntry> {
    const rootBytes = utf8Length(this.#mirror.root);
    return layable(tree.values(), { platform: process.platform, foldsCase, rootBytes });
  }

  async #object(entry: TreeEntry): Promise<Uint8Array> {
    if (entry.kind !== 'file') throw new SandboxError('internal', `${entry.path} has no contents.`);
    try {
      return await this.objects.read('data', entry);
    } catch (error) {
      throw error instanceof MissingObject ? damaged(error.message, 'is missing') : error;
    }
  }

  /** Writes the contents of files to be laid, so that to lay them takes no more than a renaming. */
  async #stage(
    paths: Iterable<string>,
    target: ReadonlyMap<string, TreeEntry>,
    contents: (path: string) => Promise<Uint8Array>,
    staged: Map<string, string>,
  ): Promise<void> {
    await inParallel(paths, async (path) => {
      const entry = target.get(path);
      if (entry?.kind !== 'file') return;
      staged.set(
        path,
        await stageFile(this.#staging, await contents(path), { ...this.how, mtimeMs: entry.mtime_ms }),
      );
    });
  }

  /** Brings workspace/ up to the commit; throws when some path could not be, and keeps in mind which. */
  async #settle(target: ReadonlyMap<string, TreeEntry>, staged: Map<string, string>): Promise<Known> {
    const known = this.#known!;
    const failures = new Map<string, unknown>();
    this.#mirror.ensureRoot();
    if (known.dirty.size === 0) return known;
    const laidNow = await this.#mirror.apply(known.dirty.keys(), target, staged, (path, error) =>
      failures.set(path, error),
    );
    const laid = new Map(known.laid);
    for (const path of known.dirty.keys()) laid.delete(path);
    for (const [path, look] of laidNow) {
      laid.set(path, look);
      staged.delete(path);
    }
    this.#known = { ...known, laid, dirty: new Map([...known.dirty].filter(([path]) => failures.has(path))) };
    await discard(staged);
    for (const error of failures.values()) throw error;
    await writeBaseline(this.path, this.#staging, { synced: known.commit, looks: laid });
    return this.#known;
  }

  #refuseTooLarge(objects: ReadonlyMap<string, Uint8Array>, text: Uint8Array): void {
    let total = 0;
    let largest = 0;
    for (const [name, { length }] of objects) {
      total += length;
      if (name.endsWith('.json')) largest = Math.max(largest, length);
    }
    if (total <= this.maxBytes && largest <= MAX_TREE_BYTES && text.length <= MAX_SESSION_FILE_BYTES) return;
    const what = `Session "${this.id}" would take ${total} bytes, its list of files ${largest}`;
    const limit = `The store keeps ${this.maxBytes} and ${MAX_TREE_BYTES}`;
    throw new SandboxError('session_limit', `${what}. ${limit}: delete files or checkpoints.`);
  }
}

/** An object that a writer has taken away meanwhile. */
function orMissing(error: unknown): undefined {
  if (error instanceof MissingObject) return undefined;
  throw error;
}

/** A damaged session may be written anew. */
function orNothing(error: unknown): undefined {
  if (error instanceof SandboxError && error.code === 'session_damaged') return undefined;
  throw error;
}

/** Waits for both even if one fails, so that nothing is still being written when the failure is dealt with. */
async function bothOrNeither(...work: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

function lostLock(id: string): SandboxError {
  const what = `Another process took over session "${id}" because this one did not answer for a while.`;
  return new SandboxError('session_busy', `${what} Open the session again.`);
}

/** What cannot be removed now is removed by the next writer. */
async function discard(staged: Map<string, string>): Promise<void> {
  for (const path of staged.values()) await rm(path, { force: true }).catch(() => {});
  staged.clear();
}
