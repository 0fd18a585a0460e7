/** Listing, reading and writing files of one sandbox, with results as text for a model. Paths refer to the workspace. */

import { z } from 'zod';
import { quotePath } from '../analysis/escape-controls.ts';
import type { NextSlice } from '../concurrency/slices.ts';
import { formatItems } from '../quantities.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { encodeContent, SlicedText, toBase64 } from './sliced-text.ts';
import type { ReadableFiles } from './tenant.ts';
import { shownChars, type ToolResult, withGap } from './tool-result.ts';
import { mimeType, workspaceUri } from './workspace-uri.ts';

export const filePath = z
  .string()
  .min(1)
  .max(4096)
  .refine(
    (path) => !/\p{Surrogate}/u.test(path),
    'must not contain lone surrogates (halves of a UTF-16 pair)',
  )
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

const MAX_IMAGE_BYTES = 3 * 1024 * 1024;
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** Files in one result. */
const MAX_FILES = 500;

interface ReadContext {
  readonly maxChars: number;
  /** Where the full text of a long file is. */
  readonly uri: string;
  /** What to do with binary data, without a period. */
  readonly binaryAdvice: string;
  readonly nextSlice: NextSlice;
}

export async function readWorkspaceFile(
  sandbox: Pick<ReadableFiles, 'fileContents'>,
  { path, offset = 0 }: { readonly path: string; readonly offset?: number | undefined },
  { maxChars, uri, binaryAdvice, nextSlice }: ReadContext,
): Promise<ToolResult> {
  const bytes = await sandbox.fileContents(path);
  const mime = mimeType(path);
  if (mime !== undefined && IMAGES.includes(mime) && bytes.length <= MAX_IMAGE_BYTES) {
    const data = await toBase64(bytes, nextSlice);
    return {
      text: `${quotePath(path)}: ${mime}, ${formatItems(bytes.length, 'byte')}.`,
      blocks: [{ type: 'image', data, mimeType: mime }],
    };
  }
  const text = await SlicedText.of(bytes, nextSlice);
  if (text === undefined)
    return {
      text: `${quotePath(path)}: ${formatItems(bytes.length, 'byte')} of binary data. ${binaryAdvice}.`,
    };
  if (text.chars - offset <= maxChars) return { text: await text.slice(offset) };
  const { headChars, tailChars } = shownChars(maxChars);
  const head = await text.slice(offset, offset + headChars);
  const tail = await text.slice(text.chars - tailChars);
  return { text: withGap(head, text.chars - offset - headChars - tailChars, uri, tail) };
}

/** The prefix of all paths in a folder of the workspace; empty for the workspace itself. */
function folderPrefix(folder: string): string {
  const parts = folder.split('/').filter((part, i) => part !== '' && !(part === '.' && i === 0));
  if (folder.startsWith('/') && parts[0] === 'app') parts.shift();
  return parts.length === 0 ? '' : `${parts.join('/')}/`;
}

export async function listWorkspaceFiles(
  sandbox: Pick<ReadableFiles, 'listFiles' | 'recovery'>,
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
  const { recovery } = sandbox;
  const note = recovery === undefined ? '' : ` ${recovery}`;
  return {
    text: `${formatItems(all.length, 'file')} in session ${session_id}.${note}\n${lines.join('\n')}`.trimEnd(),
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
  nextSlice: NextSlice,
): Promise<ToolResult> {
  const bytes = await encodeContent(content, encoding, nextSlice);
  await sandbox.writeFile(path, bytes);
  const uri = workspaceUri(session_id, path.replace(/^\/app\//, ''));
  return {
    text: `Wrote ${formatItems(bytes.length, 'byte')} to ${quotePath(path)} in session ${session_id}. Programs can open it at this path.`,
    structured: { session_id, path, size_bytes: bytes.length, uri },
  };
}
