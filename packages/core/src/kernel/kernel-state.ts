/**
 * The kernel state as plain data: working directory, umask, calls, clock, writable roots and open files. A node is identified by its
 * path. Nodes that were removed while open are saved, too; the contents of such files are separate, so that states between which
 * they have not changed share them. A restored kernel behaves like the saved one.
 * Saved state is untrusted: state that contradicts itself fails with EBADF and leaves the kernel unchanged.
 */
import { sha256Hex } from '../framing/digest.ts';
import {
  byKind,
  either,
  integer,
  list,
  type Matched,
  nullable,
  number,
  object,
  oneOf,
  optional,
  text,
} from '../framing/json-checks.ts';
import { MAX_NAME_BYTES, MAX_PATH_BYTES } from '../fs/file-names.ts';
import { MAX_TIME_MS } from '../fs/flat-entries.ts';
import { FsError } from '../fs/fs-error.ts';
import type { DirNode, FileNode, Node } from '../fs/nodes.ts';
import { type BaseDirectory, baseOf } from '../fs/resolve-path.ts';
import { toShared } from '../fs/shared-array-buffers.ts';
import { type Volume, WRITABLE_ROOTS, type WritableRoot } from '../fs/volume.ts';
import { DescriptorTable, MAX_DESCRIPTORS, type OpenFile } from './descriptors.ts';
import { isDevice } from './devices.ts';
import { newPipe, PIPE_CAPACITY, type PipeBuffer, unreadBytes } from './pipe.ts';
import { MAX_ENDED_CHILDREN } from './processes.ts';
import { syscallError } from './syscall-error.ts';
import type { Kernel } from './syscalls.ts';

const index = integer(0, 2 * MAX_DESCRIPTORS);
const count = integer(0);
const mode = integer(0, 0o7777);
/** Modification time in milliseconds; a guest can set any value. */
const mtimeMs = number(-MAX_TIME_MS, MAX_TIME_MS);
/** A node: its canonical path, or its index in `removed`. */
const nodeReference = either(text(MAX_PATH_BYTES), index);
type NodeReference = Matched<typeof nodeReference>;

const flags = integer(-(2 ** 31), 2 ** 31 - 1);
/** An open file description; descriptors refer to it by its index. */
const savedFile = byKind({
  null: { flags },
  zero: { flags },
  full: { flags },
  random: { flags },
  results: { flags },
  stream: { flags, stream: oneOf(0, 1, 2) },
  file: { flags, node: nodeReference, position: count },
  dir: {
    flags,
    node: nodeReference,
    position: count,
    /** Names that the directory still lists, or null if it has not been read since it was opened or its position was set. */
    names: nullable(list(text(MAX_NAME_BYTES))),
  },
  pipe: { flags, end: oneOf('read', 'write'), pipe: index },
});
type SavedFile = Matched<typeof savedFile>;

/** A node that was removed while open or while it was the working directory. */
const savedNode = byKind({
  file: { mode, mtime_ms: mtimeMs },
  dir: { mode, mtime_ms: mtimeMs },
});
type SavedNode = Matched<typeof savedNode>;

/** The contents of a removed file, in shared memory. */
export interface SavedContents {
  readonly bytes: Uint8Array;
  readonly sha256: string;
}

/** Contents that a file node borrows, as they were saved or restored. */
const savedContents = new WeakMap<Uint8Array, SavedContents>();

/** Ten thousand years: more than any guest clock reaches, and still within the range of dates. */
const MAX_CLOCK_MS = 3.2e14;

const savedRoot = object({ mode, mtime_ms: mtimeMs });
const savedRoots = Object.fromEntries(WRITABLE_ROOTS.map((root) => [root, savedRoot])) as Record<
  WritableRoot,
  typeof savedRoot
>;

export const kernelState = object({
  cwd: nodeReference,
  umask: integer(0, 0o777),
  calls: count,
  clock_ms: number(0, MAX_CLOCK_MS),
  drawn_bytes: count,
  roots: object(savedRoots),
  removed: list(savedNode, MAX_DESCRIPTORS + 1),
  files: list(savedFile, MAX_DESCRIPTORS),
  /** By descriptor: index into `files`, or null if it is not open. */
  slots: list(nullable(index), MAX_DESCRIPTORS),
  /** Contents of the pipes, in base64. */
  pipes: list(text(), MAX_DESCRIPTORS),
  /** Pipes of which the rest of the contents is missing. */
  cut_off: optional(list(index, MAX_DESCRIPTORS)),
  /** Descriptors that new programs do not inherit. */
  close_on_exec: optional(list(index, MAX_DESCRIPTORS)),
  /** Children that have ended and that the program has not waited for. */
  ended_children: optional(list(object({ pid: count, status: integer(0, 0xffff) }), MAX_ENDED_CHILDREN)),
});
type KernelState = Matched<typeof kernelState>;

const rootNode = ({ volume }: Kernel, root: string) => volume.lookup(root, '/', true);

const toText = (bytes: Uint8Array) =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64');

function toBytes(text: string, maxBytes = Number.POSITIVE_INFINITY): Uint8Array {
  const bytes = Buffer.from(text, 'base64');
  // The decoder skips invalid characters.
  if (bytes.length > maxBytes || bytes.toString('base64') !== text) throw syscallError('EBADF');
  return new Uint8Array(bytes);
}

// ---- saving ----

/** Paths of the files below the writable roots that are open. They may have been renamed since they were opened. */
function openFilePaths({ volume }: Kernel): Map<Node, string> {
  const paths = new Map<Node, string>();
  volume.visitOpenFiles((path, node) => paths.set(node, path));
  return paths;
}

const saveNode = ({ kind, mode, mtimeMs }: FileNode | DirNode): SavedNode => ({
  kind,
  mode,
  mtime_ms: mtimeMs,
});

/** Saves the contents of a file. Until the file is written, the node borrows them, and they are the same object. */
function saveContents(node: FileNode): SavedContents {
  const before = node.borrowed && node.size === node.data.length ? savedContents.get(node.data) : undefined;
  if (before !== undefined) return before;
  const bytes = toShared(node.data.subarray(0, node.size));
  const contents = { bytes, sha256: sha256Hex(bytes) };
  savedContents.set(bytes, contents);
  node.data = bytes;
  node.borrowed = true;
  return contents;
}

/** The contents of the files without a name that are open, in the order of `removed` in the saved state. */
export function saveRemovedFiles(kernel: Kernel): SavedContents[] {
  return kernel.removedNodes().flatMap((node) => (node.kind === 'file' ? [saveContents(node)] : []));
}

/** A property, if the list is not empty. */
const ifAny = <K extends string, T>(key: K, list: T[]) =>
  (list.length === 0 ? {} : { [key]: list }) as { [_ in K]?: T[] };

export function saveKernelState(kernel: Kernel): KernelState {
  const paths = openFilePaths(kernel);
  const removed = kernel.removedNodes();
  const files = kernel.fds.descriptions();
  const pipes = [...new Set(files.flatMap((file) => (file.kind === 'pipe' ? [file.pipe] : [])))];
  const saveFile = (file: OpenFile): SavedFile => {
    const { flags } = file;
    if (isDevice(file)) return { kind: file.kind, flags };
    const { kind } = file;
    if (kind === 'stream') return { kind, flags, stream: file.stream };
    if (kind === 'pipe') return { kind, flags, end: file.end, pipe: pipes.indexOf(file.pipe) };
    const { node, position } = file;
    const at = removed.indexOf(node);
    if (kind === 'file')
      return { kind, flags, node: at >= 0 ? at : (paths.get(node) ?? file.path), position };
    const { base, listing } = file;
    const names = listing === undefined ? null : listing.names.slice(position - listing.start);
    return { kind, flags, node: typeof base === 'string' ? base : at, position, names };
  };
  const saveRoot = (root: string) => {
    const { mode, mtimeMs } = rootNode(kernel, root);
    return [root, { mode, mtime_ms: mtimeMs }];
  };
  return {
    cwd: typeof kernel.cwd === 'string' ? kernel.cwd : removed.indexOf(kernel.cwd),
    umask: kernel.umask,
    calls: kernel.calls,
    clock_ms: kernel.clockMs,
    drawn_bytes: kernel.drawnBytes,
    roots: Object.fromEntries(WRITABLE_ROOTS.map(saveRoot)),
    removed: removed.map(saveNode),
    files: files.map(saveFile),
    slots: kernel.fds.slots.map((file) => (file === undefined ? null : files.indexOf(file))),
    pipes: pipes.map((pipe) => toText(unreadBytes(pipe))),
    ...ifAny(
      'cut_off',
      pipes.flatMap(({ isCutOff }, i) => (isCutOff ? [i] : [])),
    ),
    ...ifAny(
      'close_on_exec',
      [...kernel.fds.closeOnExec].sort((a, b) => a - b),
    ),
    ...ifAny('ended_children', [...kernel.endedChildren]),
  };
}

// ---- restoring ----

/**
 * Restores a saved state. `contents` are those that `saveRemovedFiles` returned. The volume must already contain the other
 * files.
 */
export function restoreKernelState(
  kernel: Kernel,
  state: KernelState,
  contents: readonly SavedContents[],
): void {
  const nodes = new SavedNodes(kernel, state.removed, contents);
  const pipes = state.pipes.map((text) => newPipe(toBytes(text, PIPE_CAPACITY)));
  for (const pipe of state.cut_off ?? []) at(pipes, pipe).isCutOff = true;
  const files = state.files.map((saved) => restoreFile(saved, nodes, pipes));
  const table = new DescriptorTable();
  state.slots.forEach((index, fd) => {
    if (index === null) return;
    const file = at(files, index);
    file.refs++;
    table.installAt(file, fd);
  });
  const cwd = nodes.workingDirectory(state.cwd);
  if (files.some(({ refs }) => refs === 0) || !nodes.areAllUsed) throw syscallError('EBADF');
  for (const fd of state.close_on_exec ?? []) {
    table.get(fd);
    table.closeOnExec.add(fd);
  }
  retainAll(
    kernel.volume,
    files.flatMap((file) => (file.kind === 'file' ? [file.node] : [])),
  );
  for (const file of files)
    if (file.kind === 'pipe') file.pipe[file.end === 'read' ? 'readers' : 'writers']++;
  kernel.fds = table;
  kernel.endedChildren = state.ended_children ?? [];
  kernel.pipeAccount = { bytes: pipes.reduce((sum, { bytes }) => sum + bytes.length, 0) };
  kernel.cwd = cwd;
  kernel.umask = state.umask;
  kernel.calls = state.calls;
  kernel.clockMs = state.clock_ms;
  kernel.drawnBytes = state.drawn_bytes;
  for (const root of WRITABLE_ROOTS) {
    const { mode, mtime_ms } = state.roots[root];
    Object.assign(rootNode(kernel, root), { mode, mtimeMs: mtime_ms });
  }
}

/** Counts a descriptor of each node. Counts none if the quota does not allow all of them. */
function retainAll(volume: Volume, nodes: readonly Node[]): void {
  const retained: Node[] = [];
  try {
    for (const node of nodes) {
      volume.retain(node);
      retained.push(node);
    }
  } catch (cause) {
    for (const node of retained) volume.release(node);
    throw cause;
  }
}

/** The element that a saved index refers to. */
function at<T>(list: readonly T[], index: number): T {
  const found = list[index];
  if (found === undefined) throw syscallError('EBADF');
  return found;
}

function restoreFile(saved: SavedFile, nodes: SavedNodes, pipes: readonly PipeBuffer[]): OpenFile {
  const common = { refs: 0, flags: saved.flags };
  if (isDevice(saved)) return { ...common, kind: saved.kind };
  const { kind } = saved;
  if (kind === 'stream') return { ...common, kind, stream: saved.stream };
  if (kind === 'pipe') return { ...common, kind, end: saved.end, pipe: at(pipes, saved.pipe) };
  const { position, node: reference } = saved;
  const path = typeof reference === 'string' ? reference : '';
  if (kind === 'file') return { ...common, kind, node: nodes.file(reference), path, position };
  const node = nodes.directory(reference);
  const listing = saved.names === null ? undefined : { names: saved.names, start: position };
  return { ...common, kind, node, base: baseOf(node, path), position, listing };
}

/**
 * The nodes that a saved state refers to. Between two calls the host may have removed or replaced a node; an empty file or
 * directory without a name takes its place.
 */
class SavedNodes {
  readonly #kernel: Kernel;
  readonly #removed: readonly (FileNode | DirNode)[];
  readonly #used = new Set<Node>();
  /** Nodes that take the place of missing ones, by kind and path. */
  readonly #replacements = new Map<string, FileNode | DirNode>();

  constructor(kernel: Kernel, removed: readonly SavedNode[], contents: readonly SavedContents[]) {
    const { volume } = kernel;
    this.#kernel = kernel;
    const files = contents.values();
    this.#removed = removed.map(({ kind, mode, mtime_ms }) => {
      if (kind === 'dir') return volume.createRemovedDir(mode, mtime_ms);
      const { value: saved } = files.next();
      if (saved === undefined) throw syscallError('EBADF');
      savedContents.set(saved.bytes, saved);
      return volume.createRemovedFile(mode, mtime_ms, saved.bytes);
    });
    if (files.next().done !== true) throw syscallError('EBADF');
  }

  /** Whether something refers to every removed node, as in every state that was saved. */
  get areAllUsed(): boolean {
    return this.#used.size === this.#removed.length;
  }

  file(reference: NodeReference): FileNode {
    return this.#find(reference, 'file') as FileNode;
  }

  directory(reference: NodeReference): DirNode {
    return this.#find(reference, 'dir') as DirNode;
  }

  /** The working directory; the workspace if the host has removed it. */
  workingDirectory(reference: NodeReference): BaseDirectory {
    if (typeof reference === 'number') return this.directory(reference);
    return this.#existing(reference)?.kind === 'dir' ? reference : this.#kernel.volume.home;
  }

  #find(reference: NodeReference, kind: 'file' | 'dir'): FileNode | DirNode {
    if (typeof reference === 'number') {
      const node = at(this.#removed, reference);
      if (node.kind !== kind) throw syscallError('EBADF');
      this.#used.add(node);
      return node;
    }
    const found = this.#existing(reference);
    if (found?.kind === kind) return found;
    const key = `${kind} ${reference}`;
    const replacement = this.#replacements.get(key) ?? this.#emptyNode(kind);
    this.#replacements.set(key, replacement);
    return replacement;
  }

  #emptyNode(kind: 'file' | 'dir'): FileNode | DirNode {
    const { volume, host } = this.#kernel;
    return kind === 'file'
      ? volume.createRemovedFile(0o600, host.now(), new Uint8Array())
      : volume.createRemovedDir(0o700, host.now());
  }

  /** The node at a canonical path; undefined if there is none. */
  #existing(path: string): Node | undefined {
    try {
      const found = this.#kernel.volume.resolve(path, '/', false);
      return found.path === path ? found.node : undefined;
    } catch (cause) {
      if (cause instanceof FsError) return undefined;
      throw cause;
    }
  }
}
