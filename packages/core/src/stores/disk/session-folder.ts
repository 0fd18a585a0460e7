/**
 * The folder of one session. Any process may read it; only the holder of the writer lease writes to it.
 *
 * Order of a write: objects and staged workspace files, all under unique names → session.json by rename, which is the
 * commit → workspace/ file by file → workspace.json → removal of unreferenced objects. If the process is killed before
 * the commit, the folder holds the previous state and some unreferenced files. If it is killed after the commit,
 * session.json lists the paths of workspace/ that may be outdated, and the next writer updates them from the objects.
 *
 *   session.json     see disk-manifest.ts
 *   workspace/       the files of /app, see workspace-mirror.ts
 *   workspace.json   see mirror-index.ts
 *   objects/         see object-folder.ts
 *   staging/         files that are being written
 */
import { lstat, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { forEachConcurrently } from '../../concurrency/for-each-concurrently.ts';
import { finishInSlices } from '../../concurrency/slices.ts';
import { SandboxError } from '../../errors.ts';
import { utf8Length } from '../../fs/file-names.ts';
import type { Entry, TreeEdit } from '../../fs/flat-entries.ts';
import { FileTree } from '../../fs/immutable-file-tree.ts';
import { formatBytes } from '../../quantities.ts';
import { digestInSlices } from '../format/content-digest.ts';
import { asDamaged, MissingObjectError, objectName, refTo } from '../format/object-ref.ts';
import { encodeStates, MAX_MANIFEST_BYTES, readCheckpoint, sessionFrom } from '../format/session-codec.ts';
import { checkSession, statesOf } from '../format/session-validation.ts';
import { encodePrettyJson } from '../format/stored-json.ts';
import { MAX_TREE_BYTES, readTree, storedEntry, toTreeEntry } from '../format/stored-tree.ts';
import type { RecoveredWorkspace, SessionState, StoredSession } from '../store.ts';
import {
  type DiskManifest,
  encodeChanges,
  MANIFEST_FILE,
  type MirrorChanges,
  newDiskManifest,
  readChanges,
  readDiskManifest,
  WORKSPACE_FOLDER,
} from './disk-manifest.ts';
import {
  digestOf,
  type ExternalEdits,
  findEditsAmong,
  findExternalEdits,
  isMirrored,
  mirroredDigest,
  outdatedPaths,
} from './external-edits.ts';
import { removeFolder } from './folder-size.ts';
import { FolderWatch } from './folder-watch.ts';
import { type HostPathRules, isMirrorable, mirrorableEntries } from './host-path-rules.ts';
import { MirrorIndexFile } from './mirror-index.ts';
import { ObjectFolder } from './object-folder.ts';
import { type ReferencedGroup, ReferencedObjects } from './referenced-objects.ts';
import { RetainedCheckpoints } from './retained-checkpoints.ts';
import {
  type Durability,
  ensureFolder,
  isFolder,
  readFileSafely,
  replaceFile,
  stageFile,
  syncFolder,
} from './safe-files.ts';
import { recoverWorkspace, withManifest } from './session-folder-reader.ts';
import { WorkspaceMirror } from './workspace-mirror.ts';
import type { WriterLease } from './writer-lease.ts';

/** The writer's view of the folder. It stays valid because no one else changes the folder, except for workspace/. */
interface FolderState {
  readonly commit: string;
  /** The workspace of the session, including edits that have been reported to it. */
  readonly tree: FileTree;
  /** Whether the tree was read from the store, so that it shares nothing with that of the session. */
  readonly isStored: boolean;
  /** The paths of the tree that are in workspace/, with their fingerprints. */
  readonly mirrored: Map<string, string>;
  /** The paths of workspace/ that may differ from the tree. */
  readonly outdated: MirrorChanges;
}

/** Attempts to read external edits without the lease while a writer is active. */
const MAX_PEEK_ATTEMPTS = 5;

/** Paths that a call compares although nothing was reported. */
const PATHS_PER_CALL = 32;

const NO_EDITS: TreeEdit = { removed: [], entries: [] };

export class SessionFolder {
  readonly #objects: ObjectFolder;
  readonly #staging: string;
  readonly #mirror: WorkspaceMirror;
  readonly #index: MirrorIndexFile;
  readonly #checkpoints: RetainedCheckpoints;
  #references = new ReferencedObjects();
  #state: FolderState | undefined;
  /** Paths whose fingerprints have changed since workspace.json was written. */
  readonly #unindexed = new Set<string>();
  readonly #watch: FolderWatch;
  /** Files that were edited a moment ago, and folders among them. They are compared again, because they can change and keep their times. */
  readonly #unsettled = new Set<string>();
  /** The paths that are compared next, whether they are reported or not. */
  #rest: Iterator<string> | undefined;
  #foldsCase: boolean | undefined;

  constructor(
    readonly path: string,
    readonly id: string,
    readonly maxBytes: number,
    readonly durability: Durability,
  ) {
    this.#staging = join(path, 'staging');
    this.#objects = new ObjectFolder(join(path, 'objects'), this.#staging, durability);
    this.#mirror = new WorkspaceMirror(join(path, WORKSPACE_FOLDER), durability);
    this.#watch = new FolderWatch(this.#mirror.root);
    this.#index = new MirrorIndexFile(path, this.#staging);
    this.#checkpoints = new RetainedCheckpoints(path, id, this.#objects);
  }

  /** Returns the session without the states of its checkpoints, validated; undefined if it does not exist. */
  read(): Promise<StoredSession | undefined> {
    return withManifest(this.path, this.id, this.#objects, (manifest) =>
      sessionFrom(manifest, this.#objects, this.maxBytes),
    );
  }

  /** Returns the state of a checkpoint, validated; undefined if it does not exist. */
  readCheckpoint(name: string): Promise<SessionState | undefined> {
    return withManifest(this.path, this.id, this.#objects, (manifest) =>
      readCheckpoint(manifest, name, this.#objects, this.maxBytes),
    );
  }

  /** Returns the files of a damaged session that are still readable; `damage` is the reason. */
  recoverWorkspace(damage: string): Promise<RecoveredWorkspace> {
    return recoverWorkspace(this.path, this.id, this.#objects, this.maxBytes, damage);
  }

  /** Commits a session. If it throws, the previous session is still in place. */
  async write(session: StoredSession, lease: WriterLease): Promise<void> {
    checkSession(session);
    const states = await encodeStates(statesOf(session));
    const { workspace: tree } = states[0]!;
    const foldsCase = await this.#prepare();
    const before = await this.#load().catch(undefinedIfDamaged);
    const changes = await this.#changesTo(tree, before, foldsCase);
    const target = await this.#entriesToMirror(tree, changes.keys(), foldsCase);

    const changesBytes = changes.size > 0 ? await encodeChanges(changes) : undefined;
    const stored = await this.#checkpoints.find(session);
    const manifest = newDiskManifest(session, stored.states, changesBytes);
    const manifestBytes = encodePrettyJson(manifest);
    const groups = new Set<ReferencedGroup>(stored.groups);
    for (const state of states) for (const group of state.groups) groups.add(group);
    if (changesBytes !== undefined)
      groups.add(new Map([[objectName('changes', refTo(changesBytes)), changesBytes]]));
    const references = this.#references;
    const { before: referenced, added, dropped } = references.replace(groups);

    const staged = new Map<string, string>();
    try {
      this.#checkSize(added, manifestBytes);
      await allSettled(this.#objects.write(added), this.#stage(target, staged));
      if (!(await lease.isHeld())) throw leaseLost(this.id);
      this.#state = undefined;
      await replaceFile(this.#staging, join(this.path, MANIFEST_FILE), manifestBytes, this.durability);
      await syncFolder(this.path, this.durability);
    } catch (error) {
      references.replace(referenced);
      this.#objects.keepUnreferenced();
      await discard(staged);
      throw error;
    }
    const mirrored = before?.mirrored ?? new Map();
    this.#state = { commit: manifest.commit, tree, isStored: false, mirrored, outdated: changes };
    // The session is committed. If updating workspace/ fails, the next call to edits() retries and reports the error.
    await this.#updateMirror(target, staged).catch(() => discard(staged));
    // Without a complete list, an object that a checkpoint needs could be removed.
    if (stored.isComplete) await this.#objects.removeUnreferenced(references, dropped).catch(() => {});
    else this.#objects.keepUnreferenced();
  }

  /** The paths of workspace/ that differ from a tree, with the digests of the files that are there now. */
  async #changesTo(
    tree: FileTree,
    before: FolderState | undefined,
    foldsCase: boolean,
  ): Promise<Map<string, string | null>> {
    const changes = new Map<string, string | null>();
    if (before === undefined || before.isStored || foldsCase) {
      const target = await this.#mirrorable(tree, foldsCase);
      await finishInSlices(outdatedPaths(before, target, changes));
    } else if (tree !== before.tree) {
      const { removed, entries } = before.tree.difference(tree);
      const rules = this.#pathRules(foldsCase);
      const isOutdated = (entry: Entry) =>
        isMirrorable(entry, rules) ? !isMirrored(before, entry) : before.mirrored.has(entry.path);
      const paths = removed.filter((path) => before.mirrored.has(path));
      for (const entry of entries) if (isOutdated(entry)) paths.push(entry.path);
      for (const path of paths.sort()) changes.set(path, mirroredDigest(before, path));
    }
    for (const [path, digest] of before?.outdated ?? []) changes.set(path, digest);
    return changes;
  }

  /**
   * Returns external edits since the last commit, for a reader without the lease. Writes nothing. Reports no edits while
   * a writer is updating workspace/, because its changes cannot be told apart from external edits.
   */
  async peekEdits(): Promise<TreeEdit> {
    for (let attempt = 0; attempt < MAX_PEEK_ATTEMPTS; attempt++) {
      const manifest = await readDiskManifest(this.path, this.id);
      if (manifest === undefined || !this.#mirror.exists()) return NO_EDITS;
      const { commit, state, unsynced } = manifest;
      const index = await this.#index.read();
      if (unsynced !== null && index?.syncedCommit !== commit) return NO_EDITS;
      const stored = await readTree(this.#objects, state.workspace).catch(undefinedIfMissing);
      if (stored === undefined) continue;
      const tree = FileTree.from(stored.entries.map(storedEntry));
      const mirrored = new Map([...(index?.fingerprints ?? [])].filter(([path]) => tree.has(path)));
      const foldsCase = await this.#detectCaseFolding();
      const { edits } = await findExternalEdits(this.#mirror, { tree, mirrored }, foldsCase);
      if ((await readDiskManifest(this.path, this.id))?.commit === commit) return edits;
    }
    return NO_EDITS;
  }

  /** Completes an interrupted update of workspace/, then returns the external edits since the last call. */
  async edits(): Promise<TreeEdit> {
    let state = await this.#load();
    if (state === undefined) return NO_EDITS;
    const foldsCase = await this.#prepare();
    // A missing workspace/ does not mean that the user deleted all files, so the folder is created again from the last
    // commit. Edits reported since then are part of the session and return with its next write.
    if (!this.#mirror.exists()) {
      this.#state = undefined;
      const committed = await this.#load();
      if (committed === undefined) {
        // The whole session was removed. Its next write creates it again, with all objects.
        this.clearCache();
        return NO_EDITS;
      }
      const { commit, tree } = committed;
      const outdated = new Map(
        [...(await this.#mirrorable(tree, foldsCase)).keys()].map((path) => [path, null]),
      );
      state = this.#state = { commit, tree, isStored: true, mirrored: new Map(), outdated };
    }
    if (state.outdated.size > 0) {
      const target = await this.#entriesToMirror(state.tree, state.outdated.keys(), foldsCase);
      const staged = new Map<string, string>();
      try {
        await this.#stage(target, staged);
        state = await this.#updateMirror(target, staged);
      } finally {
        await discard(staged);
      }
    }
    const { edits, fingerprints, gone } = await this.#findEdits(state, foldsCase);
    const { mirrored } = state;
    for (const path of gone) mirrored.delete(path);
    for (const [path, fingerprint] of fingerprints) {
      mirrored.set(path, fingerprint);
      if (fingerprint === '') this.#unsettled.add(path);
    }
    for (const path of [...gone, ...fingerprints.keys()]) this.#unindexed.add(path);
    this.#state = { ...state, tree: state.tree.apply(edits) };
    return edits;
  }

  /** Compares the paths that the kernel reports, or all if it cannot report them. */
  async #findEdits(state: FolderState, foldsCase: boolean): Promise<ExternalEdits> {
    const { tree, mirrored } = state;
    const reported = await this.#watch.changes();
    if (reported?.every((path) => tree.get(path)?.kind !== 'dir' || this.#watch.isWatching(path))) {
      for (const path of this.#unsettled) if (mirrored.get(path) !== '') this.#unsettled.delete(path);
      const paths = [...reported, ...this.#unsettled, ...this.#nextPaths(mirrored)];
      const found = await findEditsAmong(this.#mirror, state, paths);
      if (found !== undefined) return found;
    }
    const folders = new Set(['']);
    for (const path of mirrored.keys()) if (tree.get(path)?.kind === 'dir') folders.add(path);
    if (!foldsCase) await this.#watch.start(folders, mirrored.size);
    const found = await findExternalEdits(this.#mirror, state, foldsCase);
    if (found.edits.entries.some(({ kind }) => kind === 'dir')) this.#watch.suspend();
    return found;
  }

  /** A few other paths at a time, so that changes that the kernel does not report are found in the end. */
  *#nextPaths(mirrored: ReadonlyMap<string, string>): Generator<string> {
    for (let i = 0; i < PATHS_PER_CALL; i++) {
      let next = this.#rest?.next();
      if (next === undefined || next.done) {
        this.#rest = mirrored.keys();
        next = this.#rest.next();
      }
      if (!next.done) yield next.value;
    }
  }

  /** Ends what runs in the background. */
  close(): void {
    this.#watch.stop();
  }

  /** Clears all cached knowledge after the folder was deleted. */
  clearCache(): void {
    this.#state = undefined;
    this.#foldsCase = undefined;
    this.#references = new ReferencedObjects();
    this.#objects.clearCache();
  }

  /** Creates the folders, removes files of a killed writer, and returns whether the file system folds case. */
  async #prepare(): Promise<boolean> {
    if (this.#foldsCase !== undefined) return this.#foldsCase;
    if (!(await isFolder(this.path))) {
      await ensureFolder(this.path);
      await syncFolder(dirname(this.path), this.durability);
    }
    await ensureFolder(this.#staging);
    for (const name of await readdir(this.#staging)) {
      await removeFolder(join(this.#staging, name));
    }
    this.#foldsCase = await this.#detectCaseFolding();
    return this.#foldsCase;
  }

  /** Checks whether the file system finds staging/ under its upper-case name. */
  #detectCaseFolding(): Promise<boolean> {
    return lstat(join(this.path, 'STAGING')).then(
      () => true,
      () => false,
    );
  }

  /** Reads the state of the folder once; undefined if the session does not exist. */
  async #load(): Promise<FolderState | undefined> {
    if (this.#state !== undefined) return this.#state;
    const manifest = await readDiskManifest(this.path, this.id);
    if (manifest === undefined) return undefined;
    this.#state = await this.#inspect(manifest).catch(asDamaged);
    return this.#state;
  }

  async #inspect({ commit, state, unsynced }: DiskManifest): Promise<FolderState> {
    const { entries } = await readTree(this.#objects, state.workspace);
    const tree = FileTree.from(entries.map(storedEntry));
    const index = await this.#index.read();
    const outdated = new Map<string, string | null>();
    if (unsynced !== null && index?.syncedCommit !== commit) {
      for (const [path, before] of await readChanges(this.#objects, unsynced)) {
        if (!(await this.#isEdited(path, before, tree.get(path)))) outdated.set(path, before);
      }
    }
    const mirrored = new Map<string, string>();
    for (const path of (await this.#mirrorable(tree, await this.#prepare())).keys()) {
      const fingerprint = index?.fingerprints.get(path);
      if (fingerprint !== undefined) mirrored.set(path, fingerprint);
      // Without an index it is unknown whether the file was mirrored or deleted; writing it again loses nothing.
      else if (index === undefined && !this.#mirror.has(path)) outdated.set(path, null);
    }
    for (const path of index?.fingerprints.keys() ?? []) if (!mirrored.has(path)) this.#unindexed.add(path);
    return { commit, tree, isStored: true, mirrored, outdated };
  }

  /**
   * Whether a file has neither its contents from before a commit nor those from after it, which means that a user
   * edited it.
   */
  async #isEdited(path: string, before: string | null, after: Entry | undefined): Promise<boolean> {
    const found = this.#mirror.find(path);
    if (found?.kind !== 'file') return false;
    if (found.bytes > this.maxBytes) return true;
    const bytes = await readFileSafely(this.#mirror.hostPath(path), { maxBytes: this.maxBytes });
    if (bytes === undefined) return false;
    const digest = await digestInSlices(bytes);
    return digest !== before && !(after?.kind === 'file' && digest === digestOf(after));
  }

  #pathRules(foldsCase: boolean): HostPathRules {
    return { platform: process.platform, foldsCase, rootBytes: utf8Length(this.#mirror.root) };
  }

  #mirrorable(tree: FileTree, foldsCase: boolean): Promise<Map<string, Entry>> {
    return finishInSlices(mirrorableEntries(tree.values(), this.#pathRules(foldsCase)));
  }

  /** The entries that workspace/ should have at some paths. */
  async #entriesToMirror(
    tree: FileTree,
    paths: Iterable<string>,
    foldsCase: boolean,
  ): Promise<Map<string, Entry>> {
    const all = foldsCase ? await this.#mirrorable(tree, foldsCase) : undefined;
    const rules = this.#pathRules(foldsCase);
    const found = new Map<string, Entry>();
    for (const path of paths) {
      const entry = tree.get(path);
      if (entry !== undefined && (all?.has(path) ?? isMirrorable(entry, rules))) found.set(path, entry);
    }
    return found;
  }

  /** Writes the contents of files to staging/, so that updating workspace/ only takes a rename per file. */
  async #stage(target: ReadonlyMap<string, Entry>, staged: Map<string, string>): Promise<void> {
    await forEachConcurrently(target, async ([path, entry]) => {
      if (entry.kind !== 'file') return;
      const options = { durability: this.durability, mtimeMs: entry.mtimeMs };
      staged.set(path, await stageFile(this.#staging, await this.#contentsOf(entry), options));
    });
  }

  /** The contents of a file, from the store if they are not in memory. */
  async #contentsOf(entry: Entry): Promise<Uint8Array> {
    if (entry.data !== undefined) return entry.data;
    const stored = toTreeEntry(entry);
    if (stored.kind !== 'file') throw new SandboxError('internal', `${entry.path} is not a file.`);
    return this.#objects.read('data', stored).catch(asDamaged);
  }

  /** Updates workspace/ to the commit. Throws if a path fails; that path stays marked as outdated. */
  async #updateMirror(target: ReadonlyMap<string, Entry>, staged: Map<string, string>): Promise<FolderState> {
    const state = this.#state!;
    this.#mirror.ensureRoot();
    if (state.outdated.size === 0) return state;
    const failures = new Map<string, unknown>();
    const written = await this.#mirror.apply(state.outdated.keys(), target, staged, (path, error) =>
      failures.set(path, error),
    );
    const { mirrored } = state;
    for (const path of state.outdated.keys()) {
      mirrored.delete(path);
      this.#unindexed.add(path);
    }
    for (const [path, fingerprint] of written) {
      mirrored.set(path, fingerprint);
      staged.delete(path);
    }
    const outdated = new Map([...state.outdated].filter(([path]) => failures.has(path)));
    this.#state = { ...state, outdated };
    await discard(staged);
    for (const error of failures.values()) throw error;
    await this.#index.write({ syncedCommit: state.commit, fingerprints: mirrored }, this.#unindexed);
    this.#unindexed.clear();
    return this.#state;
  }

  /** `added` are the objects that the last commit does not have. */
  #checkSize(added: ReadonlyMap<string, Uint8Array>, manifest: Uint8Array): void {
    const total = this.#references.bytes;
    let largestJson = 0;
    for (const [name, { length }] of added)
      if (name.endsWith('.json')) largestJson = Math.max(largestJson, length);
    const isSmallEnough =
      total <= this.maxBytes && largestJson <= MAX_TREE_BYTES && manifest.length <= MAX_MANIFEST_BYTES;
    if (isSmallEnough) return;
    const sizes = [
      `${formatBytes(total)} of memory and files (limit ${formatBytes(this.maxBytes)})`,
      `a file list of ${formatBytes(largestJson)} (limit ${formatBytes(MAX_TREE_BYTES)})`,
      `a manifest of ${formatBytes(manifest.length)} (limit ${formatBytes(MAX_MANIFEST_BYTES)})`,
    ];
    throw new SandboxError(
      'session_limit',
      `Session "${this.id}" is too large for the store: it has ${sizes.join(', ')}. Delete files or checkpoints.`,
    );
  }
}

/** For a reader without the lease: a writer may have removed the object. */
function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof MissingObjectError) return undefined;
  throw error;
}

/** A write may replace a damaged session. */
function undefinedIfDamaged(error: unknown): undefined {
  if (error instanceof SandboxError && error.code === 'session_damaged') return undefined;
  throw error;
}

/** Waits until all promises have settled, then throws the first rejection; nothing runs in the background afterwards. */
async function allSettled(...promises: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

function leaseLost(id: string): SandboxError {
  const message = `Another process took over session "${id}" because this process did not respond for a while. Open the session again.`;
  return new SandboxError('session_busy', message, { publicMessage: message });
}

/** Removes staged files. Files that cannot be removed are removed by the next writer. */
async function discard(staged: Map<string, string>): Promise<void> {
  for (const path of staged.values()) await rm(path, { force: true }).catch(() => {});
  staged.clear();
}
