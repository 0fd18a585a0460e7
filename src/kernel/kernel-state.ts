/**
 * The kernel's part of a guest's state as plain data: folder, mask, clock and open files. A file is named by its path; one that
 * was deleted while open brings its bytes along. What is read back is hostile: a description that does not fit the
 * volume is refused with EBADF, and nothing of it is taken over.
 */
import { z } from 'zod';
import { MAX_TIME_MS } from '../fs/entries.ts';
import type { DirNode, FileNode, Node } from '../fs/tree.ts';
import { visitTree } from '../fs/tree.ts';
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

const place = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
const common = { flags: z.number().int(), path: z.string() };
/** An open file description; descriptors point to it by its place in the list. */
const savedFile = z.discriminatedUnion('kind', [
  z.strictObject({ ...common, kind: z.literal('null') }),
  z.strictObject({ ...common, kind: z.literal('stream'), stream: z.literal([0, 1, 2]) }),
  z.strictObject({ ...common, kind: z.literal('dir'), position: place }),
  z.strictObject({
    ...common,
    kind: z.literal('file'),
    position: place,
    orphan: z.string().optional(),
    /** Place in the list of another description of the same file, which has its bytes. */
    orphan_of: place.optional(),
  }),
  z.strictObject({ ...common, kind: z.literal('pipe'), end: z.enum(['read', 'write']), pipe: place }),
]);
type SavedFile = z.infer<typeof savedFile>;

/** Ten thousand years: no clock of a guest gets there, and every date up to there is one. */
const MAX_CLOCK_MS = 3.2e14;

export const kernelState = z.strictObject({
  cwd: z.string(),
  umask: z.number().int(),
  clock_ms: z.number().min(0).max(MAX_CLOCK_MS),
  drawn_bytes: place,
  /** When the folders changed that files are written to, in milliseconds; a guest dates them as it likes. */
  touched: z.record(z.enum(WRITABLE_ROOTS), z.number().min(-MAX_TIME_MS).max(MAX_TIME_MS)),
  files: z.array(savedFile).max(MAX_DESCRIPTORS),
  /** By descriptor: index into `files`, or null where nothing is open. */
  slots: z.array(place.nullable()).max(MAX_DESCRIPTORS),
  /** What is in the pipes, in base64. */
  pipes: z.array(z.string()).max(MAX_DESCRIPTORS),
});
export type KernelState = z.infer<typeof kernelState>;
type Touched = KernelState['touched'];

const areaOf = ({ volume }: Kernel, area: string) => volume.lookup(area, '/', true);

const toText = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const toBytes = (text: string) => new Uint8Array(Buffer.from(text, 'base64'));

/** Paths of the files in the writable areas; a renamed open file is found by them. */
function writablePaths(root: DirNode): Map<Node, string> {
  const paths = new Map<Node, string>();
  for (const area of WRITABLE_ROOTS) {
    visitTree(root.entries.get(area.slice(1)) as DirNode, (path, node) => paths.set(node, `${area}/${path}`));
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
      WRITABLE_ROOTS.map((area) => [area, areaOf(kernel, area).mtimeMs]),
    ) as Touched,
    files: saved,
    slots: kernel.fds.slots.map((file) => (file === undefined ? null : files.indexOf(file))),
    pipes: pipes.map(({ bytes, start, length }) => {
      const rotated = Uint8Array.from({ length }, (_, i) => bytes[(start + i) % PIPE_CAPACITY]!);
      return toText(rotated);
    }),
  };
}

/** Brings a kernel, whose volume is already filled, to a saved state. */
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
  for (const area of WRITABLE_ROOTS) areaOf(kernel, area).mtimeMs = state.touched[area];
  kernel.cwd = '/app';
  // A folder may be gone: a person can delete files of an idle session.
  if (kernel.volume.exists(state.cwd)) kernel.chdir(state.cwd);
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
    const node = kernel.volume.exists(saved.path)
      ? kernel.volume.lookup(saved.path, '/', true)
      : kernel.volume.root;
    if (node.kind !== 'dir') throw syscallError('EBADF');
    return { ...common, kind: 'dir', node, position, names: undefined };
  }
  const node = fileOf(kernel, saved, earlier);
  kernel.volume.retain(node);
  return { ...common, kind: 'file', node, position };
}

/** The file at its path; otherwise one without a name, with the bytes it had, or empty if a person took it away. */
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
  if (saved.orphan === undefined && kernel.volume.exists(saved.path)) {
    const node = kernel.volume.lookup(saved.path, '/', true);
    if (node.kind === 'file') return node;
  }
  return kernel.volume.createOrphanFile(toBytes(saved.orphan ?? ''));
}
