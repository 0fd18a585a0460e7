/**
 * The system calls in terms of paths, descriptors and buffers. Each runtime translates the calling convention of its
 * interpreter to these (runtimes/<name>/syscalls) and converts the errors they throw to errno. The state is plain data;
 * time, entropy and output come from the host.
 */
import type { DirNode, FileNode, Node } from '../fs/nodes.ts';
import type { Volume } from '../fs/volume.ts';
import { AT, type FILE_TYPE, O, SEEK } from './abi.ts';
import { DescriptorTable, type OpenFile, PIPE_CAPACITY } from './descriptors.ts';
import { ImportLog } from './module-import-log.ts';
import { syscallError } from './syscall-error.ts';

/** The services that the kernel needs; the engine implements them. */
export interface Host {
  /** Wall clock time in milliseconds since 1970, with a fraction. */
  now(): number;
  /** Monotonic clock in milliseconds. */
  monotonic(): number;
  /** Waits; stops the guest when its time limit is reached or it is cancelled. */
  sleep(milliseconds: number): void;
  random(into: Uint8Array): void;
  /** Instructions executed in this run so far. */
  readonly fuelConsumed: number;
  /** Receives output; the receiver enforces the cap. */
  output(stream: 1 | 2, bytes: Uint8Array): void;
  /** Called about once per millisecond of host work; stops the guest when its time limit is reached. */
  check(): void;
}

/** Host work, in estimated microseconds, between two calls of `Host.check`. */
const CHECK_INTERVAL_US = 1000;

/** Files that are not part of the file tree. */
const DEVICES = new Map<string, { kind: 'null' } | { kind: 'stream'; stream: 0 | 1 | 2 }>([
  ['/dev/null', { kind: 'null' }],
  ['/dev/stdin', { kind: 'stream', stream: 0 }],
  ['/dev/stdout', { kind: 'stream', stream: 1 }],
  ['/dev/stderr', { kind: 'stream', stream: 2 }],
]);

export interface FileStatus {
  kind: keyof typeof FILE_TYPE;
  ino: number;
  mode: number;
  nlink: number;
  size: number;
  mtimeMs: number;
}

/** A directory entry as returned by getdents64 and readdir. */
interface DirectoryEntry {
  name: string;
  ino: number;
  kind: Node['kind'];
}

export class Kernel {
  cwd = '/app';
  umask = 0o022;
  /** Value of the monotonic clock at the end of the last run, in milliseconds. */
  clockMs = 0;
  /** Bytes that earlier runs have read from the seeded random stream. */
  drawnBytes = 0;
  fds = DescriptorTable.standard();
  /** The unread part of standard input. */
  stdin: Uint8Array = new Uint8Array();
  env: Readonly<Record<string, string>> = {};
  /** Modules that the current program has imported. */
  imports = new ImportLog();
  #hostTimeUs = 0;

  constructor(
    public volume: Volume,
    readonly host: Host,
  ) {}

  /** Resets the state to that of an image: only the three standard streams are open. */
  reset(cwd: string, umask: number): void {
    this.cwd = cwd;
    this.umask = umask;
    this.clockMs = 0;
    this.drawnBytes = 0;
    this.fds = DescriptorTable.standard();
    this.stdin = new Uint8Array();
    this.imports = new ImportLog();
  }

  /** Accounts for host work, which costs the guest no fuel, so that the time limit is also checked during it. */
  chargeHostTime(microseconds: number): void {
    this.#hostTimeUs += microseconds;
    if (this.#hostTimeUs < CHECK_INTERVAL_US) return;
    this.#hostTimeUs = 0;
    this.host.check();
  }

  /** The directory that the path of an *at system call is relative to. */
  baseDirectory(dirfd: number, path: string): string {
    if (dirfd === AT.FDCWD || path.startsWith('/')) return this.cwd;
    const file = this.fds.get(dirfd);
    if (file.kind !== 'dir') throw syscallError('ENOTDIR');
    return file.path;
  }

  // ---- paths ----

  open(base: string, path: string, flags: number, mode: number): number {
    const device = DEVICES.get(path);
    if (device !== undefined) return this.fds.install({ ...device, refs: 1, flags, path });
    const write = (flags & O.ACCMODE) !== 0;
    const found = this.volume.open(
      path,
      base,
      {
        create: (flags & O.CREAT) !== 0,
        exclusive: (flags & O.EXCL) !== 0,
        truncate: (flags & O.TRUNC) !== 0 && write,
        directory: (flags & O.DIRECTORY) !== 0,
        nofollow: (flags & O.NOFOLLOW) !== 0,
        write,
      },
      mode & ~this.umask,
    );
    const common = { refs: 1, flags: flags & ~(O.CREAT | O.EXCL | O.TRUNC), path: found.path };
    const { node } = found;
    if (node.kind === 'symlink') throw syscallError('ELOOP');
    const file: OpenFile =
      node.kind === 'dir'
        ? { ...common, kind: 'dir', node, position: 0, names: undefined }
        : { ...common, kind: 'file', node, position: 0 };
    const fd = this.fds.install(file);
    if (node.kind === 'file') this.volume.retain(node);
    return fd;
  }

  stat(base: string, path: string, follow: boolean): FileStatus {
    const device = DEVICES.get(path);
    if (device !== undefined) return this.#deviceStatus(device.kind, 1);
    return status(this.volume.lookup(path, base, follow));
  }

  access(base: string, path: string, amode: number): number {
    const node = this.volume.lookup(path, base, true);
    if ((amode & 2) !== 0 && node.readonly) throw syscallError('EROFS');
    if ((amode & 1) !== 0 && node.kind === 'file' && (node.mode & 0o111) === 0) throw syscallError('EACCES');
    return 0;
  }

  chdir(path: string, base = this.cwd): number {
    const found = this.volume.resolve(path, base, true);
    if (found.node.kind !== 'dir') throw syscallError('ENOTDIR');
    this.cwd = found.path;
    return 0;
  }

  fchdir(fd: number): number {
    const file = this.fds.get(fd);
    if (file.kind !== 'dir') throw syscallError('ENOTDIR');
    return this.chdir(file.path, '/');
  }

  // ---- descriptors ----

  close(fd: number): number {
    this.#drop(this.fds.remove(fd));
    return 0;
  }

  /** Drops one reference to a description. The last one releases its file or pipe. */
  #drop(file: OpenFile): void {
    file.refs--;
    if (file.refs > 0) return;
    if (file.kind === 'file') this.volume.release(file.node);
    if (file.kind === 'pipe') file.pipe[file.end === 'read' ? 'readers' : 'writers']--;
  }

  dup(fd: number, from = 0): number {
    const file = this.fds.get(fd);
    const copy = this.fds.install(file, from);
    file.refs++;
    return copy;
  }

  dup2(fd: number, target: number): number {
    const file = this.fds.get(fd);
    if (target === fd) return fd;
    const previous = this.fds.slots[target];
    this.fds.installAt(file, target);
    file.refs++;
    if (previous !== undefined) this.#drop(previous);
    return target;
  }

  pipe(): [number, number] {
    const pipe = { bytes: new Uint8Array(PIPE_CAPACITY), start: 0, length: 0, readers: 1, writers: 1 };
    const read = this.fds.install({ kind: 'pipe', pipe, end: 'read', refs: 1, flags: 0, path: 'pipe:' });
    try {
      const write = this.fds.install({ kind: 'pipe', pipe, end: 'write', refs: 1, flags: 1, path: 'pipe:' });
      return [read, write];
    } catch (cause) {
      this.fds.remove(read);
      throw cause;
    }
  }

  read(fd: number, into: Uint8Array, at?: number): number {
    const file = this.fds.get(fd);
    if ((file.flags & O.ACCMODE) === O.WRONLY) throw syscallError('EBADF');
    this.chargeHostTime(1 + into.length / 4096);
    if (file.kind === 'dir') throw syscallError('EISDIR');
    if (file.kind === 'file') {
      const count = this.volume.read(file.node, at ?? file.position, into);
      if (at === undefined) file.position += count;
      return count;
    }
    if (at !== undefined) throw syscallError('ESPIPE');
    if (file.kind === 'pipe') return readPipe(file.pipe, into);
    return file.kind === 'stream' ? this.#readStdin(into) : 0;
  }

  #readStdin(into: Uint8Array): number {
    const count = Math.min(into.length, this.stdin.length);
    into.set(this.stdin.subarray(0, count));
    this.stdin = this.stdin.subarray(count);
    return count;
  }

  write(fd: number, from: Uint8Array, at?: number): number {
    const file = this.fds.get(fd);
    if ((file.flags & O.ACCMODE) === 0) throw syscallError('EBADF');
    this.chargeHostTime(1 + from.length / 4096);
    if (file.kind === 'dir') throw syscallError('EISDIR');
    if (file.kind === 'file') {
      const position = at ?? ((file.flags & O.APPEND) !== 0 ? file.node.size : file.position);
      const count = this.volume.write(file.node, position, from);
      if (at === undefined) file.position = position + count;
      return count;
    }
    if (at !== undefined) throw syscallError('ESPIPE');
    if (file.kind === 'pipe') return writePipe(file.pipe, from);
    if (file.kind === 'null') return from.length;
    if (file.stream === 0) throw syscallError('EBADF');
    this.host.output(file.stream, from);
    return from.length;
  }

  seek(fd: number, offset: number, whence: number): number {
    const file = this.fds.get(fd);
    if (file.kind !== 'file' && file.kind !== 'dir') throw syscallError('ESPIPE');
    const end = file.kind === 'file' ? file.node.size : 0;
    const start =
      whence === SEEK.SET ? 0 : whence === SEEK.CUR ? file.position : whence === SEEK.END ? end : -1;
    if (start < 0) throw syscallError('EINVAL');
    const position = start + offset;
    if (position < 0 || !Number.isSafeInteger(position)) throw syscallError('EINVAL');
    if (file.kind === 'dir' && position === 0) file.names = undefined;
    file.position = position;
    return position;
  }

  fstat(fd: number): FileStatus {
    const file = this.fds.get(fd);
    if (file.kind === 'file' || file.kind === 'dir') return status(file.node);
    return this.#deviceStatus(file.kind, fd + 1);
  }

  #deviceStatus(kind: 'null' | 'stream' | 'pipe', ino: number): FileStatus {
    return { kind, ino, mode: 0o620, nlink: 1, size: 0, mtimeMs: this.host.now() };
  }

  /** The node of an open regular file; fails for any other kind of descriptor. */
  regularFile(fd: number, forWriting = false): FileNode {
    const file = this.fds.get(fd);
    if (file.kind !== 'file') throw syscallError(file.kind === 'dir' ? 'EISDIR' : 'EINVAL');
    if (forWriting && (file.flags & O.ACCMODE) === 0) throw syscallError('EINVAL');
    return file.node;
  }

  /**
   * Passes the remaining entries of an open directory to `accept`, `.` and `..` first, until it returns false. The
   * names are a snapshot from the first read, so that a program may delete files while it lists them.
   */
  readDirectory(fd: number, accept: (entry: DirectoryEntry, next: number) => boolean): void {
    const file = this.fds.get(fd);
    if (file.kind !== 'dir') throw syscallError('ENOTDIR');
    file.names ??= ['.', '..', ...this.volume.readdir(file.node).map((entry) => entry.name)];
    this.chargeHostTime(1 + file.names.length / 32);
    while (file.position < file.names.length) {
      const entry = this.#entry(file.node, file.names[file.position]!);
      if (entry !== undefined && !accept(entry, file.position + 1)) return;
      file.position++;
    }
  }

  #entry(dir: DirNode, name: string): DirectoryEntry | undefined {
    if (name === '.' || name === '..') return { name, ino: dir.ino, kind: 'dir' };
    const node = dir.entries.get(name);
    return node && { name, ino: node.ino, kind: node.kind };
  }
}

function status(node: Node): FileStatus {
  const size = node.kind === 'file' ? node.size : node.kind === 'symlink' ? node.target.length : 4096;
  const nlink = node.kind === 'file' ? node.nlink : 1;
  return { kind: node.kind, ino: node.ino, mode: node.mode & 0o7777, nlink, size, mtimeMs: node.mtimeMs };
}

type Pipe = Extract<OpenFile, { kind: 'pipe' }>['pipe'];

/** Reads from a pipe. Nothing else could fill an empty pipe, so reading one fails with EAGAIN instead of blocking. */
function readPipe(pipe: Pipe, into: Uint8Array): number {
  if (pipe.length === 0) {
    if (pipe.writers > 0) throw syscallError('EAGAIN');
    return 0;
  }
  const count = Math.min(into.length, pipe.length);
  for (let i = 0; i < count; i++) into[i] = pipe.bytes[(pipe.start + i) % PIPE_CAPACITY]!;
  pipe.start = (pipe.start + count) % PIPE_CAPACITY;
  pipe.length -= count;
  return count;
}

function writePipe(pipe: Pipe, from: Uint8Array): number {
  if (pipe.readers === 0) throw syscallError('EPIPE');
  const count = Math.min(from.length, PIPE_CAPACITY - pipe.length);
  if (count === 0 && from.length > 0) throw syscallError('EAGAIN');
  for (let i = 0; i < count; i++) pipe.bytes[(pipe.start + pipe.length + i) % PIPE_CAPACITY] = from[i]!;
  pipe.length += count;
  return count;
}
