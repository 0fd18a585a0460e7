/**
 * SHA-256 of contents, each computed once: shared bytes never change, so their digest is remembered for as long as they
 * live, and a file that no call touched costs nothing to write again.
 */
import { createHash } from 'node:crypto';

const digests = new WeakMap<SharedArrayBuffer, Map<string, string>>();

const view = (bytes: Uint8Array) => `${bytes.byteOffset}:${bytes.length}`;

/** In lower-case hexadecimal. */
export function sha256(bytes: Uint8Array): string {
  const { buffer } = bytes;
  const known = buffer instanceof SharedArrayBuffer ? digests.get(buffer)?.get(view(bytes)) : undefined;
  if (known !== undefined) return known;
  const digest = createHash('sha256').update(bytes).digest('hex');
  if (buffer instanceof SharedArrayBuffer) {
    const views = digests.get(buffer) ?? new Map<string, string>();
    digests.set(buffer, views.set(view(bytes), digest));
  }
  return digest;
}
