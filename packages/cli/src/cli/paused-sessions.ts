/** The paused programs in a session store. The records say which sessions are paused, so no other session is read. */

import { type PausedExecution, SandboxError } from '@llm-wasm-sandbox/core/internal';
import type { SessionContext } from './commands/session/context.ts';
import { printWarning } from './diagnostics.ts';

export interface PausedSession {
  readonly session_id: string;
  readonly execution: PausedExecution;
}

/** The paused programs, longest waiting first. Sessions that cannot be read are reported on standard error and counted. */
export async function findPaused({
  store,
  location,
}: SessionContext): Promise<{ readonly paused: PausedSession[]; readonly unreadable: number }> {
  const { records, damaged } = await store.list();
  const paused: PausedSession[] = [];
  const problems = damaged.map((id) => `Session ${id} in ${location} is damaged.`);
  for (const { session_id, paused: hint } of records) {
    if (hint === undefined) continue;
    try {
      const execution = (await store.read(session_id))?.state.paused;
      if (execution !== undefined) paused.push({ session_id, execution });
    } catch (cause) {
      if (!(cause instanceof SandboxError)) throw cause;
      problems.push(`Session ${session_id} in ${location}: ${cause.message}`);
    }
  }
  paused.sort((a, b) => (a.execution.paused_at < b.execution.paused_at ? -1 : 1));
  for (const line of problems) printWarning(line);
  return { paused, unreadable: problems.length };
}
