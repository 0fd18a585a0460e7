/** Converts results that a program displayed to descriptions, text and image blocks of a tool result. */
import type { ImageContent } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { formatBytes, formatItems } from '../quantities.ts';
import { type ImageMime, isDecodable, readImageHeader } from '../results/image-header.ts';
import type { DisplayResult } from '../schema.ts';
import type { CachedResult } from './result-cache.ts';
import { truncateMiddle } from './tool-result.ts';

/** Limits of image blocks. Clients downscale or reject larger images. */
export const IMAGE_LIMITS = { count: 4, edge: 1568, base64Chars: 700_000 } as const;

export const resultDescription = z.object({
  id: z.string(),
  mime: z.string(),
  size_bytes: z.number().int(),
  width: z.number().int().optional(),
  height: z.number().int().optional(),
  path: z.string().optional(),
  uri: z.string(),
});
export type ResultDescription = z.infer<typeof resultDescription>;

const isImage = ({ mime }: DisplayResult) => mime.startsWith('image/');

/** The value of the last expression is in `result` already, unless it has richer forms than text. */
export const isListed = ({ is_main_result, mime }: DisplayResult) => !is_main_result || mime !== 'text/plain';

export function describeResult({ id, uri, result }: CachedResult): ResultDescription {
  const { mime, size_bytes, width, height, path } = result;
  return {
    id,
    mime,
    size_bytes,
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(path !== undefined && { path }),
    uri,
  };
}

/** One line about a result. */
function headline({ id, result }: CachedResult): string {
  const { mime, width, height, size_bytes, path } = result;
  const size = width === undefined ? '' : `, ${width} × ${height} pixels`;
  const file = path === undefined ? '' : `, file ${path}`;
  return `${id}: ${mime}${size}, ${formatBytes(size_bytes)}${file}`;
}

/** The form of a result that is readable as text, if it has one. */
const textForm = ({ markdown, text, latex, json, html, svg }: DisplayResult) =>
  markdown ?? text ?? latex ?? (json === undefined ? undefined : JSON.stringify(json)) ?? html ?? svg;

/** The text about results: a line for each, with its Markdown or text. The total is about `maxChars` characters. */
export function resultsText(
  results: readonly CachedResult[],
  omitted: number,
  maxChars: number,
  viewAdvice: string,
): string[] {
  const lines: string[] = [];
  let room = maxChars;
  for (const one of results) {
    const form = isImage(one.result) ? undefined : (one.result.markdown ?? one.result.text);
    const shown =
      form === undefined || room <= 0
        ? ''
        : `\n${truncateMiddle(form, Math.max(200, room), () => one.uri).text}`;
    room -= shown.length;
    lines.push(headline(one) + shown);
  }
  if (omitted > 0) lines.push(`${formatItems(omitted, 'result')} omitted.`);
  const hasHidden = results.some(({ result }) => isImage(result));
  if (hasHidden && viewAdvice !== '') lines.push(viewAdvice);
  return lines;
}

export interface ShownResult {
  readonly text: string;
  readonly block?: ImageContent;
}

/** A result as text or as an image block. `readFile` reads a file of its session. */
export async function showResult(
  one: CachedResult,
  maxChars: number,
  readFile: (path: string) => Promise<Uint8Array>,
): Promise<ShownResult> {
  const { result, uri } = one;
  const line = headline(one);
  if (!isImage(result) || result.mime === 'image/svg+xml') {
    const form = textForm(result) ?? '(only in the file)';
    return { text: `${line}\n${truncateMiddle(form, maxChars, () => uri).text}` };
  }
  const bytes = await imageBytes(result, readFile);
  const header = bytes && readImageHeader(bytes);
  if (bytes === undefined || header === undefined)
    return { text: `${line}\nThe image is no longer available: its file was changed or rolled back.` };
  const problem = imageProblem(header, bytes.length);
  if (problem !== undefined)
    return { text: `${line}\n${problem} Make it smaller in the program, or read the resource ${uri}.` };
  const data = Buffer.from(bytes).toString('base64');
  return { text: line, block: { type: 'image', data, mimeType: header.mime satisfies ImageMime } };
}

/** The images among the results that clients can show. `readFile` reads a file of their session. */
export async function imageBlocks(
  results: readonly CachedResult[],
  maxChars: number,
  readFile: (path: string) => Promise<Uint8Array>,
): Promise<ImageContent[]> {
  const blocks: ImageContent[] = [];
  for (const one of results) {
    if (blocks.length >= IMAGE_LIMITS.count) break;
    if (!isImage(one.result)) continue;
    const { block } = await showResult(one, maxChars, readFile);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/** Why clients cannot show an image, or undefined. */
function imageProblem(
  { width, height, mime }: { width: number; height: number; mime: ImageMime },
  bytes: number,
): string | undefined {
  const { edge, base64Chars } = IMAGE_LIMITS;
  if (!isDecodable({ mime, width, height }) || Math.max(width, height) > edge)
    return `The image is not shown, because its width or height is more than ${edge} pixels.`;
  if (Math.ceil(bytes / 3) * 4 > base64Chars)
    return `The image is not shown, because it is larger than ${formatBytes(Math.floor((base64Chars * 3) / 4))}.`;
  return undefined;
}

async function imageBytes(
  { png, jpeg, path }: DisplayResult,
  readFile: (path: string) => Promise<Uint8Array>,
): Promise<Uint8Array | undefined> {
  const base64 = png ?? jpeg;
  if (base64 !== undefined) return Buffer.from(base64, 'base64');
  if (path === undefined) return undefined;
  try {
    return await readFile(path);
  } catch {
    return undefined;
  }
}
