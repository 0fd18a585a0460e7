/**
 * Reading and changing the tree of a workspace by path, for interfaces that know folders and links. An edit is computed from a
 * tree and applied with `editFiles`. Paths are relative to the workspace; the workspace itself is ''.
 */
import { quotePath } from '../analysis/escape-controls.ts';
import { SandboxError } from '../errors.ts';
import { MAX_PATH_BYTES } from '../fs/file-names.ts';
import type { Entry, TreeEdit } from '../fs/flat-entries.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import { parentOf } from '../stores/format/parent-path.ts';

/** The workspace, which is not an entry of the tree. */
const ROOT: Entry = { path: '', kind: 'dir', mode: 0o755, mtimeMs: 0 };
/** Links that are followed on the way to one file, as in Linux. */
const MAX_LINKS = 40;

/** The path relative to the workspace, whose absolute names are `roots`. Undefined if the path leads out of it. */
export function pathInside(path: string, roots: readonly string[]): string | undefined {
  const root = roots.find((one) => path === one || path.startsWith(`${one}/`));
  if ((root === undefined && path.startsWith('/')) || path.includes('\0')) return undefined;
  const parts: string[] = [];
  for (const part of (root === undefined ? path : path.slice(root.length)).split('/')) {
    if (part === '..' && parts.pop() === undefined) return undefined;
    if (part !== '' && part !== '.' && part !== '..') parts.push(part);
  }
  return parts.join('/');
}

export const entryAt = (tree: FileTree, path: string) => (path === '' ? ROOT : tree.get(path));

const inWorkspace = (path: string) => (path === '' ? 'The workspace' : quotePath(path));

/** Throws `file_not_found`. */
export function existingEntry(tree: FileTree, path: string): Entry {
  const entry = entryAt(tree, path);
  if (entry !== undefined) return entry;
  throw new SandboxError('file_not_found', `There is no file or folder ${quotePath(path)}.`);
}

/** Throws `file_not_found`, or `invalid_path` if the entry is not a folder. */
export function checkFolder(tree: FileTree, path: string): void {
  if (existingEntry(tree, path).kind !== 'dir')
    throw new SandboxError('invalid_path', `${quotePath(path)} is not a folder.`);
}

/**
 * The path of what links lead to. A link that leads nowhere, or out of the workspace, is not followed. `home` is the path of the
 * workspace for programs if it is not only /app.
 */
export function followLinks(tree: Pick<FileTree, 'get'>, path: string, home = '/app'): string {
  let at = path.split('/').filter(Boolean).join('/');
  for (let links = 0; links <= MAX_LINKS; links++) {
    const { entry, end } = deepestEntry(tree, at);
    if (entry?.target === undefined) return at;
    const { target } = entry;
    const from = target.startsWith('/') ? target : `${parentOf(entry.path)}/./${target}`.replace(/^\//, '');
    const led = pathInside(from, ['/app', home]);
    if (led === undefined) return path;
    const rest = at.slice(end);
    at = led === '' ? rest.slice(1) : led + rest;
  }
  return path;
}

/**
 * The entry of a path, or the last one on the way to it, and the length of its path in `path`. The parents of an entry are
 * folders, so a binary search finds it.
 */
function deepestEntry(tree: Pick<FileTree, 'get'>, path: string) {
  const ends: number[] = [];
  // Longer paths have no entry.
  for (let i = path.indexOf('/'); i >= 0 && i <= MAX_PATH_BYTES; i = path.indexOf('/', i + 1)) ends.push(i);
  ends.push(path.length);
  let deepest: { readonly entry: Entry | undefined; readonly end: number } = { entry: undefined, end: 0 };
  for (let low = 0, high = ends.length; low < high; ) {
    const middle = (low + high) >>> 1;
    const end = ends[middle]!;
    const entry = tree.get(path.slice(0, end));
    if (entry === undefined) high = middle;
    else {
      deepest = { entry, end };
      low = middle + 1;
    }
  }
  return deepest;
}

/** The entries below a folder, down to a depth. What is deeper is skipped without looking at it. */
export function* entriesBelow(tree: FileTree, folder: string, depth: number): Generator<Entry> {
  const prefix = folder === '' ? '' : `${folder}/`;
  let next: string | undefined = prefix;
  while (next !== undefined) {
    const first: string = next;
    next = undefined;
    for (const entry of tree.from(first)) {
      if (!entry.path.startsWith(prefix)) return;
      const end = endOfNames(entry.path, prefix.length, depth);
      if (end < 0) yield entry;
      else {
        // The entries of a folder are consecutive; `0` is the code unit after the slash.
        next = `${entry.path.slice(0, end)}0`;
        break;
      }
    }
  }
}

/** The index of the slash after a number of names; -1 if the path has no more. */
function endOfNames(path: string, start: number, names: number): number {
  let end = path.indexOf('/', start);
  for (let i = 1; i < names && end >= 0; i++) end = path.indexOf('/', end + 1);
  return end;
}

/** The missing folders on the way to a path, outermost first. Throws `invalid_path` if a file is in the way. */
export function missingFolders(tree: Pick<FileTree, 'get'>, folder: string): Entry[] {
  const { entry, end } = deepestEntry(tree, folder);
  if (entry !== undefined && entry.kind !== 'dir')
    throw new SandboxError('invalid_path', `${quotePath(entry.path)} is not a folder.`);
  const missing: Entry[] = [];
  const mtimeMs = Date.now();
  for (let at = end; at < folder.length; ) {
    const slash = folder.indexOf('/', at + 1);
    at = slash < 0 ? folder.length : slash;
    missing.push({ path: folder.slice(0, at), kind: 'dir', mode: 0o755, mtimeMs });
  }
  return missing;
}

/** Removes an entry, if it exists, and everything below it. */
export function removalEdit(tree: FileTree, at: string): TreeEdit {
  const entries = at === '' ? [...tree.values()] : [tree.get(at), ...tree.below(at)];
  return { removed: entries.flatMap((one) => one?.path ?? []), entries: [] };
}

export function moveEdit(tree: FileTree, source: string, destination: string): TreeEdit {
  const entry = existingEntry(tree, source);
  const refuse = (path: string, problem: string) =>
    new SandboxError('invalid_path', `${inWorkspace(path)} ${problem}.`);
  if (source === '' || destination === '') throw refuse('', 'cannot be moved');
  if (source === destination) return { removed: [], entries: [] };
  if (destination.startsWith(`${source}/`)) throw refuse(source, 'cannot be moved into itself');
  const existing = tree.get(destination);
  if (existing?.kind === 'dir' && (entry.kind !== 'dir' || tree.hasChildren(destination)))
    throw refuse(destination, 'is a folder');
  if (existing !== undefined && existing.kind !== 'dir' && entry.kind === 'dir')
    throw refuse(destination, 'is not a folder');
  const entries = [entry, ...(entry.kind === 'dir' ? tree.below(source) : [])];
  const moved = entries.map((one) => ({ ...one, path: destination + one.path.slice(source.length) }));
  return {
    removed: entries.map(({ path }) => path),
    entries: [...missingFolders(tree, parentOf(destination)), ...moved],
  };
}
