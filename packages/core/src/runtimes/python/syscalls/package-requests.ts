/**
 * Asks for packages with an ioctl request. The buffer starts with the length of its text, in 32 bits. The first line of the text
 * is `module` or `requirement`, the others are names. The result has a bit for each name that is not there.
 */
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { MAX_PACKAGE_NAMES } from '../../../kernel/package-finder.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { PACKAGE_IOCTL } from './abi.ts';

const LENGTH_BYTES = 4;
const MAX_TEXT_BYTES = 4096;

const decoder = new TextDecoder();

/** The returned function handles the request. It returns undefined for other requests, or if nobody answers. */
export function packageRequests(kernel: Kernel, memory: GuestMemory) {
  return (request: number, varargs: number): number | undefined => {
    if (request !== PACKAGE_IOCTL || kernel.call.findPackages === undefined) return undefined;
    const buffer = memory.u32(varargs);
    const length = memory.u32(buffer);
    if (length > MAX_TEXT_BYTES) throw syscallError('EINVAL');
    const [kind, ...names] = decoder.decode(memory.bytes(buffer + LENGTH_BYTES, length)).split('\n');
    if ((kind !== 'module' && kind !== 'requirement') || names.length > MAX_PACKAGE_NAMES)
      throw syscallError('EINVAL');
    const absent = new Set(kernel.call.findPackages(kind, names));
    return names.reduce((bits, name, index) => (absent.has(name) ? bits | (1 << index) : bits), 0);
  };
}
