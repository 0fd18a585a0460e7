/** Calls to QuickJS's C API. JavaScript values are addresses of reference-counted values in the guest. */
import type { Guest } from '../../engine/guest.ts';
import { copyToGuest } from '../memory/copy-to-guest.ts';
import { callFunction } from './syscalls/quickjs-guest.ts';

/** Longest text that the host reads. Reports of the boot script are much shorter. */
const MAX_TEXT_BYTES = 4_000_000;

const encoder = new TextEncoder();

/** Calls `use` with the address and the length of a C string, which is freed afterwards. */
export function withCString<T>(guest: Guest, text: string, use: (pointer: number, length: number) => T): T {
  const bytes = encoder.encode(text);
  const pointer = copyToGuest(guest, bytes, 'wasm_malloc');
  const result = use(pointer, bytes.length);
  guest.call('wasm_free', pointer);
  return result;
}

/** Calls a function. The result may be an exception. */
export function invoke(guest: Guest, target: number, ...args: number[]): number {
  return callFunction(guest, target, args) ?? guest.abort('the guest is out of memory');
}

/** Runs a script. The result may be an exception. */
export function evaluate(guest: Guest, code: string, file: string): number {
  return withCString(guest, code, (pointer, length) =>
    withCString(guest, file, (name) => guest.call('qjs_eval', pointer, length, name, 0)),
  );
}

export function property(guest: Guest, object: number, name: string): number {
  return withCString(guest, name, (pointer) => guest.call('qjs_get_prop_string', object, pointer));
}

/** Converts a value to text. Returns undefined if that fails or the text is too long. */
export function readText(guest: Guest, value: number): string | undefined {
  const out = guest.call('wasm_malloc', 4);
  const start = out === 0 ? 0 : guest.call('qjs_get_string_len', value, out);
  if (start === 0) return undefined;
  const length = guest.view.u32(out);
  const text =
    length > MAX_TEXT_BYTES ? undefined : new TextDecoder().decode(guest.view.bytes(start, length));
  guest.call('qjs_free_cstring', start);
  guest.call('wasm_free', out);
  return text;
}

/** Creates a string, which the caller frees. */
export function newText(guest: Guest, text: string): number {
  return withCString(guest, text, (pointer, length) => guest.call('qjs_new_string', pointer, length));
}
