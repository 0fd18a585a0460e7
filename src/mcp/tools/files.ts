/** Tools that list, read, write and delete workspace files. Paths refer to the workspace, never to the host. */

import { setImmediate as nextTick } from 'node:timers/promises';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { formatItems } from '../../quantities.ts';
import { isDocsUri, readDocsUri } from '../documentation.ts';
import { mimeType, workspaceUri } from '../resource-links.ts';
import { DEFAULT_SESSION } from '../tenant.ts';
import { DESTRUCTIVE_IDEMPOTENT, defineTool, optionalSession, READ_ONLY, type ToolCall } from '../tool.ts';
import { type ToolResult, truncateMiddle } from '../tool-result.ts';

const path = z
  .string()
  .min(1)
  .max(4096)
  .describe('Path in the workspace, e.g. "data.csv" or "/app/out/report.csv".');
/** No character can match in two places, so long text that is not base64 is rejected in linear time. */
const BASE64 = /^[A-Za-z0-9+/\s]*(?:=[=\s]*)?$/;
const LARGE_CHARS = 256 * 1024;
const MAX_IMAGE_BYTES = 3 * 1024 * 1024;
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];

/** Decodes bytes as UTF-8. Returns undefined for binary data. */
export function asText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

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
  const bytes = await (await tenant.open(session_id)).readFile(args.path);
  const mime = mimeType(args.path);
  if (mime !== undefined && IMAGES.includes(mime) && bytes.length <= MAX_IMAGE_BYTES) {
    const data = Buffer.from(bytes).toString('base64');
    return {
      text: `${args.path}: ${mime}, ${bytes.length} bytes.`,
      blocks: [{ type: 'image', data, mimeType: mime }],
    };
  }
  const uri = workspaceUri(session_id, args.path);
  const text = asText(bytes);
  if (text === undefined) {
    const advice = `Process it with execute_code, or read the resource ${uri}`;
    return { text: `${args.path}: ${bytes.length} bytes of binary data. ${advice}.` };
  }
  const shown = truncateMiddle(text.slice(args.offset ?? 0), state.settings.max_output_chars, () => uri);
  return { text: shown.text };
}

/** Files in one result. */
const MAX_FILES = 500;

/** The prefix of all paths in a folder of the workspace; empty for the workspace itself. */
function folderPrefix(folder: string): string {
  const parts = folder.split('/').filter((part, i) => part !== '' && !(part === '.' && i === 0));
  if (folder.startsWith('/') && parts[0] === 'app') parts.shift();
  return parts.length === 0 ? '' : `${parts.join('/')}/`;
}

export const listFiles = defineTool({
  name: 'list_files',
  title: 'List files',
  description:
    'List the files of a session or the default workspace with size and modification time. Use it to see which files programs wrote. Paths are relative to /app.',
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
  run: async ({ session_id = DEFAULT_SESSION, folder }, { tenant }) => {
    const prefix = folder === undefined ? '' : folderPrefix(folder);
    const all = (await (await tenant.open(session_id)).listFiles()).filter((file) =>
      file.path.startsWith(prefix),
    );
    const files = all
      .slice(0, MAX_FILES)
      .map((file) => ({ ...file, uri: workspaceUri(session_id, file.path) }));
    const lines = files.map((file) => `${file.path} (${file.size_bytes} bytes, ${file.modified_at})`);
    if (all.length > files.length) lines.push(`… and ${all.length - files.length} more`);
    return {
      text: `${formatItems(all.length, 'file')} in session ${session_id}.\n${lines.join('\n')}`.trimEnd(),
      structured: { session_id, files, total: all.length },
    };
  },
});

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read a file of a session or the default workspace, as text or, for PNG, JPEG, GIF and WebP, as an image. Use it to see results that programs saved. For other formats (xlsx, pdf, zip) use execute_code. Also reads docs:// links of error_guidance.',
  input: z.strictObject({
    path,
    session_id: optionalSession,
    offset: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('Number of characters to skip, to page through long text.'),
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
    path,
    content: z.string().describe('Text, or base64 data.'),
    encoding: z.enum(['utf8', 'base64']).optional().describe('Default utf8; base64 for binary files.'),
    session_id: optionalSession,
  }),
  output: z.object({
    session_id: z.string(),
    path: z.string(),
    size_bytes: z.number().int(),
    uri: z.string(),
  }),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: async ({ path: name, content, encoding = 'utf8', session_id = DEFAULT_SESSION }, { tenant }) => {
    // Decoding a large file blocks the event loop, so other requests are served first.
    if (content.length > LARGE_CHARS) await nextTick();
    if (encoding === 'base64' && !BASE64.test(content))
      throw new SandboxError(
        'invalid_argument',
        'content: not valid base64. Send valid base64, or set encoding to "utf8".',
      );
    const bytes = new Uint8Array(Buffer.from(content, encoding));
    await (await tenant.open(session_id)).writeFile(name, bytes);
    const uri = workspaceUri(session_id, name.replace(/^\/app\//, ''));
    return {
      text: `Wrote ${formatItems(bytes.length, 'byte')} to ${name} in session ${session_id}. Programs can open it at this path.`,
      structured: { session_id, path: name, size_bytes: bytes.length, uri },
    };
  },
});

export const resetWorkspace = defineTool({
  name: 'reset_workspace',
  title: 'Delete all files',
  description:
    'Delete all files of a session or the default workspace; variables are kept. Returns how many. Use it to start over with an empty folder; to undo one step use rollback_session, to end the session destroy_session.',
  input: z.strictObject({ session_id: optionalSession }),
  output: z.object({ session_id: z.string(), files_deleted: z.number().int() }),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: async ({ session_id = DEFAULT_SESSION }, { tenant }) => {
    const files_deleted = await tenant.resetWorkspace(session_id);
    return {
      text: `Deleted ${formatItems(files_deleted, 'file')} of session ${session_id}.`,
      structured: { session_id, files_deleted },
    };
  },
});
