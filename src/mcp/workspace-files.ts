/** Listing, reading and writing files of one sandbox, with results as text for a model. Paths refer to the workspace. */

import { setImmediate as nextTick } from 'node:timers/promises';
import { z } from 'zod';
import { quotePath } from '../analysis/escape-controls.ts';
import { SandboxError } from '../errors.ts';
import { formatItems } from '../quantities.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { type ToolResult, truncateMiddle } from './tool-result.ts';
import { mimeType, workspaceUri } from './workspace-uri.ts';

export const filePath = z
  .string()
  .min(1)
  .max(4096)
  .describe('Path in the workspace, e.g. "data.csv" or "/app/out/report.csv".');
export const readOffset = z
  .number()
  .int()
  .min(0)
  .optional()
  .describe('Number of characters to skip, to page through long text.');
export const encodingInput = z
  .enum(['utf8', 'base64'])
  .optional()
  .describe('Default utf8; base64 for binary files.');

/** No character can match in two places, so long text that is not base64 is rejected in linear time. */
const BASE64 = /^[A-Za-z0-9+/\s]*(?:=[=\s]*)?$/;
const LARGE_CHARS = 256 * 1024;
const MAX_IMAGE_BYTES = 3 * 1024 * 1024;
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** Files in one result. */
const MAX_FILES = 500;

/** Decodes bytes as UTF-8. Returns undefined for binary data. */
export function asText(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

interface ReadContext {
  readonly maxChars: number;
  /** Where the full text of a long file is. */
  readonly uri: string;
  /** What to do with binary data, without a period. */
  readonly binaryAdvice: string;
}

export async function readWorkspaceFile(
  sandbox: Sandbox,
  { path, offset = 0 }: { readonly path: string; readonly offset?: number | undefined },
  { maxChars, uri, binaryAdvice }: ReadContext,
): Promise<ToolResult> {
  const bytes = await sandbox.readFile(path);
  const mime = mimeType(path);
  if (mime !== undefined && IMAGES.includes(mime) && bytes.length <= MAX_IMAGE_BYTES) {
    const data = Buffer.from(bytes).toString('base64');
    return {
      text: `${quotePath(path)}: ${mime}, ${formatItems(bytes.length, 'byte')}.`,
      blocks: [{ type: 'image', data, mimeType: mime }],
    };
  }
  const text = asText(bytes);
  if (text === undefined)
    return {
      text: `${quotePath(path)}: ${formatItems(bytes.length, 'byte')} of binary data. ${binaryAdvice}.`,
    };
  return { text: truncateMiddle(text.slice(offset), maxChars, () => uri).text };
}

/** The prefix of all paths in a folder of the workspace; empty for the workspace itself. */
function folderPrefix(folder: string): string {
  const parts = folder.split('/').filter((part, i) => part !== '' && !(part === '.' && i === 0));
  if (folder.startsWith('/') && parts[0] === 'app') parts.shift();
  return parts.length === 0 ? '' : `${parts.join('/')}/`;
}

export async function listWorkspaceFiles(
  sandbox: Sandbox,
  session_id: string,
  folder: string | undefined,
): Promise<ToolResult> {
  const prefix = folder === undefined ? '' : folderPrefix(folder);
  const all = (await sandbox.listFiles()).filter((file) => file.path.startsWith(prefix));
  const files = all
    .slice(0, MAX_FILES)
    .map((file) => ({ ...file, uri: workspaceUri(session_id, file.path) }));
  const lines = files.map(
    (file) => `${quotePath(file.path)} (${formatItems(file.size_bytes, 'byte')}, ${file.modified_at})`,
  );
  if (all.length > files.length) lines.push(`… and ${all.length - files.length} more`);
  return {
    text: `${formatItems(all.length, 'file')} in session ${session_id}.\n${lines.join('\n')}`.trimEnd(),
    structured: { session_id, files, total: all.length },
  };
}

interface WrittenFile {
  readonly path: string;
  readonly content: string;
  readonly encoding?: 'utf8' | 'base64' | undefined;
}

export async function writeWorkspaceFile(
  sandbox: Sandbox,
  session_id: string,
  { path, content, encoding = 'utf8' }: WrittenFile,
): Promise<ToolResult> {
  // Decoding a large file blocks the event loop, so other requests are served first.
  if (content.length > LARGE_CHARS) await nextTick();
  if (encoding === 'base64' && !BASE64.test(content))
    throw new SandboxError(
      'invalid_argument',
      'content: not valid base64. Send valid base64, or set encoding to "utf8".',
    );
  const bytes = new Uint8Array(Buffer.from(content, encoding));
  await sandbox.writeFile(path, bytes);
  const uri = workspaceUri(session_id, path.replace(/^\/app\//, ''));
  return {
    text: `Wrote ${formatItems(bytes.length, 'byte')} to ${quotePath(path)} in session ${session_id}. Programs can open it at this path.`,
    structured: { session_id, path, size_bytes: bytes.length, uri },
  };
}
