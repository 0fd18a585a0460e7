/**
 * The one place where a failed system call becomes a number. Everything a door can throw is either a failure constant
 * (an errno for the guest), an allocation the host refused (ENOMEM), or a trap on its way out, which passes.
 * Every call looks at the limits first: the host's work costs the guest no fuel, so only the clock bounds it.
 */
import { WASI_ERRNO } from './errno.ts';
import { isSyscallError } from './syscall-error.ts';
import type { Host } from './syscalls.ts';

// biome-ignore lint/suspicious/noExplicitAny: doors have as many signatures as the guests have imports
export type HostFunction = (...args: any[]) => any;
export type HostFunctions = Record<string, HostFunction>;

/** How the errno reaches the guest: negated for Emscripten's system calls, as it is for WASI's. */
export type ErrnoSign = 1 | -1;

export function guard(world: Host, doors: HostFunctions, sign: ErrnoSign): HostFunctions {
  return Object.fromEntries(Object.entries(doors).map(([name, door]) => [name, guarded(world, door, sign)]));
}

function guarded(world: Host, door: HostFunction, sign: ErrnoSign): HostFunction {
  return (...args) => {
    world.check();
    try {
      return door(...args);
    } catch (cause) {
      if (isSyscallError(cause)) return sign * WASI_ERRNO[cause.code];
      // A buffer the host could not allocate, or a host stack that recursion in the guest used up.
      if (cause instanceof RangeError) return sign * WASI_ERRNO.ENOMEM;
      throw cause;
    }
  };
}
