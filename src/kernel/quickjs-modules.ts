/**
 * How `import` finds modules in a JavaScript guest: files of its file system by path, built-in ones and packages by
 * name. Built-in modules are evaluated at boot, packages when they are first resolved; both stay registered under
 * their names, so only files are ever loaded from here.
 */
import { failure } from './failure.ts';
import { findPackage, missingPackage } from './quickjs-packages.ts';
import type { Kernel } from './syscalls.ts';

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
  const json = JSON.stringify(new TextDecoder().decode(bytes));
  return new TextEncoder().encode(`export default JSON.parse(${json});`);
}

function readFile(kernel: Kernel, name: string): Uint8Array | Problem {
  const problem = { problem: `could not load module '${name}': there is no such file` };
  try {
    const { node } = kernel.volume.resolve(name, '/', true);
    if (node.kind !== 'file') return problem;
    if (node.size > MAX_MODULE_BYTES) throw failure('EFBIG');
    const bytes = new Uint8Array(node.size);
    kernel.spend(1 + node.size / 4096);
    kernel.volume.read(node, 0, bytes);
    return bytes;
  } catch (cause) {
    if ((cause as { code?: string }).code === 'ENOENT') return problem;
    throw cause;
  }
}
