/** The paused programs in session stores. The records say which sessions are paused, so no other session is read. */

import type { PausedExecution } from '@llm-wasm-sandbox/core/internal';
import { SandboxError } from '@llm-wasm-sandbox/core/internal';
import type { SessionContext } from './commands/session/context.ts';
import { printWarning } from './diagnostics.ts';

export interface PausedSession {
  readonly context: SessionContext;
  readonly session_id: string;
  readonly execution: PausedExecution;
}

/** The paused programs, longest waiting first. Sessions that cannot be read are reported on standard error and counted. */
export async function findPaused(
  contexts: readonly SessionContext[],
): Promise<{ readonly paused: PausedSession[]; readonly unreadable: number }> {
  const paused: PausedSession[] = [];
  const problems: string[] = [];
  for (const context of contexts) {
    const { records, damaged } = await context.store.list();
    for (const id of damaged) problems.push(`Session ${id} in ${context.location} is damaged.`);
    for (const { session_id, paused: hint } of records) {
      if (hint === undefined) continue;
      try {
        const execution = (await context.store.read(session_id))?.state.paused;
        if (execution !== undefined) paused.push({ context, session_id, execution });
      } catch (cause) {
        if (!(cause instanceof SandboxError)) throw cause;
        problems.push(`Session ${session_id} in ${context.location}: ${cause.message}`);
      }
    }
  }
  paused.sort((a, b) => (a.execution.paused_at < b.execution.paused_at ? -1 : 1));
  for (const line of problems) printWarning(line);
  return { paused, unreadable: problems.length };
}

export const closeStores = (contexts: readonly SessionContext[]) =>
  Promise.all(contexts.map(({ sessions }) => sessions.close()));
