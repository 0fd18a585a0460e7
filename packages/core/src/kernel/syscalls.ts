/**
 * The system calls in terms of paths, descriptors and buffers. Each runtime translates the calling convention of its
 * interpreter to these (runtimes/<name>/syscalls) and converts the errors they throw to errno. The state is plain data;
 * time, entropy and output come from the host.
 */
import type { DirNode, FileNode, Node } from '../fs/nodes.ts';
import { type BaseDirectory, baseOf } from '../fs/resolve-path.ts';
import type { Volume } from '../fs/volume.ts';
import { AT, O, SEEK } from './abi.ts';
import { type CallEnvironment, NO_CALL } from './call-environment.ts';
import { DescriptorTable, type DirectoryListing, type OpenFile } from './descriptors.ts';
import { DEVICES, type DeviceKind, descriptorOf, isDevice } from './devices.ts';
import { deviceStatus, type FileStatus, nodeStatus } from './file-status.ts';
import type { Host } from './host-services.ts';
import { ImportLog } from './module-import-log.ts';
import { newPipe, type PipeAccount, type PipeBuffer, readPipe, releasePipe, writePipe } from './pipe.ts';
import type { EndedProcess, InheritedState } from './processes.ts';
import { syscallError } from './syscall-error.ts';

/** Fuel for a microsecond of host time, the rate of the virtual clock. */
export const FUEL_PER_US = 1000;

/** Host work, in estimated microseconds, between two calls of `Host.check`. */
const CHECK_INTERVAL_US = 1000;

/** Random bytes that one read returns, as on Linux, and those generated between two checks of the limits. */
const MAX_RANDOM_BYTES = 2 ** 25 - 1;
const RANDOM_CHUNK = 65_536;
/** Random bytes that the host generates in a microsecond. */
export const RANDOM_BYTES_PER_US = 500;

/** Names that unfinished listings of directories may hold together, beyond the number of files that the quota allows. */
const MAX_LISTED_NAMES = 65_536;

/** Flags that have an effect only while a file is opened. */
const CREATION_FLAGS = O.CREAT | O.EXCL | O.TRUNC | O.CLOEXEC;

/** A directory entry as returned by getdents64 and readdir. */
interface DirectoryEntry {
  name: string;
  ino: number;
  kind: Node['kind'];
}

export class Kernel {
  /** The working directory: its path, or the directory itself if it was removed. */
  cwd: BaseDirectory = '/app';
  umask = 0o022;
  /** Number of calls that the interpreter has completed since it started from its image. */
  calls = 0;
  /** Value of the monotonic clock at the end of the last run, in milliseconds. */
  clockMs = 0;
  /** Bytes that earlier runs have read from the seeded random stream. */
  drawnBytes = 0;
  fds = DescriptorTable.standard();
  /** Memory of the pipes. The processes of a call share it. */
  pipeAccount: PipeAccount = { bytes: 0 };
  /** Children of earlier calls that have ended and that the program has not waited for. */
  endedChildren: readonly EndedProcess[] = [];
  env: Readonly<Record<string, string>> = {};
  /** Modules that the current program has imported. */
  imports = new ImportLog();
  /** What the host provides to the program that runs. */
  call: CallEnvironment = NO_CALL;
  #hostTimeUs = 0;

  constructor(
    public volume: Volume,
    readonly host: Host,
  ) {}

  /** Resets the state to that of an image: only the three standard streams are open. */
  reset(cwd: string, umask: number): void {
    const { volume, host, env } = this;
    Object.assign(this, new Kernel(volume, host), { cwd, umask, env });
  }

  /** Begins a call, or a part of one in a child process, which inherits from its parent. */
  beginCall(call: CallEnvironment, inherited?: InheritedState): void {
    this.call = call;
    Object.assign(this, inherited);
  }

  endCall(): void {
    this.call = NO_CALL;
  }

  /** Accounts for work of the host: charges fuel for it, and checks the limits about once per millisecond of it. */
  chargeHostTime(microseconds: number): void {
    this.host.charge(Math.ceil(microseconds * FUEL_PER_US));
    this.#hostTimeUs += microseconds;
    if (this.#hostTimeUs < CHECK_INTERVAL_US) return;
    this.#hostTimeUs = 0;
    this.host.check();
  }

  /** The directory that the path of an *at system call is relative to. */
  baseDirectory(dirfd: number, path: string): BaseDirectory {
    if (dirfd === AT.FDCWD || path.startsWith('/')) return this.cwd;
    return this.#openDirectory(dirfd).base;
  }

  #openDirectory(fd: number): Extract<OpenFile, { kind: 'dir' }> {
    const file = this.fds.get(fd);
    if (file.kind !== 'dir') throw syscallError('ENOTDIR');
    return file;
  }

  /** The nodes that are open, and the working directory. */
  nodesInUse(): Set<Node> {
    const nodes = new Set<Node>();
    for (const file of this.fds.slots)
      if (file?.kind === 'file' || file?.kind === 'dir') nodes.add(file.node);
    nodes.add(typeof this.cwd === 'string' ? this.volume.lookup(this.cwd, '/', true) : this.cwd);
    return nodes;
  }

  /** The nodes without a name that the kernel refers to, in a fixed order. */
  removedNodes(): (FileNode | DirNode)[] {
    const nodes = new Set<FileNode | DirNode>();
    if (typeof this.cwd !== 'string') nodes.add(this.cwd);
    for (const file of this.fds.slots)
      if ((file?.kind === 'file' || file?.kind === 'dir') && file.node.nlink === 0) nodes.add(file.node);
    return [...nodes];
  }

  /** Assigns inode numbers, between two calls, that do not depend on whether the kernel has been restored. */
  renumberNodes(): void {
    this.volume.renumber(this.removedNodes(), () => this.nodesInUse());
  }

  // ---- paths ----

  open(base: BaseDirectory, path: string, flags: number, mode: number): number {
    const fd = this.#openDevice(path, flags);
    if (fd !== undefined && (flags & O.CLOEXEC) !== 0) this.fds.closeOnExec.add(fd);
    return fd ?? this.#openPath(base, path, flags, mode);
  }

  /** Opens a device or duplicates a descriptor; undefined if the path is another one. */
  #openDevice(path: string, flags: number): number | undefined {
    const device = DEVICES.get(path);
    if (device?.kind === 'results' && !this.call.hasResults) throw syscallError('ENOENT');
    if (device !== undefined) return this.fds.install({ ...device, refs: 1, flags });
    const original = descriptorOf(path);
    if (original === undefined) return undefined;
    const file = this.fds.slots[original];
    if (file === undefined) throw syscallError('ENOENT');
    if (file.kind !== 'file') return this.dup(original);
    // As on Linux, the file is opened again and has a position of its own.
    if ((flags & O.ACCMODE) !== 0 && file.node.readonly) throw syscallError('EROFS');
    const fd = this.fds.install({ ...file, refs: 1, flags: flags & ~CREATION_FLAGS, position: 0 });
    this.volume.retain(file.node);
    return fd;
  }

  #openPath(base: BaseDirectory, path: string, flags: number, mode: number): number {
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
    const common = { refs: 1, flags: flags & ~CREATION_FLAGS };
    const { node } = found;
    if (node.kind === 'symlink') throw syscallError('ELOOP');
    const file: OpenFile =
      node.kind === 'dir'
        ? { ...common, kind: 'dir', node, base: baseOf(node, found.path), position: 0, listing: undefined }
        : { ...common, kind: 'file', node, path: found.path, position: 0 };
    const fd = this.fds.install(file);
    if (node.kind === 'file') this.volume.retain(node);
    if ((flags & O.CLOEXEC) !== 0) this.fds.closeOnExec.add(fd);
    return fd;
  }

  stat(base: BaseDirectory, path: string, follow: boolean): FileStatus {
    const device = DEVICES.get(path);
    if (device !== undefined) return deviceStatus(device.kind, 1, this.host.now());
    const original = descriptorOf(path);
    if (original !== undefined && this.fds.slots[original] !== undefined) return this.fstat(original);
    return nodeStatus(this.volume.lookup(path, base, follow));
  }

  access(base: BaseDirectory, path: string, amode: number): number {
    const original = descriptorOf(path);
    if (DEVICES.has(path) || (original !== undefined && this.fds.slots[original] !== undefined)) {
      if ((amode & 1) !== 0) throw syscallError('EACCES');
      return 0;
    }
    const node = this.volume.lookup(path, base, true);
    if ((amode & 2) !== 0 && node.readonly) throw syscallError('EROFS');
    if ((amode & 1) !== 0 && node.kind === 'file' && (node.mode & 0o111) === 0) throw syscallError('EACCES');
    return 0;
  }

  chdir(path: string, base = this.cwd): number {
    const found = this.volume.resolve(path, base, true);
    if (found.node.kind !== 'dir') throw syscallError('ENOTDIR');
    this.cwd = baseOf(found.node, found.path);
    return 0;
  }

  fchdir(fd: number): number {
    this.cwd = this.#openDirectory(fd).base;
    return 0;
  }

  /** The path of the working directory. Fails with ENOENT if the directory was removed. */
  getcwd(): string {
    if (typeof this.cwd !== 'string') throw syscallError('ENOENT');
    return this.cwd;
  }

  /** The canonical path of an existing node. Fails with ENOENT for a removed directory. */
  realpath(path: string): string {
    const found = this.volume.resolve(path, this.cwd, true);
    if (found.path === '') throw syscallError('ENOENT');
    return found.path;
  }

  rmdir(path: string, base: BaseDirectory): number {
    const removed = this.volume.rmdir(path, base);
    this.#mapBases((each) => (each === removed.path ? (removed.node as DirNode) : each));
    return 0;
  }

  rename(from: string, fromBase: BaseDirectory, to: string, toBase: BaseDirectory): number {
    const { source, target } = this.volume.rename(from, fromBase, to, toBase);
    const replaced = target.node;
    if (replaced?.kind === 'dir' && replaced !== source.node)
      this.#mapBases((each) => (each === target.path ? replaced : each));
    this.#mapBases((each) => {
      if (typeof each !== 'string' || !`${each}/`.startsWith(`${source.path}/`)) return each;
      return target.path + each.slice(source.path.length);
    });
    return 0;
  }

  /** Replaces the working directory and the paths of open directories after a directory was renamed or removed. */
  #mapBases(map: (base: BaseDirectory) => BaseDirectory): void {
    const open = new Set<OpenFile>();
    for (const user of this.call.processes?.directoryUsers ?? [this]) {
      user.cwd = map(user.cwd);
      for (const file of user.fds.slots) if (file?.kind === 'dir') open.add(file);
    }
    for (const file of open) if (file.kind === 'dir') file.base = map(file.base);
  }

  // ---- descriptors ----

  close(fd: number): number {
    this.#drop(this.fds.remove(fd));
    return 0;
  }

  /** Sets a descriptor in the table of a new process to what `from` is here, or closes it if that is -1. */
  setDescriptor(table: DescriptorTable, fd: number, from: number): void {
    const file = from === -1 ? undefined : this.fds.get(from);
    if (file?.kind === 'results') throw syscallError('EBADF');
    const previous = table.slots[fd];
    if (file !== undefined) {
      table.installAt(file, fd);
      file.refs++;
    } else if (previous !== undefined) table.remove(fd);
    if (previous !== undefined) this.#drop(previous);
  }

  /** Closes all descriptors of a table. */
  closeAll(fds: DescriptorTable): void {
    for (const [fd, file] of fds.slots.entries()) if (file !== undefined) this.#drop(fds.remove(fd));
  }

  /** Drops one reference to a description. The last one releases its file or pipe. */
  #drop(file: OpenFile): void {
    file.refs--;
    if (file.refs > 0) return;
    if (file.kind === 'file') this.volume.release(file.node);
    if (file.kind !== 'pipe') return;
    const { pipe } = file;
    pipe[file.end === 'read' ? 'readers' : 'writers']--;
    if (pipe.readers === 0) releasePipe(pipe, this.pipeAccount);
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

  pipe(flags = 0): [number, number] {
    const pipe = { ...newPipe(), readers: 1, writers: 1 };
    const nonBlocking = flags & O.NONBLOCK;
    const read = this.fds.install({ kind: 'pipe', pipe, end: 'read', refs: 1, flags: nonBlocking });
    try {
      const write = this.fds.install({ kind: 'pipe', pipe, end: 'write', refs: 1, flags: 1 | nonBlocking });
      if ((flags & O.CLOEXEC) !== 0) for (const fd of [read, write]) this.fds.closeOnExec.add(fd);
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
    if (isDevice(file)) return this.#readDevice(file.kind, into);
    if (at !== undefined) throw syscallError('ESPIPE');
    return file.kind === 'pipe' ? this.#readPipe(file, into) : this.call.input.read(into);
  }

  /** Reads from a pipe. If it is empty, the processes that can write to it run first. */
  #readPipe({ pipe, flags }: { pipe: PipeBuffer; flags: number }, into: Uint8Array): number {
    const mayRun = (flags & O.NONBLOCK) === 0 && into.length > 0;
    if (pipe.length === 0 && pipe.writers > 0 && mayRun && this.call.processes?.fill(pipe) === true) return 0;
    return readPipe(pipe, into, this.pipeAccount);
  }

  /** Writes to a pipe. If it is full, the processes that read it run first. */
  #writePipe({ pipe, flags }: { pipe: PipeBuffer; flags: number }, from: Uint8Array): number {
    const mayWait = (flags & O.NONBLOCK) === 0 && pipe.readers > 0 && from.length > 0;
    const isNear = pipe.length >= pipe.yieldLength || from.length > pipe.capacity - pipe.length;
    const capacity = (mayWait && isNear && this.call.processes?.capacityOf(pipe)) || pipe.capacity;
    return writePipe(pipe, from, capacity, this.pipeAccount);
  }

  #readDevice(kind: DeviceKind, into: Uint8Array): number {
    if (kind === 'random') return this.random(into.subarray(0, MAX_RANDOM_BYTES));
    return kind === 'zero' || kind === 'full' ? into.fill(0).length : 0;
  }

  /** Fills a buffer with random bytes and returns their number. */
  random(into: Uint8Array): number {
    for (let at = 0; at < into.length; at += RANDOM_CHUNK) {
      const chunk = into.subarray(at, at + RANDOM_CHUNK);
      this.chargeHostTime(1 + chunk.length / RANDOM_BYTES_PER_US);
      this.host.random(chunk);
    }
    return into.length;
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
    if (isDevice(file)) return this.#writeDevice(file.kind, from);
    if (at !== undefined) throw syscallError('ESPIPE');
    if (file.kind === 'pipe') return this.#writePipe(file, from);
    if (file.stream === 0) throw syscallError('EBADF');
    this.host.output(file.stream, from);
    return from.length;
  }

  #writeDevice(kind: DeviceKind, from: Uint8Array): number {
    if (kind === 'full') throw syscallError('ENOSPC');
    if (kind === 'results') {
      // Parsing takes about 10 ms per MiB.
      this.chargeHostTime(from.length / 100);
      this.host.result(from);
    }
    return from.length;
  }

  seek(fd: number, offset: number, whence: number): number {
    const file = this.fds.get(fd);
    if (isDevice(file) && file.kind !== 'results') return 0;
    if (file.kind !== 'file' && file.kind !== 'dir') throw syscallError('ESPIPE');
    const end = file.kind === 'file' ? file.node.size : 0;
    const start =
      whence === SEEK.SET ? 0 : whence === SEEK.CUR ? file.position : whence === SEEK.END ? end : -1;
    if (start < 0) throw syscallError('EINVAL');
    const position = start + offset;
    if (position < 0 || !Number.isSafeInteger(position)) throw syscallError('EINVAL');
    // The next read takes a new snapshot. A rewound directory shows its current names.
    if (file.kind === 'dir' && (position !== file.position || position === 0)) file.listing = undefined;
    file.position = position;
    return position;
  }

  fstat(fd: number): FileStatus {
    const file = this.fds.get(fd);
    if (file.kind === 'file' || file.kind === 'dir') return nodeStatus(file.node);
    // As for the path of the device, so that programs see that both are the same.
    return deviceStatus(file.kind, isDevice(file) ? 1 : fd + 1, this.host.now());
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
    const file = this.#openDirectory(fd);
    file.listing ??= this.#list(file.node);
    const { names, start } = file.listing;
    this.chargeHostTime(1);
    while (file.position - start < names.length) {
      const entry = this.#entry(file.node, names[file.position - start]!);
      if (entry !== undefined && !accept(entry, file.position + 1)) return;
      file.position++;
    }
    // A finished listing holds no names.
    file.listing = { names: [], start: file.position };
  }

  /** Takes a snapshot of a directory. Snapshots are part of the state of a session, so their size is bounded. */
  #list(dir: DirNode): DirectoryListing {
    let listed = dir.entries.size;
    for (const file of this.fds.slots) if (file?.kind === 'dir') listed += file.listing?.names.length ?? 0;
    if (listed > MAX_LISTED_NAMES + this.volume.limits.maxFiles) throw syscallError('ENOMEM');
    // The names are sorted.
    this.chargeHostTime(dir.entries.size / 2);
    return { names: ['.', '..', ...this.volume.readdir(dir).map(({ name }) => name)], start: 0 };
  }

  #entry(dir: DirNode, name: string): DirectoryEntry | undefined {
    if (name === '.' || name === '..') return { name, ino: dir.ino, kind: 'dir' };
    const node = dir.entries.get(name);
    return node && { name, ino: node.ino, kind: node.kind };
  }
}
