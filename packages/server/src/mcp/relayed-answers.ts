/**
 * Answers to questions of programs that run on another server with the same database. The server that receives an answer records it
 * and waits for its outcome; the server that runs the program looks for answers. Outcomes cross servers as JSON.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { ApprovalRounds, RoundKey } from '@llm-wasm-sandbox/core/internal';
import { CancelledError, ERROR_CODES, type ErrorCode, SandboxError } from '@llm-wasm-sandbox/core/internal';

const OUTCOME_POLL_MS = 200;
/** A server that has not been seen for this long has stopped or lost the database. */
const LOST_MS = 15_000;

/** Records the answer to a round, and waits for its outcome. Returns undefined if the round cannot be answered any more. */
export async function relayAnswer(
  rounds: ApprovalRounds,
  key: RoundKey,
  answer: unknown,
  signal: AbortSignal,
  lostMs = LOST_MS,
): Promise<{ readonly value: unknown } | undefined> {
  // biome-ignore lint/plugin: the decisions of one request, within the limits of request bodies
  if (!(await rounds.answer(key, JSON.stringify(answer)))) return undefined;
  try {
    return await waitForOutcome(rounds, key.round, signal, lostMs);
  } finally {
    // Otherwise the round is removed because of its age.
    await rounds.remove([key.round]).catch(() => {});
  }
}

async function waitForOutcome(
  rounds: ApprovalRounds,
  round: string,
  signal: AbortSignal,
  lostMs: number,
): Promise<{ readonly value: unknown } | undefined> {
  let isCancelled = false;
  let reachedMs = performance.now();
  while (performance.now() - reachedMs < lostMs) {
    await delay(OUTCOME_POLL_MS);
    try {
      if (signal.aborted && !isCancelled) {
        await rounds.cancel(round);
        isCancelled = true;
      }
      const found = await rounds.outcome(round);
      if (found === undefined) return undefined;
      if (found.outcome !== undefined) return parseOutcome(found.outcome);
      if (found.ageMs > lostMs) break;
      reachedMs = performance.now();
    } catch (error) {
      if (error instanceof SandboxError || error instanceof CancelledError) throw error;
      // The database may be restarting.
    }
  }
  const message =
    'The server that runs the program does not respond, so the outcome of the program is unknown. Check its effects before you run it again.';
  throw new SandboxError('store_failed', message, { publicMessage: message });
}

/** The outcome of an answer, for another server. */
export async function serializeOutcome(outcome: Promise<unknown>): Promise<string> {
  try {
    // biome-ignore lint/plugin: the outcome of one call
    return JSON.stringify({ value: await outcome });
  } catch (error) {
    const { code = 'internal', message, publicMessage } = error as Partial<SandboxError>;
    // biome-ignore lint/plugin: the message of an error
    return JSON.stringify({ error: { code, message, publicMessage } });
  }
}

function parseOutcome(text: string): { readonly value: unknown } {
  // biome-ignore lint/plugin: the outcome of one call
  const { value, error } = JSON.parse(text) as {
    value?: unknown;
    error?: { code: string; message: string; publicMessage?: string };
  };
  if (error === undefined) return { value };
  const { code, message, publicMessage } = error;
  if (code === 'cancelled') throw new CancelledError(message);
  const known: ErrorCode = Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'internal';
  throw new SandboxError(known, message, publicMessage === undefined ? {} : { publicMessage });
}
