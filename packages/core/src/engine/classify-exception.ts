/** Derives why a guest stopped from an exception that WebAssembly or a host function threw. */
import { isSyscallError } from '../kernel/syscall-error.ts';
import type { GuestStop } from './run-context.ts';

/** Texts for the traps of V8, whose own texts differ between versions. */
const TRAP_TEXTS: readonly (readonly [RegExp, string])[] = [
  [/^unreachable/, 'an unreachable instruction was executed'],
  [/^memory|unaligned/, 'memory was accessed out of bounds'],
  [/by zero/, 'an integer was divided by zero'],
  [/^divide result/, 'the result of an integer division is too large'],
  [/^float/, 'a number is too large for an integer'],
  [/function|signature/, 'a function was called that is null or has another signature'],
  [/table|element/, 'a table was accessed out of bounds'],
];
const OTHER_TRAP = 'an instruction failed';

const trapText = (message: string) =>
  TRAP_TEXTS.find(([pattern]) => pattern.test(message))?.[1] ?? OTHER_TRAP;

export function classifyException(
  cause: unknown,
  { isStackFull, isMemoryFull }: { isStackFull: boolean; isMemoryFull: boolean },
): GuestStop {
  if (cause instanceof RangeError)
    return { reason: 'stack_overflow', message: 'the stack of the host is full' };
  if (isSyscallError(cause))
    return { reason: 'unreachable', message: 'the runtime accessed an address that does not exist' };
  const isTrap = cause instanceof WebAssembly.RuntimeError || cause instanceof WebAssembly.Exception;
  if (!isTrap) return { reason: 'internal', message: cause instanceof Error ? cause.message : String(cause) };
  if (isStackFull) return { reason: 'stack_overflow', message: 'the stack of the guest is full' };
  const message =
    cause instanceof WebAssembly.Exception ? 'an exception was not caught' : trapText(cause.message);
  return { reason: isMemoryFull ? 'memory_limit' : 'unreachable', message };
}
