/** Passes text to functions of the C API. */
import type { Guest } from '../../engine/guest.ts';
import { copyToGuest } from '../copy-to-guest.ts';

const encoder = new TextEncoder();

/** Calls `use` with the address of a C string, which is freed afterwards. */
export function withCString<T>(guest: Guest, text: string, use: (pointer: number) => T): T {
  const pointer = copyToGuest(guest, encoder.encode(text), 'malloc');
  const result = use(pointer);
  guest.call('free', pointer);
  return result;
}
