/**
 * Vendored packages of JavaScript guests: one file of bytecode each in a read-only layer, made at build time by the
 * guest's own compiler. Which are loaded is known in guest memory alone, where images keep it.
 */
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { type Argument, lenient, type Result, type SystemCall, text } from './call-arguments.ts';
import { copyToGuest, type QuickJsGuest } from './quickjs-guest.ts';

export const PACKAGES = '/data/js-modules';
export const BYTECODE_SUFFIX = '.qjsc';
/** Packages that the boot script brings along. */
const BUILT_IN_PACKAGES: readonly string[] = ['sandbox-utils'];
const MAX_NAME_LENGTH = 100;
/** Bytes of a name that are looked at; more cannot be one. */
const MAX_NAME_BYTES = 256;
const LINUX_ENOENT = 2;
const LINUX_ENOMEM = 12;
const NAME = /^[\w@-][\w.-]*(?:\/[\w-][\w.-]*)*$/;

const fileOf = (name: string) => `${PACKAGES}/${name}${BYTECODE_SUFFIX}`;

/** Where an absolute path leads, if anywhere. */
function find(kernel: Kernel, path: string) {
  try {
    return kernel.volume.resolve(path, '/', true);
  } catch (cause) {
    if (isSyscallError(cause)) return undefined;
    throw cause;
  }
}

/** The name a package is registered under: links are its other names, and a part may be asked for with `.js`. */
export function findPackage(kernel: Kernel, name: string): string | undefined {
  if (name.length > MAX_NAME_LENGTH || !NAME.test(name)) return undefined;
  if (BUILT_IN_PACKAGES.includes(name)) return name;
  const found = find(kernel, fileOf(name.includes('/') ? name.replace(/\.js$/, '') : name));
  if (found?.node.kind !== 'file' || !found.path.startsWith(`${PACKAGES}/`)) return undefined;
  return found.path.slice(PACKAGES.length + 1, -BYTECODE_SUFFIX.length);
}

/** Names below a folder of the layer, without the suffix. */
function namesIn(kernel: Kernel, folder: string): string[] {
  const node = find(kernel, folder)?.node;
  if (node?.kind !== 'dir') return [];
  const names = kernel.volume.readdir(node).map(({ name }) => name);
  return names
    .filter((name) => name.endsWith(BYTECODE_SUFFIX))
    .map((name) => name.slice(0, -BYTECODE_SUFFIX.length));
}

/** The name in quotes, and what there is instead. */
export function missingPackage(kernel: Kernel, hasPackages: boolean, name: string): string {
  const short = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  const others = 'there are "std", "os", and files by path, such as "./name.js"';
  if (!hasPackages) return `'${short}': packages are left out of this run (inject_setup is false); ${others}`;
  const whole = name.slice(0, name.lastIndexOf('/'));
  const folder = NAME.test(whole) ? namesIn(kernel, `${PACKAGES}/${whole}`) : [];
  if (folder.length > 0) return `'${short}': '${whole}' has ${folder.join(', ')}`;
  const root = name.split('/', 1)[0]!;
  if (root !== name && findPackage(kernel, root) !== undefined)
    return `'${short}': the package is imported as a whole, from '${root}'`;
  const all = [...BUILT_IN_PACKAGES, ...namesIn(kernel, PACKAGES)].sort();
  return `'${short}': the packages are ${all.join(', ')}; besides, ${others}`;
}

/** The bytecode of a package, which must be one that `findPackage` knows. */
function read(kernel: Kernel, name: string): Uint8Array | undefined {
  const node = findPackage(kernel, name) === name ? find(kernel, fileOf(name))?.node : undefined;
  if (node?.kind !== 'file') return undefined;
  const bytes = new Uint8Array(node.size);
  kernel.chargeHostTime(1 + node.size / 4096);
  kernel.volume.read(node, 0, bytes);
  return bytes;
}

/** Evaluates bytecode that lies in guest memory; gives the module's namespace, or throws into the guest. */
function evaluate(guest: QuickJsGuest, pointer: number, length: number): number {
  const promise = guest.call('qjs_eval_bytecode', pointer, length);
  if (guest.call('qjs_is_exception', promise) !== 0) return promise;
  const isFulfilled = guest.call('qjs_promise_state', promise) === 1;
  const settled = guest.call('qjs_promise_result', promise);
  guest.call('qjs_free_value', promise);
  if (isFulfilled) return settled;
  guest.call('qjs_throw', settled);
  guest.call('qjs_free_value', settled);
  // No value: the interpreter takes what was thrown.
  return 0;
}

const packageName = (arg: Argument) => lenient.decode(text(arg).bytes.subarray(0, MAX_NAME_BYTES));

/** Loads a package and gives its namespace, or a text that says why not. One that is loaded is only taken note of. */
export function loadPackage(guest: QuickJsGuest, [name, loaded]: readonly Argument[]): Result {
  const { kernel } = guest;
  const { imports, host } = kernel;
  const wanted = packageName(name);
  const root = wanted.split('/', 1)[0]!;
  if (loaded === 1) {
    imports.begin(root, host.fuelConsumed, true);
    return 0;
  }
  const bytes = read(kernel, wanted);
  if (bytes === undefined) return `there is no package ${missingPackage(kernel, true, wanted)}`;
  imports.begin(root, host.fuelConsumed, false);
  return () => {
    const pointer = copyToGuest(guest, bytes);
    const value =
      pointer === 0 ? guest.call('qjs_new_number', -LINUX_ENOMEM) : evaluate(guest, pointer, bytes.length);
    guest.call('wasm_free', pointer);
    imports.end(host.fuelConsumed);
    return value;
  };
}

export const findPackageName: SystemCall = ({ kernel }, [name]) =>
  findPackage(kernel, packageName(name)) ?? -LINUX_ENOENT;
