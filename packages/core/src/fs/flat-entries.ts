/**
 * Entries: a file tree as a flat list, for transfer between threads, storage and comparison.
 * Invariant: entries of unknown origin pass through `checkEntries`. Its result is sorted, without duplicates and without
 * `..`, and the parent of each entry is a directory that comes before it.
 */
import { type ErrorCode, SandboxError } from '../errors.ts';
import { byCodeUnit, checkName, isEncodable, isLongerThan, MAX_PATH_BYTES } from './file-names.ts';
import { FsError } from './fs-error.ts';
import { type DirNode, type Entry, type Node, type NodeInit, newDir, newFile, newLink } from './nodes.ts';
import { toContent } from './shared-array-buffers.ts';

export type { Entry, TreeEdit } from './nodes.ts';

/** The largest time that a JavaScript Date can represent. */
export const MAX_TIME_MS = 8.64e15;

/**
 * Validates entries and returns them sorted. Throws SandboxError with `code`; by default the code is `invalid_path` for
 * an invalid path and `invalid_argument` for other invalid fields.
 */
export function checkEntries(entries: Iterable<Entry>, code?: ErrorCode): Entry[] {
  const sorted = [...entries];
  for (const entry of sorted) {
    if (typeof entry?.path !== 'string')
      throw new SandboxError(
        code ?? 'invalid_path',
        'An entry has no path. Give each entry a path relative to the root.',
      );
  }
  if (!isSorted(sorted)) sorted.sort((a, b) => byCodeUnit(a.path, b.path));
  const dirs = new Set<string>(['']);
  let dir = '';
  let previous: string | undefined;
  for (const entry of sorted) {
    const { path } = entry;
    const slash = path.lastIndexOf('/');
    // Neighbouring entries mostly share a directory, and comparing is cheaper than slicing and a set lookup.
    if (slash !== dir.length || path.slice(0, slash) !== dir) dir = slash < 0 ? '' : path.slice(0, slash);
    const badPath = dirs.has(dir) ? pathProblem(path, slash, previous) : 'has no parent directory';
    if (badPath !== undefined) throw refusal(code ?? 'invalid_path', path, badPath);
    const bad = fieldProblem(entry);
    if (bad !== undefined) throw refusal(code ?? 'invalid_argument', path, bad);
    if (entry.kind === 'dir') dirs.add(path);
    previous = path;
  }
  return sorted;
}

/**
 * Validates entries of a tree whose other entries are valid. A directory comes before its contents, and `kindOf` returns
 * the kind of any entry of the tree. Throws as `checkEntries` does.
 */
export function checkNewEntries(
  entries: Iterable<Entry>,
  kindOf: (path: string) => Entry['kind'] | undefined,
  code?: ErrorCode,
): void {
  let dir = '';
  let hasParent = true;
  for (const entry of entries) {
    const { path } = entry;
    const slash = path.lastIndexOf('/');
    // Neighbouring entries mostly share a directory, and comparing it is cheaper than a lookup. Comparing a slice is faster than
    // startsWith if the path is long.
    if (slash !== dir.length || path.slice(0, slash) !== dir) {
      dir = slash < 0 ? '' : path.slice(0, slash);
      hasParent = dir === '' || kindOf(dir) === 'dir';
    }
    const badPath = hasParent ? pathProblem(path, slash, undefined) : parentProblem(dir, kindOf);
    if (badPath !== undefined) throw refusal(code ?? 'invalid_path', path, badPath);
    const bad = fieldProblem(entry);
    if (bad !== undefined) throw refusal(code ?? 'invalid_argument', path, bad);
  }
}

function parentProblem(dir: string, kindOf: (path: string) => Entry['kind'] | undefined): string {
  if (kindOf(dir) === undefined) return 'has no parent directory';
  return `is below ${JSON.stringify(dir.slice(0, 200))}, which is not a directory. Choose another path`;
}

function isSorted(entries: Entry[]): boolean {
  for (let i = 1; i < entries.length; i++) {
    if (entries[i - 1]!.path > entries[i]!.path) return false;
  }
  return true;
}

function refusal(code: ErrorCode, path: string, problem: string): SandboxError {
  return new SandboxError(code, `Entry ${JSON.stringify(path.slice(0, 200))} ${problem}.`);
}

/** The parent is a directory that was already checked, so only the last component needs a check. */
function pathProblem(path: string, slash: number, previous: string | undefined): string | undefined {
  if (path === previous) return 'appears twice';
  if (slash === 0) return 'starts with a slash';
  if (isLongerThan(path, MAX_PATH_BYTES)) return `has a path longer than ${MAX_PATH_BYTES} bytes`;
  try {
    checkName(path.slice(slash + 1));
  } catch (error) {
    if (error instanceof FsError)
      return 'has a component that is empty, `.`, `..`, too long or not valid UTF-8 text';
    throw error;
  }
  return undefined;
}

function fieldProblem({ kind, mode, mtimeMs, data, target }: Entry): string | undefined {
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777) return 'has a mode outside 0 to 0o7777';
  if (typeof mtimeMs !== 'number' || !(Math.abs(mtimeMs) <= MAX_TIME_MS))
    return 'has a modification time out of range';
  if (kind === 'dir') return undefined;
  if (kind === 'file') return data instanceof Uint8Array ? undefined : 'is a file without data';
  if (kind !== 'symlink') return 'has an unknown kind';
  if (typeof target !== 'string' || target === '' || !isEncodable(target))
    return 'is a link without a valid target';
  return isLongerThan(target, MAX_PATH_BYTES - 1) ? 'is a link whose target is too long' : undefined;
}

/** Creates the node of a checked entry. File data is borrowed. */
export function createNode({ kind, data, target }: Entry, init: NodeInit): Node {
  if (kind === 'file') return newFile(init, plainBytes(data!));
  return kind === 'dir' ? newDir(init) : newLink(init, target!);
}

/** Converts subclasses such as Buffer, which override slicing, to a plain view. */
function plainBytes(data: Uint8Array): Uint8Array {
  return data.constructor === Uint8Array
    ? data
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/**
 * The entry of a node. The bytes of a file become borrowed, so later writes do not change the entry.
 */
export function toEntry(path: string, node: Node): Entry {
  const { mode, mtimeMs } = node;
  if (node.kind === 'dir') return { path, kind: 'dir', mode, mtimeMs };
  if (node.kind === 'symlink') return { path, kind: 'symlink', mode, mtimeMs, target: node.target };
  if (node.readonly) return { path, kind: 'file', mode, mtimeMs, data: node.data.subarray(0, node.size) };
  node.data = toContent(node.size === node.data.length ? node.data : node.data.subarray(0, node.size));
  node.borrowed = true;
  return { path, kind: 'file', mode, mtimeMs, data: node.data };
}

/** Adds an entry to a map of entries by path. Missing parent directories get the modification time of the entry. */
export function putEntry(entries: Pick<Map<string, Entry>, 'has' | 'set'>, entry: Entry): void {
  const missing: string[] = [];
  // From the inside out: in a consistent map, all parents of an existing entry exist.
  for (let slash = entry.path.lastIndexOf('/'); slash > 0; slash = entry.path.lastIndexOf('/', slash - 1)) {
    const path = entry.path.slice(0, slash);
    if (entries.has(path)) break;
    missing.push(path);
  }
  for (const path of missing.reverse())
    entries.set(path, { path, kind: 'dir', mode: 0o755, mtimeMs: entry.mtimeMs });
  entries.set(entry.path, entry);
}

/**
 * Builds a read-only tree that any number of volumes can mount. File data is borrowed. Layers that are mounted together need
 * different `layer` numbers (1 to 63), which determine their inode numbers.
 */
export function readOnlyTree(entries: Iterable<Entry>, layer = 1): DirNode {
  let ino = layer * 2 ** 24;
  const root = newDir({ ino, mode: 0o755, mtimeMs: 0, ctimeMs: 0, readonly: true });
  const dirs = new Map<string, DirNode>([['', root]]);
  for (const entry of checkEntries(entries, 'image_invalid')) {
    const { path, mode, mtimeMs } = entry;
    const node = createNode(entry, { ino: ++ino, mode, mtimeMs, ctimeMs: mtimeMs, readonly: true });
    if (node.kind === 'dir') dirs.set(path, node);
    const slash = path.lastIndexOf('/');
    dirs.get(path.slice(0, Math.max(0, slash)))!.entries.set(path.slice(slash + 1), node);
  }
  return root;
}
