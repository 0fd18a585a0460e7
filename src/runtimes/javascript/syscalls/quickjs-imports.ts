/**
 * The face that the JavaScript binary sees: six imports of its own, of which one, `host_call`, carries every system
 * call by name. Arguments and results are values on the guest's heap, read and made with the guest's own, metered
 * functions. Nothing is kept here between two calls, so an image has nothing to forget.
 */
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import type { HostFunction, HostFunctions } from '../../../kernel/syscall-guard.ts';
import { LINUX_ERRNO } from '../errno.ts';
import { type Argument, type Result, Span, type SystemCall } from './call-arguments.ts';
import { loadModule, provide, refuse, resolveModule } from './module-loader.ts';
import { copyToGuest, type QuickJsGuest } from './quickjs-guest.ts';
import { systemCalls } from './system-calls.ts';

/** Arguments that are looked at; no operation takes more. */
const MAX_ARGUMENTS = 6;
/** Longest name of an operation, and of a module. */
const MAX_OPERATION_BYTES = 64;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The names of all operations, for the boot script to make functions of. */
export const SYSTEM_CALL_NAMES: readonly string[] = Object.keys(systemCalls);

/** What the doors ask of the runtime about the program a guest runs now. */
export interface Running {
  /** The guest function that is told of rejected promises, or 0. */
  tracker(): number;
  /** Whether the interpreter is to end the program where it stands. */
  isInterrupted(): boolean;
  /** The guest function that makes a package available, or 0 when the program is to have none. */
  provider(): number;
}

export function quickJsFunctions(guest: QuickJsGuest, running: Running): HostFunctions {
  return sealed(guest, {
    host_call: (name: number, length: number, _self: number, count: number, values: number) => {
      const operation = find(guest, name, length);
      const args = readArguments(guest, count, values);
      // What the guest's own functions throw is a trap on its way out; only the operation itself is guarded.
      const result = operation === undefined ? -LINUX_ERRNO.ENOSYS : perform(guest, operation, args);
      const value = writeResult(guest, result);
      for (const arg of args)
        if (arg instanceof Span && arg.isText) guest.call('qjs_free_cstring', arg.pointer);
      return value;
    },
    host_interrupt: () => (running.isInterrupted() ? 1 : 0),
    host_promise_rejection: (promise: number, reason: number, isHandled: number) => {
      const track = running.tracker();
      if (track !== 0) tellRejection(guest, track, promise, reason, isHandled);
      guest.call('qjs_free_value', promise);
      guest.call('qjs_free_value', reason);
    },
    host_module_normalize: (base: number, name: number) => {
      const provider = running.provider();
      const resolved = attempt(() =>
        resolveModule(guest.kernel, provider !== 0, cString(guest, base), cString(guest, name)),
      );
      if (typeof resolved === 'string') return copyToGuest(guest, encoder.encode(resolved));
      if ('problem' in resolved) return refuse(guest, resolved.problem);
      const text = encoder.encode(resolved.package);
      return provide(guest, provider, text) ? copyToGuest(guest, text) : 0;
    },
    host_module_load: (name: number, outLength: number) => {
      const source = attempt(() => loadModule(guest.kernel, cString(guest, name)));
      if (!(source instanceof Uint8Array)) return refuse(guest, source.problem);
      const pointer = copyToGuest(guest, source);
      if (pointer !== 0) guest.view.setU32(outLength, source.length);
      return pointer;
    },
    // The guest's clock is UTC wherever the host is.
    host_get_timezone_offset: () => 0,
  });
}

/** Pointers come from compiled code here; one that does not fit means the guest's own memory is in ruins. */
function sealed(guest: QuickJsGuest, doors: HostFunctions): HostFunctions {
  const seal =
    (door: HostFunction): HostFunction =>
    (...args) => {
      try {
        return door(...args);
      } catch (cause) {
        if (isSyscallError(cause))
          return guest.abort('the interpreter passed an address that does not exist');
        throw cause;
      }
    };
  return Object.fromEntries(Object.entries(doors).map(([name, door]) => [name, seal(door)]));
}

function find(guest: QuickJsGuest, name: number, length: number): SystemCall | undefined {
  if (length >>> 0 > MAX_OPERATION_BYTES) return undefined;
  const text = decoder.decode(guest.view.bytes(name, length));
  return Object.hasOwn(systemCalls, text) ? systemCalls[text] : undefined;
}

function readArguments(guest: QuickJsGuest, count: number, values: number): Argument[] {
  const args: Argument[] = [];
  for (let i = 0; i < Math.min(count >>> 0, MAX_ARGUMENTS); i++) {
    args.push(readValue(guest, guest.view.u32((values >>> 0) + i * 4)));
  }
  return args;
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
  // A detached buffer has no address, and the attempt to get it leaves an exception behind.
  if (pointer === 0) guest.call('qjs_free_value', guest.call('qjs_get_exception'));
  return pointer === 0 ? undefined : new Span(guest.view, pointer, length, isText);
}

function perform(guest: QuickJsGuest, operation: SystemCall, args: readonly Argument[]): Result {
  // What the host does costs the guest no fuel, so the clock is looked at every time.
  guest.kernel.host.check();
  try {
    return operation(guest, args);
  } catch (cause) {
    if (isSyscallError(cause)) return -LINUX_ERRNO[cause.code];
    // A buffer the host could not allocate.
    if (cause instanceof RangeError) return -LINUX_ERRNO.ENOMEM;
    throw cause;
  }
}

function writeResult(guest: QuickJsGuest, result: Result): number {
  if (typeof result === 'function') return result();
  if (typeof result === 'number') return guest.call('qjs_new_number', result);
  if (result === undefined) return guest.call('qjs_get_undefined');
  const bytes = encoder.encode(result);
  const pointer = copyToGuest(guest, bytes);
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

function tellRejection(
  guest: QuickJsGuest,
  track: number,
  promise: number,
  reason: number,
  isHandled: number,
): void {
  const list = guest.call('wasm_malloc', 12);
  if (list === 0) return;
  const flag = guest.call('qjs_new_number', isHandled);
  const self = guest.call('qjs_get_undefined');
  [promise, reason, flag].forEach((value, i) => {
    guest.view.setU32(list + i * 4, value);
  });
  const returned = guest.call('qjs_call', track, self, 3, list);
  for (const value of [returned, flag, self]) guest.call('qjs_free_value', value);
  guest.call('wasm_free', list);
}
