/**
 * The nodes of a file tree: files, directories and symbolic links, the functions that create them, and traversal.
 * Contents of read-only nodes can be loaded on first use. Nodes have no parent pointer, because read-only subtrees are
 * shared between guests and are part of many trees at once.
 */

interface NodeFields {
  /** Unique within a volume: numbers of a layer start at `layer * 2 ** 24`, those of the volume itself at 2 ** 32. */
  ino: number;
  /** Permission bits only, 0 to 0o7777. */
  mode: number;
  mtimeMs: number;
  ctimeMs: number;
  /** 1 while the node has a name, 0 after its removal. There are no hard links. */
  nlink: number;
  /** Open descriptors, counted by `Volume.retain` and `Volume.release`; always 0 for nodes of layers. */
  openCount: number;
  /** Whether the node is part of a layer or a parent directory of one. Such nodes never change. */
  readonly: boolean;
  /** The entry of the baseline that the node was created from. */
  origin: Entry | undefined;
}

export interface FileNode extends NodeFields {
  kind: 'file';
  /** The buffer; it can be longer than `size` and can be in a SharedArrayBuffer. */
  data: Uint8Array;
  size: number;
  /** Whether `data` is shared with another owner and must be copied before a write. */
  borrowed: boolean;
  /** Whether the file has been written or truncated since the last baseline. */
  changed: boolean;
}

/** The nodes in a directory by name, in any order. */
export interface DirEntries extends Iterable<[string, Node]> {
  readonly size: number;
  get(name: string): Node | undefined;
  set(name: string, node: Node): unknown;
  delete(name: string): unknown;
  keys(): Iterable<string>;
  values(): Iterable<Node>;
}

export interface DirNode extends NodeFields {
  kind: 'dir';
  entries: DirEntries;
}

interface LinkNode extends NodeFields {
  kind: 'symlink';
  target: string;
}

export type Node = FileNode | DirNode | LinkNode;

export interface NodeInit {
  ino: number;
  mode: number;
  mtimeMs: number;
  ctimeMs: number;
  readonly: boolean;
}

const NO_BYTES: Uint8Array = new Uint8Array(0);

// Fields are assigned one by one: object spread is several times slower, and a layer has thousands of nodes.

/** The fields of a new node. A writable node starts with a link count of 0. */
const fields = <Kind extends Node['kind']>(kind: Kind, init: NodeInit) => ({
  kind,
  ino: init.ino,
  mode: init.mode,
  mtimeMs: init.mtimeMs,
  ctimeMs: init.ctimeMs,
  nlink: init.readonly ? 1 : 0,
  openCount: 0,
  readonly: init.readonly,
  origin: undefined,
});

/** Creates a file that borrows `data`. */
export function newFile(init: NodeInit, data = NO_BYTES, size = data.length): FileNode {
  const node: NodeFields & Partial<FileNode> = fields('file', init);
  node.data = data;
  node.size = size;
  node.borrowed = true;
  node.changed = false;
  return node as FileNode;
}

export function newDir(init: NodeInit): DirNode {
  const node: NodeFields & Partial<DirNode> = fields('dir', init);
  node.entries = new Map();
  return node as DirNode;
}

export function newLink(init: NodeInit, target: string): LinkNode {
  const node: NodeFields & Partial<LinkNode> = fields('symlink', init);
  node.target = target;
  return node as LinkNode;
}

/** Creates a read-only file whose bytes are loaded when they are first used. */
export const lazyFile = (init: NodeInit, size: number, load: () => Uint8Array): FileNode =>
  withLazy(newFile(init, NO_BYTES, size), 'data', load);

/** Creates a read-only directory whose entries are loaded when they are first used. */
export const lazyDir = (init: NodeInit, load: () => Map<string, Node>): DirNode =>
  withLazy(newDir(init), 'entries', load);

/** The node with a property that is loaded when it is first read. */
function withLazy<T extends Node>(node: T, key: keyof T, load: () => unknown): T {
  let value: unknown;
  return Object.defineProperty(node, key, { enumerable: true, get: () => (value ??= load()) });
}

/** Calls `each` for every node below `dir`, parents first. Not recursive, because the guest may be deep in its stack. */
export function visitTree(
  dir: DirNode,
  each: (path: string, node: Node) => void,
  entriesOf = ({ entries }: DirNode): Iterable<[string, Node]> => entries,
): void {
  const pending: { dir: DirNode; prefix: string }[] = [{ dir, prefix: '' }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const [name, node] of entriesOf(next.dir)) {
      const path = next.prefix + name;
      each(path, node);
      if (node.kind === 'dir') pending.push({ dir: node, prefix: `${path}/` });
    }
  }
}

/** The number of nodes below `dir`. Like `visitTree`, but does not build the paths. */
export function countNodes(dir: DirNode): number {
  let count = 0;
  const pending = [dir];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    count += next.entries.size;
    for (const node of next.entries.values()) if (node.kind === 'dir') pending.push(node);
  }
  return count;
}

/** A file, folder or symbolic link in a file tree. */
export interface Entry {
  /** Path relative to the root of the tree, with `/` as separator and without a leading slash. */
  path: string;
  /** Kind of the entry. */
  kind: 'file' | 'dir' | 'symlink';
  /** Permission bits, from 0 to 0o7777. */
  mode: number;
  /** Time of the last change in milliseconds since 1970-01-01 UTC. */
  mtimeMs: number;
  /** Contents. Present only for files. */
  data?: Uint8Array;
  /** Target path. Present only for symbolic links. */
  target?: string;
}

/** Changes to a file tree. Removals are applied first. */
export interface TreeEdit {
  /** Paths to remove. The paths inside a removed folder are also listed. */
  readonly removed: readonly string[];
  /** Entries to add or replace. */
  readonly entries: readonly Entry[];
}
