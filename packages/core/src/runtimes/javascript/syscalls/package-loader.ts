/**
 * Loads vendored packages in JavaScript guests. Each module is a file of bytecode in a read-only layer. The list of loaded
 * packages is in guest memory, so images contain it.
 */
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { LINUX_ERRNO } from '../linux-errno.ts';
import { type Argument, lenientDecoder, type Result, type SystemCall, toText } from './call-arguments.ts';
import { copyToHeap, type QuickJsGuest } from './quickjs-guest.ts';

export const PACKAGES_PATH = '/data/js-modules';
/** The Node.js modules, which the boot script loads on first use. Their names begin with `node:`. */
export const NODE_MODULES_PATH = '/lib/javascript/node';
const NODE_PREFIX = 'node:';
const NODE_NAME = /^node:[a-z\d_]+(?:[-/][a-z\d_]+)*$/;
export const BYTECODE_SUFFIX = '.qjsc';
const MAX_NAME_LENGTH = 100;
/** Longer names are cut off; no package has one. */
const MAX_NAME_BYTES = 256;
const NAME = /^[\w@-][\w.-]*(?:\/[\w-][\w.-]*)*$/;

const fileOf = (name: string) => `${PACKAGES_PATH}/${name}${BYTECODE_SUFFIX}`;

/** Resolves an absolute path, or returns undefined. */
function tryResolve(kernel: Kernel, path: string) {
  try {
    return kernel.volume.resolve(path, '/', true);
  } catch (cause) {
    if (isSyscallError(cause)) return undefined;
    throw cause;
  }
}

/** The name under which a package is registered. Aliases are symbolic links; submodules may be given with `.js`. */
export function findPackage(kernel: Kernel, name: string): string | undefined {
  if (name.length > MAX_NAME_LENGTH || !NAME.test(name)) return undefined;
  const found = tryResolve(kernel, fileOf(name.includes('/') ? name.replace(/\.js$/, '') : name));
  if (found?.node.kind !== 'file' || !found.path.startsWith(`${PACKAGES_PATH}/`)) return undefined;
  return found.path.slice(PACKAGES_PATH.length + 1, -BYTECODE_SUFFIX.length);
}

/** Names of the modules in a folder of the layer. */
function moduleNames(kernel: Kernel, folder: string): string[] {
  const node = tryResolve(kernel, folder)?.node;
  if (node?.kind !== 'dir') return [];
  const names = kernel.volume.readdir(node).map(({ name }) => name);
  return names
    .filter((name) => name.endsWith(BYTECODE_SUFFIX))
    .map((name) => name.slice(0, -BYTECODE_SUFFIX.length));
}

/** The end of an error message: the name in quotes and the available modules. */
function describeMissingPackage(kernel: Kernel, hasPackages: boolean, name: string): string {
  const short = name.length > MAX_NAME_LENGTH ? `${name.slice(0, MAX_NAME_LENGTH)}…` : name;
  const others = '"std", "os", Node.js modules and files by path, such as "./name.js"';
  if (!hasPackages)
    return `'${short}': packages are disabled for this run (inject_setup is false); available: ${others}`;
  const folder = name.slice(0, name.lastIndexOf('/'));
  const submodules = NAME.test(folder) ? moduleNames(kernel, `${PACKAGES_PATH}/${folder}`) : [];
  if (submodules.length > 0) return `'${short}': '${folder}' contains ${submodules.join(', ')}`;
  const root = name.split('/', 1)[0]!;
  if (root !== name && findPackage(kernel, root) !== undefined)
    return `'${short}': import the whole package '${root}' instead`;
  const all = moduleNames(kernel, PACKAGES_PATH).sort();
  return `'${short}': available packages: ${all.join(', ')}; also ${others}`;
}

function bytecodeFile(kernel: Kernel, name: string): string | undefined {
  if (NODE_NAME.test(name)) return `${NODE_MODULES_PATH}/${name.slice(NODE_PREFIX.length)}${BYTECODE_SUFFIX}`;
  return findPackage(kernel, name) === name ? fileOf(name) : undefined;
}

/** Reads the bytecode of a Node.js module, or of a package by a name that `findPackage` returns. */
function readBytecode(kernel: Kernel, name: string): Uint8Array | undefined {
  const file = bytecodeFile(kernel, name);
  const node = file === undefined ? undefined : tryResolve(kernel, file)?.node;
  if (node?.kind !== 'file') return undefined;
  const bytes = new Uint8Array(node.size);
  kernel.chargeHostTime(1 + node.size / 4096);
  kernel.volume.read(node, 0, bytes);
  return bytes;
}

/** Evaluates bytecode in guest memory. Returns the module namespace, or 0 after throwing an exception in the guest. */
function evaluate(guest: QuickJsGuest, pointer: number, length: number): number {
  const promise = guest.call('qjs_eval_bytecode', pointer, length);
  if (guest.call('qjs_is_exception', promise) !== 0) return promise;
  const isFulfilled = guest.call('qjs_promise_state', promise) === 1;
  const settled = guest.call('qjs_promise_result', promise);
  guest.call('qjs_free_value', promise);
  if (isFulfilled) return settled;
  guest.call('qjs_throw', settled);
  guest.call('qjs_free_value', settled);
  return 0;
}

const packageName = (arg: Argument) => lenientDecoder.decode(toText(arg).bytes.subarray(0, MAX_NAME_BYTES));

/**
 * Loads a package and returns its namespace, or a text if there is no such package. If the package is already loaded, only
 * records the import.
 */
export function loadPackage(guest: QuickJsGuest, [name, loaded]: readonly Argument[]): Result {
  const { kernel } = guest;
  const { imports, host } = kernel;
  const wanted = packageName(name);
  const root = wanted.split('/', 1)[0]!;
  if (loaded === 1) {
    imports.begin(root, host.fuelConsumed, true);
    return 0;
  }
  const bytes = readBytecode(kernel, wanted);
  if (bytes === undefined) return `there is no package ${describeMissingPackage(kernel, true, wanted)}`;
  // Only imports of packages are reported.
  const isPackage = !wanted.startsWith(NODE_PREFIX);
  if (isPackage) imports.begin(root, host.fuelConsumed, false);
  return () => {
    const pointer = copyToHeap(guest, bytes);
    const value =
      pointer === 0
        ? guest.call('qjs_new_number', -LINUX_ERRNO.ENOMEM)
        : evaluate(guest, pointer, bytes.length);
    guest.call('wasm_free', pointer);
    if (isPackage) imports.end(host.fuelConsumed);
    return value;
  };
}

export const findPackageName: SystemCall = ({ kernel }, [name]) =>
  findPackage(kernel, packageName(name)) ?? -LINUX_ERRNO.ENOENT;
