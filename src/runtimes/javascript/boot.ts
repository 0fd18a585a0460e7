/**
 * Boots the interpreter, once, when the image is made: a larger stack, the door, the boot script. What `run` needs of
 * it afterwards are addresses in guest memory.
 */
import type { Guest } from '../../engine/guest.ts';
import type { Handles } from '../runtime.ts';
import { evaluate, invoke, property, readText, withText } from './quickjs-api.ts';
import { drain } from './run-program.ts';
import { SYSTEM_CALL_NAMES } from './syscalls/quickjs-imports.ts';

/** Where the boot script lies in the guest's file system. */
export const LAYER = '/lib/javascript';
export const BOOT_FILE = 'boot.js';
/**
 * The C stack, moved from the 1 MiB it was linked with to a larger place on the heap. QuickJS throws a RangeError when
 * a program has used all but the last quarter, which is kept for C code that does not ask.
 */
const STACK_BYTES = 2 * 1024 * 1024;
const STACK_LIMIT_BYTES = STACK_BYTES * 0.75;
/** Bytes of the interpreter's context in which the state of Math.random is looked for. */
const CONTEXT_BYTES = 4096;
const WORD_MASK = (1n << 64n) - 1n;
/** What the host calls of the boot script. */
const ENTRIES = ['start', 'turn', 'provide', 'preload', 'fail', 'limit', 'rejected', 'report'] as const;

function moveStack(guest: Guest): void {
  const start = guest.call('wasm_malloc', STACK_BYTES);
  if (start === 0) guest.abort('the guest has no memory left for its stack');
  (guest.exports['__stack_pointer'] as WebAssembly.Global).value = (start + STACK_BYTES) & ~15;
}

/** An object with a function for each system call. */
function makeDoor(guest: Guest): number {
  const door = guest.call('qjs_new_object');
  for (const name of SYSTEM_CALL_NAMES) {
    withText(guest, name, (pointer, length) => {
      const operation = guest.call('qjs_new_host_function', pointer, length, 0);
      guest.call('qjs_set_prop_string', door, pointer, operation);
      guest.call('qjs_free_value', operation);
    });
  }
  return door;
}

function readBootScript(guest: Guest): string {
  const { volume } = guest.kernel;
  const node = volume.lookup(`${LAYER}/${BOOT_FILE}`, '/', true);
  const bytes = new Uint8Array(node.kind === 'file' ? node.size : 0);
  volume.read(node, 0, bytes);
  return new TextDecoder().decode(bytes);
}

/** A value that is no exception; at boot there is nobody to catch one. */
function succeed(guest: Guest, value: number): number {
  if (guest.call('qjs_is_exception', value) === 0) return value;
  const error = guest.call('qjs_get_exception');
  const stack = readText(guest, property(guest, error, 'stack'));
  return guest.abort(`${readText(guest, error)}\n${stack}`);
}

/**
 * Finds the 64-bit state of Math.random: the word of the context that one call changes in the way of xorshift64*. The
 * state is part of the image, so each start has to put a new one there.
 */
function findRandomState(guest: Guest): number {
  const context = guest.call('qjs_get_context_ptr');
  const words = () => {
    const bytes = guest.view.bytes(context, CONTEXT_BYTES).slice();
    return new BigUint64Array(bytes.buffer);
  };
  const before = words();
  guest.call('qjs_free_value', succeed(guest, evaluate(guest, 'Math.random()', 'boot')));
  const after = words();
  const at = before.findIndex((word, i) => word !== after[i] && xorshift(word) === after[i]);
  return at < 0 ? guest.abort('the state of Math.random was not found') : context + at * 8;
}

function xorshift(state: bigint): bigint {
  let x = state ^ (state >> 12n);
  x = (x ^ (x << 25n)) & WORD_MASK;
  return x ^ (x >> 27n);
}

export function boot(guest: Guest): Handles {
  guest.call('_initialize');
  moveStack(guest);
  if (guest.call('qjs_init') !== 0) guest.abort('the interpreter did not start');
  guest.call('qjs_set_max_stack_size', STACK_LIMIT_BYTES);
  guest.call('qjs_set_interrupt_handler', 1);
  guest.call('qjs_set_promise_rejection_handler', 1);
  guest.call('qjs_set_module_loader', 1);
  const main = succeed(guest, evaluate(guest, readBootScript(guest), 'sandbox:boot'));
  const door = makeDoor(guest);
  const entries = succeed(guest, invoke(guest, main, door));
  drain(guest);
  const handles: Handles = { random: findRandomState(guest) };
  for (const name of ENTRIES) handles[name] = property(guest, entries, name);
  for (const value of [main, door, entries]) guest.call('qjs_free_value', value);
  guest.call('qjs_run_gc');
  return handles;
}
