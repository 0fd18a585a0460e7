/** Finds the content of an image that a program displayed: in the result itself, or in its file in the workspace. */
import type { DisplayResult } from '../schema.ts';

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
    return isSvg ? new TextDecoder().decode(bytes) : bytes;
  } catch {
    return undefined;
  }
}
