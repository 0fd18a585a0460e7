/**
 * How `import` finds modules in a JavaScript guest: files of its file system by path, built-in ones and packages by
 * name. Built-in modules are evaluated at boot, packages when they are first resolved; both stay registered under
 * their names, so only files are ever loaded from here.
 */
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { findPackage, missingPackage } from './package-loader.ts';
import { copyToGuest, type QuickJsGuest } from './quickjs-guest.ts';

/** Names that can be imported without being files, and what they resolve to. */
export const BUILT_IN_MODULES: Readonly<Record<string, string>> = {
  std: 'std',
  os: 'os',
  'qjs:std': 'std',
  'qjs:os': 'os',
};

/** Where relative names start that do not come from a file. */
const HOME = '/app';
const MAX_MODULE_BYTES = 16 * 1024 * 1024;
/** How much of a JSON file is quoted at a time. */
const QUOTED_CHARACTERS = 65_536;
/** Longest message that QuickJS's own functions throw whole. */
const THROWN_BYTES = 255;

const encoder = new TextEncoder();

export interface Problem {
  readonly problem: string;
}

/** A package that has to be there before its name resolves. */
export interface PackageName {
  readonly package: string;
}

/** The canonical name of a module: a built-in one's, a package's, or an absolute path, textual as for URLs. */
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
    return { problem: `could not load module ${missingPackage(kernel, hasPackages, name)}` };
  }
  const directory = base.startsWith('/') ? base.slice(0, base.lastIndexOf('/')) : HOME;
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

/** The source of a module file; a `.json` file becomes a module with its data as the default export. */
export function loadModule(kernel: Kernel, name: string): Uint8Array | Problem {
  const bytes = readFile(kernel, name);
  if (!(bytes instanceof Uint8Array)) return bytes;
  if (!name.endsWith('.json')) return bytes;
  return jsonModule(kernel, new TextDecoder().decode(bytes));
}

/** Source that gives the data. Quoting can make a text six times as long, so it is done in pieces, each accounted. */
function jsonModule(kernel: Kernel, text: string): Uint8Array {
  const parts = [encoder.encode('export default JSON.parse("')];
  for (let at = 0; at < text.length; at += QUOTED_CHARACTERS) {
    // A surrogate pair that is cut in two becomes two escapes, which are the pair again when they are read.
    const quoted = JSON.stringify(text.slice(at, at + QUOTED_CHARACTERS)).slice(1, -1);
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
  const problem = { problem: `could not load module '${name}': there is no such file` };
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

/** Throws a ReferenceError into the guest, as QuickJS does for modules, and returns null. */
export function refuse(guest: QuickJsGuest, problem: string): 0 {
  const bytes = encoder.encode(problem);
  const text = copyToGuest(guest, bytes);
  const format = copyToGuest(guest, encoder.encode('%s'));
  const list = guest.call('wasm_malloc', 4);
  if (text !== 0 && format !== 0 && list !== 0) {
    guest.view.setU32(list, text);
    guest.call('JS_ThrowReferenceError', guest.call('qjs_get_context_ptr'), format, list);
    if (bytes.length > THROWN_BYTES) throwWhole(guest, text, bytes.length);
  }
  for (const pointer of [text, format, list]) guest.call('wasm_free', pointer);
  return 0;
}

/** Gives the pending exception the whole of a message that QuickJS has cut. */
function throwWhole(guest: QuickJsGuest, text: number, length: number): void {
  const name = copyToGuest(guest, encoder.encode('message'));
  if (name === 0) return;
  const error = guest.call('qjs_get_exception');
  const message = guest.call('qjs_new_string', text, length);
  guest.call('qjs_set_prop_string', error, name, message);
  guest.call('qjs_throw', error);
  for (const value of [error, message]) guest.call('qjs_free_value', value);
  guest.call('wasm_free', name);
}

/** Lets the guest load a package before its name resolves; false when it threw, which the interpreter then sees. */
export function provide(guest: QuickJsGuest, provider: number, name: Uint8Array): boolean {
  const pointer = copyToGuest(guest, name);
  const list = guest.call('wasm_malloc', 4);
  // With no room for so little, the interpreter has nothing left to go on with.
  if (pointer === 0 || list === 0) return false;
  const text = guest.call('qjs_new_string', pointer, name.length);
  const self = guest.call('qjs_get_undefined');
  guest.view.setU32(list, text);
  const returned = guest.call('qjs_call', provider, self, 1, list);
  const isThere = guest.call('qjs_is_exception', returned) === 0;
  for (const value of [returned, text, self]) guest.call('qjs_free_value', value);
  for (const memory of [pointer, list]) guest.call('wasm_free', memory);
  return isThere;
}
