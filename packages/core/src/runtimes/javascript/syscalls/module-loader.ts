/**
 * Connects the module loader of the interpreter with the boot script, which resolves the names of modules and returns their
 * source. Both run in the guest, so their work is metered. `std` and `os` are registered at boot; packages are compiled
 * before the boot script is loaded and import them.
 */
import { callFunction, copyToHeap, type QuickJsGuest } from './quickjs-guest.ts';

/** Modules of the boot script by the names that QuickJS and Node.js give them. */
const ENGINE_MODULES: Readonly<Record<string, string>> = {
  std: 'std',
  os: 'os',
  'qjs:std': 'std',
  'qjs:os': 'os',
  'node:os': 'os',
};
/** Longest source of a module in bytes. */
const MAX_MODULE_BYTES = 16 * 1024 * 1024;
/** Length at which QuickJS truncates the message of an error. */
const QUICKJS_MESSAGE_BYTES = 255;

const encoder = new TextEncoder();

export const engineModule = (name: string): string | undefined =>
  Object.hasOwn(ENGINE_MODULES, name) ? ENGINE_MODULES[name] : undefined;

/** Throws a ReferenceError in the guest, as QuickJS does for modules, and returns null. */
export function throwReferenceError(guest: QuickJsGuest, problem: string): 0 {
  const bytes = encoder.encode(problem).subarray(0, QUICKJS_MESSAGE_BYTES);
  const text = copyToHeap(guest, bytes);
  const format = copyToHeap(guest, encoder.encode('%s'));
  const list = guest.call('wasm_malloc', 4);
  if (text !== 0 && format !== 0 && list !== 0) {
    guest.view.setU32(list, text);
    guest.call('JS_ThrowReferenceError', guest.call('qjs_get_context_ptr'), format, list);
  }
  for (const pointer of [text, format, list]) guest.call('wasm_free', pointer);
  return 0;
}

/** Calls a function of the boot script with texts. Returns the value, or 0 if it threw or the guest is out of memory. */
function callWithTexts(guest: QuickJsGuest, target: number, texts: readonly string[]): number {
  const values: number[] = [];
  for (const text of texts) {
    const bytes = encoder.encode(text);
    const pointer = copyToHeap(guest, bytes);
    if (pointer === 0) break;
    values.push(guest.call('qjs_new_string', pointer, bytes.length));
    guest.call('wasm_free', pointer);
  }
  const returned = values.length < texts.length ? undefined : callFunction(guest, target, values);
  for (const value of values) guest.call('qjs_free_value', value);
  if (returned === undefined) return 0;
  if (guest.call('qjs_is_exception', returned) === 0) return returned;
  guest.call('qjs_free_value', returned);
  return 0;
}

/**
 * Calls a function of the boot script and returns its text as a C string on the heap, or 0 after an exception. Stores the
 * length at `outLength` unless that is 0.
 */
export function textFromGuest(
  guest: QuickJsGuest,
  target: number,
  texts: readonly string[],
  outLength: number,
): number {
  const value = callWithTexts(guest, target, texts);
  const out = value === 0 ? 0 : guest.call('wasm_malloc', 4);
  if (out === 0) return 0;
  guest.view.setU32(out, 0);
  const start = guest.call('qjs_get_string_len', value, out);
  const length = guest.view.u32(out);
  guest.call('wasm_free', out);
  let pointer = 0;
  if (start !== 0 && length <= MAX_MODULE_BYTES) {
    guest.kernel.chargeHostTime(1 + length / 4096);
    pointer = copyToHeap(guest, guest.view.bytes(start, length).slice());
    if (pointer !== 0 && outLength !== 0) guest.view.setU32(outLength, length);
  } else if (start !== 0)
    throwReferenceError(guest, `could not load module '${texts.at(-1)}': larger than 16 MiB`);
  if (start !== 0) guest.call('qjs_free_cstring', start);
  guest.call('qjs_free_value', value);
  return pointer;
}
