/** Converts results that a program displayed to descriptions, text and image blocks of a tool result. */
import type { ImageContent } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { escapeBlock, escapeControls, quotePath } from '../analysis/escape-controls.ts';
import type { PictureLimits } from '../charts/shrink-pixels.ts';
import { SandboxError } from '../errors.ts';
import { formatBytes, formatItems } from '../quantities.ts';
import { encodeResult } from '../results/encoded-result.ts';
import { type ImageMime, readImageHeader } from '../results/image-header.ts';
import { readDisplayedImage } from '../results/read-displayed-image.ts';
import { RESULT_LIMITS } from '../results/result-limits.ts';
import type { DisplayResult } from '../schema.ts';
import type { DrawPicture } from '../worker/pool/auxiliary-jobs.ts';
import type { CachedResult } from './recent-results.ts';
import { truncateMiddle } from './tool-result.ts';

/** Limits of image blocks. Clients downscale or reject larger images. */
export const IMAGE_LIMITS = { count: 4, edge: RESULT_LIMITS.shownEdge, base64Chars: 700_000 } as const;

export const resultDescription = z.object({
  id: z.string(),
  mime: z.string(),
  size_bytes: z.number().int(),
  width: z.number().int().optional(),
  height: z.number().int().optional(),
  path: z.string().optional(),
  uri: z.string(),
});
type ResultDescription = z.infer<typeof resultDescription>;

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
  const file = path === undefined ? '' : `, file ${quotePath(path)}`;
  return `${id}: ${escapeControls(mime)}${size}, ${formatBytes(size_bytes)}${file}`;
}

/** The form of a result that is readable as text, if it has one. */
function textForm(result: DisplayResult): string | undefined {
  const { markdown, text, latex, json, html, svg } = encodeResult(result);
  return markdown ?? text ?? latex ?? json ?? html ?? svg;
}

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

interface ShownResult {
  readonly text: string;
  readonly block?: ImageContent;
}

/** Access to the files of the session of a result, and to the conversion of images. */
export interface ResultAccess {
  readFile(path: string): Promise<Uint8Array>;
  drawPicture: DrawPicture;
}

const BLOCK: PictureLimits = {
  maxEdge: IMAGE_LIMITS.edge,
  maxBytes: Math.floor(IMAGE_LIMITS.base64Chars / 4) * 3,
};

/** A result as text or as an image block. Images that are too large for clients are reduced, and SVG is drawn. */
export async function showResult(
  one: CachedResult,
  maxChars: number,
  access: ResultAccess,
  signal?: AbortSignal,
): Promise<ShownResult> {
  const { result, uri } = one;
  const line = headline(one);
  const asText = () =>
    `${line}\n${escapeBlock(truncateMiddle(textForm(result) ?? '(only in the file)', maxChars, () => uri).text)}`;
  if (!isImage(result)) return { text: asText() };
  const source = await readDisplayedImage(result, (path) => access.readFile(path));
  if (source === undefined)
    return { text: `${line}\nThe image is no longer available: its file was changed or rolled back.` };
  const original = typeof source === 'string' ? undefined : showable(source);
  if (original !== undefined) return { text: line, block: original };
  const drawn = await access.drawPicture(source, BLOCK, signal);
  if ('problem' in drawn) {
    const text = `The image is not shown: ${drawn.problem}. The resource ${uri} has the original.`;
    return { text: typeof source === 'string' ? `${asText()}\n${text}` : `${line}\n${text}` };
  }
  const { image, width, height } = drawn;
  return { text: `${line}, shown at ${width} × ${height} pixels`, block: imageBlock(image, 'image/png') };
}

/** The images among the results, as far as clients can show them. */
export async function imageBlocks(
  results: readonly CachedResult[],
  maxChars: number,
  access: ResultAccess,
  signal?: AbortSignal,
): Promise<ImageContent[]> {
  const blocks: ImageContent[] = [];
  for (const one of results) {
    if (blocks.length >= IMAGE_LIMITS.count) break;
    if (!isImage(one.result)) continue;
    try {
      const { block } = await showResult(one, maxChars, access, signal);
      if (block !== undefined) blocks.push(block);
    } catch (cause) {
      // The program has run; its result is complete without the image.
      if (!isBusy(cause)) throw cause;
    }
  }
  return blocks;
}

/** Whether the tenant has to wait before it can run anything else. */
const isBusy = (cause: unknown) =>
  cause instanceof SandboxError && (cause.code === 'rate_limited' || cause.code === 'queue_full');

const imageBlock = (bytes: Uint8Array, mimeType: ImageMime): ImageContent => ({
  type: 'image',
  data: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'),
  mimeType,
});

/** The block of an image that clients show as it is; undefined if it is too large or not an image. */
function showable(bytes: Uint8Array): ImageContent | undefined {
  const header = readImageHeader(bytes);
  if (header === undefined || bytes.length > BLOCK.maxBytes) return undefined;
  return Math.max(header.width, header.height) > BLOCK.maxEdge ? undefined : imageBlock(bytes, header.mime);
}
