/**
 * Emscripten's system calls for paths and descriptors, translated to operations of the kernel. As on Linux, a negative
 * result is a negated errno.
 */
import { AT, FILE_TYPE, O } from '../abi.ts';
import type { FileStatus } from '../file-status.ts';
import type { GuestMemory } from '../guest-memory.ts';
import { setCapacity } from '../pipe.ts';
import { syscallError } from '../syscall-error.ts';
import type { HostFunctions } from '../syscall-guard.ts';
import type { Kernel } from '../syscalls.ts';
import { DIRENT, DIRENT_NAME, FCNTL, FD_CLOEXEC, STAT, STATFS, TIMESPEC, UTIME } from './abi.ts';
import { pollDescriptors } from './poll.ts';

const BLOCK_BYTES = 4096;

/** Units of 512 bytes. The target of a link takes none. */
const blocks = ({ kind, size }: FileStatus) =>
  kind === 'symlink' ? 0 : Math.ceil(size / BLOCK_BYTES) * (BLOCK_BYTES / 512);

function writeStatus(memory: GuestMemory, out: number, status: FileStatus): number {
  const at = out >>> 0;
  memory.bytes(at, STAT.size).fill(0);
  memory.setU32(at + STAT.at.dev, 1);
  memory.setU32(at + STAT.at.mode, FILE_TYPE[status.kind].mode | status.mode);
  memory.setU32(at + STAT.at.nlink, status.nlink);
  memory.setI64(at + STAT.at.size, status.size);
  memory.setU32(at + STAT.at.blksize, BLOCK_BYTES);
  memory.setU32(at + STAT.at.blocks, blocks(status));
  const seconds = Math.floor(status.mtimeMs / 1000);
  const nanoseconds = Math.floor((status.mtimeMs - seconds * 1000) * 1e6);
  for (const field of ['atime', 'mtime', 'ctime'] as const) {
    memory.setI64(at + STAT.at[field], seconds);
    memory.setU32(at + STAT.at[`${field}_ns`], nanoseconds);
  }
  memory.setI64(at + STAT.at.ino, status.ino);
  return 0;
}

export function pathCalls(kernel: Kernel, memory: GuestMemory): HostFunctions {
  const volume = () => kernel.volume;
  const done = (_: unknown) => 0;
  return {
    __syscall_openat: (dirfd: number, path: number, flags: number, varargs: number) => {
      const name = memory.path(path);
      const mode = (flags & O.CREAT) !== 0 ? memory.u32(varargs) : 0;
      return kernel.open(kernel.baseDirectory(dirfd, name), name, flags, mode);
    },
    __syscall_stat64: (path: number, out: number) =>
      writeStatus(memory, out, kernel.stat(kernel.cwd, memory.path(path), true)),
    __syscall_lstat64: (path: number, out: number) =>
      writeStatus(memory, out, kernel.stat(kernel.cwd, memory.path(path), false)),
    __syscall_newfstatat: (dirfd: number, path: number, out: number, flags: number) => {
      const name = memory.path(path);
      if (name === '' && (flags & AT.EMPTY_PATH) !== 0) return writeStatus(memory, out, kernel.fstat(dirfd));
      const follow = (flags & AT.SYMLINK_NOFOLLOW) === 0;
      return writeStatus(memory, out, kernel.stat(kernel.baseDirectory(dirfd, name), name, follow));
    },
    __syscall_faccessat: (dirfd: number, path: number, amode: number, _flags: number) => {
      const name = memory.path(path);
      return kernel.access(kernel.baseDirectory(dirfd, name), name, amode);
    },
    __syscall_chdir: (path: number) => kernel.chdir(memory.path(path)),
    __syscall_fchdir: (fd: number) => kernel.fchdir(fd),
    __syscall_getcwd: (out: number, size: number) => {
      if (size >>> 0 === 0) throw syscallError('EINVAL');
      const needed = memory.writeText(out, Math.min(size >>> 0, 4097), kernel.getcwd(), true);
      if (needed > size >>> 0) throw syscallError(needed > 4097 ? 'ENAMETOOLONG' : 'ERANGE');
      return needed;
    },
    __syscall_mkdirat: (dirfd: number, path: number, mode: number) => {
      const name = memory.path(path);
      return done(volume().mkdir(name, kernel.baseDirectory(dirfd, name), mode & ~kernel.umask));
    },
    __syscall_unlinkat: (dirfd: number, path: number, flags: number) => {
      const name = memory.path(path);
      const base = kernel.baseDirectory(dirfd, name);
      return (flags & AT.REMOVEDIR) !== 0 ? kernel.rmdir(name, base) : done(volume().unlink(name, base));
    },
    __syscall_rmdir: (path: number) => kernel.rmdir(memory.path(path), kernel.cwd),
    __syscall_renameat: (fromFd: number, from: number, toFd: number, to: number) => {
      const source = memory.path(from);
      const target = memory.path(to);
      return kernel.rename(
        source,
        kernel.baseDirectory(fromFd, source),
        target,
        kernel.baseDirectory(toFd, target),
      );
    },
    __syscall_symlinkat: (target: number, dirfd: number, path: number) => {
      const name = memory.path(path);
      return done(volume().symlink(memory.path(target), name, kernel.baseDirectory(dirfd, name)));
    },
    __syscall_readlinkat: (dirfd: number, path: number, out: number, size: number) => {
      const name = memory.path(path);
      const target = volume().readlink(name, kernel.baseDirectory(dirfd, name));
      return Math.min(size >>> 0, memory.writeText(out, size, target, false));
    },
    __syscall_chmod: (path: number, mode: number) =>
      done(volume().chmod(volume().lookup(memory.path(path), kernel.cwd, true), mode)),
    __syscall_fchmodat2: (dirfd: number, path: number, mode: number) => {
      const name = memory.path(path);
      return done(volume().chmod(volume().lookup(name, kernel.baseDirectory(dirfd, name), true), mode));
    },
    __syscall_truncate64: (path: number, size: bigint) => {
      const node = volume().lookup(memory.path(path), kernel.cwd, true);
      if (node.kind !== 'file') throw syscallError('EISDIR');
      return done(volume().truncate(node, length(size)));
    },
    __syscall_utimensat: (dirfd: number, path: number, times: number, flags: number) => {
      const node =
        path === 0
          ? kernel.regularFile(dirfd)
          : volume().lookup(
              memory.path(path),
              kernel.baseDirectory(dirfd, memory.path(path)),
              (flags & AT.SYMLINK_NOFOLLOW) === 0,
            );
      return done(volume().utimes(node, modificationTime(kernel, memory, times, node.mtimeMs)));
    },
    __syscall_statfs64: (path: number, _size: number, out: number) => {
      volume().lookup(memory.path(path), kernel.cwd, true);
      return writeFileSystem(kernel, memory, out);
    },
    __syscall_fstatfs64: (fd: number, _size: number, out: number) => {
      kernel.fds.get(fd);
      return writeFileSystem(kernel, memory, out);
    },
  };
}

/** The second of the two times of utimensat. Access times are not stored. */
function modificationTime(kernel: Kernel, memory: GuestMemory, times: number, current: number): number {
  if (times === 0) return kernel.host.now();
  const entry = times + TIMESPEC.size;
  const nanoseconds = memory.u32(entry + TIMESPEC.at.nsec);
  if (nanoseconds === UTIME.NOW) return kernel.host.now();
  if (nanoseconds === UTIME.OMIT) return current;
  if (nanoseconds >= 1e9) throw syscallError('EINVAL');
  return memory.i64(entry + TIMESPEC.at.sec) * 1000 + nanoseconds / 1e6;
}

function writeFileSystem(kernel: Kernel, memory: GuestMemory, out: number): number {
  const limits = kernel.volume.limits;
  const used = kernel.volume.usage();
  const free = Math.floor(Math.max(0, limits.maxBytes - used.bytes) / BLOCK_BYTES);
  memory.bytes(out, STATFS.size).fill(0);
  memory.setU32(out + STATFS.at.bsize, BLOCK_BYTES);
  memory.setU32(out + STATFS.at.frsize, BLOCK_BYTES);
  memory.setI64(out + STATFS.at.blocks, Math.floor(limits.maxBytes / BLOCK_BYTES));
  memory.setI64(out + STATFS.at.bfree, free);
  memory.setI64(out + STATFS.at.bavail, free);
  memory.setI64(out + STATFS.at.files, limits.maxFiles);
  memory.setI64(out + STATFS.at.ffree, Math.max(0, limits.maxFiles - used.files));
  memory.setU32(out + STATFS.at.namelen, 255);
  return 0;
}

function length(size: bigint): number {
  const value = Number(size);
  if (value < 0 || !Number.isSafeInteger(value)) throw syscallError('EINVAL');
  return value;
}

/** Handles a request of ioctl that is valid on any descriptor. Returns undefined for any other request. */
type IoctlHandler = (request: number, varargs: number) => number | undefined;

export function descriptorCalls(
  kernel: Kernel,
  memory: GuestMemory,
  handleIoctl: IoctlHandler = () => undefined,
): HostFunctions {
  const volume = () => kernel.volume;
  const checked = (fd: number) => {
    kernel.fds.get(fd);
    return 0;
  };
  return {
    __syscall_fstat64: (fd: number, out: number) => writeStatus(memory, out, kernel.fstat(fd)),
    __syscall_getdents64: (fd: number, out: number, size: number) =>
      listDirectory(kernel, memory, fd, out, size),
    __syscall_ftruncate64: (fd: number, size: bigint) => {
      volume().truncate(kernel.regularFile(fd, true), length(size));
      return 0;
    },
    __syscall_fallocate: (fd: number, _mode: number, offset: bigint, size: bigint) => {
      const node = kernel.regularFile(fd, true);
      const end = length(offset) + length(size);
      if (end > node.size) volume().truncate(node, end);
      return 0;
    },
    __syscall_fadvise64: checked,
    __syscall_fdatasync: checked,
    __syscall_fchmod: (fd: number, mode: number) => {
      volume().chmod(kernel.regularFile(fd), mode);
      return 0;
    },
    __syscall_fchown32: checked,
    __syscall_fchownat: () => 0,
    __syscall_dup: (fd: number) => kernel.dup(fd),
    __syscall_dup3: (fd: number, target: number, flags: number) => {
      if (fd === target) throw syscallError('EINVAL');
      const copy = kernel.dup2(fd, target);
      if ((flags & O.CLOEXEC) !== 0) kernel.fds.closeOnExec.add(copy);
      return copy;
    },
    __syscall_pipe: (out: number) => createPipe(kernel, memory, out, 0),
    __syscall_pipe2: (out: number, flags: number) => createPipe(kernel, memory, out, flags),
    __syscall_fcntl64: (fd: number, command: number, varargs: number) =>
      control(kernel, memory, fd, command, varargs),
    __syscall_ioctl: (fd: number, request: number, varargs: number) => {
      const answer = handleIoctl(request >>> 0, varargs);
      if (answer !== undefined) return answer;
      kernel.fds.get(fd);
      throw syscallError('ENOTTY');
    },
    __syscall_poll: (pointer: number, count: number, timeout: number) =>
      pollDescriptors(kernel, memory, pointer >>> 0, count >>> 0, timeout | 0),
  };
}

function createPipe(kernel: Kernel, memory: GuestMemory, out: number, flags: number): number {
  memory.bytes(out, 8);
  const [read, write] = kernel.pipe(flags);
  memory.setU32(out, read);
  memory.setU32(out + 4, write);
  return 0;
}

function listDirectory(kernel: Kernel, memory: GuestMemory, fd: number, out: number, size: number): number {
  const target = memory.bytes(out, size);
  const start = out >>> 0;
  const encoder = new TextEncoder();
  let used = 0;
  let refused = false;
  kernel.readDirectory(fd, (entry, next) => {
    const name = encoder.encode(entry.name);
    const record = Math.ceil((DIRENT_NAME + name.length + 1) / 8) * 8;
    if (used + record > target.length) {
      refused = true;
      return false;
    }
    target.fill(0, used, used + record);
    memory.setI64(start + used + DIRENT.at.ino, entry.ino);
    memory.setI64(start + used + DIRENT.at.off, next);
    memory.setU16(start + used + DIRENT.at.reclen, record);
    memory.setU8(start + used + DIRENT.at.type, FILE_TYPE[entry.kind].dirent);
    target.set(name, used + DIRENT_NAME);
    used += record;
    return true;
  });
  if (refused && used === 0) throw syscallError('EINVAL');
  return used;
}

function control(kernel: Kernel, memory: GuestMemory, fd: number, command: number, varargs: number): number {
  const file = kernel.fds.get(fd);
  switch (command) {
    case FCNTL.DUPFD:
    case FCNTL.DUPFD_CLOEXEC: {
      const from = memory.i32(varargs);
      if (from < 0) throw syscallError('EINVAL');
      const copy = kernel.dup(fd, from);
      if (command === FCNTL.DUPFD_CLOEXEC) kernel.fds.closeOnExec.add(copy);
      return copy;
    }
    case FCNTL.GETFD:
      return kernel.fds.closeOnExec.has(fd) ? FD_CLOEXEC : 0;
    case FCNTL.SETFD:
      if ((memory.u32(varargs) & FD_CLOEXEC) !== 0) kernel.fds.closeOnExec.add(fd);
      else kernel.fds.closeOnExec.delete(fd);
      return 0;
    case FCNTL.GETFL:
      return file.flags;
    case FCNTL.SETFL: {
      const changeable = O.APPEND | O.NONBLOCK;
      file.flags = (file.flags & ~changeable) | (memory.u32(varargs) & changeable);
      return 0;
    }
    case FCNTL.GETPIPE_SZ:
    case FCNTL.SETPIPE_SZ:
      if (file.kind !== 'pipe') throw syscallError('EBADF');
      return command === FCNTL.GETPIPE_SZ ? file.pipe.capacity : setCapacity(file.pipe, memory.i32(varargs));
    default:
      // Locks always succeed, because no other process uses the files.
      if (command >= 5 && command <= 14) return 0;
      throw syscallError('EINVAL');
  }
}
