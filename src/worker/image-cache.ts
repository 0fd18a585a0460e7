/**
 * Extended images in the disk cache. The cache verifies its own digest, and the worker that loads an image verifies
 * the image again, so a damaged file only causes a rebuild.
 *
 * Layout:
 *   header, JSON with its length (see framing/json-header.ts): origin, minMemoryBytes, and the lengths of the layers
 *   index and data of the layers that the base image does not have, concatenated
 *   the image
 */
import { decodeJsonHeader, encodeJsonHeader } from '../framing/json-header.ts';
import { readCached, writeCached } from '../host/disk-cache.ts';
import { memoryLayer } from '../host/shared-layer.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
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

export function readCachedImage(key: string, base: GuestAssets): ExtendedImage | undefined {
  const bytes = readCached('images', key);
  if (bytes === undefined) return undefined;
  const { header, data } = decodeJsonHeader(bytes);
  const { origin, minMemoryBytes, layers } = header as CachedImageHeader;
  let end = 0;
  const take = (length: number) => {
    end += length;
    return data.subarray(end - length, end);
  };
  const added = layers.map(({ at, indexBytes, dataBytes }) =>
    memoryLayer(at, take(indexBytes), take(dataBytes)),
  );
  return { origin, minMemoryBytes, layers: [...base.layers, ...added], image: data.subarray(end) };
}
