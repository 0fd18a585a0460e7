/**
 * The system calls of JavaScript guests, by name: a table over the kernel. An operation gets numbers, text and buffers
 * as the guest passed them, whatever they are, and answers with a number (negative: an errno) or text. What it
 * throws becomes an errno; what it does is bounded by the length of its arguments and accounted with `spend`.
 */
import { FILE_TYPE } from '../../../kernel/abi.ts';
import { MAX_DESCRIPTORS } from '../../../kernel/descriptors.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { FileStatus, Kernel } from '../../../kernel/syscalls.ts';
import {
  type Argument,
  integer,
  lenient,
  path,
  type Result,
  type Span,
  type SystemCall,
  slice,
  strict,
  text,
  word,
} from './call-arguments.ts';
import { findPackageName, loadPackage } from './package-loader.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';

/** Most bytes one call decodes or fills; the boot script cuts longer work into pieces. */
const CHUNK = 1 << 20;
/** U+FFFD in UTF-8. */
const REPLACEMENT = [0xef, 0xbf, 0xbd];
/** A text can be made of nothing but characters that are looked at one by one. */
const FOUND_PER_SPEND = 4096;
const MAX_SLEEP_MS = 2 ** 31 - 1;
/** The doubles that `stat` stores. */
const STATUS_FIELDS = 5;
const EVAL = { MODULE: 1, STRICT: 8, COMPILE_ONLY: 32, BARRIER: 64, ASYNC: 128 } as const;
const EVAL_FLAGS = EVAL.MODULE | EVAL.STRICT | EVAL.BARRIER | EVAL.ASYNC;

function storeStatus(arg: Argument, status: FileStatus): number {
  const target = slice(arg, 0, STATUS_FIELDS * 8);
  const { kind, mode, ino, nlink, size, mtimeMs } = status;
  const view = new DataView(target.buffer, target.byteOffset, target.byteLength);
  [FILE_TYPE[kind].mode | mode, ino, nlink, size, mtimeMs].forEach((value, i) => {
    view.setFloat64(i * 8, value, true);
  });
  return 0;
}

/** Names of a directory, joined by the one character no name has. */
function listNames(kernel: Kernel, name: string): string {
  const fd = kernel.open(kernel.cwd, name, 0, 0);
  try {
    const names: string[] = [];
    kernel.readDirectory(fd, (entry) => names.push(entry.name) > 0);
    return names.join('/');
  } finally {
    kernel.close(fd);
  }
}

/**
 * A string of the guest as UTF-8 without surrogates: QuickJS writes a lone one in three bytes, as long as U+FFFD. The
 * bytes are a copy of the string's own making, so they may be changed in place.
 */
function wellFormed(kernel: Kernel, span: Span): Uint8Array {
  const { bytes } = span;
  let found = 0;
  for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
    if (bytes[at + 1]! >= 0xa0) bytes.set(REPLACEMENT, at);
    if (++found % FOUND_PER_SPEND === 0) kernel.chargeHostTime(FOUND_PER_SPEND / 10);
  }
  return bytes;
}

/** Runs `code` in the guest. With `compileOnly`, says just whether it compiles. */
function evaluate(guest: QuickJsGuest, args: readonly Argument[], compileOnly: boolean): () => number {
  const code = text(args[0]);
  const file = text(args[1]);
  const flags = word(args[2]) & EVAL_FLAGS;
  if (!compileOnly) return () => guest.call('qjs_eval', code.pointer, code.length, file.pointer, flags);
  return () => {
    const value = guest.call('qjs_eval', code.pointer, code.length, file.pointer, flags | EVAL.COMPILE_ONLY);
    const failed = guest.call('qjs_is_exception', value);
    if (failed !== 0) guest.call('qjs_free_value', guest.call('qjs_get_exception'));
    guest.call('qjs_free_value', value);
    return guest.call('qjs_new_number', failed === 0 ? 1 : 0);
  };
}

/** Valid UTF-8 is made a string where it lies; the rest goes through the host's decoder, as the Encoding Standard says. */
function decode(guest: QuickJsGuest, [buffer, offset, length, fatal]: readonly Argument[]): Result {
  const bytes = slice(buffer, offset, length);
  if (bytes.length > CHUNK) throw syscallError('EINVAL');
  guest.kernel.chargeHostTime(1 + bytes.length / 1024);
  try {
    strict.decode(bytes);
  } catch {
    if (fatal === 1) throw syscallError('EILSEQ');
    return lenient.decode(bytes);
  }
  return () => guest.call('qjs_new_string', bytes.byteOffset, bytes.length);
}

const ignore = (_: unknown) => 0;

const pathCalls: Record<string, SystemCall> = {
  open: ({ kernel }, [name, flags, mode]) => kernel.open(kernel.cwd, path(name), word(flags), word(mode)),
  stat: ({ kernel }, [name, follow, out]) =>
    storeStatus(out, kernel.stat(kernel.cwd, path(name), follow === 1)),
  readdir: ({ kernel }, [name]) => listNames(kernel, path(name)),
  mkdir: ({ kernel }, [name, mode]) =>
    ignore(kernel.volume.mkdir(path(name), kernel.cwd, word(mode) & ~kernel.umask)),
  rmdir: ({ kernel }, [name]) => ignore(kernel.volume.rmdir(path(name), kernel.cwd)),
  unlink: ({ kernel }, [name]) => ignore(kernel.volume.unlink(path(name), kernel.cwd)),
  rename: ({ kernel }, [from, to]) =>
    ignore(kernel.volume.rename(path(from), kernel.cwd, path(to), kernel.cwd)),
  symlink: ({ kernel }, [target, name]) =>
    ignore(kernel.volume.symlink(path(target), path(name), kernel.cwd)),
  readlink: ({ kernel }, [name]) => kernel.volume.readlink(path(name), kernel.cwd),
  realpath: ({ kernel }, [name]) => kernel.volume.resolve(path(name), kernel.cwd, true).path || '/',
  chmod: ({ kernel }, [name, mode]) =>
    ignore(kernel.volume.chmod(kernel.volume.lookup(path(name), kernel.cwd, true), word(mode))),
  utimes: ({ kernel }, [name, milliseconds]) =>
    ignore(kernel.volume.utimes(kernel.volume.lookup(path(name), kernel.cwd, true), Number(milliseconds))),
  getcwd: ({ kernel }) => kernel.cwd,
  chdir: ({ kernel }, [name]) => kernel.chdir(path(name)),
};

const descriptorCalls: Record<string, SystemCall> = {
  close: ({ kernel }, [fd]) => kernel.close(word(fd)),
  read: ({ kernel }, [fd, buffer, offset, length]) => kernel.read(word(fd), slice(buffer, offset, length)),
  write: ({ kernel }, [fd, buffer, offset, length]) => kernel.write(word(fd), slice(buffer, offset, length)),
  writeText: ({ kernel }, [fd, string]) => kernel.write(word(fd), wellFormed(kernel, text(string))),
  seek: ({ kernel }, [fd, offset, whence]) => kernel.seek(word(fd), integer(offset), word(whence)),
  fstat: ({ kernel }, [fd, out]) => storeStatus(out, kernel.fstat(word(fd))),
  truncate: ({ kernel }, [fd, size]) =>
    ignore(kernel.volume.truncate(kernel.regularFile(word(fd), true), integer(size))),
  dup: ({ kernel }, [fd]) => kernel.dup(word(fd)),
  dup2: ({ kernel }, [fd, target]) => kernel.dup2(word(fd), word(target)),
  /** Both ends in one number: the reading one times the size of the table, plus the writing one. */
  pipe: ({ kernel }) => {
    const [read, write] = kernel.pipe();
    return read * MAX_DESCRIPTORS + write;
  },
};

const processCalls: Record<string, SystemCall> = {
  now: ({ kernel }) => kernel.host.now(),
  monotonic: ({ kernel }) => kernel.host.monotonic(),
  sleep: ({ kernel }, [milliseconds]) => {
    const time = Number(milliseconds);
    kernel.chargeHostTime(1);
    if (time > 0) kernel.host.sleep(Math.min(time, MAX_SLEEP_MS));
    return 0;
  },
  random: ({ kernel }, [buffer, offset, length]) => {
    const target = slice(buffer, offset, length);
    if (target.length > 65_536) throw syscallError('EINVAL');
    kernel.chargeHostTime(100);
    kernel.host.random(target);
    return 0;
  },
  exit: (guest, [code]) => {
    const status = word(code) & 0xff;
    return () => guest.exit(status);
  },
  utf8: (guest, [string]) => {
    const span = text(string);
    guest.kernel.chargeHostTime(1 + wellFormed(guest.kernel, span).length / 4096);
    return () => guest.call('qjs_new_array_buffer', span.pointer, span.length);
  },
  text: decode,
  evaluate: (guest, args) => evaluate(guest, args, false),
  compiles: (guest, args) => evaluate(guest, args, true),
  findPackage: findPackageName,
  loadPackage,
  collect: (guest) => () => {
    guest.call('qjs_run_gc');
    return guest.call('qjs_get_undefined');
  },
};

export const systemCalls: Readonly<Record<string, SystemCall>> = {
  ...pathCalls,
  ...descriptorCalls,
  ...processCalls,
};
