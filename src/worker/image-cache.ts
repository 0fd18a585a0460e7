/**
 * Extended images in the disk cache. The cache verifies its own digest, and the worker that loads an image verifies
 * the image again, so a damaged file only causes a rebuild.
 *
 * Layout:
 *   header, JSON with its length (see framing/json-header.ts): origin, minMemoryBytes, and the lengths of the layers
 *   the layers that the base image does not have, concatenated
 *   the image
 */
import { decodeJsonHeader, encodeJsonHeader } from '../framing/json-header.ts';
import { readCached, writeCached } from '../host/disk-cache.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import type { ExtendedImage } from './protocol.ts';

interface CachedImageHeader extends Pick<ExtendedImage, 'origin' | 'minMemoryBytes'> {
  readonly layers: readonly { readonly at: string; readonly length: number }[];
}

export function writeCachedImage(key: string, base: GuestAssets, extended: ExtendedImage): void {
  const { origin, minMemoryBytes, image } = extended;
  const added = extended.layers.slice(base.layers.length);
  const layers = added.map(({ at, bytes }) => ({ at, length: bytes.length }));
  const header: CachedImageHeader = { origin, minMemoryBytes, layers };
  const parts = [encodeJsonHeader(header), ...added.map(({ bytes }) => bytes), image];
  writeCached('images', key, Buffer.concat(parts));
}

export function readCachedImage(key: string, base: GuestAssets): ExtendedImage | undefined {
  const bytes = readCached('images', key);
  if (bytes === undefined) return undefined;
  const { header, data } = decodeJsonHeader(bytes);
  const { origin, minMemoryBytes, layers } = header as CachedImageHeader;
  let end = 0;
  const added = layers.map(({ at, length }) => {
    end += length;
    return { at, bytes: data.subarray(end - length, end) };
  });
  return { origin, minMemoryBytes, layers: [...base.layers, ...added], image: data.subarray(end) };
}
