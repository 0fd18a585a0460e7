/** The guest as the system calls of JavaScript use it. */
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';

export interface QuickJsGuest {
  readonly kernel: Kernel;
  readonly view: GuestMemory;
  /** Calls an export. */
  call(name: string, ...args: (number | bigint)[]): number;
  exit(code: number): never;
  abort(reason: string): never;
}

/** Copies bytes to the guest's heap and terminates them with NUL. Returns 0 if the guest is out of memory. */
export function copyToGuest(guest: QuickJsGuest, bytes: Uint8Array): number {
  const pointer = guest.call('wasm_malloc', bytes.length + 1);
  if (pointer === 0) return 0;
  const target = guest.view.bytes(pointer, bytes.length + 1);
  target.set(bytes);
  target[bytes.length] = 0;
  return pointer;
}
