/**
 * The system calls of JavaScript guests by name. A system call receives unchecked numbers, text and buffers, and returns a
 * number (an errno if negative) or text. System call errors that it throws become an errno. Its work is bounded by the
 * length of its arguments and charged with `chargeHostTime`, or with `pay` if it can take longer than a few milliseconds.
 */
import { FILE_TYPE } from '../../../kernel/abi.ts';
import { MAX_DESCRIPTORS } from '../../../kernel/descriptors.ts';
import type { FileStatus } from '../../../kernel/file-status.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import { type Kernel, RANDOM_BYTES_PER_US } from '../../../kernel/syscalls.ts';
import { MAX_TOOL_MESSAGE_BYTES } from '../../../kernel/tool-channel.ts';
import { contextsOf } from '../async-contexts.ts';
import { errorVariablesOf } from '../memory/error-variables.ts';
import {
  LIST,
  MAP_ITERATOR,
  MAP_ITERATOR_CLASSES,
  MAP_RECORD,
  MAP_STATE,
  OBJECT,
  TAG,
} from '../memory/quickjs-layout.ts';
import { planProgram } from '../syntax/module-to-script.ts';
import {
  type Argument,
  type GuestBytes,
  int32,
  lenientDecoder,
  path,
  type Result,
  type SystemCall,
  slice,
  strictDecoder,
  toInteger,
  toText,
} from './call-arguments.ts';
import { compressionCalls } from './compression.ts';
import { cryptoCalls } from './cryptography.ts';
import { payForPlan } from './host-work.ts';
import { throwReferenceError } from './module-loader.ts';
import { findPackageName, loadPackage } from './package-loader.ts';
import { processCalls } from './process-calls.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';
import { stripTypes } from './typescript.ts';

/** Maximum number of bytes that one call decodes. The boot script splits longer texts. */
const MAX_DECODE_BYTES = 1 << 20;
/** U+FFFD in UTF-8. */
const REPLACEMENT = [0xef, 0xbf, 0xbd];
/** Bytes that are searched for surrogates between two charges of host time. */
const SEARCH_STEP_BYTES = 1 << 20;
/** Candidates for surrogates after which host time is charged. A text may consist of nothing else. */
const CANDIDATES_PER_CHARGE = 4096;
/** Longest program that is analysed. */
const MAX_PROGRAM_BYTES = 4 * 1024 * 1024;
/** Entries of a map after which host time is charged. */
const STEPS_PER_CHARGE = 4096;
const MAX_SLEEP_MS = 2 ** 31 - 1;
/** Number of doubles that `stat` and `fstat` store. */
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

/** The names in a directory, joined with slashes, which no name contains. */
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
 * Replaces lone surrogates in a string with U+FFFD. QuickJS encodes a lone surrogate in three bytes, like U+FFFD, and the
 * bytes are a copy of the string, so they are replaced in place.
 */
function replaceLoneSurrogates(kernel: Kernel, range: GuestBytes): Uint8Array {
  const { bytes } = range;
  let found = 0;
  for (let start = 0; start < bytes.length; start += SEARCH_STEP_BYTES) {
    const end = Math.min(start + SEARCH_STEP_BYTES, bytes.length);
    kernel.chargeHostTime((end - start) / 4096);
    const step = bytes.subarray(start, end);
    for (let at = step.indexOf(0xed); at >= 0; at = step.indexOf(0xed, at + 1)) {
      if (bytes[start + at + 1]! >= 0xa0) bytes.set(REPLACEMENT, start + at);
      if (++found % CANDIDATES_PER_CHARGE === 0) kernel.chargeHostTime(CANDIDATES_PER_CHARGE / 10);
    }
  }
  return bytes;
}

/** Evaluates code in the guest. With `compileOnly`, returns 1 if it compiles and 0 otherwise. */
function evaluate(guest: QuickJsGuest, args: readonly Argument[], compileOnly: boolean): () => number {
  const code = toText(args[0]);
  const file = toText(args[1]);
  const flags = int32(args[2]) & EVAL_FLAGS;
  if (!compileOnly) return () => guest.call('qjs_eval', code.pointer, code.length, file.pointer, flags);
  return () => {
    const value = guest.call('qjs_eval', code.pointer, code.length, file.pointer, flags | EVAL.COMPILE_ONLY);
    const failed = guest.call('qjs_is_exception', value);
    if (failed !== 0) guest.call('qjs_free_value', guest.call('qjs_get_exception'));
    guest.call('qjs_free_value', value);
    return guest.call('qjs_new_number', failed === 0 ? 1 : 0);
  };
}

/**
 * Decodes UTF-8. The guest creates the string from its own memory if the bytes are valid; otherwise the host decodes them
 * according to the Encoding Standard.
 */
function decodeUtf8(guest: QuickJsGuest, [buffer, offset, length, fatal]: readonly Argument[]): Result {
  const bytes = slice(buffer, offset, length);
  if (bytes.length > MAX_DECODE_BYTES) throw syscallError('EINVAL');
  guest.kernel.chargeHostTime(1 + bytes.length / 1024);
  try {
    strictDecoder.decode(bytes);
  } catch {
    if (fatal === 1) throw syscallError('EILSEQ');
    return lenientDecoder.decode(bytes);
  }
  return () => guest.call('qjs_new_string', bytes.byteOffset, bytes.length);
}

/** Throws an error that the program cannot catch, so that no more of its code runs. */
function terminate(guest: QuickJsGuest): Result {
  return () => {
    throwReferenceError(guest, 'the program has ended');
    const error = guest.call('qjs_get_exception');
    // The function takes the 64-bit value to which the handle points.
    const value = new DataView(guest.view.bytes(error, 8).slice().buffer).getBigInt64(0, true);
    guest.call('JS_SetUncatchableError', guest.call('qjs_get_context_ptr'), value);
    guest.call('qjs_throw', error);
    guest.call('qjs_free_value', error);
    return 0;
  };
}

/** The data of an iterator of a map or set, and the collection, or 0 if the iterator is at its end. */
function mapIterator(guest: QuickJsGuest, value: number | undefined): { data: number; source: number } {
  const { view } = guest;
  if (value === undefined || view.i32(value + 4) !== TAG.object) throw syscallError('EINVAL');
  const object = view.u32(value);
  if (!MAP_ITERATOR_CLASSES.has(view.u16(object + OBJECT.class))) throw syscallError('EINVAL');
  const data = view.u32(object + OBJECT.data);
  const isOpen = view.i32(data + MAP_ITERATOR.source + 4) === TAG.object;
  return { data, source: isOpen ? view.u32(data + MAP_ITERATOR.source) : 0 };
}

/** The number of entries after a record of a map or set, or of all entries if the record is 0. */
function countFrom(guest: QuickJsGuest, collection: number, record: number): number {
  const { view, kernel } = guest;
  const end = view.u32(collection + OBJECT.data) + MAP_STATE.records;
  const limit = view.all.length / 8;
  let count = 0;
  let steps = 0;
  let link = record === 0 ? end : record + MAP_RECORD.list;
  for (link = view.u32(link + LIST.next); link !== end; link = view.u32(link + LIST.next)) {
    if ((view.u8(link - MAP_RECORD.list + MAP_RECORD.isDeleted) & 1) === 0) count++;
    if (++steps > limit) throw syscallError('EINVAL');
    if (steps % STEPS_PER_CHARGE === 0) kernel.chargeHostTime(STEPS_PER_CHARGE / 20);
  }
  return count;
}

/** Examines values in ways that the language does not offer. A value of the wrong type returns EINVAL. */
const valueCalls: Record<string, SystemCall> = {
  /** The class that the engine created the object with, which programs cannot change. */
  className: (guest, _, [value]) => {
    if (value === undefined) throw syscallError('EINVAL');
    // The engine calls the class of a proxy "Object".
    return guest.call('qjs_is_proxy', value) !== 0 ? 'Proxy' : () => guest.call('qjs_get_class_name', value);
  },
  /** 0 for a pending promise, 1 for a fulfilled and 2 for a rejected one. */
  promiseState: (guest, _, [value]) => {
    if (value === undefined || guest.call('qjs_is_promise', value) === 0) throw syscallError('EINVAL');
    return guest.call('qjs_promise_state', value);
  },
  promiseResult: (guest, _, [value]) => {
    if (value === undefined || guest.call('qjs_is_promise', value) === 0) throw syscallError('EINVAL');
    return () => guest.call('qjs_promise_result', value);
  },
  proxyTarget: (guest, _, [value]) => {
    if (value === undefined || guest.call('qjs_is_proxy', value) === 0) throw syscallError('EINVAL');
    return () => guest.call('qjs_get_proxy_target', value);
  },
  /** How many values an iterator of a map or set still returns, times 4, plus what it returns: keys, values or entries. */
  iteratorState: (guest, _, [value]) => {
    const { data, source } = mapIterator(guest, value);
    const kind = guest.view.u32(data + MAP_ITERATOR.kind);
    if (kind > 2) throw syscallError('EINVAL');
    return (
      4 * (source === 0 ? 0 : countFrom(guest, source, guest.view.u32(data + MAP_ITERATOR.record))) + kind
    );
  },
  iteratorSource: (guest, _, [value]) => {
    const { data, source } = mapIterator(guest, value);
    if (source === 0) throw syscallError('EINVAL');
    return () => guest.call('qjs_dup_value', data + MAP_ITERATOR.source);
  },
  /** The value ends the program. */
  setUncaught: (guest, _, [value]) => {
    if (value === undefined) throw syscallError('EINVAL');
    const isObject = guest.view.i32(value + 4) === TAG.object;
    return returnZero(errorVariablesOf(guest)?.setUncaught(isObject ? guest.view.u32(value) : 0));
  },
  proxyHandler: (guest, _, [value]) => {
    if (value === undefined || guest.call('qjs_is_proxy', value) === 0) throw syscallError('EINVAL');
    return () => guest.call('qjs_get_proxy_handler', value);
  },
};

const returnZero = (_: unknown) => 0;

const pathCalls: Record<string, SystemCall> = {
  open: ({ kernel }, [name, flags, mode]) => kernel.open(kernel.cwd, path(name), int32(flags), int32(mode)),
  stat: ({ kernel }, [name, follow, out]) =>
    storeStatus(out, kernel.stat(kernel.cwd, path(name), follow === 1)),
  readdir: ({ kernel }, [name]) => listNames(kernel, path(name)),
  mkdir: ({ kernel }, [name, mode]) =>
    returnZero(kernel.volume.mkdir(path(name), kernel.cwd, int32(mode) & ~kernel.umask)),
  rmdir: ({ kernel }, [name]) => kernel.rmdir(path(name), kernel.cwd),
  unlink: ({ kernel }, [name]) => returnZero(kernel.volume.unlink(path(name), kernel.cwd)),
  rename: ({ kernel }, [from, to]) => kernel.rename(path(from), kernel.cwd, path(to), kernel.cwd),
  symlink: ({ kernel }, [target, name]) =>
    returnZero(kernel.volume.symlink(path(target), path(name), kernel.cwd)),
  readlink: ({ kernel }, [name]) => kernel.volume.readlink(path(name), kernel.cwd),
  realpath: ({ kernel }, [name]) => kernel.realpath(path(name)),
  chmod: ({ kernel }, [name, mode]) =>
    returnZero(kernel.volume.chmod(kernel.volume.lookup(path(name), kernel.cwd, true), int32(mode))),
  utimes: ({ kernel }, [name, milliseconds]) =>
    returnZero(
      kernel.volume.utimes(kernel.volume.lookup(path(name), kernel.cwd, true), Number(milliseconds)),
    ),
  getcwd: ({ kernel }) => kernel.getcwd(),
  chdir: ({ kernel }, [name]) => kernel.chdir(path(name)),
};

/** Writes in as many parts as a pipe accepts. A pipe that is full fails. */
function writeAll(kernel: Kernel, fd: number, bytes: Uint8Array): number {
  let done = kernel.write(fd, bytes);
  for (let count = done; count > 0 && done < bytes.length; done += count)
    count = kernel.write(fd, bytes.subarray(done));
  return done;
}

const descriptorCalls: Record<string, SystemCall> = {
  close: ({ kernel }, [fd]) => kernel.close(int32(fd)),
  read: ({ kernel }, [fd, buffer, offset, length]) => kernel.read(int32(fd), slice(buffer, offset, length)),
  write: ({ kernel }, [fd, buffer, offset, length]) => kernel.write(int32(fd), slice(buffer, offset, length)),
  writeText: ({ kernel }, [fd, string]) =>
    writeAll(kernel, int32(fd), replaceLoneSurrogates(kernel, toText(string))),
  seek: ({ kernel }, [fd, offset, whence]) => kernel.seek(int32(fd), toInteger(offset), int32(whence)),
  fstat: ({ kernel }, [fd, out]) => storeStatus(out, kernel.fstat(int32(fd))),
  truncate: ({ kernel }, [fd, size]) =>
    returnZero(kernel.volume.truncate(kernel.regularFile(int32(fd), true), toInteger(size))),
  fchmod: ({ kernel }, [fd, mode]) =>
    returnZero(kernel.volume.chmod(kernel.regularFile(int32(fd), false), int32(mode))),
  futimes: ({ kernel }, [fd, milliseconds]) =>
    returnZero(kernel.volume.utimes(kernel.regularFile(int32(fd), false), Number(milliseconds))),
  dup: ({ kernel }, [fd]) => kernel.dup(int32(fd)),
  dup2: ({ kernel }, [fd, target]) => kernel.dup2(int32(fd), int32(target)),
  /** Returns both descriptors in one number: the reading end times MAX_DESCRIPTORS plus the writing end. */
  pipe: ({ kernel }) => {
    const [read, write] = kernel.pipe();
    return read * MAX_DESCRIPTORS + write;
  },
};

const runtimeCalls: Record<string, SystemCall> = {
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
    kernel.chargeHostTime(1 + target.length / RANDOM_BYTES_PER_US);
    kernel.host.random(target);
    return 0;
  },
  exit: (guest, [code]) => {
    const status = int32(code) & 0xff;
    return () => guest.exit(status);
  },
  terminate,
  encodeUtf8: (guest, [string]) => {
    const range = toText(string);
    guest.kernel.chargeHostTime(1);
    replaceLoneSurrogates(guest.kernel, range);
    return () => guest.call('qjs_new_array_buffer', range.pointer, range.length);
  },
  decodeUtf8,
  /** How to run a program, as JSON. */
  planProgram: (guest, [code]) => {
    const { bytes } = toText(code);
    if (bytes.length > MAX_PROGRAM_BYTES) throw syscallError('EINVAL');
    return JSON.stringify(planProgram(lenientDecoder.decode(bytes), payForPlan(guest)));
  },
  stripTypes,
  evaluate: (guest, args) => evaluate(guest, args, false),
  compiles: (guest, args) => evaluate(guest, args, true),
  findPackage: findPackageName,
  loadPackage,
  collectGarbage: (guest) => () => {
    guest.call('qjs_run_gc');
    return guest.call('qjs_get_undefined');
  },
};

/** Contexts of promise jobs, by the numbers that the guest gives them; see async-context.js. 0 is no context. */
const contextCalls: Record<string, SystemCall> = {
  setContext: (guest, [context]) => returnZero(contextsOf(guest)?.set(int32(context))),
  setNextContext: (guest, [context]) => returnZero(contextsOf(guest)?.setNext(int32(context))),
  /** Clears the entries of a list whose context no job has: they become 0. */
  usedContexts: (guest, [list, length]) => {
    const bytes = slice(list, 0, length);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const used = contextsOf(guest)?.used();
    guest.kernel.chargeHostTime(1 + bytes.length / 64 + (used?.size ?? 0) / 16);
    for (let at = 0; at + 4 <= bytes.length; at += 4) {
      if (used?.has(view.getUint32(at, true)) !== true) view.setUint32(at, 0, true);
    }
    return 0;
  },
};

/** Tool calls. They fail with ENOSYS if the program has no tools. */
const toolsOf = ({ kernel }: QuickJsGuest) => {
  if (kernel.call.tools === undefined) throw syscallError('ENOSYS');
  return kernel.call.tools;
};
const decoded = (arg: Argument) => {
  const { length, bytes } = toText(arg);
  if (length > MAX_TOOL_MESSAGE_BYTES) throw syscallError('EINVAL');
  return lenientDecoder.decode(bytes);
};

const toolCalls: Record<string, SystemCall> = {
  toolCall: (guest, [id, name, args]) =>
    returnZero(toolsOf(guest).call(toInteger(id), decoded(name), decoded(args))),
  /** With a negative time, waits for an answer only. */
  toolWait: (guest, [milliseconds]) => {
    const time = Number(milliseconds);
    return toolsOf(guest).wait(time < 0 ? Number.POSITIVE_INFINITY : time);
  },
  toolWithdraw: (guest, [id, reason]) => returnZero(toolsOf(guest).withdraw(toInteger(id), decoded(reason))),
  hasNetwork: ({ kernel }) => (kernel.call.tools?.hasNetwork ? 1 : 0),
  toolSearch: (guest, [query, limit]) => toolsOf(guest).search(decoded(query), Number(limit)),
  toolDescribe: (guest, [name]) => toolsOf(guest).describe(decoded(name)),
};

export const systemCalls: Readonly<Record<string, SystemCall>> = {
  ...pathCalls,
  ...descriptorCalls,
  ...processCalls,
  ...runtimeCalls,
  ...contextCalls,
  ...compressionCalls,
  ...cryptoCalls,
  ...toolCalls,
  ...valueCalls,
};
