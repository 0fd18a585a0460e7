/**
 * Extended images in the disk cache. The cache verifies its own digest, and the worker that loads an image verifies
 * the image again, so a damaged file only causes a rebuild.
 *
 * Layout:
 *   header, JSON with its length (see framing/json-header.ts): origin, minMemoryBytes, and the lengths of the layers
 *   index and data of the layers that the base image does not have, concatenated
 *   the image
 */
import { FrameError } from '../framing/frame.ts';
import { decodeJsonHeader, encodeJsonHeader } from '../framing/json-header.ts';
import { readCachedInParts, writeCached } from '../host/disk-cache.ts';
import { memoryLayer } from '../host/shared-layer.ts';
import { type GuestAssets, isExtensionOf } from '../runtimes/guest-artifacts.ts';
import type { ExtendedImage } from './protocol.ts';

interface CachedImageHeader extends Pick<ExtendedImage, 'origin' | 'minMemoryBytes'> {
  readonly layers: readonly {
    readonly at: string;
    readonly indexBytes: number;
    readonly dataBytes: number;
  }[];
}

export function writeCachedImage(key: string, base: GuestAssets, extended: ExtendedImage): void {
  const { origin, minMemoryBytes, image } = extended;
  const added = extended.layers.slice(base.layers.length);
  const layers = added.map(({ at, head, data }) => ({
    at,
    indexBytes: head.bytes.length,
    dataBytes: data.length,
  }));
  const header: CachedImageHeader = { origin, minMemoryBytes, layers };
  const parts = [encodeJsonHeader(header), ...added.flatMap(({ head, data }) => [head.bytes, data]), image];
  writeCached('images', key, Buffer.concat(parts));
}

/** Returns undefined for a file that is not an extension of `base`: its digest alone does not prove that it is one. */
export async function readCachedImage(key: string, base: GuestAssets): Promise<ExtendedImage | undefined> {
  const bytes = await readCachedInParts('images', key);
  if (bytes === undefined) return undefined;
  try {
    return decodeExtension(bytes, base);
  } catch {
    return undefined;
  }
}

function decodeExtension(bytes: Uint8Array, base: GuestAssets): ExtendedImage | undefined {
  const { header, data } = decodeJsonHeader(bytes);
  const { origin, minMemoryBytes, layers } = header as CachedImageHeader;
  let end = 0;
  const take = (length: number) => {
    if (!Number.isSafeInteger(length) || length < 0 || end + length > data.length)
      throw new FrameError('header', 'its lengths are inconsistent');
    end += length;
    return data.subarray(end - length, end);
  };
  const added = layers.map(({ at, indexBytes, dataBytes }) =>
    memoryLayer(at, take(indexBytes), take(dataBytes)),
  );
  const extension = { origin, minMemoryBytes, layers: [...base.layers, ...added], image: data.subarray(end) };
  const isValid = Number.isSafeInteger(minMemoryBytes) && isExtensionOf(base, extension);
  return isValid ? extension : undefined;
}
