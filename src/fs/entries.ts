/**
 * Entries: the flat form in which a tree crosses threads, is stored and is compared.
 * Invariant: `checkEntries` is the only door for entries of unknown origin. What it returns is sorted, has no duplicate,
 * no path that climbs, and every parent is a directory that comes earlier.
 */
import { type ErrorCode, SandboxError } from '../errors.ts';
import { checkName, isEncodable, isLongerThan, MAX_PATH_BYTES } from './file-names.ts';
import { FsError } from './fs-error.ts';
import { byCodeUnit, type DirNode, type Node, type NodeInit, newDir, newFile, newLink } from './tree.ts';

export interface Entry {
  /** Relative to the root of its tree, separated by `/`, without a leading slash. */
  path: string;
  kind: 'file' | 'dir' | 'symlink';
  /** Permission bits, 0 to 0o7777. */
  mode: number;
  mtimeMs: number;
  /** Of files, always present. */
  data?: Uint8Array;
  /** Of symbolic links, always present. */
  target?: string;
}

/** Times a JavaScript date can hold; anything else is a damaged number. */
export const MAX_TIME_MS = 8.64e15;

/**
 * Validates entries and returns them sorted. Throws SandboxError: with `code` if given, else `invalid_path` for paths
 * and `invalid_argument` for the rest.
 */
export function checkEntries(entries: Iterable<Entry>, code?: ErrorCode): Entry[] {
  const sorted = [...entries];
  for (const entry of sorted) {
    if (typeof entry?.path !== 'string')
      throw new SandboxError(code ?? 'invalid_path', 'An entry has no path.');
  }
  if (!isSorted(sorted)) sorted.sort((a, b) => byCodeUnit(a.path, b.path));
  const dirs = new Set<string>(['']);
  let dir = '';
  let previous: string | undefined;
  for (const entry of sorted) {
    const { path } = entry;
    const slash = path.lastIndexOf('/');
    // Neighbours mostly share their directory, and comparing it is cheaper than cutting it out and looking it up.
    if (slash !== dir.length || !path.startsWith(dir)) dir = slash < 0 ? '' : path.slice(0, slash);
    const badPath = dirs.has(dir) ? pathProblem(path, slash, previous) : 'has no parent directory';
    if (badPath !== undefined) throw refusal(code ?? 'invalid_path', path, badPath);
    const bad = fieldProblem(entry);
    if (bad !== undefined) throw refusal(code ?? 'invalid_argument', path, bad);
    if (entry.kind === 'dir') dirs.add(path);
    previous = path;
  }
  return sorted;
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

/** A parent that is a checked directory vouches for all but the last component. */
function pathProblem(path: string, slash: number, previous: string | undefined): string | undefined {
  if (path === previous) return 'appears twice';
  if (slash === 0) return 'starts with a slash';
  if (isLongerThan(path, MAX_PATH_BYTES)) return `is longer than ${MAX_PATH_BYTES} bytes`;
  try {
    checkName(path.slice(slash + 1));
  } catch (error) {
    if (error instanceof FsError) return 'has a component that is empty, dots, too long or not valid text';
    throw error;
  }
  return undefined;
}

function fieldProblem({ kind, mode, mtimeMs, data, target }: Entry): string | undefined {
  if (!Number.isInteger(mode) || mode < 0 || mode > 0o7777) return 'has a mode outside 0 to 0o7777';
  if (typeof mtimeMs !== 'number' || !(Math.abs(mtimeMs) <= MAX_TIME_MS)) return 'has a time out of range';
  if (kind === 'dir') return undefined;
  if (kind === 'file') return data instanceof Uint8Array ? undefined : 'is a file without data';
  if (kind !== 'symlink') return 'is of unknown kind';
  if (typeof target !== 'string' || target === '' || !isEncodable(target))
    return 'is a link without a valid target';
  return isLongerThan(target, MAX_PATH_BYTES - 1) ? 'is a link with too long a target' : undefined;
}

/** Builds checked entries below `root`, in their order; file data is borrowed. */
export function buildTree(root: DirNode, entries: Entry[], firstIno: number, ctimeMs?: number): Node[] {
  const dirs = new Map<string, DirNode>([['', root]]);
  const nodes: Node[] = [];
  const { readonly } = root;
  let dir = '';
  let parent = root;
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!;
    const { path, mode, mtimeMs } = entry;
    const init = { ino: firstIno + i, mode, mtimeMs, ctimeMs: ctimeMs ?? mtimeMs, readonly };
    const node = createNode(entry, init);
    if (node.kind === 'dir') dirs.set(path, node);
    const slash = path.lastIndexOf('/');
    if (slash !== dir.length || !path.startsWith(dir)) {
      dir = slash < 0 ? '' : path.slice(0, slash);
      parent = dirs.get(dir)!;
    }
    parent.entries.set(path.slice(slash + 1), node);
    nodes.push(node);
  }
  return nodes;
}

function createNode({ kind, data, target }: Entry, init: NodeInit): Node {
  if (kind === 'file') return newFile(init, plainBytes(data!));
  return kind === 'dir' ? newDir(init) : newLink(init, target!);
}

/** Subclasses such as Buffer override slicing, so only plain views get into nodes. */
function plainBytes(data: Uint8Array): Uint8Array {
  return data.constructor === Uint8Array
    ? data
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

/** The entry of a node. The bytes become a loan, so that later writes do not show through the entry. */
export function toEntry(path: string, node: Node): Entry {
  const { mode, mtimeMs } = node;
  if (node.kind === 'dir') return { path, kind: 'dir', mode, mtimeMs };
  if (node.kind === 'symlink') return { path, kind: 'symlink', mode, mtimeMs, target: node.target };
  if (!node.readonly) node.borrowed = true;
  return { path, kind: 'file', mode, mtimeMs, data: node.data.subarray(0, node.size) };
}

/** Puts one entry into a mirror and adds the parent directories it lacks, with the time of the entry. */
export function putEntry(entries: Map<string, Entry>, entry: Entry): void {
  for (let slash = entry.path.indexOf('/'); slash >= 0; slash = entry.path.indexOf('/', slash + 1)) {
    const path = entry.path.slice(0, slash);
    if (!entries.has(path)) entries.set(path, { path, kind: 'dir', mode: 0o755, mtimeMs: entry.mtimeMs });
  }
  entries.set(entry.path, entry);
}
