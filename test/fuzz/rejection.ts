/** Distinguishes a clean rejection of bad input from a failure of the code that reads it. */
import type { ErrorCode } from '../../packages/core/src/errors.ts';

/** Whether `action` succeeded. An error other than a SandboxError with one of `codes` is rethrown. */
export async function accepts(action: () => unknown, ...codes: readonly ErrorCode[]): Promise<boolean> {
  try {
    await action();
    return true;
  } catch (cause) {
    if (isRejection(cause, codes)) return false;
    throw cause;
  }
}

/** Also recognises errors of the compiled package, whose class is another one. */
export function isRejection(cause: unknown, codes: readonly ErrorCode[]): boolean {
  const { name, code } = cause as { name?: string; code?: ErrorCode };
  return name === 'SandboxError' && code !== undefined && codes.includes(code);
}
