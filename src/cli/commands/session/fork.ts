/** `session fork`: creates a session that starts from the current state of another. */
import { randomUUID } from 'node:crypto';
import type { SessionAction } from './subcommand.ts';
import { syncExternalEdits, updateSession } from './update-session.ts';

export const sessionFork: SessionAction = async (context, [id, newId = randomUUID()]) => {
  const unreserve = await context.sessions.reserve(newId);
  try {
    const { record } = await updateSession(context, id!, async (session) => {
      await syncExternalEdits(session);
      const fork = await session.fork(newId);
      fork.persistIfNew();
      await fork.close();
      return fork;
    });
    return { json: record, text: record.session_id };
  } finally {
    unreserve();
  }
};
