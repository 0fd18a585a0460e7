/**
 * What identifies an image: its format, its digest and the inputs it was captured from. For code that stores or transfers
 * images without reading their contents.
 */
import { DIGEST_BYTES } from '../framing/digest.ts';

export const IMAGE_FORMAT = 1;

/** The SHA-256 that an image ends with, in hexadecimal. It identifies the image and is not verified here. */
export function imageDigest(image: Uint8Array): string {
  return Buffer.from(image.slice(-DIGEST_BYTES)).toString('hex');
}

export { PAGE_BYTES } from '../wasm/binary-format.ts';

/** The inputs an image was captured from. An image can only be loaded where all of them are identical. */
export interface ImageOrigin {
  readonly runtime: string;
  /** SHA-256 of the prepared module. */
  readonly module: string;
  /** Digest of the read-only layers, which include the boot script. */
  readonly layers: string;
}

/** Start of the virtual clock while an image is built, so that the same inputs always give the same image. */
export const IMAGE_TIME_MS = Date.UTC(2026, 0, 1);
