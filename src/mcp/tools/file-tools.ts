/** Tools that list, read, write and delete workspace files. Paths refer to the workspace, never to the host. */

import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { formatItems } from '../../quantities.ts';
import { isDocsUri, readDocsUri } from '../documentation.ts';
import { DEFAULT_SESSION } from '../tenant.ts';
import { DESTRUCTIVE_IDEMPOTENT, defineTool, optionalSession, READ_ONLY, type ToolCall } from '../tool.ts';
import type { ToolResult } from '../tool-result.ts';
import {
  encodingInput,
  filePath,
  listWorkspaceFiles,
  readOffset,
  readWorkspaceFile,
  writeWorkspaceFile,
} from '../workspace-files.ts';
import { workspaceUri } from '../workspace-uri.ts';

/** A section of the documentation. Many clients let models call tools but not read resources. */
function readDocs(uri: string): ToolResult {
  const text = readDocsUri(uri);
  if (text === undefined)
    throw new SandboxError(
      'file_not_found',
      `There is no section ${uri}. Use a link from error_guidance.related_docs.`,
    );
  return { text };
}

async function read(
  args: { path: string; session_id?: string | undefined; offset?: number | undefined },
  { tenant, state }: ToolCall,
): Promise<ToolResult> {
  if (isDocsUri(args.path)) return readDocs(args.path);
  const session_id = args.session_id ?? DEFAULT_SESSION;
  const uri = workspaceUri(session_id, args.path);
  return readWorkspaceFile(await tenant.readableFiles(session_id), args, {
    maxChars: state.settings.max_output_chars,
    uri,
    binaryAdvice: `Process it with execute_code, or read the resource ${uri}`,
    nextSlice: () => state.mainThread.nextSlice(tenant.id),
  });
}

export const listFiles = defineTool({
  name: 'list_files',
  title: 'List files',
  description:
    'List the files in a session or the default workspace with size and modification time. Use it to see which files programs wrote. Paths are relative to /app.',
  input: z.strictObject({
    session_id: optionalSession,
    folder: z.string().max(4096).optional().describe('Only files in this folder, e.g. "out".'),
  }),
  output: z.object({
    session_id: z.string(),
    files: z.array(
      z.object({
        path: z.string(),
        size_bytes: z.number().int(),
        modified_at: z.string(),
        uri: z.string(),
      }),
    ),
    total: z.number().int(),
  }),
  annotations: READ_ONLY,
  run: async ({ session_id = DEFAULT_SESSION, folder }, { tenant }) =>
    listWorkspaceFiles(await tenant.readableFiles(session_id), session_id, folder),
});

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read a file in a session or the default workspace, as text or, for PNG, JPEG, GIF and WebP, as an image. Use it to see results that programs saved. For other formats (xlsx, pdf, zip) use execute_code. Also reads docs:// links from error_guidance.',
  input: z.strictObject({
    path: filePath,
    session_id: optionalSession,
    offset: readOffset,
  }),
  annotations: READ_ONLY,
  run: read,
});

export const writeFile = defineTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Put (upload) a file into a session or the default workspace; an existing file is replaced. Programs in the sandbox find it under /app. Use it for data that programs will read; small text files can also be passed to execute_code(files=…).',
  input: z.strictObject({
    path: filePath,
    content: z.string().describe('Text, or base64 data.'),
    encoding: encodingInput,
    session_id: optionalSession,
  }),
  output: z.object({
    session_id: z.string(),
    path: z.string(),
    size_bytes: z.number().int(),
    uri: z.string(),
  }),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: async ({ session_id = DEFAULT_SESSION, ...file }, { tenant, state }) =>
    writeWorkspaceFile(await tenant.open(session_id), session_id, file, () =>
      state.mainThread.nextSlice(tenant.id),
    ),
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
