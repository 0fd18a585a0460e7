/**
 * The face that Python's binary sees: Emscripten's system calls, its libc time functions, and the few callbacks of
 * CPython's port. Everything else the binary imports, the JavaScript bridge above all, is not here and therefore
 * denied by the engine.
 */
import {
  AT,
  DIRENT,
  DIRENT_NAME,
  ERRNO,
  FCNTL,
  FILE_TYPE,
  O,
  POLL,
  POLLFD,
  STAT,
  STATFS,
  TIMESPEC,
  TM,
  UTIME,
} from './abi.ts';
import { failure } from './failure.ts';
import { type Doors, guard } from './guard.ts';
import type { GuestMemory } from './memory.ts';
import type { FileStatus, Kernel } from './syscalls.ts';

/** What these doors need of the guest they belong to. */
export interface EmscriptenGuest {
  /** Calls an entry of the guest's function table; ends the guest when there is none. */
  callTable(index: number, ...args: number[]): number;
  /** Grows memory to hold `bytes`; false when the policy's limit is in the way. */
  grow(bytes: number): boolean;
  readonly maxBytes: number;
  /** Calls an export. */
  call(name: string, ...args: number[]): number;
  exit(code: number): never;
  abort(reason: string): never;
}

const BLOCK_BYTES = 4096;
/** EAI_FAIL of musl: "non-recoverable failure in name resolution". */
const EAI_FAIL = -4;
/** libffi's answer for a calling convention it does not know. */
const FFI_BAD_ABI = 2;

export function emscriptenDoors(kernel: Kernel, memory: GuestMemory, guest: EmscriptenGuest): Doors {
  const guarded = {
    ...pathCalls(kernel, memory),
    ...descriptorCalls(kernel, memory),
    ...deniedCalls(),
    ...timeCalls(kernel, memory),
    ...processCalls(kernel, memory, guest),
  };
  return { ...guard(guarded, -1), ...guestCalls(guest) };
}

function writeStatus(memory: GuestMemory, out: number, status: FileStatus): number {
  const at = out >>> 0;
  memory.bytes(at, STAT.size).fill(0);
  memory.setU32(at + STAT.at.dev, 1);
  memory.setU32(at + STAT.at.mode, FILE_TYPE[status.kind].mode | status.mode);
  memory.setU32(at + STAT.at.nlink, status.nlink);
  memory.setI64(at + STAT.at.size, status.size);
  memory.setU32(at + STAT.at.blksize, BLOCK_BYTES);
  memory.setU32(at + STAT.at.blocks, Math.ceil(status.size / 512));
  const seconds = Math.floor(status.mtimeMs / 1000);
  const nanoseconds = Math.floor((status.mtimeMs - seconds * 1000) * 1e6);
  for (const field of ['atime', 'mtime', 'ctime'] as const) {
    memory.setI64(at + STAT.at[field], seconds);
    memory.setU32(at + STAT.at[`${field}_ns`], nanoseconds);
  }
  memory.setI64(at + STAT.at.ino, status.ino);
  return 0;
}

function pathCalls(kernel: Kernel, memory: GuestMemory): Doors {
  const volume = () => kernel.volume;
  const done = (_: unknown) => 0;
  return {
    __syscall_openat: (dirfd: number, path: number, flags: number, varargs: number) => {
      const name = memory.path(path);
      const mode = (flags & O.CREAT) !== 0 ? memory.u32(varargs) : 0;
      return kernel.open(kernel.base(dirfd, name), name, flags, mode);
    },
    __syscall_stat64: (path: number, out: number) =>
      writeStatus(memory, out, kernel.stat(kernel.cwd, memory.path(path), true)),
    __syscall_lstat64: (path: number, out: number) =>
      writeStatus(memory, out, kernel.stat(kernel.cwd, memory.path(path), false)),
    __syscall_newfstatat: (dirfd: number, path: number, out: number, flags: number) => {
      const name = memory.path(path);
      if (name === '' && (flags & AT.EMPTY_PATH) !== 0) return writeStatus(memory, out, kernel.fstat(dirfd));
      const follow = (flags & AT.SYMLINK_NOFOLLOW) === 0;
      return writeStatus(memory, out, kernel.stat(kernel.base(dirfd, name), name, follow));
    },
    __syscall_faccessat: (dirfd: number, path: number, amode: number, _flags: number) => {
      const name = memory.path(path);
      return kernel.access(kernel.base(dirfd, name), name, amode);
    },
    __syscall_chdir: (path: number) => kernel.chdir(memory.path(path)),
    __syscall_fchdir: (fd: number) => kernel.fchdir(fd),
    __syscall_getcwd: (out: number, size: number) => {
      if (size >>> 0 === 0) throw failure('EINVAL');
      const needed = memory.writeText(out, Math.min(size >>> 0, 4097), kernel.cwd, true);
      if (needed > size >>> 0) throw failure('E2BIG');
      return needed;
    },
    __syscall_mkdirat: (dirfd: number, path: number, mode: number) => {
      const name = memory.path(path);
      return done(volume().mkdir(name, kernel.base(dirfd, name), mode & ~kernel.umask));
    },
    __syscall_unlinkat: (dirfd: number, path: number, flags: number) => {
      const name = memory.path(path);
      const base = kernel.base(dirfd, name);
      return done((flags & AT.REMOVEDIR) !== 0 ? volume().rmdir(name, base) : volume().unlink(name, base));
    },
    __syscall_rmdir: (path: number) => done(volume().rmdir(memory.path(path), kernel.cwd)),
    __syscall_renameat: (fromFd: number, from: number, toFd: number, to: number) => {
      const source = memory.path(from);
      const target = memory.path(to);
      return done(volume().rename(source, kernel.base(fromFd, source), target, kernel.base(toFd, target)));
    },
    __syscall_symlinkat: (target: number, dirfd: number, path: number) => {
      const name = memory.path(path);
      return done(volume().symlink(memory.path(target), name, kernel.base(dirfd, name)));
    },
    __syscall_readlinkat: (dirfd: number, path: number, out: number, size: number) => {
      const name = memory.path(path);
      const target = volume().readlink(name, kernel.base(dirfd, name));
      return Math.min(size >>> 0, memory.writeText(out, size, target, false));
    },
    __syscall_chmod: (path: number, mode: number) =>
      done(volume().chmod(volume().lookup(memory.path(path), kernel.cwd, true), mode)),
    __syscall_fchmodat2: (dirfd: number, path: number, mode: number) => {
      const name = memory.path(path);
      return done(volume().chmod(volume().lookup(name, kernel.base(dirfd, name), true), mode));
    },
    __syscall_truncate64: (path: number, size: bigint) => {
      const node = volume().lookup(memory.path(path), kernel.cwd, true);
      if (node.kind !== 'file') throw failure('EISDIR');
      return done(volume().truncate(node, length(size)));
    },
    __syscall_utimensat: (dirfd: number, path: number, times: number, flags: number) => {
      const node =
        path === 0
          ? kernel.file(dirfd)
          : volume().lookup(
              memory.path(path),
              kernel.base(dirfd, memory.path(path)),
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

/** The second of utimensat's two times; access times are not kept. */
function modificationTime(kernel: Kernel, memory: GuestMemory, times: number, current: number): number {
  if (times === 0) return kernel.world.now();
  const entry = times + TIMESPEC.size;
  const nanoseconds = memory.u32(entry + TIMESPEC.at.nsec);
  if (nanoseconds === UTIME.NOW) return kernel.world.now();
  if (nanoseconds === UTIME.OMIT) return current;
  if (nanoseconds >= 1e9) throw failure('EINVAL');
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
  if (value < 0 || !Number.isSafeInteger(value)) throw failure('EINVAL');
  return value;
}

function descriptorCalls(kernel: Kernel, memory: GuestMemory): Doors {
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
      volume().truncate(kernel.file(fd, true), length(size));
      return 0;
    },
    __syscall_fallocate: (fd: number, _mode: number, offset: bigint, size: bigint) => {
      const node = kernel.file(fd, true);
      const end = length(offset) + length(size);
      if (end > node.size) volume().truncate(node, end);
      return 0;
    },
    __syscall_fadvise64: checked,
    __syscall_fdatasync: checked,
    __syscall_fchmod: (fd: number, mode: number) => {
      volume().chmod(kernel.file(fd), mode);
      return 0;
    },
    __syscall_fchown32: checked,
    __syscall_fchownat: () => 0,
    __syscall_dup: (fd: number) => kernel.dup(fd),
    __syscall_dup3: (fd: number, target: number) => {
      if (fd === target) throw failure('EINVAL');
      return kernel.dup2(fd, target);
    },
    __syscall_pipe: (out: number) => {
      memory.bytes(out, 8);
      const [read, write] = kernel.pipe();
      memory.setU32(out, read);
      memory.setU32(out + 4, write);
      return 0;
    },
    __syscall_fcntl64: (fd: number, command: number, varargs: number) =>
      control(kernel, memory, fd, command, varargs),
    __syscall_ioctl: (fd: number) => {
      kernel.fds.get(fd);
      throw failure('ENOTTY');
    },
    __syscall_poll: (pointer: number, count: number, timeout: number) =>
      poll(kernel, memory, pointer, count, timeout),
  };
}

function listDirectory(kernel: Kernel, memory: GuestMemory, fd: number, out: number, size: number): number {
  const target = memory.bytes(out, size);
  const start = out >>> 0;
  const encoder = new TextEncoder();
  let used = 0;
  let refused = false;
  kernel.list(fd, (entry, next) => {
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
  if (refused && used === 0) throw failure('EINVAL');
  return used;
}

function control(kernel: Kernel, memory: GuestMemory, fd: number, command: number, varargs: number): number {
  const file = kernel.fds.get(fd);
  switch (command) {
    case FCNTL.DUPFD:
    case FCNTL.DUPFD_CLOEXEC: {
      const from = memory.i32(varargs);
      if (from < 0) throw failure('EINVAL');
      return kernel.dup(fd, from);
    }
    case FCNTL.GETFD:
    case FCNTL.SETFD:
      return 0;
    case FCNTL.GETFL:
      return file.flags;
    case FCNTL.SETFL: {
      const changeable = O.APPEND | O.NONBLOCK;
      file.flags = (file.flags & ~changeable) | (memory.u32(varargs) & changeable);
      return 0;
    }
    default:
      // Locks: a guest is alone with its files.
      if (command >= 5 && command <= 14) return 0;
      throw failure('EINVAL');
  }
}

/** Everything a guest can open is always ready; with nothing to watch, poll is how a program sleeps. */
function poll(kernel: Kernel, memory: GuestMemory, pointer: number, count: number, timeout: number): number {
  if (count >>> 0 > 4096) throw failure('EINVAL');
  let ready = 0;
  for (let i = 0; i < count; i++) {
    const entry = (pointer >>> 0) + i * POLLFD.size;
    const fd = memory.i32(entry + POLLFD.at.fd);
    const events = memory.u16(entry + POLLFD.at.events);
    const open = fd >= 0 && kernel.fds.slots[fd] !== undefined;
    const result = fd < 0 ? 0 : open ? events & (POLL.IN | POLL.OUT) : POLL.NVAL;
    memory.setU16(entry + POLLFD.at.revents, result);
    if (result !== 0) ready++;
  }
  if (ready === 0 && timeout !== 0) kernel.world.sleep(timeout < 0 ? Number.POSITIVE_INFINITY : timeout);
  return ready;
}

/** Refusals that C code turns into an ordinary exception. */
function deniedCalls(): Doors {
  const refuse = (code: Parameters<typeof failure>[0]) => () => {
    throw failure(code);
  };
  const sockets =
    'accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmsg sendmsg sendto';
  return {
    __syscall_socket: refuse('EAFNOSUPPORT'),
    ...Object.fromEntries(sockets.split(' ').map((name) => [`__syscall_${name}`, refuse('ENOTSOCK')])),
    __syscall_mknodat: refuse('EPERM'),
    _mmap_js: refuse('ENOTSUP'),
    _munmap_js: refuse('EINVAL'),
    _msync_js: refuse('EINVAL'),
    _emscripten_system: refuse('ENOSYS'),
    _setitimer_js: refuse('ENOSYS'),
  };
}

function timeCalls(kernel: Kernel, memory: GuestMemory): Doors {
  const { world } = kernel;
  return {
    emscripten_date_now: () => {
      kernel.spend(1);
      return world.now();
    },
    emscripten_get_now: () => {
      kernel.spend(1);
      return world.monotonic();
    },
    _tzset_js: (timezone: number, daylight: number, standard: number, summer: number) => {
      memory.setU32(timezone, 0);
      memory.setU32(daylight, 0);
      memory.writeText(standard, 17, 'UTC', true);
      memory.writeText(summer, 17, 'UTC', true);
    },
    _gmtime_js: (time: bigint, out: number) => writeCalendar(memory, out, Number(time)),
    _localtime_js: (time: bigint, out: number) => writeCalendar(memory, out, Number(time)),
    // The guest's zone is UTC, so both directions of local time are those of UTC.
    _timegm_js: (tm: number) => calendarToSeconds(memory, tm),
    _mktime_js: (tm: number) => calendarToSeconds(memory, tm),
  };
}

function writeCalendar(memory: GuestMemory, out: number, seconds: number): void {
  const date = new Date(seconds * 1000);
  const year = date.getUTCFullYear();
  const values = {
    sec: date.getUTCSeconds(),
    min: date.getUTCMinutes(),
    hour: date.getUTCHours(),
    mday: date.getUTCDate(),
    mon: date.getUTCMonth(),
    year: year - 1900,
    wday: date.getUTCDay(),
    yday: Math.floor((date.getTime() - Date.UTC(year, 0, 1)) / 86_400_000),
    isdst: 0,
    gmtoff: 0,
  };
  memory.bytes(out, TM.size);
  for (const [field, value] of Object.entries(values))
    memory.setU32(out + TM.at[field as keyof typeof values], value);
}

function calendarToSeconds(memory: GuestMemory, tm: number): bigint {
  try {
    const field = (name: keyof typeof TM.at) => memory.i32(tm + TM.at[name]);
    const time = Date.UTC(
      field('year') + 1900,
      field('mon'),
      field('mday'),
      field('hour'),
      field('min'),
      field('sec'),
    );
    if (!Number.isFinite(time)) return -1n;
    writeCalendar(memory, tm, time / 1000);
    return BigInt(time / 1000);
  } catch {
    // The result is 64 bits wide, so the guard's number would not do.
    return -1n;
  }
}

/** Calls that end the guest or go back into it: what comes out of those is on its way to the engine. */
function guestCalls(guest: EmscriptenGuest): Doors {
  return {
    exit: guest.exit,
    _abort_js: () => guest.abort('abort() was called'),
    __assert_fail: () => guest.abort('an assertion of the interpreter failed'),
    // CPython calls through this where a C function may have fewer parameters than its caller passes.
    _PyEM_TrampolineCall_JS: (target: number, a: number, b: number, c: number) =>
      guest.callTable(target, a, b, c),
    __call_sighandler: (handler: number, signal: number) => guest.callTable(handler, signal),
  };
}

function processCalls(kernel: Kernel, memory: GuestMemory, guest: EmscriptenGuest): Doors {
  const nothing = () => 0;
  return {
    emscripten_resize_heap: (bytes: number) => (guest.grow(bytes >>> 0) ? 1 : 0),
    emscripten_get_heap_max: () => guest.maxBytes,
    _emscripten_get_progname: (out: number, size: number) => {
      memory.writeText(out, Math.min(size >>> 0, 32), 'python', true);
    },
    __syscall_getuid32_js: nothing,
    __syscall_umask_js: (mask: number) => {
      const previous = kernel.umask;
      kernel.umask = mask & 0o777;
      return previous;
    },
    _Py_emscripten_runtime: nothing,
    _Py_CheckEmscriptenSignals_Helper: nothing,
    _try_fcntl64: nothing,
    _try_shutdown: nothing,
    // The bridge's asynchronous variants: null sends C code on to the ordinary system call.
    ...Object.fromEntries(
      ['_maybe_connect_async', '_maybe_recvfrom_async', '_maybe_sendto_async', '_maybe_poll_async'].map(
        (name) => [name, () => null],
      ),
    ),
    __hiwire_deduplicate_new: () => null,
    emscripten_runtime_keepalive_push: nothing,
    emscripten_runtime_keepalive_pop: nothing,
    _emscripten_runtime_keepalive_clear: nothing,
    _emscripten_lookup_name: nothing,
    getaddrinfo: () => EAI_FAIL,
    getnameinfo: () => EAI_FAIL,
    getprotobyname: nothing,
    // ctypes: no closure memory and no foreign calls; C code reports both as Python exceptions.
    ffi_closure_alloc_js: (size: number, code: number) => {
      const closure = guest.call('malloc', size);
      if (closure !== 0) memory.setU32(code, closure);
      return closure;
    },
    ffi_closure_free_js: (closure: number) => guest.call('free', closure),
    ffi_prep_closure_loc_js: () => FFI_BAD_ABI,
    // dlopen fails as it would for a file that is not there.
    _dlopen_js: nothing,
    _dlsym_js: nothing,
    emscripten_log_impl_js: nothing,
    _emscripten_log_formatted: nothing,
    emscripten_debugger: nothing,
    emscripten_set_up_async_input_device_js: () => -ERRNO.ENOSYS,
  };
}
