/** Facts about images that those may know who only store them: the version of the format and what an image belongs to. */

export const IMAGE_FORMAT = 1;

/** An image ends in the digest of everything before it, which is as good as a name. */
export function imageDigest(image: Uint8Array): string {
  return Buffer.from(image.slice(-32)).toString('hex');
}

/** Size of a WebAssembly page. */
export const PAGE_BYTES = 65_536;

/** What an image was made from; an image fits only exactly the same. */
export interface ImageOrigin {
  readonly runtime: string;
  /** SHA-256 of the prepared module. */
  readonly module: string;
  /** Digest of the read-only layers, the boot script among them. */
  readonly layers: string;
}
