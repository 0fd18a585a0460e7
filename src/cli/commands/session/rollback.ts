/** `session rollback`: restores a session to a checkpoint, or undoes its last call. */
import { restoredText } from './record-text.ts';
import type { SessionAction } from './subcommand.ts';
import { updateSession } from './update-session.ts';

export const sessionRollback: SessionAction = async (context, [id, name]) => {
  await updateSession(context, id!, (session) => session.rollback(name));
  return {
    json: { session_id: id, checkpoint: name ?? null },
    text: restoredText(id!, name),
  };
};
