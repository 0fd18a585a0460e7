/** Tools that list, read, write and delete workspace files. Paths refer to the workspace, never to the host. */

import {
  type FileToolTarget,
  formatItems,
  LIST_FILES,
  READ_FILE,
  WRITE_FILE,
} from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';
import { DEFAULT_SESSION } from '../../server/tenant.ts';
import { DESTRUCTIVE_IDEMPOTENT, defineTool, optionalSession, READ_ONLY, type ToolCall } from '../tool.ts';

const inSession = { session_id: optionalSession };

const targetOf = (
  { session_id = DEFAULT_SESSION }: { readonly session_id?: string | undefined },
  { tenant, state }: ToolCall,
): FileToolTarget => ({
  session_id,
  recent: tenant.recent,
  maxChars: state.settings.max_output_chars,
  nextSlice: () => state.mainThread.nextSlice(tenant.id),
  alternative: (uri) => `, read the resource ${uri}`,
  open: () => tenant.open(session_id),
  files: () => tenant.readableFiles(session_id),
});

export const listFiles = defineTool({
  ...LIST_FILES,
  input: LIST_FILES.input.extend(inSession),
  annotations: READ_ONLY,
  run: (args, call) => LIST_FILES.run(args, targetOf(args, call)),
});

export const readFile = defineTool({
  ...READ_FILE,
  input: READ_FILE.input.extend(inSession),
  annotations: READ_ONLY,
  run: (args, call) => READ_FILE.run(args, targetOf(args, call)),
});

export const writeFile = defineTool({
  ...WRITE_FILE,
  input: WRITE_FILE.input.extend(inSession),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: (args, call) => WRITE_FILE.run(args, targetOf(args, call)),
});

export const resetWorkspace = defineTool({
  name: 'reset_workspace',
  title: 'Delete all files',
  description:
    'Delete all files in a session or the default workspace; variables are kept. Returns the number of deleted files. Use it to start over with an empty folder. To undo one step, use rollback_session; to end the session, use destroy_session.',
  input: z.strictObject({ session_id: optionalSession }),
  output: z.object({ session_id: z.string(), files_deleted: z.number().int() }),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: async ({ session_id = DEFAULT_SESSION }, { tenant }) => {
    const files_deleted = await tenant.resetWorkspace(session_id);
    return {
      text: `Deleted ${formatItems(files_deleted, 'file')} from session ${session_id}.`,
      structured: { session_id, files_deleted },
    };
  },
});
