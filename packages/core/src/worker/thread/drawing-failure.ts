/**
 * Why something cannot be drawn, as a clause for people and models. If the installation is damaged, an error is thrown
 * instead.
 */
import { GuestStopped } from '../../engine/run-context.ts';
import { SandboxError } from '../../errors.ts';
import { isSyscallError } from '../../kernel/syscall-error.ts';

/** Carries a reason as its message. */
export class DrawingError extends Error {}

const LIMITS: Readonly<Record<string, string>> = {
  out_of_fuel: 'drawing it takes too much fuel',
  timeout: 'drawing it takes too long',
  memory_limit: 'drawing it takes too much memory',
  stack_overflow: 'it is nested too deeply',
};

/** The reason for an exception. `advice` follows a reason that is a limit. */
export function drawingFailure(cause: unknown, advice: string): string {
  if (cause instanceof DrawingError) return cause.message;
  if (cause instanceof GuestStopped) {
    const { reason } = cause.stop;
    if (reason === 'cancelled') return 'the call was cancelled';
    return `${LIMITS[reason] ?? 'the renderer failed, or drawing it takes too much memory'}. ${advice}`;
  }
  if (cause instanceof SandboxError && cause.code === 'not_installed')
    return asClause(cause.message.replace(/^The /, 'the '));
  if (cause instanceof SandboxError) throw cause;
  if (isSyscallError(cause)) return 'the renderer failed';
  return cause instanceof Error ? asClause(cause.message) : 'the renderer failed';
}

/** A message as the end of a clause. */
export function asClause(message: string): string {
  const text = message
    .slice(0, 500)
    .replaceAll(/[\p{C}\s]/gu, ' ')
    .trim();
  return text.endsWith('.') ? text.slice(0, -1) : text;
}
