/** Calls of the C API: passes text and checks results. */
import type { Guest } from '../../engine/guest.ts';
import { copyToGuest } from '../memory/copy-to-guest.ts';

const encoder = new TextEncoder();

/** Calls `use` with the address of a C string, which is freed afterwards. */
export function withCString<T>(guest: Guest, text: string, use: (pointer: number) => T): T {
  const pointer = copyToGuest(guest, encoder.encode(text), 'malloc');
  const result = use(pointer);
  guest.call('free', pointer);
  return result;
}

/** Returns an object of the C API. If it is null, prints the Python exception, also a SystemExit, and stops the guest. */
export function checkedObject(guest: Guest, object: number, failure: string): number {
  if (object !== 0) return object;
  const error = guest.call('PyErr_GetRaisedException');
  if (error !== 0) guest.call('PyErr_DisplayException', error);
  return guest.abort(failure);
}
