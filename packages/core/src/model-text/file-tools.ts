/**
 * The tools for files of a sandbox: names, texts, schemas, and what they do. The MCP server and the adapters offer the same
 * tools; the server adds `session_id`. Paths refer to the workspace, never to the host.
 */
import * as z from 'zod';
import { quotePath } from '../analysis/escape-controls.ts';
import type { NextSlice } from '../concurrency/slices.ts';
import { SandboxError } from '../errors.ts';
import { formatItems } from '../quantities.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import { isDocsUri, readDocsUri } from './documentation.ts';
import type { RecentResults } from './recent-results.ts';
import { encodeContent, SlicedText, toBase64 } from './sliced-text.ts';
import { firstRows, pathChars, shownChars, type ToolResult, truncateMiddle, withGap } from './tool-result.ts';
import { mimeType, workspaceUri } from './workspace-uri.ts';

/** Files that can be read: those of a sandbox, or of a session that cannot be opened. */
export interface ReadableFiles extends Pick<Sandbox, 'listFiles' | 'fileContents' | 'fileSize'> {
  /** Why files may be missing; undefined if all are there. */
  readonly recovery?: string;
}

/** The sandbox whose files a call reads or writes. */
export interface FileToolTarget {
  readonly session_id: string;
  /** Outputs and results to which earlier answers linked. */
  readonly recent: RecentResults;
  /** Characters of text in an answer. */
  readonly maxChars: number;
  readonly nextSlice: NextSlice;
  /** What else can be done with a file whose URI this is, after "or "; empty if nothing. */
  alternative(uri: string): string;
  open(): Promise<Sandbox>;
  files(): Promise<ReadableFiles>;
}

const MAX_IMAGE_BYTES = 3 * 1024 * 1024;
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
/** Files in one result. */
const MAX_FILES = 500;

const filePath = z
  .string()
  .min(1)
  .max(4096)
  .refine(
    (path) => !/\p{Surrogate}/u.test(path),
    'must not contain lone surrogates (halves of a UTF-16 pair)',
  )
  .describe('Path in the workspace, e.g. "data.csv" or "/app/out/report.csv".');
const encoding = z.enum(['utf8', 'base64']).optional().describe('Default utf8; base64 for binary files.');

interface FileTool<I extends z.ZodObject> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: I;
  /** Absent if the result may be an image, which structured content would hide. */
  readonly output?: z.ZodObject;
  run(args: z.output<I>, target: FileToolTarget): Promise<ToolResult>;
}

/** Infers the type of the arguments from the schema. */
const defineFileTool = <I extends z.ZodObject>(tool: FileTool<I>) => tool;

export const READ_FILE = defineFileTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read a file in the workspace, as text or, for PNG, JPEG, GIF and WebP, as an image. Use it to see results that programs saved. For other formats (xlsx, pdf, zip) use execute_code. Also reads the links in results of execute_code, such as docs://.',
  input: z.strictObject({
    path: filePath,
    offset: z
      .number()
      .int()
      .min(0)
      .optional()
      .describe('Characters to skip, or bytes with base64, to page through a long file.'),
    encoding,
  }),
  async run(args, target) {
    const { path, offset = 0 } = args;
    const { maxChars, nextSlice } = target;
    const linked = await linkedText(path, target);
    if (linked !== undefined)
      return { text: truncateMiddle(linked.slice(offset), maxChars, () => path).text };
    const bytes = await (await target.files()).fileContents(path);
    if (args.encoding === 'base64') return { text: await base64Text(bytes, offset, target) };
    const mime = mimeType(path);
    if (mime !== undefined && IMAGES.includes(mime) && bytes.length <= MAX_IMAGE_BYTES) {
      const data = await toBase64(bytes, nextSlice);
      return {
        text: `${quotePath(path)}: ${mime}, ${formatItems(bytes.length, 'byte')}.`,
        blocks: [{ type: 'image', data, mimeType: mime }],
      };
    }
    const uri = workspaceUri(target.session_id, path);
    const text = await SlicedText.of(bytes, nextSlice);
    if (text === undefined) {
      const size = `${quotePath(path)}: ${formatItems(bytes.length, 'byte')} of binary data`;
      return {
        text: `${size}. Process it with execute_code${target.alternative(uri)}, or read it with encoding="base64".`,
      };
    }
    if (text.chars - offset <= maxChars) return { text: await text.slice(offset) };
    const { headChars, tailChars } = shownChars(maxChars);
    const head = await text.slice(offset, offset + headChars);
    const tail = await text.slice(text.chars - tailChars);
    return { text: withGap(head, text.chars - offset - headChars - tailChars, uri, tail) };
  },
});

/** Bytes as base64, without an incomplete group, so that parts can be joined. */
async function base64Text(
  bytes: Uint8Array,
  offset: number,
  { maxChars, nextSlice }: FileToolTarget,
): Promise<string> {
  const end = Math.min(bytes.length, offset + Math.floor(maxChars / 4) * 3);
  const text = await toBase64(bytes.subarray(offset, end), nextSlice);
  const left = bytes.length - end;
  return left <= 0 ? text : `${text}\n[… ${formatItems(left, 'byte')} more; continue with offset=${end} …]`;
}

/** The text of a link in a result: documentation, or the full text of something that was shortened. */
async function linkedText(uri: string, { session_id, recent }: FileToolTarget): Promise<string | undefined> {
  if (!/^(docs|output|result):\/\//.test(uri)) return undefined;
  const displayed = async () => {
    const cached = await recent.result(session_id, uri.slice(uri.lastIndexOf('/') + 1));
    return cached?.uri === uri ? (cached.result.markdown ?? cached.result.text) : undefined;
  };
  const text = isDocsUri(uri) ? readDocsUri(uri) : ((await recent.output(uri)) ?? (await displayed()));
  if (text !== undefined) return text;
  throw new SandboxError(
    'file_not_found',
    `There is no ${uri}, or it is no longer cached. Use a link from a recent result, such as error_guidance.related_docs, or a path in the workspace.`,
  );
}

export const WRITE_FILE = defineFileTool({
  name: 'write_file',
  title: 'Write a file',
  description:
    'Put (upload) a file into the workspace; an existing file is replaced. Programs in the sandbox find it under /app. Use it for data that programs will read; small text files can also be passed to execute_code(files=…).',
  input: z.strictObject({
    path: filePath,
    content: z.string().describe('Text, or base64 data.'),
    encoding,
  }),
  output: z.object({
    session_id: z.string(),
    path: z.string(),
    size_bytes: z.number().int(),
    uri: z.string(),
  }),
  async run(args, target) {
    const { path, content, encoding = 'utf8' } = args;
    const { session_id, nextSlice } = target;
    const bytes = await encodeContent(content, encoding, nextSlice);
    await (await target.open()).writeFile(path, bytes);
    const uri = workspaceUri(session_id, path.replace(/^\/app\//, ''));
    return {
      text: `Wrote ${formatItems(bytes.length, 'byte')} to ${quotePath(path)} in session ${session_id}. Programs can open it at this path.`,
      structured: { session_id, path, size_bytes: bytes.length, uri },
    };
  },
});

export const LIST_FILES = defineFileTool({
  name: 'list_files',
  title: 'List files',
  description:
    'List the files in the workspace with size and modification time. Use it to see which files programs wrote. Paths are relative to /app.',
  input: z.strictObject({
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
  async run({ folder = '' }, target) {
    const { session_id } = target;
    const prefix = folderPrefix(folder);
    const readable = await target.files();
    const all = (await readable.listFiles()).filter((file) => file.path.startsWith(prefix));
    const rows = all
      .slice(0, MAX_FILES)
      .map((file) => ({ ...file, uri: workspaceUri(session_id, file.path) }));
    const files = [...firstRows(rows, { maxRows: MAX_FILES, maxChars: target.maxChars }, pathChars)];
    const lines = files.map(
      (file) => `${quotePath(file.path)} (${formatItems(file.size_bytes, 'byte')}, ${file.modified_at})`,
    );
    if (all.length > files.length) lines.push(`… and ${all.length - files.length} more`);
    const note = readable.recovery === undefined ? '' : ` ${readable.recovery}`;
    return {
      text: `${formatItems(all.length, 'file')} in session ${session_id}.${note}\n${lines.join('\n')}`.trimEnd(),
      structured: { session_id, files, total: all.length },
    };
  },
});

/** The prefix of all paths in a folder of the workspace; empty for the workspace itself. */
function folderPrefix(folder: string): string {
  const parts = folder.split('/').filter((part, i) => part !== '' && !(part === '.' && i === 0));
  if (folder.startsWith('/') && parts[0] === 'app') parts.shift();
  return parts.length === 0 ? '' : `${parts.join('/')}/`;
}
