/**
 * The kernel state as plain data: working directory, umask, clock and open files. A file is identified by its path; a
 * file that was deleted while open is saved with its contents. Saved state is untrusted: a description that does not
 * match the volume fails with EBADF and leaves the kernel unchanged.
 */
import { z } from 'zod';
import { MAX_TIME_MS } from '../fs/flat-entries.ts';
import { FsError } from '../fs/fs-error.ts';
import type { DirNode, FileNode, Node } from '../fs/nodes.ts';
import { visitTree } from '../fs/nodes.ts';
import { WRITABLE_ROOTS } from '../fs/volume.ts';
import {
  DescriptorTable,
  MAX_DESCRIPTORS,
  type OpenFile,
  PIPE_CAPACITY,
  type PipeBuffer,
} from './descriptors.ts';
import { syscallError } from './syscall-error.ts';
import type { Kernel } from './syscalls.ts';

const nonNegativeInteger = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const common = { flags: z.number().int(), path: z.string() };
/** An open file description; descriptors refer to it by its index. */
const savedFile = z.discriminatedUnion('kind', [
  z.strictObject({ ...common, kind: z.literal('null') }),
  z.strictObject({ ...common, kind: z.literal('stream'), stream: z.literal([0, 1, 2]) }),
  z.strictObject({ ...common, kind: z.literal('dir'), position: nonNegativeInteger }),
  z.strictObject({
    ...common,
    kind: z.literal('file'),
    position: nonNegativeInteger,
    /** Contents of a deleted file, in base64. */
    orphan: z.string().optional(),
    /** Index of another description of the same deleted file, which has its contents. */
    orphan_of: nonNegativeInteger.optional(),
  }),
  z.strictObject({
    ...common,
    kind: z.literal('pipe'),
    end: z.enum(['read', 'write']),
    pipe: nonNegativeInteger,
  }),
]);
type SavedFile = z.infer<typeof savedFile>;

/** Ten thousand years: more than any guest clock reaches, and still within the range of dates. */
const MAX_CLOCK_MS = 3.2e14;

export const kernelState = z.strictObject({
  cwd: z.string(),
  umask: z.number().int(),
  clock_ms: z.number().min(0).max(MAX_CLOCK_MS),
  drawn_bytes: nonNegativeInteger,
  /** Modification times of the writable roots in milliseconds; a guest can set any value. */
  touched: z.record(z.enum(WRITABLE_ROOTS), z.number().min(-MAX_TIME_MS).max(MAX_TIME_MS)),
  files: z.array(savedFile).max(MAX_DESCRIPTORS),
  /** By descriptor: index into `files`, or null if it is not open. */
  slots: z.array(nonNegativeInteger.nullable()).max(MAX_DESCRIPTORS),
  /** Contents of the pipes, in base64. */
  pipes: z.array(z.string()).max(MAX_DESCRIPTORS),
});
type KernelState = z.infer<typeof kernelState>;
type Touched = KernelState['touched'];

const rootNode = ({ volume }: Kernel, root: string) => volume.lookup(root, '/', true);

const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const toBytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));

/** Paths of all nodes below the writable roots, to find open files that were renamed. */
function writablePaths(tree: DirNode): Map<Node, string> {
  const paths = new Map<Node, string>();
  for (const root of WRITABLE_ROOTS) {
    visitTree(tree.entries.get(root.slice(1)) as DirNode, (path, node) => paths.set(node, `${root}/${path}`));
  }
  return paths;
}

export function saveKernelState(kernel: Kernel): KernelState {
  const paths = writablePaths(kernel.volume.root);
  const pipes: PipeBuffer[] = [];
  const files = [...new Set(kernel.fds.slots.filter((file) => file !== undefined))];
  const orphans = new Map<Node, number>();
  const saved = files.map((file, index): SavedFile => {
    const { flags } = file;
    if (file.kind === 'null') return { kind: 'null', flags, path: file.path };
    if (file.kind === 'stream') return { kind: 'stream', flags, path: file.path, stream: file.stream };
    if (file.kind === 'pipe') {
      if (!pipes.includes(file.pipe)) pipes.push(file.pipe);
      return { kind: 'pipe', flags, path: file.path, end: file.end, pipe: pipes.indexOf(file.pipe) };
    }
    const { node, position } = file;
    const path = node.readonly ? file.path : (paths.get(node) ?? file.path);
    if (file.kind === 'dir') return { kind: 'dir', flags, path, position };
    const described = { kind: 'file', flags, path, position } as const;
    if (node.readonly || paths.has(node)) return described;
    const first = orphans.get(node);
    if (first !== undefined) return { ...described, orphan_of: first };
    orphans.set(node, index);
    return { ...described, orphan: toText(file.node.data.subarray(0, file.node.size)) };
  });
  return {
    cwd: kernel.cwd,
    umask: kernel.umask,
    clock_ms: kernel.clockMs,
    drawn_bytes: kernel.drawnBytes,
    touched: Object.fromEntries(
      WRITABLE_ROOTS.map((root) => [root, rootNode(kernel, root).mtimeMs]),
    ) as Touched,
    files: saved,
    slots: kernel.fds.slots.map((file) => (file === undefined ? null : files.indexOf(file))),
    pipes: pipes.map(({ bytes, start, length }) => {
      const rotated = Uint8Array.from({ length }, (_, i) => bytes[(start + i) % PIPE_CAPACITY]!);
      return toText(rotated);
    }),
  };
}

/** Restores a saved state. The volume must already contain the saved files. */
export function restoreKernelState(kernel: Kernel, state: KernelState): void {
  const pipes = state.pipes.map((text): PipeBuffer => {
    const content = toBytes(text).subarray(0, PIPE_CAPACITY);
    const bytes = new Uint8Array(PIPE_CAPACITY);
    bytes.set(content);
    return { bytes, start: 0, length: content.length, readers: 0, writers: 0 };
  });
  const files: OpenFile[] = [];
  for (const saved of state.files) files.push(openSaved(kernel, saved, pipes, files));
  const table = new DescriptorTable();
  state.slots.forEach((index, fd) => {
    if (index === null) return;
    const file = files[index];
    if (file === undefined) throw syscallError('EBADF');
    file.refs++;
    table.installAt(file, fd);
  });
  kernel.fds = table;
  kernel.umask = state.umask & 0o777;
  kernel.clockMs = state.clock_ms;
  kernel.drawnBytes = state.drawn_bytes;
  for (const root of WRITABLE_ROOTS) rootNode(kernel, root).mtimeMs = state.touched[root];
  kernel.cwd = '/app';
  // The host may have deleted or replaced the directory while the session was idle.
  if (find(kernel, state.cwd)?.kind === 'dir') kernel.chdir(state.cwd);
}

/** The node at a saved path; undefined if the path does not lead to one. */
function find({ volume }: Kernel, path: string): Node | undefined {
  try {
    return volume.lookup(path, '/', true);
  } catch (cause) {
    if (cause instanceof FsError) return undefined;
    throw cause;
  }
}

function openSaved(
  kernel: Kernel,
  saved: SavedFile,
  pipes: readonly PipeBuffer[],
  earlier: readonly OpenFile[],
): OpenFile {
  const common = { refs: 0, flags: saved.flags, path: saved.path };
  if (saved.kind === 'null') return { ...common, kind: 'null' };
  if (saved.kind === 'stream') return { ...common, kind: 'stream', stream: saved.stream };
  if (saved.kind === 'pipe') {
    const pipe = pipes[saved.pipe];
    if (pipe === undefined) throw syscallError('EBADF');
    pipe[saved.end === 'read' ? 'readers' : 'writers']++;
    return { ...common, kind: 'pipe', end: saved.end, pipe };
  }
  const { position } = saved;
  if (saved.kind === 'dir') {
    const found = find(kernel, saved.path);
    const node = found?.kind === 'dir' ? found : kernel.volume.root;
    return { ...common, kind: 'dir', node, position, names: undefined };
  }
  const node = fileOf(kernel, saved, earlier);
  kernel.volume.retain(node);
  return { ...common, kind: 'file', node, position };
}

/** The file at the saved path; otherwise an unnamed file with the saved contents, empty if the host deleted it. */
function fileOf(
  kernel: Kernel,
  saved: Extract<SavedFile, { kind: 'file' }>,
  earlier: readonly OpenFile[],
): FileNode {
  if (saved.orphan_of !== undefined) {
    const other = earlier[saved.orphan_of];
    if (other?.kind !== 'file') throw syscallError('EBADF');
    return other.node;
  }
  const node = saved.orphan === undefined ? find(kernel, saved.path) : undefined;
  if (node?.kind === 'file') return node;
  return kernel.volume.createOrphanFile(toBytes(saved.orphan ?? ''));
}
