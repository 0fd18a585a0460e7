/**
 * The functions that the JavaScript binary imports from `env`. One of them, `host_call`, carries all system calls by name.
 * Arguments and results are values on the guest's heap, accessed with the guest's own, metered functions. No state is kept
 * between calls, so images need not contain any.
 */
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import type { HostFunction, HostFunctions } from '../../../kernel/syscall-guard.ts';
import { LINUX_ERRNO } from '../linux-errno.ts';
import { type Argument, GuestBytes, type Result, type SystemCall } from './call-arguments.ts';
import { engineModule, textFromGuest, throwReferenceError } from './module-loader.ts';
import { callFunction, copyToHeap, type QuickJsGuest } from './quickjs-guest.ts';
import { systemCalls } from './system-calls.ts';

/** No system call takes more arguments; further ones are ignored. */
const MAX_ARGUMENTS = 6;
const MAX_NAME_BYTES = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The names of all system calls, from which `boot` creates functions. */
export const SYSTEM_CALL_NAMES: readonly string[] = Object.keys(systemCalls);

/** State of the running program that the import functions need. */
interface ProgramHooks {
  /** The guest function that receives rejected promises, or 0. */
  rejectionTracker(): number;
  /** The guest function that returns the full name of an imported module, or 0. */
  moduleResolver(): number;
  /** The guest function that returns the source of a module, or 0. */
  moduleLoader(): number;
  /** Whether the interpreter must end the program. */
  isInterrupted(): boolean;
}

export function quickJsFunctions(guest: QuickJsGuest, program: ProgramHooks): HostFunctions {
  return abortOnBadPointer(guest, {
    host_call: (name: number, length: number, _self: number, count: number, values: number) => {
      const systemCall = findSystemCall(guest, name, length);
      const handles = readHandles(guest, count, values);
      const args = handles.map((handle) => readValue(guest, handle));
      // Only the system call is guarded: anything that the guest's own functions throw is a trap.
      const result =
        systemCall === undefined ? -LINUX_ERRNO.ENOSYS : perform(guest, systemCall, args, handles);
      const value = writeResult(guest, result);
      for (const arg of args)
        if (arg instanceof GuestBytes && arg.isText) guest.call('qjs_free_cstring', arg.pointer);
      return value;
    },
    host_interrupt: () => (program.isInterrupted() ? 1 : 0),
    host_promise_rejection: (promise: number, reason: number, isHandled: number) => {
      const tracker = program.rejectionTracker();
      if (tracker !== 0) trackRejection(guest, tracker, promise, reason, isHandled);
      guest.call('qjs_free_value', promise);
      guest.call('qjs_free_value', reason);
    },
    host_module_normalize: (base: number, name: number) => {
      const names = attempt(() => [cString(guest, base), cString(guest, name)]);
      if ('problem' in names) return throwReferenceError(guest, names.problem);
      const known = engineModule(names[1]!);
      if (known !== undefined) return copyToHeap(guest, encoder.encode(known));
      const resolver = program.moduleResolver();
      if (resolver === 0) return throwReferenceError(guest, `could not load module '${names[1]}'`);
      return textFromGuest(guest, resolver, names, 0);
    },
    host_module_load: (name: number, outLength: number) => {
      const loader = program.moduleLoader();
      const text = attempt(() => cString(guest, name));
      if (typeof text !== 'string') return throwReferenceError(guest, text.problem);
      if (loader === 0) return throwReferenceError(guest, `could not load module '${text}'`);
      return textFromGuest(guest, loader, [text], outLength);
    },
  });
}

/** Compiled code passes all pointers here, so an invalid one means that the guest's memory is corrupt. */
function abortOnBadPointer(guest: QuickJsGuest, functions: HostFunctions): HostFunctions {
  const wrap =
    (call: HostFunction): HostFunction =>
    (...args) => {
      try {
        return call(...args);
      } catch (cause) {
        if (isSyscallError(cause)) return guest.abort('the interpreter passed an invalid address');
        throw cause;
      }
    };
  return Object.fromEntries(Object.entries(functions).map(([name, call]) => [name, wrap(call)]));
}

function findSystemCall(guest: QuickJsGuest, name: number, length: number): SystemCall | undefined {
  if (length >>> 0 > MAX_NAME_BYTES) return undefined;
  const text = decoder.decode(guest.view.bytes(name, length));
  return Object.hasOwn(systemCalls, text) ? systemCalls[text] : undefined;
}

function readHandles(guest: QuickJsGuest, count: number, values: number): number[] {
  const handles: number[] = [];
  for (let i = 0; i < Math.min(count >>> 0, MAX_ARGUMENTS); i++) {
    handles.push(guest.view.u32((values >>> 0) + i * 4));
  }
  return handles;
}

function readValue(guest: QuickJsGuest, value: number): Argument {
  if (guest.call('qjs_is_number', value) !== 0) return guest.call('qjs_get_float64', value);
  if (guest.call('qjs_is_string', value) !== 0) return readSpan(guest, 'qjs_get_string_len', value, true);
  if (guest.call('qjs_is_array_buffer', value) !== 0)
    return readSpan(guest, 'qjs_get_array_buffer', value, false);
  return undefined;
}

/** Calls a guest function that returns a pointer and stores a length. */
function readSpan(guest: QuickJsGuest, getter: string, value: number, isText: boolean): Argument {
  const out = guest.call('wasm_malloc', 4);
  if (out === 0) return undefined;
  guest.view.setU32(out, 0);
  const pointer = guest.call(getter, value, out);
  const length = guest.view.u32(out);
  guest.call('wasm_free', out);
  // Reading a detached buffer throws; discard the exception.
  if (pointer === 0) guest.call('qjs_free_value', guest.call('qjs_get_exception'));
  return pointer === 0 ? undefined : new GuestBytes(guest.view, pointer, length, isText);
}

function perform(
  guest: QuickJsGuest,
  systemCall: SystemCall,
  args: readonly Argument[],
  handles: readonly number[],
): Result {
  // Work on the host consumes no fuel, so every call checks the time limit.
  guest.kernel.host.check();
  try {
    return systemCall(guest, args, handles);
  } catch (cause) {
    if (isSyscallError(cause)) return -LINUX_ERRNO[cause.code];
    // The host could not allocate a buffer.
    if (cause instanceof RangeError) return -LINUX_ERRNO.ENOMEM;
    throw cause;
  }
}

function writeResult(guest: QuickJsGuest, result: Result): number {
  if (typeof result === 'function') return result();
  if (typeof result === 'number') return guest.call('qjs_new_number', result);
  if (result === undefined) return guest.call('qjs_get_undefined');
  const bytes = encoder.encode(result);
  const pointer = copyToHeap(guest, bytes);
  if (pointer === 0) return guest.call('qjs_new_number', -LINUX_ERRNO.ENOMEM);
  const value = guest.call('qjs_new_string', pointer, bytes.length);
  guest.call('wasm_free', pointer);
  return value;
}

function cString(guest: QuickJsGuest, pointer: number): string {
  return guest.view.path(pointer);
}

function attempt<T>(action: () => T): T | { problem: string } {
  try {
    return action();
  } catch (cause) {
    if (isSyscallError(cause)) return { problem: `could not load the module (${cause.code})` };
    throw cause;
  }
}

function trackRejection(
  guest: QuickJsGuest,
  tracker: number,
  promise: number,
  reason: number,
  isHandled: number,
): void {
  const flag = guest.call('qjs_new_number', isHandled);
  const returned = callFunction(guest, tracker, [promise, reason, flag]);
  if (returned !== undefined) guest.call('qjs_free_value', returned);
  guest.call('qjs_free_value', flag);
}
