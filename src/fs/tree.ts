/**
 * Nodes of a directory tree as plain data, and the walk that resolves a path in it.
 * Invariant: a walk never leaves its root. Nodes have no parent pointer, since read-only subtrees are shared between
 * guests and hang in many trees at once; `..` is resolved by the stack of the walk.
 */
interface NodeFields {
  /** Unique inside one volume: layers number from `layer * 2 ** 24`, a volume's own nodes from 2 ** 32. */
  ino: number;
  /** Permission bits only, 0 to 0o7777. */
  mode: number;
  mtimeMs: number;
  ctimeMs: number;
  /** Names that lead here; a directory has 1, or 0 once removed. */
  nlink: number;
  /** Open descriptors, counted by `Volume.retain` and `release`; stays 0 on read-only nodes. */
  openCount: number;
  /** Part of a shared layer or of the scaffold between layers: never changes. */
  readonly: boolean;
}

export interface FileNode extends NodeFields {
  kind: 'file';
  /** Backing bytes; may be longer than `size` and may lie in a SharedArrayBuffer. */
  data: Uint8Array;
  size: number;
  /** `data` is borrowed and has to be copied before a write. */
  borrowed: boolean;
  /** Written or truncated since the baseline of its tree. */
  changed: boolean;
}

export interface DirNode extends NodeFields {
  kind: 'dir';
  entries: Map<string, Node>;
}

export interface LinkNode extends NodeFields {
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

// The three factories spell their fields out: spreading costs several times more, and a layer has thousands of nodes.

/** A file over borrowed bytes, or an empty one. Nodes that may change start with no names counted. */
export function newFile({ ino, mode, mtimeMs, ctimeMs, readonly }: NodeInit, data = NO_BYTES): FileNode {
  return {
    kind: 'file',
    ino,
    mode,
    mtimeMs,
    ctimeMs,
    nlink: readonly ? 1 : 0,
    openCount: 0,
    readonly,
    data,
    size: data.length,
    borrowed: true,
    changed: false,
  };
}

export function newDir({ ino, mode, mtimeMs, ctimeMs, readonly }: NodeInit): DirNode {
  const nlink = readonly ? 1 : 0;
  return { kind: 'dir', ino, mode, mtimeMs, ctimeMs, nlink, openCount: 0, readonly, entries: new Map() };
}

export function newLink({ ino, mode, mtimeMs, ctimeMs, readonly }: NodeInit, target: string): LinkNode {
  const nlink = readonly ? 1 : 0;
  return { kind: 'symlink', ino, mode, mtimeMs, ctimeMs, nlink, openCount: 0, readonly, target };
}

/** Calls `each` for everything below `dir`, parents first. A loop, because a guest's deep call stack may be under it. */
export function visitTree(dir: DirNode, each: (path: string, node: Node) => void): void {
  const pending: { dir: DirNode; prefix: string }[] = [{ dir, prefix: '' }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const [name, node] of next.dir.entries) {
      const path = next.prefix + name;
      each(path, node);
      if (node.kind === 'dir') pending.push({ dir: node, prefix: `${path}/` });
    }
  }
}

/** Order of all listings: by UTF-16 code unit, so it is the same on every host and puts a parent before its children. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
