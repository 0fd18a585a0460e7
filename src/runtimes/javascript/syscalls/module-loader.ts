/**
 * Resolves and loads the modules that JavaScript programs import: files by path, built-in modules and packages by name.
 * Built-in modules are evaluated at boot and packages when they are first resolved. Both stay registered in the
 * interpreter, so `loadModule` only loads files.
 */
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { describeMissingPackage, findPackage } from './package-loader.ts';
import { callFunction, copyToHeap, type QuickJsGuest } from './quickjs-guest.ts';

/** Built-in modules, including the names that QuickJS gives them. */
const BUILT_IN_MODULES: Readonly<Record<string, string>> = {
  std: 'std',
  os: 'os',
  'qjs:std': 'std',
  'qjs:os': 'os',
};

/** Base of relative imports in programs, which are not files. */
const PROGRAM_FOLDER = '/app';
const MAX_MODULE_BYTES = 16 * 1024 * 1024;
/** Characters of a JSON file to quote between two checks of the time limit. */
const QUOTE_CHUNK = 65_536;
/** Length at which QuickJS truncates the message of an error. */
const QUICKJS_MESSAGE_BYTES = 255;

const encoder = new TextEncoder();

export interface Problem {
  readonly problem: string;
}

/** A package, which has to be loaded before its name is resolved. */
export interface PackageName {
  readonly package: string;
}

/** The canonical name of a module: a built-in module, a package, or an absolute path, normalized like a URL. */
export function resolveModule(
  kernel: Kernel,
  hasPackages: boolean,
  base: string,
  name: string,
): string | PackageName | Problem {
  if (Object.hasOwn(BUILT_IN_MODULES, name)) return BUILT_IN_MODULES[name]!;
  const isPath = name.startsWith('/') || name.startsWith('./') || name.startsWith('../');
  if (!isPath) {
    const found = hasPackages ? findPackage(kernel, name) : undefined;
    if (found !== undefined) return { package: found };
    return { problem: `could not load module ${describeMissingPackage(kernel, hasPackages, name)}` };
  }
  const directory = base.startsWith('/') ? base.slice(0, base.lastIndexOf('/')) : PROGRAM_FOLDER;
  return normalize(name.startsWith('/') ? name : `${directory}/${name}`);
}

function normalize(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** The source of a module file. A `.json` file becomes a module whose default export is the data. */
export function loadModule(kernel: Kernel, name: string): Uint8Array | Problem {
  const bytes = readFile(kernel, name);
  if (!(bytes instanceof Uint8Array)) return bytes;
  if (!name.endsWith('.json')) return bytes;
  return jsonModule(kernel, new TextDecoder().decode(bytes));
}

/** The source of a module that exports JSON data. Quoting can make the text six times longer, so it is done in chunks. */
function jsonModule(kernel: Kernel, text: string): Uint8Array {
  const parts = [encoder.encode('export default JSON.parse("')];
  for (let at = 0; at < text.length; at += QUOTE_CHUNK) {
    // If a chunk ends within a surrogate pair, both halves become escapes that form the pair again.
    const quoted = JSON.stringify(text.slice(at, at + QUOTE_CHUNK)).slice(1, -1);
    parts.push(encoder.encode(quoted));
    kernel.chargeHostTime(1 + quoted.length / 100);
  }
  parts.push(encoder.encode('");'));
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function readFile(kernel: Kernel, name: string): Uint8Array | Problem {
  const problem = { problem: `could not load module '${name}': no such file` };
  try {
    const { node } = kernel.volume.resolve(name, '/', true);
    if (node.kind !== 'file') return problem;
    if (node.size > MAX_MODULE_BYTES) throw syscallError('EFBIG');
    const bytes = new Uint8Array(node.size);
    kernel.chargeHostTime(1 + node.size / 4096);
    kernel.volume.read(node, 0, bytes);
    return bytes;
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return problem;
    throw cause;
  }
}

/** Throws a ReferenceError in the guest, as QuickJS does for modules, and returns null. */
export function throwReferenceError(guest: QuickJsGuest, problem: string): 0 {
  const bytes = encoder.encode(problem);
  const text = copyToHeap(guest, bytes);
  const format = copyToHeap(guest, encoder.encode('%s'));
  const list = guest.call('wasm_malloc', 4);
  if (text !== 0 && format !== 0 && list !== 0) {
    guest.view.setU32(list, text);
    guest.call('JS_ThrowReferenceError', guest.call('qjs_get_context_ptr'), format, list);
    if (bytes.length > QUICKJS_MESSAGE_BYTES) setFullMessage(guest, text, bytes.length);
  }
  for (const pointer of [text, format, list]) guest.call('wasm_free', pointer);
  return 0;
}

/** Sets the full message of the pending exception, which QuickJS has truncated. */
function setFullMessage(guest: QuickJsGuest, text: number, length: number): void {
  const name = copyToHeap(guest, encoder.encode('message'));
  if (name === 0) return;
  const error = guest.call('qjs_get_exception');
  const message = guest.call('qjs_new_string', text, length);
  guest.call('qjs_set_prop_string', error, name, message);
  guest.call('qjs_throw', error);
  for (const value of [error, message]) guest.call('qjs_free_value', value);
  guest.call('wasm_free', name);
}

/** Loads a package in the guest. Returns false if the guest threw an exception, which the interpreter then reports. */
export function providePackage(guest: QuickJsGuest, provider: number, name: Uint8Array): boolean {
  const pointer = copyToHeap(guest, name);
  if (pointer === 0) return false;
  const text = guest.call('qjs_new_string', pointer, name.length);
  const returned = callFunction(guest, provider, [text]);
  const isLoaded = returned !== undefined && guest.call('qjs_is_exception', returned) === 0;
  if (returned !== undefined) guest.call('qjs_free_value', returned);
  guest.call('qjs_free_value', text);
  guest.call('wasm_free', pointer);
  return isLoaded;
}
