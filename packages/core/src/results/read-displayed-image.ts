/** Finds the content of an image that a program displayed: in the result itself, or in its file in the workspace. */
import type { DisplayResult } from '../schema.ts';

/** A larger SVG is not decoded, because that would block the main thread. */
const MAX_SVG_BYTES = 4 * 1024 * 1024;

/** The bytes of an image, or the text of an SVG. Returns undefined if its file is not available. */
export async function readDisplayedImage(
  { mime, png, jpeg, svg, path }: DisplayResult,
  readFile: (path: string) => Promise<Uint8Array>,
): Promise<Uint8Array | string | undefined> {
  const isSvg = mime === 'image/svg+xml';
  if (isSvg && svg !== undefined) return svg;
  const base64 = png ?? jpeg;
  if (!isSvg && base64 !== undefined) return Buffer.from(base64, 'base64');
  if (path === undefined) return undefined;
  try {
    const bytes = await readFile(path);
    if (!isSvg) return bytes;
    return bytes.length > MAX_SVG_BYTES ? undefined : new TextDecoder().decode(bytes);
  } catch {
    return undefined;
  }
}
