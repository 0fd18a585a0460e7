/**
 * The files of a sandbox between two calls: the contents of /app. The host reads and writes them, and every run starts
 * from them. Paths are relative to /app; absolute paths below /app are accepted.
 */
import { randomUUID } from 'node:crypto';
import { quotePath } from '../analysis/escape-controls.ts';
import { SandboxError } from '../errors.ts';
import { checkTree } from '../fs/check-tree-edit.ts';
import { utf8Length } from '../fs/file-names.ts';
import { checkNewEntries, type Entry, putEntry, type TreeEdit } from '../fs/flat-entries.ts';
import { EMPTY_TREE, entryBytes, FileTree } from '../fs/immutable-file-tree.ts';
import { isShared, toContent } from '../fs/shared-array-buffers.ts';
import type { VolumeUsage } from '../fs/volume.ts';
import { formatItems } from '../quantities.ts';
import { maxPathBytes } from '../schema/workspace-quota.ts';
import { parentOf } from '../stores/format/parent-path.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';

const ROOT = '/app';
const encoder = new TextEncoder();
/** Files that an error about a missing file names, and their characters. */
const MAX_NAMED_FILES = 20;
const MAX_NAMED_CHARS = 2000;

/** A file in the workspace. */
export interface WorkspaceFile {
  /** Path relative to /app. */
  readonly path: string;
  /** Size of the contents in bytes. */
  readonly size_bytes: number;
  /** Time of the last change in ISO 8601. */
  readonly modified_at: string;
}

/** Contents of files to write, by path. */
export type CallFiles = Readonly<Record<string, string | Uint8Array>>;

const isRelativeForm = (path: string) =>
  path !== '' &&
  !path.startsWith('/') &&
  !path.startsWith('.') &&
  !path.endsWith('/') &&
  !path.includes('//') &&
  !path.includes('/.');

/** Converts a caller's path to its relative form. Throws `invalid_path` if it is not inside the workspace. */
export function workspacePath(path: string): string {
  const inside = path === ROOT || path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length) : path;
  // Most paths are in their relative form already, and splitting a long one takes time.
  if (isRelativeForm(path)) return path;
  if (inside !== path || !path.startsWith('/')) {
    const parts = inside.split('/').filter((part) => part !== '' && part !== '.');
    if (parts.length > 0 && !parts.includes('..')) return parts.join('/');
  }
  const hint = 'Use a path relative to the workspace, such as "data.csv", or one below /app.';
  throw new SandboxError(
    'invalid_path',
    `${JSON.stringify(path.slice(0, 200))} is not a path in the workspace. ${hint}`,
  );
}

/** The files among entries, sorted by path. */
export function describeFiles(entries: Iterable<Entry>): WorkspaceFile[] {
  return [...entries]
    .filter((entry) => entry.kind === 'file')
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ path, data, mtimeMs }) => ({
      path,
      size_bytes: data!.length,
      modified_at: new Date(mtimeMs).toISOString(),
    }));
}

/** Bytes that the caller cannot change once they are copied to shared memory. */
const unshared = (bytes: Uint8Array) => (isShared(bytes) ? bytes.slice() : bytes);

/** How much of the quota entries use. */
export function usageOf(entries: Iterable<Entry>): VolumeUsage {
  let bytes = 0;
  let files = 0;
  for (const entry of entries) {
    bytes += entryBytes(entry);
    files++;
  }
  return { bytes, files };
}

type TreeTotals = Pick<FileTree, 'size' | 'bytes' | 'pathBytes'>;

/** Total length of the absolute paths of entries. */
const absoluteBytes = (size: number, pathBytes: number) => pathBytes + size * (ROOT.length + 1);

/** Entries that are about to be added to a tree. */
class AddedEntries {
  readonly added = new Map<string, Entry>();
  /** The totals of the tree with these entries. */
  size: number;
  bytes: number;
  pathBytes: number;

  constructor(readonly tree: FileTree) {
    this.size = tree.size;
    this.bytes = tree.bytes;
    this.pathBytes = tree.pathBytes;
  }

  readonly get = (path: string) => this.added.get(path) ?? this.tree.get(path);

  readonly has = (path: string) => this.get(path) !== undefined;

  readonly set = (path: string, entry: Entry) => {
    const before = this.get(path);
    this.bytes += entryBytes(entry) - (before === undefined ? 0 : entryBytes(before));
    if (before === undefined) {
      this.size++;
      this.pathBytes += utf8Length(path);
    }
    return this.added.set(path, entry);
  };

  result(): FileTree {
    return this.tree.apply({ removed: [], entries: [...this.added.values()] });
  }
}

export class WorkspaceFiles {
  /** The id under which workers know the files. */
  readonly id = randomUUID();
  /** Undefined while the files are only in the store of a session. */
  #loaded: FileTree | undefined = EMPTY_TREE;
  /** What a session holds in /tmp and in deleted files that are open. It counts towards the same limits. */
  otherUsage: VolumeUsage = { bytes: 0, files: 0 };
  /** Paths that the host has written or removed since the last `takeEdits`. */
  readonly #edited = new Set<string>();

  /** `now` supplies the modification times of files that the host writes. */
  constructor(
    readonly now: () => number,
    readonly limits: { readonly maxBytes: number; readonly maxFiles: number },
  ) {}

  get #tree(): FileTree {
    if (this.#loaded === undefined)
      throw new SandboxError('internal', 'The files of the session are not in memory.');
    return this.#loaded;
  }

  set #tree(tree: FileTree) {
    this.#loaded = tree;
  }

  /** Frees the entries. Pending edits are kept. */
  unload(): void {
    this.#loaded = undefined;
  }

  /** Restores the entries that `unload` freed. */
  load(entries: ReadonlyMap<string, Entry>): void {
    this.#loaded = FileTree.of(entries);
  }

  /** Other files with the same limits. */
  with(entries: ReadonlyMap<string, Entry>): WorkspaceFiles {
    const other = new WorkspaceFiles(this.now, this.limits);
    other.load(entries);
    return other;
  }

  /** The current files. Later changes do not affect them. */
  snapshot(): FileTree {
    return this.#tree;
  }

  /** Replaces all entries and discards pending edits. */
  replace(entries: ReadonlyMap<string, Entry>): void {
    this.#tree = FileTree.of(entries);
    this.#edited.clear();
  }

  /** Restores earlier entries but keeps what the host has changed since the last `takeEdits`. */
  revert(entries: ReadonlyMap<string, Entry>): void {
    const edit = this.#pendingEdits();
    const before = FileTree.of(entries);
    this.#tree = before.apply(edit);
    this.#repairParents(this.#mayLackParent(edit));
  }

  #pendingEdits(): TreeEdit {
    const paths = [...this.#edited].sort();
    const entries = paths.map((path) => this.#tree.get(path)).filter((entry) => entry !== undefined);
    return { removed: paths.filter((path) => !this.#tree.has(path)), entries };
  }

  /** Returns what the host has changed since the last call, as an edit for a live guest. */
  takeEdits(): TreeEdit {
    const edits = this.#pendingEdits();
    this.#edited.clear();
    return edits;
  }

  /** Applies changes made outside the sandbox as host edits. */
  edit({ removed, entries }: TreeEdit): void {
    this.#tree = this.#tree.apply({ removed, entries });
    for (const path of [...removed, ...entries.map((entry) => entry.path)]) this.#edited.add(path);
  }

  /**
   * Applies a change of the host, or of a program that shares the files, as a host edit. Throws `quota_exceeded`, or
   * `invalid_path` if a name is not valid.
   */
  merge(edit: TreeEdit): void {
    const [tree, edited] = [this.#tree, [...this.#edited]];
    try {
      this.edit(edit);
      this.#repairParents(this.#mayLackParent(edit));
      // A store need not check the tree again.
      checkTree(this.#tree, tree);
      if (edit.entries.some(({ path }) => this.#tree.has(path))) this.checkQuota();
    } catch (cause) {
      this.#tree = tree;
      this.#edited.clear();
      for (const path of edited) this.#edited.add(path);
      throw cause;
    }
  }

  /** Applies the changes that a run made. Other runs may have changed the same folders since it started. */
  apply({ changes, files }: Pick<RunOutcome, 'changes' | 'files'>): void {
    if (this.#tree === files?.before) {
      this.#tree = files.after;
      return;
    }
    this.#tree = this.#tree.apply(changes);
    this.#repairParents(this.#mayLackParent(changes));
  }

  /**
   * The entries that can lack a parent folder after an edit: those it added, and those below paths that are not folders now.
   */
  #mayLackParent({ removed, entries }: TreeEdit): Set<string> {
    const paths = new Set(entries.map(({ path }) => path));
    const noFolders = entries.filter(({ kind }) => kind !== 'dir').map(({ path }) => path);
    // With a final slash, all paths below a folder follow it directly and can be skipped.
    let covered: string | undefined;
    for (const prefix of [...removed, ...noFolders].map((path) => `${path}/`).sort()) {
      if (covered !== undefined && prefix.startsWith(covered)) continue;
      covered = prefix;
      for (const below of this.#tree.below(prefix.slice(0, -1))) paths.add(below.path);
    }
    return paths;
  }

  /**
   * Makes the tree consistent after changes that were made at the same time: creates missing folders of these entries
   * again, and removes entries whose folder has been replaced by a file. Linear in the total length of the paths.
   */
  #repairParents(paths: Iterable<string>): void {
    let tree = this.#tree;
    const recreated = new Set<string>();
    /** Folders that cannot exist, because one of their parents is not a folder. */
    const impossible = new Set<string>();
    const ensureFolder = (folder: string, mtimeMs: number): boolean => {
      const missing: string[] = [];
      let path = folder;
      while (path !== '' && !tree.has(path) && !impossible.has(path)) {
        missing.push(path);
        path = parentOf(path);
      }
      const isPossible = path === '' || tree.get(path)?.kind === 'dir';
      for (const one of missing.reverse()) {
        if (!isPossible) impossible.add(one);
        else {
          tree = tree.set({ path: one, kind: 'dir', mode: 0o755, mtimeMs });
          recreated.add(one);
          this.#edited.add(one);
        }
      }
      return isPossible;
    };
    // Folders are shorter than what they contain.
    for (const path of [...paths].sort((a, b) => a.length - b.length)) {
      const parent = parentOf(path);
      const isIntact = parent === '' || (tree.get(parent)?.kind === 'dir' && !recreated.has(parent));
      if (isIntact) continue;
      this.#edited.add(path);
      if (ensureFolder(parent, tree.get(path)!.mtimeMs)) continue;
      tree = tree.delete(path);
      impossible.add(path);
    }
    this.#tree = tree;
  }

  /** At most `limit` paths, sorted; none while the entries are not in memory. */
  paths(limit: number): string[] {
    const paths: string[] = [];
    for (const path of this.#loaded?.keys() ?? []) if (paths.push(path) >= limit) break;
    return paths;
  }

  /** Whether a file or folder exists; false while the entries are not in memory. */
  has(path: string): boolean {
    return this.#loaded?.has(path) ?? false;
  }

  list(): WorkspaceFile[] {
    return describeFiles(this.#tree.values());
  }

  /** A copy of a file's bytes. */
  read(path: string): Uint8Array<ArrayBuffer> {
    return this.contents(path).slice() as Uint8Array<ArrayBuffer>;
  }

  /** The bytes of a file, not copied. */
  contents(path: string): Uint8Array {
    return this.#file(path).data!;
  }

  size(path: string): number {
    return this.#file(path).data!.length;
  }

  /** Writes all of the files or none. */
  write(files: CallFiles): void {
    if (Object.keys(files).length === 0) return;
    const next = new AddedEntries(this.#tree);
    const mtimeMs = this.now();
    /** Folder of the previous file: most files are in the same one, and comparing it is cheaper than checking it. */
    let folder = '';
    for (const [name, content] of Object.entries(files)) {
      const slash = name.lastIndexOf('/');
      const isSibling =
        slash > 0 &&
        slash === folder.length &&
        // Faster than startsWith for a long path.
        name.slice(0, slash) === folder &&
        isRelativeForm(name.slice(slash + 1));
      const path = isSibling ? name : workspacePath(name);
      if (next.get(path)?.kind === 'dir')
        throw new SandboxError('invalid_path', `${quotePath(path)} is a folder. Choose another path.`);
      const data = toContent(typeof content === 'string' ? encoder.encode(content) : unshared(content));
      const entry: Entry = { path, kind: 'file', mode: 0o644, mtimeMs, data };
      if (isSibling) next.set(path, entry);
      else {
        // Before a path that is too long creates its folders.
        checkNewEntries([entry], () => 'dir');
        putEntry(next, entry);
        folder = parentOf(path);
      }
      // Stops early, because one long path can create thousands of folders.
      if (!this.#fits({ size: next.size, bytes: 0, pathBytes: next.pathBytes })) this.checkQuota(next);
    }
    const tree = next.result();
    checkTree(tree, this.#tree);
    this.checkQuota(tree);
    for (const path of next.added.keys()) this.#edited.add(path);
    this.#tree = tree;
  }

  clear(): void {
    for (const path of this.#tree.keys()) this.#edited.add(path);
    this.#tree = EMPTY_TREE;
  }

  delete(path: string): void {
    const found = this.#file(path).path;
    this.#tree = this.#tree.delete(found);
    this.#edited.add(found);
  }

  #file(name: string): Entry {
    const entry = this.#tree.get(workspacePath(name));
    if (entry?.kind === 'file') return entry;
    const files: string[] = [];
    for (const { path, kind } of this.#tree.values())
      if (kind === 'file' && files.push(quotePath(path)) >= MAX_NAMED_FILES) break;
    const names = files.join(', ');
    const named = names.length > MAX_NAMED_CHARS ? `${names.slice(0, MAX_NAMED_CHARS)}…` : names;
    const listing = files.length > 0 ? `Its files are: ${named}` : 'The workspace is empty';
    throw new SandboxError(
      'file_not_found',
      `The workspace has no file ${JSON.stringify(name)}. ${listing}.`,
    );
  }

  #fits({ size, bytes, pathBytes }: TreeTotals): boolean {
    const { maxBytes, maxFiles } = this.limits;
    const { otherUsage: other } = this;
    return (
      bytes + other.bytes <= maxBytes &&
      size + other.files <= maxFiles &&
      absoluteBytes(size, pathBytes) <= maxPathBytes(maxFiles)
    );
  }

  /** Throws `quota_exceeded` if the entries exceed the limits. */
  checkQuota(tree: TreeTotals = this.#tree): void {
    if (this.#fits(tree)) return;
    const own = { bytes: tree.bytes, files: tree.size };
    const paths = absoluteBytes(tree.size, tree.pathBytes);
    const other = this.otherUsage;
    const { maxBytes, maxFiles } = this.limits;
    const maxPaths = maxPathBytes(maxFiles);
    const rest =
      other.files > 0
        ? `, in addition to ${formatItems(other.bytes, 'byte')} in ${formatItems(other.files, 'entry', 'entries')} (files in /tmp, and deleted files that are still open)`
        : '';
    const found = `The workspace would hold ${formatItems(own.bytes, 'byte')} in ${formatItems(own.files, 'entry', 'entries')} with paths totalling ${paths} bytes${rest}`;
    const limit = `the limits are workspace_max_bytes ${maxBytes}, workspace_max_files ${maxFiles} and ${maxPaths} bytes of paths`;
    throw new SandboxError('quota_exceeded', `${found}, but ${limit}. Delete files or raise the limits.`);
  }
}
