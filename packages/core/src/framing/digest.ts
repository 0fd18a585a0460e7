/** SHA-256 digests, and the convention of storing one in the last 32 bytes of what it covers. */
import { createHash } from 'node:crypto';

export const DIGEST_BYTES = 32;

export function sha256(...parts: readonly (Uint8Array | string)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** The digest in lower-case hexadecimal. */
export function sha256Hex(...parts: readonly (Uint8Array | string)[]): string {
  return sha256(...parts).toString('hex');
}

/**
 * Splits off the digest at the end of `bytes` and verifies it, unless it is known to match. Undefined when it does not match.
 */
export function splitDigest(
  bytes: Uint8Array,
  isVerified = false,
): { content: Uint8Array; digest: Buffer } | undefined {
  if (bytes.length < DIGEST_BYTES) return undefined;
  const content = bytes.subarray(0, bytes.length - DIGEST_BYTES);
  const digest = Buffer.from(bytes.slice(content.length));
  return isVerified || sha256(content).equals(digest) ? { content, digest } : undefined;
}
