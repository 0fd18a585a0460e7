/**
 * The one place where a failed system call becomes a number. Everything a door can throw is either a failure constant
 * (an errno for the guest), an allocation the host refused (ENOMEM), or a trap on its way out, which passes.
 * Every call looks at the limits first: the host's work costs the guest no fuel, so only the clock bounds it.
 */
import { ERRNO } from './abi.ts';
import { isFailure } from './syscall-error.ts';
import type { World } from './syscalls.ts';

// biome-ignore lint/suspicious/noExplicitAny: doors have as many signatures as the guests have imports
export type Door = (...args: any[]) => any;
export type Doors = Record<string, Door>;

/** How the errno reaches the guest: negated for Emscripten's system calls, as it is for WASI's. */
export type Sign = 1 | -1;

export function guard(world: World, doors: Doors, sign: Sign): Doors {
  return Object.fromEntries(Object.entries(doors).map(([name, door]) => [name, guarded(world, door, sign)]));
}

function guarded(world: World, door: Door, sign: Sign): Door {
  return (...args) => {
    world.check();
    try {
      return door(...args);
    } catch (cause) {
      if (isFailure(cause)) return sign * ERRNO[cause.code];
      // A buffer the host could not allocate, or a host stack that recursion in the guest used up.
      if (cause instanceof RangeError) return sign * ERRNO.ENOMEM;
      throw cause;
    }
  };
}
