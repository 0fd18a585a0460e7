/** `session checkpoint`: creates, lists or deletes checkpoints of a session. */

import { escapeControls } from '../../../analysis/escape-controls.ts';
import { describeCheckpoint } from '../../../session/make-checkpoint.ts';
import { UsageError } from '../../exit-codes.ts';
import { readSession } from './context.ts';
import { createdText, formatCheckpoints } from './record-text.ts';
import type { SessionAction } from './subcommand.ts';
import { syncExternalEdits, updateSession } from './update-session.ts';

export const sessionCheckpoint: SessionAction = async (context, [id, name], flags) => {
  if (flags.list) {
    const checkpoints = (await readSession(context, id!)).checkpoints.map(describeCheckpoint);
    const text = checkpoints.length > 0 ? formatCheckpoints(checkpoints) : 'The session has no checkpoints.';
    return { json: { checkpoints }, text };
  }
  if (flags.delete) {
    if (name === undefined)
      throw new UsageError('Specify the checkpoint to delete: session checkpoint ID NAME --delete.');
    await updateSession(context, id!, (session) => session.deleteCheckpoint(name));
    return { json: { deleted: name }, text: `Deleted checkpoint ${escapeControls(name)}` };
  }
  const created = await updateSession(context, id!, async (session) => {
    await syncExternalEdits(session);
    return session.checkpoint(name);
  });
  return { json: created, text: createdText(created) };
};
