/**
 * Converts the exceptions of host functions to errno values. A host function throws a syscall error, a RangeError when
 * the host cannot allocate memory (ENOMEM), or a trap, which is rethrown.
 * Every call checks the limits first: most work on the host costs the guest no fuel, so only the clock bounds it.
 */
import { WASI_ERRNO } from './errno.ts';
import type { Host } from './host-services.ts';
import { isSyscallError } from './syscall-error.ts';

/** A function that a guest module imports. */
// biome-ignore lint/suspicious/noExplicitAny: the signatures differ between imports
export type HostFunction = (...args: any[]) => any;
/** Host functions by import name. */
export type HostFunctions = Record<string, HostFunction>;

/** Sign of a returned errno: negative for Emscripten's system calls, positive for WASI. */
type ErrnoSign = 1 | -1;

export function guard(host: Host, functions: HostFunctions, sign: ErrnoSign): HostFunctions {
  return Object.fromEntries(
    Object.entries(functions).map(([name, hostFunction]) => [name, guarded(host, hostFunction, sign)]),
  );
}

function guarded(host: Host, hostFunction: HostFunction, sign: ErrnoSign): HostFunction {
  return (...args) => {
    host.check();
    try {
      return hostFunction(...args);
    } catch (cause) {
      if (isSyscallError(cause)) return sign * WASI_ERRNO[cause.code];
      // The host could not allocate a buffer, or recursion in the guest exhausted the host's stack.
      if (cause instanceof RangeError) return sign * WASI_ERRNO.ENOMEM;
      throw cause;
    }
  };
}
