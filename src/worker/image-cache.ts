/**
 * Extended images on disk. What is read back has the cache's own digest, and the worker that loads it holds the image
 * to its origin once more; anything that does not fit is made anew.
 *
 *   0  u32 length J of the description
 *   4  description, JSON, J bytes: origin, minMemoryBytes, and the lengths of what follows
 *   …  the layers that the base image has not, one after another
 *   …  the image
 */

import { readCached, writeCached } from '../host/disk-cache.ts';
import type { GuestAssets } from '../runtimes/guest-files.ts';
import type { ExtendedImage } from './protocol.ts';

interface Description extends Pick<ExtendedImage, 'origin' | 'minMemoryBytes'> {
  readonly layers: readonly { readonly at: string; readonly length: number }[];
}

export function writeCachedImage(key: string, base: GuestAssets, extended: ExtendedImage): void {
  const { origin, minMemoryBytes, image } = extended;
  const own = extended.layers.slice(base.layers.length);
  const layers = own.map(({ at, bytes }) => ({ at, length: bytes.length }));
  const description: Description = { origin, minMemoryBytes, layers };
  const text = Buffer.from(JSON.stringify(description));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(text.length);
  writeCached('images', key, Buffer.concat([length, text, ...own.map(({ bytes }) => bytes), image]));
}

export function readCachedImage(key: string, base: GuestAssets): ExtendedImage | undefined {
  const bytes = readCached('images', key);
  if (bytes === undefined) return undefined;
  const end = 4 + new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const description = JSON.parse(Buffer.from(bytes.slice(4, end)).toString()) as Description;
  let at = end;
  const own = description.layers.map(({ at: path, length }) => {
    at += length;
    return { at: path, bytes: bytes.subarray(at - length, at) };
  });
  const { origin, minMemoryBytes } = description;
  return { origin, minMemoryBytes, layers: [...base.layers, ...own], image: bytes.subarray(at) };
}
