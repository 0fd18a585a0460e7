/**
 * Extended images in the disk cache. The cache verifies its own digest, and the worker that loads an image verifies
 * the image again, so a damaged file only causes a rebuild.
 *
 * Layout:
 *   header, JSON with its length (see framing/json-header.ts): origin, minMemoryBytes, and the lengths of the layers
 *   index and data of the layers that the base image does not have, concatenated
 *   the image, unless it is that of the base
 */
import { imageDigest } from '../../engine/image-identity.ts';
import { FrameError } from '../../framing/frame.ts';
import { decodeJsonHeader, encodeJsonHeader } from '../../framing/json-header.ts';
import { readCachedInParts, writeCached } from '../../host/disk-cache.ts';
import { sharedBytes } from '../../host/shared-file.ts';
import { memoryLayer } from '../../host/shared-layer.ts';
import {
  type GuestAssets,
  isExtensionOf,
  layersDigest,
  type PreparedLibrary,
} from '../../runtimes/artifacts/guest-artifacts.ts';
import type { ExtendedImage } from '../protocol/messages.ts';

interface CachedImageHeader extends Pick<ExtendedImage, 'origin' | 'minMemoryBytes'> {
  readonly layers: readonly {
    readonly at: string;
    readonly indexBytes: number;
    readonly dataBytes: number;
  }[];
  /** Of all layers. */
  readonly digest: string;
}

export function writeCachedImage(key: string, base: GuestAssets, extended: ExtendedImage): void {
  const { origin, minMemoryBytes, image } = extended;
  const added = extended.layers.slice(base.layers.length);
  const layers = added.map(({ at, head, data }) => ({
    at,
    indexBytes: head.bytes.length,
    dataBytes: data.length,
  }));
  const header: CachedImageHeader = { origin, minMemoryBytes, layers, digest: layersDigest(extended.layers) };
  const packed = added.flatMap(({ head, data }) => [head.bytes, data]);
  const parts = [encodeJsonHeader(header), ...packed, ...(image === undefined ? [] : [image])];
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
  const { origin, minMemoryBytes, layers, digest } = header as CachedImageHeader;
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
  const all = [...base.layers, ...added];
  const isValid = Number.isSafeInteger(minMemoryBytes) && isExtensionOf(base, origin);
  if (!isValid || digest !== layersDigest(all)) return undefined;
  return { origin, minMemoryBytes, layers: all, image: end === data.length ? undefined : data.subarray(end) };
}

/** The assets of an extended image. */
export function extendAssets(
  base: GuestAssets,
  { image, ...more }: ExtendedImage,
  libraries: readonly PreparedLibrary[],
  id: string,
): GuestAssets {
  const assets = { ...base, ...more, libraries, id };
  if (image === undefined) return { ...assets, image: base.image };
  return { ...assets, image: sharedBytes(image), imageDigest: imageDigest(image) };
}
