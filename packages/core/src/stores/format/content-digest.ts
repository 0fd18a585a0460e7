/**
 * SHA-256 digests of file contents and memory images. Bytes in shared memory never change, so their digests are cached
 * for the lifetime of the buffer, and a file that no call has changed is not hashed again.
 */
import { createHash } from 'node:crypto';
import { nextTurn, SLICE_BYTES } from '../../concurrency/slices.ts';
import { sha256Hex } from '../../framing/digest.ts';

const cache = new WeakMap<SharedArrayBuffer, Map<string, string>>();

const viewKey = (bytes: Uint8Array) => `${bytes.byteOffset}:${bytes.length}`;

/** Returns the digest in lower-case hexadecimal. */
export function contentDigest(bytes: Uint8Array): string {
  const cached = cachedDigest(bytes);
  if (cached !== undefined) return cached;
  const digest = sha256Hex(bytes);
  cacheDigest(bytes, digest);
  return digest;
}

/** The same for contents of any size: hashes them in slices, so that other work can run in between. */
export async function digestInSlices(bytes: Uint8Array): Promise<string> {
  if (bytes.length <= SLICE_BYTES || cachedDigest(bytes) !== undefined) return contentDigest(bytes);
  const hash = createHash('sha256');
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
    if (start > 0) await nextTurn();
    hash.update(bytes.subarray(start, start + SLICE_BYTES));
  }
  const digest = hash.digest('hex');
  cacheDigest(bytes, digest);
  return digest;
}

function cachedDigest(bytes: Uint8Array): string | undefined {
  const { buffer } = bytes;
  return buffer instanceof SharedArrayBuffer ? cache.get(buffer)?.get(viewKey(bytes)) : undefined;
}

/** Records a digest that was computed elsewhere, so that the bytes are not hashed again. */
export function cacheDigest(bytes: Uint8Array, digest: string): void {
  const { buffer } = bytes;
  if (!(buffer instanceof SharedArrayBuffer)) return;
  const views = cache.get(buffer) ?? new Map<string, string>();
  cache.set(buffer, views.set(viewKey(bytes), digest));
}
