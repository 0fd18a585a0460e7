/** The guest as the system calls of JavaScript use it. */
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { tryCopyToGuest } from '../../memory/copy-to-guest.ts';

export interface QuickJsGuest {
  readonly kernel: Kernel;
  readonly view: GuestMemory;
  readonly memoryLimit: { readonly maxBytes: number; admits(bytes: number): boolean };
  /** The limit that the run has reached. */
  readonly limitReached: string | undefined;
  /** Calls an export. */
  call(name: string, ...args: (number | bigint)[]): number;
  exit(code: number): never;
  abort(reason: string): never;
}

/** Copies bytes to the heap, terminated with NUL. Returns 0 if the guest is out of memory. */
export function copyToHeap(guest: QuickJsGuest, bytes: Uint8Array): number {
  return tryCopyToGuest(guest, bytes, 'wasm_malloc');
}

/** Calls a function with these values. Returns undefined if the guest is out of memory. */
export function callFunction(
  guest: QuickJsGuest,
  target: number,
  args: readonly number[],
): number | undefined {
  const list = guest.call('wasm_malloc', 4 * args.length + 4);
  if (list === 0) return undefined;
  args.forEach((value, i) => {
    guest.view.setU32(list + i * 4, value);
  });
  const self = guest.call('qjs_get_undefined');
  const returned = guest.call('qjs_call', target, self, args.length, list);
  guest.call('qjs_free_value', self);
  guest.call('wasm_free', list);
  return returned;
}
