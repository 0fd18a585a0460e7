/** Errors of sessions that several files throw. */
import { SandboxError } from '../errors.ts';

export function sessionNotFound(session_id: string): SandboxError {
  const name = JSON.stringify(session_id.slice(0, 100));
  return new SandboxError('session_not_found', `There is no session ${name}.`);
}

export function sessionExists(session_id: string): SandboxError {
  return new SandboxError(
    'session_exists',
    `The session ${session_id} already exists. Choose another session_id.`,
  );
}

export function executionPaused(execution_id: string): SandboxError {
  return new SandboxError(
    'execution_paused',
    `The session is waiting for answers to tool calls of execution ${execution_id}. Continue it with resume(), or discard it with undo().`,
  );
}

export function executionNotFound(execution_id: string): SandboxError {
  const name = JSON.stringify(execution_id.slice(0, 100));
  return new SandboxError(
    'execution_not_found',
    `The session is not paused in execution ${name}, which has ended or was already resumed. paused() returns the paused execution, if there is one.`,
  );
}

/** Errors of a store are passed on with their code; other errors become `store_failed`. */
export function saveError(cause: unknown): SandboxError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const code = cause instanceof SandboxError && cause.code !== 'internal' ? cause.code : 'store_failed';
  const publicMessage = cause instanceof SandboxError ? cause.publicMessage : undefined;
  return new SandboxError(code, `The session could not be saved. ${reason}`, {
    cause,
    ...(publicMessage !== undefined && { publicMessage }),
  });
}

/** A call that was reported as committed was not saved. */
export function commitLost(call: number, reason: SandboxError | undefined): SandboxError {
  const fact = `The state after call ${call} could not be saved, and the session is as it was before that call`;
  return new SandboxError(
    reason?.code ?? 'store_failed',
    `${fact}. ${reason?.message ?? 'Run the call again.'}`,
  );
}

export function nothingToUndo(): SandboxError {
  const fact = 'There is no call to undo: none has run, or the last one was already undone';
  return new SandboxError('nothing_to_undo', `${fact}. Use rollback(name) to restore a checkpoint.`);
}

export function checkpointNotFound(name: string, existing: Iterable<string>): SandboxError {
  const names = [...existing];
  const listing = names.length > 0 ? `Its checkpoints are: ${names.join(', ')}` : 'It has no checkpoints';
  return new SandboxError(
    'checkpoint_not_found',
    `The session has no checkpoint ${JSON.stringify(name)}. ${listing}.`,
  );
}

export const packagesMissing = (session_id: string) =>
  new SandboxError(
    'session_mismatch',
    `The session ${session_id} uses packages that have not been added. ` +
      'Pass the same packages again, or add the same versions with "llm-wasm-sandbox packages add".',
  );

export const runtimeMismatch = (session: { session_id: string; runtime: string }, runtime: string) =>
  new SandboxError(
    'session_mismatch',
    `The session ${session.session_id} has runtime ${session.runtime}, not ${runtime}. Open it with its own runtime, or use another session_id.`,
  );
