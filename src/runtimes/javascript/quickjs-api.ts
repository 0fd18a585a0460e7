/** Values of the interpreter as the host handles them: addresses that the guest's own functions give out and take back. */
import type { Guest } from '../../engine/guest.ts';
import { allocate } from '../runtime.ts';

/** Longest text the host reads back; the boot script cuts its report well below. */
const MAX_TEXT_BYTES = 4_000_000;

const encoder = new TextEncoder();

/** Calls `use` with a C string in guest memory. */
export function withText<T>(guest: Guest, text: string, use: (pointer: number, length: number) => T): T {
  const bytes = encoder.encode(text);
  const pointer = allocate(guest, bytes, 'wasm_malloc');
  const result = use(pointer, bytes.length);
  guest.call('wasm_free', pointer);
  return result;
}

/** Calls a function value; the result may be an exception. */
export function invoke(guest: Guest, target: number, ...args: number[]): number {
  const list = guest.call('wasm_malloc', 4 * args.length + 4);
  if (list === 0) guest.abort('the guest has no memory left for its own program');
  args.forEach((value, i) => {
    guest.view.setU32(list + i * 4, value);
  });
  const self = guest.call('qjs_get_undefined');
  const result = guest.call('qjs_call', target, self, args.length, list);
  guest.call('qjs_free_value', self);
  guest.call('wasm_free', list);
  return result;
}

/** Runs a script; the result may be an exception. */
export function evaluate(guest: Guest, code: string, file: string): number {
  return withText(guest, code, (pointer, length) =>
    withText(guest, file, (name) => guest.call('qjs_eval', pointer, length, name, 0)),
  );
}

export function property(guest: Guest, object: number, name: string): number {
  return withText(guest, name, (pointer) => guest.call('qjs_get_prop_string', object, pointer));
}

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

/** A string value; the caller frees it. */
export function newText(guest: Guest, text: string): number {
  return withText(guest, text, (pointer, length) => guest.call('qjs_new_string', pointer, length));
}
