/**
 * Boots the interpreter when an image is built: limits the stack, creates the host calls and runs the boot script. The
 * returned handles are addresses in guest memory.
 */
import type { Guest } from '../../../engine/guest.ts';
import type { Handles } from '../../runtime.ts';
import { CONTEXT, FROM_RANDOM } from '../memory/quickjs-layout.ts';
import { ValueReader } from '../memory/value-reader.ts';
import { evaluate, invoke, property, readText, withCString } from '../quickjs-api.ts';
import { runPendingJobs } from '../run-program.ts';
import { SYSTEM_CALL_NAMES } from '../syscalls/quickjs-imports.ts';

/** Location of the boot script in the guest's file system. */
export const BOOT_LAYER = '/lib/javascript';
export const BOOT_FILE = 'boot.js';
/** The part of the stack after which QuickJS throws a RangeError. The rest is reserved for C code that does not check. */
const STACK_SHARE = 0.75;
/** Bytes at the end of the stack for the frames of functions that do not check the stack pointer. */
const STACK_RESERVE_BYTES = 128 * 1024;
/** Bytes of the interpreter's context in which to search for the state of Math.random. */
const CONTEXT_BYTES = 4096;
/** Bytes of the interpreter's runtime in which to search for the list of promise jobs. */
const RUNTIME_BYTES = 2048;
const WORD_MASK = (1n << 64n) - 1n;
/** Functions of the boot script that the host calls. */
const ENTRY_POINTS = [
  'start',
  'startWithTools',
  'nextTimer',
  'resolveImport',
  'importSource',
  'runTicks',
  'preload',
  'fail',
  'failAtLimit',
  'trackRejection',
  'report',
] as const;

/** Creates an object with a function for each system call. */
function createHostCalls(guest: Guest): number {
  const calls = guest.call('qjs_new_object');
  for (const name of SYSTEM_CALL_NAMES) {
    withCString(guest, name, (pointer, length) => {
      const call = guest.call('qjs_new_host_function', pointer, length, 0);
      guest.call('qjs_set_prop_string', calls, pointer, call);
      guest.call('qjs_free_value', call);
    });
  }
  return calls;
}

function readBootScript(guest: Guest): string {
  const { volume } = guest.kernel;
  const node = volume.lookup(`${BOOT_LAYER}/${BOOT_FILE}`, '/', true);
  const bytes = new Uint8Array(node.kind === 'file' ? node.size : 0);
  volume.read(node, 0, bytes);
  return new TextDecoder().decode(bytes);
}

/** Returns the value. If it is an exception, stops the guest. */
function checked(guest: Guest, value: number): number {
  if (guest.call('qjs_is_exception', value) === 0) return value;
  const error = guest.call('qjs_get_exception');
  const stack = readText(guest, property(guest, error, 'stack'));
  return guest.abort(`${readText(guest, error)}\n${stack}`);
}

/**
 * Finds the 64-bit state of Math.random: the word of the context that one call changes according to xorshift64*. The
 * state is part of the image, so every start has to replace it.
 */
function findRandomState(guest: Guest): number {
  const context = guest.call('qjs_get_context_ptr');
  const words = () => {
    const bytes = guest.view.bytes(context, CONTEXT_BYTES).slice();
    return new BigUint64Array(bytes.buffer);
  };
  const before = words();
  guest.call('qjs_free_value', checked(guest, evaluate(guest, 'Math.random()', 'boot')));
  const after = words();
  const at = before.findIndex((word, i) => word !== after[i] && xorshift(word) === after[i]);
  return at < 0 ? guest.abort('the state of Math.random cannot be found') : context + at * 8;
}

/**
 * Finds the list of pending promise jobs in the runtime: the empty list, which points to itself, that a new job is added
 * to. Programs that end with process.exit leave jobs behind.
 */
function findJobList(guest: Guest): number {
  const runtime = guest.view.u32(guest.call('qjs_get_context_ptr') + CONTEXT.runtime);
  const isEmpty = (at: number) => guest.view.u32(at) === at && guest.view.u32(at + 4) === at;
  const offsets = Array.from({ length: RUNTIME_BYTES / 4 }, (_, i) => runtime + i * 4).filter(isEmpty);
  guest.call('qjs_free_value', checked(guest, evaluate(guest, 'Promise.resolve().then(() => {})', 'boot')));
  const found = offsets.filter((at) => !isEmpty(at) && guest.view.u32(at) === guest.view.u32(at + 4));
  runPendingJobs(guest);
  if (found.length !== 1 || !isEmpty(found[0]!)) guest.abort('the list of promise jobs cannot be found');
  return found[0]!;
}

/** The address of the memory of an ArrayBuffer that the boot script keeps. */
function bufferAddress(guest: Guest, buffer: number): number {
  const length = guest.call('wasm_malloc', 4);
  const address = guest.call('qjs_get_array_buffer', buffer, length);
  guest.call('wasm_free', length);
  guest.call('qjs_free_value', buffer);
  return address;
}

function xorshift(state: bigint): bigint {
  let x = state ^ (state >> 12n);
  x = (x ^ (x << 25n)) & WORD_MASK;
  return x ^ (x >> 27n);
}

/** Number of properties of the global object that are not variables of a program. */
function countGlobals(guest: Guest, { random, context }: Handles): number {
  const values = new ValueReader(guest, guest.view.u32(context! + CONTEXT.runtime));
  return values.propertyCount(values.objectAt(random! + FROM_RANDOM.globalObject));
}

export function boot(guest: Guest): Handles {
  guest.call('_initialize');
  // The stack is at the start of memory and grows down.
  const stackBytes = guest.stack.unused.end;
  guest.stack.setLimit(STACK_RESERVE_BYTES);
  if (guest.call('qjs_init') !== 0) guest.abort('the interpreter failed to start');
  guest.call('qjs_set_max_stack_size', stackBytes * STACK_SHARE);
  guest.call('qjs_set_interrupt_handler', 1);
  guest.call('qjs_set_promise_rejection_handler', 1);
  guest.call('qjs_set_module_loader', 1);
  const main = checked(guest, evaluate(guest, readBootScript(guest), 'sandbox:boot'));
  const hostCalls = createHostCalls(guest);
  const entryPoints = checked(guest, invoke(guest, main, hostCalls));
  runPendingJobs(guest);
  const handles: Handles = {
    random: findRandomState(guest),
    context: guest.call('qjs_get_context_ptr'),
    jobs: findJobList(guest),
    turns: bufferAddress(guest, property(guest, entryPoints, 'turnCounter')),
  };
  for (const name of ENTRY_POINTS) handles[name] = property(guest, entryPoints, name);
  for (const value of [main, hostCalls, entryPoints]) guest.call('qjs_free_value', value);
  guest.call('qjs_run_gc');
  handles['globals'] = countGlobals(guest, handles);
  return handles;
}
