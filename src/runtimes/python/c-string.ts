/** Text on its way into a Python guest. */
import type { Guest } from '../../engine/guest.ts';
import { allocate } from '../runtime.ts';

const encoder = new TextEncoder();

/** Calls `use` with a C string in guest memory. */
export function withText<T>(guest: Guest, text: string, use: (pointer: number) => T): T {
  const pointer = allocate(guest, encoder.encode(text), 'malloc');
  const result = use(pointer);
  guest.call('free', pointer);
  return result;
}
