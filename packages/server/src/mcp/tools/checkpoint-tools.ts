/** Tools that save and restore the state of a session. */

import { checkpointName, formatItems, sessionId } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { ADDITIVE, DESTRUCTIVE, defineTool } from '../tool.ts';

export const checkpointRow = z.object({ name: z.string(), created_at: z.string(), size_bytes: z.number() });

export const checkpointSession = defineTool({
  name: 'checkpoint_session',
  title: 'Save a checkpoint',
  description:
    'Save (remember) the current state of a session (its variables, open files and workspace) under a name; takes almost no time. Returns the name. Use it before a risky step or change; rollback_session goes back. A checkpoint of the same name is replaced.',
  input: z.strictObject({
    session_id: sessionId.describe('The session to save.'),
    name: checkpointName.optional().describe('Name, e.g. "before-cleanup"; by default a numbered name.'),
  }),
  output: checkpointRow.extend({ session_id: z.string() }),
  annotations: ADDITIVE,
  run: async ({ session_id, name }, { tenant }) => {
    const session = await tenant.session(session_id);
    const checkpoint = { session_id, ...(await session.checkpoint(name)) };
    return {
      text: `Saved checkpoint ${checkpoint.name} of session ${session_id} (${formatItems(checkpoint.size_bytes, 'byte')}, ${checkpoint.created_at}).`,
      structured: checkpoint,
    };
  },
});

export const rollbackSession = defineTool({
  name: 'rollback_session',
  title: 'Undo a call or go back to a checkpoint',
  description:
    'Undo (go back): restore the variables and files of a session to a checkpoint or, without a name, to the state before the last call. Later changes are lost; checkpoints are kept.',
  input: z.strictObject({
    session_id: sessionId.describe('The session to restore.'),
    name: checkpointName
      .optional()
      .describe('Checkpoint to go back to; without it, the last call is undone.'),
  }),
  output: z.object({ session_id: z.string(), restored: z.string(), files: z.number().int() }),
  annotations: DESTRUCTIVE,
  run: async ({ session_id, name }, { tenant }) => {
    const session = await tenant.session(session_id);
    await session.rollback(name);
    const restored = name === undefined ? 'the state before the last call' : `checkpoint ${name}`;
    const { length: files } = await session.listFiles();
    return {
      text: `Restored session ${session_id} to ${restored}; it has ${formatItems(files, 'file')}.`,
      structured: { session_id, restored, files },
    };
  },
});
