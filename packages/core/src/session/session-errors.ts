/** Errors of sessions that several files throw. */
import { SandboxError } from '../errors.ts';
import { type PausedExecution, uncertainCalls } from '../schema.ts';

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
    `The session is paused in execution ${execution_id}, which is waiting for answers to tool calls. No other program can run in the session until this execution has ended. Continue it with resume() or "llm-wasm-sandbox resume", or discard it with undo(). Over MCP, resume_execution answers calls with values or errors, and rollback_session discards the execution.`,
  );
}

/** `paused`: the execution in which the session is paused instead. */
export function executionNotFound(execution_id: string, paused: PausedExecution | undefined): SandboxError {
  const name = JSON.stringify(execution_id.slice(0, 100));
  const fact = `The session is not paused in execution ${name}, which has ended, was discarded or was already resumed`;
  return new SandboxError('execution_not_found', `${fact}. ${instead(paused)}`);
}

function instead(paused: PausedExecution | undefined): string {
  if (paused === undefined)
    return 'No program of this session is paused, so the session can run another program.';
  const fact = `The session is paused in execution ${paused.execution_id}`;
  const wait = 'If a resume is in progress, wait for its result';
  const unknown = uncertainCalls(paused).map(({ id, name }) => `${id} (${name.slice(0, 80)})`);
  if (unknown.length === 0) return `${fact}. ${wait}; otherwise use this id.`;
  return `${fact}: a resume is in progress, or was rolled back, undone or interrupted. Calls approved in that resume may have taken effect: ${unknown.slice(0, 10).join(', ')}. ${wait}; otherwise check the effects of these calls, then use this id.`;
}

/** Errors of a store are passed on with their code; other errors become `store_failed`. */
export function saveError(cause: unknown): SandboxError {
  if (isUnknownCommit(cause)) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const code = cause instanceof SandboxError && cause.code !== 'internal' ? cause.code : 'store_failed';
  const publicMessage = cause instanceof SandboxError ? cause.publicMessage : undefined;
  return new SandboxError(code, `The session could not be saved. ${reason}`, {
    cause,
    ...(publicMessage !== undefined && { publicMessage }),
  });
}

/** Whether a change may have been saved although the store reported an error. */
export function isUnknownCommit(cause: unknown): cause is SandboxError {
  return cause instanceof SandboxError && cause.code === 'commit_unknown';
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
  return new SandboxError('nothing_to_undo', `${fact}. To go back further, restore a checkpoint by name.`);
}

export function checkpointNotFound(name: string, existing: Iterable<string>): SandboxError {
  const names = [...existing];
  const listing = names.length > 0 ? `Its checkpoints are: ${names.join(', ')}` : 'It has no checkpoints';
  return new SandboxError(
    'checkpoint_not_found',
    `The session has no checkpoint ${JSON.stringify(name)}. ${listing}.`,
  );
}

export const packagesMissing = (session_id: string, names: readonly string[]) =>
  new SandboxError(
    'session_mismatch',
    `The session ${session_id} uses packages that have not been added: ${names.slice(0, 20).join(', ')}. ` +
      'Pass the same packages again, or add the same versions with "llm-wasm-sandbox packages add".',
  );

export const runtimeMismatch = (session: { session_id: string; runtime: string }, runtime: string) =>
  new SandboxError(
    'session_mismatch',
    `The session ${session.session_id} has runtime ${session.runtime}, not ${runtime}. Open it with its own runtime, or use another session_id.`,
  );
