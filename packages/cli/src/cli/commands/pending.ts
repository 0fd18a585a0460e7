/** `pending`: lists the paused programs of a store with the tool calls that wait for an answer. Changes nothing. */

import { callText, escapeControls, type PendingCall, uncertainCalls } from '@llm-wasm-sandbox/core/internal';
import { APPROVED_BEFORE } from '../ask-approval.ts';
import type { CommandDetails } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { findPaused, type PausedSession } from '../paused-sessions.ts';
import { jsonOption, type StoreFlags, storeOptions } from '../shared-options.ts';
import { openSessionContext } from './session/context.ts';
import { ageOf } from './session/record-text.ts';

interface PendingFlags extends StoreFlags {
  readonly json?: boolean;
}

const WAITS_FOR: Record<PendingCall['reason'], string> = {
  approval: 'needs approval',
  suspended: 'needs a value',
};

function formatPaused({ session_id, execution }: PausedSession): string {
  const { execution_id, paused_at, pending } = execution;
  const uncertain = uncertainCalls(execution);
  const calls = pending.map((call) => {
    const warning = uncertain.includes(call) ? ` (${APPROVED_BEFORE})` : '';
    return `  call ${call.id} ${WAITS_FOR[call.reason]}${warning}: ${callText(call)}`;
  });
  return [
    `${escapeControls(session_id)}: execution ${execution_id}, paused ${ageOf(paused_at)}`,
    ...calls,
  ].join('\n');
}

async function listPending(flags: PendingFlags): Promise<void> {
  const context = openSessionContext(flags);
  try {
    const { paused, unreadable } = await findPaused(context);
    if (unreadable > 0) process.exitCode = EXIT.unavailable;
    const json = paused.map(({ session_id, execution }) => ({
      session_id,
      ...execution,
      store: context.location,
    }));
    if (flags.json) process.stdout.write(`${JSON.stringify({ paused: json }, null, 2)}\n`);
    else if (paused.length === 0) process.stdout.write('No paused programs.\n');
    else process.stdout.write(`${paused.map(formatPaused).join('\n')}\n`);
  } finally {
    await context.sessions.close();
  }
}

export default {
  options: [...storeOptions(), jsonOption()],
  examples: [
    'pending',
    'pending --json --store ./sessions',
    'pending --store /var/lib/sandbox --tenant local',
  ],
  action: (_, flags) => listPending(flags),
} satisfies CommandDetails<PendingFlags>;
