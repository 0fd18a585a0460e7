/** Copies bytes into memory that the guest's own allocator provides. */
import type { GuestMemory } from '../../kernel/guest-memory.ts';

interface GuestHeap {
  readonly view: GuestMemory;
  call(name: string, ...args: number[]): number;
}

/** Returns the address of the copy, which ends with a NUL byte, or 0 if the guest is out of memory. */
export function tryCopyToGuest(guest: GuestHeap, bytes: Uint8Array, malloc: string): number {
  const pointer = guest.call(malloc, bytes.length + 1);
  if (pointer === 0) return 0;
  const target = guest.view.bytes(pointer, bytes.length + 1);
  target.set(bytes);
  target[bytes.length] = 0;
  return pointer;
}

/** Like tryCopyToGuest, but stops the guest if it is out of memory. */
export function copyToGuest(
  guest: GuestHeap & { outOfMemory(): never },
  bytes: Uint8Array,
  malloc: string,
): number {
  return tryCopyToGuest(guest, bytes, malloc) || guest.outOfMemory();
}
