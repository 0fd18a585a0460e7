/**
 * SHA-256 digests of file contents and memory images. Bytes in shared memory never change, so their digests are cached
 * for the lifetime of the buffer, and a file that no call has changed is not hashed again.
 */
import { sha256Hex } from '../../framing/digest.ts';

const cache = new WeakMap<SharedArrayBuffer, Map<string, string>>();

const viewKey = (bytes: Uint8Array) => `${bytes.byteOffset}:${bytes.length}`;

/** Returns the digest in lower-case hexadecimal. */
export function contentDigest(bytes: Uint8Array): string {
  const { buffer } = bytes;
  const cached = buffer instanceof SharedArrayBuffer ? cache.get(buffer)?.get(viewKey(bytes)) : undefined;
  if (cached !== undefined) return cached;
  const digest = sha256Hex(bytes);
  cacheDigest(bytes, digest);
  return digest;
}

/** Records a digest that was computed elsewhere, so that the bytes are not hashed again. */
export function cacheDigest(bytes: Uint8Array, digest: string): void {
  const { buffer } = bytes;
  if (!(buffer instanceof SharedArrayBuffer)) return;
  const views = cache.get(buffer) ?? new Map<string, string>();
  cache.set(buffer, views.set(viewKey(bytes), digest));
}
