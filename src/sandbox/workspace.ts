/**
 * The files of a sandbox between two calls: a flat mirror of /app that the host reads and writes, and that every run
 * starts from. Paths are relative to /app; an absolute one below it is accepted. Contents lie in shared memory.
 */
import { SandboxError } from '../errors.ts';
import { checkEntries, type Entry, putEntry } from '../fs/entries.ts';
import { applyChanges, type TreeChanges, type TreeEdit } from '../fs/tree-changes.ts';
import { toShared } from '../worker/protocol.ts';

const ROOT = '/app';

export interface WorkspaceFile {
  readonly path: string;
  readonly size_bytes: number;
  readonly modified_at: string;
}

/** Files for a workspace, by path. */
export type CallFiles = Readonly<Record<string, string | Uint8Array>>;

/** The relative form of a caller's path; throws `invalid_path` for one that is not inside the workspace. */
export function workspacePath(path: string): string {
  const inside = path === ROOT || path.startsWith(`${ROOT}/`) ? path.slice(ROOT.length) : path;
  if (inside !== path || !path.startsWith('/')) {
    const parts = inside.split('/').filter((part) => part !== '' && part !== '.');
    if (parts.length > 0 && !parts.includes('..')) return parts.join('/');
  }
  const hint = 'Use a path relative to the workspace, such as "data.csv", or one below /app.';
  throw new SandboxError(
    'invalid_path',
    `${JSON.stringify(path.slice(0, 200))} is not a workspace file. ${hint}`,
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

/** The folders that a path leads through, the outermost first. */
const foldersOf = (path: string) =>
  path
    .split('/')
    .slice(0, -1)
    .map((_, i, names) => names.slice(0, i + 1).join('/'));

export class Workspace {
  #entries = new Map<string, Entry>();
  /** Paths that the host wrote or removed since the last run took note. */
  readonly #edited = new Set<string>();

  /** `now` dates the files that the host writes. */
  constructor(
    readonly now: () => number,
    readonly limits: { readonly maxBytes: number; readonly maxFiles: number },
  ) {}

  /** What a run starts from. */
  entries(): Entry[] {
    return [...this.#entries.values()];
  }

  /** A copy that later changes do not touch. */
  snapshot(): Map<string, Entry> {
    return new Map(this.#entries);
  }

  /** Puts other files in the place of all there are. */
  replace(entries: ReadonlyMap<string, Entry>): void {
    this.#entries = new Map(entries);
    this.#edited.clear();
  }

  /** Goes back to other files, except for what the host changed since the last run took note. */
  revert(entries: ReadonlyMap<string, Entry>): void {
    const next = new Map(entries);
    for (const path of this.#edited) {
      const entry = this.#entries.get(path);
      if (entry === undefined) next.delete(path);
      else next.set(path, entry);
    }
    this.#entries = next;
    this.#mend();
  }

  /** What the host changed since this was last asked, as changes for a guest that goes on. */
  takeEdits(): TreeEdit {
    const paths = [...this.#edited].sort();
    this.#edited.clear();
    const entries = paths.map((path) => this.#entries.get(path)).filter((entry) => entry !== undefined);
    return { removed: paths.filter((path) => !this.#entries.has(path)), entries };
  }

  /** Takes over changes that were made outside, as if the host had made them. */
  edit({ removed, entries }: TreeEdit): void {
    applyChanges(this.#entries, { removed, entries });
    for (const path of [...removed, ...entries.map((entry) => entry.path)]) this.#edited.add(path);
  }

  /** Takes over what a run changed. */
  apply(changes: TreeChanges): void {
    applyChanges(this.#entries, changes);
    if (changes.removed.length > 0 || changes.entries.length > 0) this.#mend();
  }

  /**
   * What was written at the same time may not fit together: a file whose folder is gone gets it back, one whose folder
   * has become something else is gone, too.
   */
  #mend(): void {
    const entries = this.#entries;
    for (const path of [...entries.keys()].sort()) {
      const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
      if (parent === '' || entries.get(parent)?.kind === 'dir') continue;
      const entry = entries.get(path)!;
      entries.delete(path);
      this.#edited.add(path);
      const folders = foldersOf(path);
      if (folders.some((folder) => (entries.get(folder)?.kind ?? 'dir') !== 'dir')) continue;
      for (const folder of folders) if (!entries.has(folder)) this.#edited.add(folder);
      putEntry(entries, entry);
    }
  }

  /** Paths of what is there, at most so many. */
  paths(limit: number): string[] {
    const paths: string[] = [];
    for (const path of this.#entries.keys()) if (paths.push(path) >= limit) break;
    return paths.sort();
  }

  list(): WorkspaceFile[] {
    return describeFiles(this.#entries.values());
  }

  /** A copy of a file's bytes. */
  read(path: string): Uint8Array {
    return this.#file(path).data!.slice();
  }

  /** Writes files, all or none. */
  write(files: CallFiles): void {
    if (Object.keys(files).length === 0) return;
    const next = new Map(this.#entries);
    const mtimeMs = this.now();
    for (const [name, content] of Object.entries(files)) {
      const path = workspacePath(name);
      if (next.get(path)?.kind === 'dir') throw new SandboxError('invalid_path', `${path} is a folder.`);
      const data = toShared(
        typeof content === 'string' ? new TextEncoder().encode(content) : content.slice(),
      );
      putEntry(next, { path, kind: 'file', mode: 0o644, mtimeMs, data });
    }
    checkEntries(next.values());
    this.checkQuota(next);
    for (const [path, entry] of next) if (this.#entries.get(path) !== entry) this.#edited.add(path);
    this.#entries = next;
  }

  clear(): void {
    for (const path of this.#entries.keys()) this.#edited.add(path);
    this.#entries.clear();
  }

  delete(path: string): void {
    const found = this.#file(path).path;
    this.#entries.delete(found);
    this.#edited.add(found);
  }

  #file(name: string): Entry {
    const entry = this.#entries.get(workspacePath(name));
    if (entry?.kind === 'file') return entry;
    const there = this.list().map((file) => file.path);
    const listing = there.length > 0 ? `It has: ${there.slice(0, 20).join(', ')}` : 'It is empty';
    throw new SandboxError(
      'file_not_found',
      `The workspace has no file ${JSON.stringify(name)}. ${listing}.`,
    );
  }

  /** Throws `quota_exceeded` for more than the limits allow. */
  checkQuota(entries: ReadonlyMap<string, Entry> = this.#entries): void {
    let bytes = 0;
    for (const { data, target } of entries.values()) bytes += data?.length ?? target?.length ?? 0;
    const { maxBytes, maxFiles } = this.limits;
    if (bytes <= maxBytes && entries.size <= maxFiles) return;
    const found = `${bytes} bytes in ${entries.size} entries`;
    const limit = `workspace_max_bytes ${maxBytes} and workspace_max_files ${maxFiles}`;
    throw new SandboxError('quota_exceeded', `The workspace would hold ${found}, more than ${limit} allow.`);
  }
}
