/** Derives why a guest stopped from an exception that WebAssembly or a host function threw. */
import { isSyscallError } from '../kernel/syscall-error.ts';
import type { GuestStop } from './run-context.ts';

export function classifyException(
  cause: unknown,
  { isStackFull, isMemoryFull }: { isStackFull: boolean; isMemoryFull: boolean },
): GuestStop {
  if (cause instanceof RangeError) return { reason: 'stack_overflow', message: cause.message };
  if (isSyscallError(cause))
    return { reason: 'unreachable', message: 'the runtime accessed an address that does not exist' };
  const isTrap = cause instanceof WebAssembly.RuntimeError || cause instanceof WebAssembly.Exception;
  if (!isTrap) return { reason: 'internal', message: cause instanceof Error ? cause.message : String(cause) };
  if (isStackFull) return { reason: 'stack_overflow', message: 'the stack of the guest is full' };
  const message = cause instanceof WebAssembly.Exception ? 'an exception was not caught' : cause.message;
  return { reason: isMemoryFull ? 'memory_limit' : 'unreachable', message };
}
