/**
 * The frame of the project's binary formats. Decoding verifies the frame before it returns any part of it; what the
 * fields and the body mean is up to the format.
 *
 * Layout, little-endian:
 *   0    magic number, 4 bytes
 *   4    u32 format version
 *   8    F × u32 fields
 *   …    body
 *   end  SHA-256 of everything before it, 32 bytes
 */
import { DIGEST_BYTES, sha256, splitDigest } from './digest.ts';
import { encodeMagic, hasMagic } from './magic-number.ts';

export interface FrameFormat {
  /** Four characters. */
  readonly magic: string;
  readonly version: number;
  /** Number F of fields. */
  readonly fields: number;
}

export interface Frame {
  readonly fields: readonly number[];
  readonly body: Uint8Array;
  /** The verified digest. */
  readonly digest: Buffer;
}

/** A frame that cannot be read. The message completes "The file is damaged (…)." */
export class FrameError extends Error {
  constructor(
    readonly problem: 'truncated' | 'magic' | 'version' | 'digest' | 'header',
    message: string,
    /** The version found; only with the problem `version`. */
    readonly version?: number,
  ) {
    super(message);
  }
}

const PREFIX_BYTES = 8;

/** Encodes a frame whose body is the concatenation of `parts`. */
export function encodeFrame(
  format: FrameFormat,
  fields: readonly number[],
  parts: readonly Uint8Array[],
): Uint8Array<ArrayBuffer> {
  const bodyBytes = parts.reduce((sum, { length }) => sum + length, 0);
  const bytes = new Uint8Array(PREFIX_BYTES + fields.length * 4 + bodyBytes + DIGEST_BYTES);
  const view = new DataView(bytes.buffer);
  bytes.set(encodeMagic(format.magic));
  view.setUint32(4, format.version, true);
  let at = PREFIX_BYTES;
  for (const field of fields) {
    view.setUint32(at, field, true);
    at += 4;
  }
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  bytes.set(sha256(bytes.subarray(0, at)), at);
  return bytes;
}

/** Verifies a frame. `body` is a view of `bytes`, which may be in shared memory. With `isVerified`, its digest is known to match. */
export function decodeFrame(format: FrameFormat, bytes: Uint8Array, isVerified = false): Frame {
  const bodyAt = PREFIX_BYTES + format.fields * 4;
  if (bytes.length < bodyAt + DIGEST_BYTES) throw new FrameError('truncated', 'it is too short');
  if (!hasMagic(bytes, format.magic)) throw new FrameError('magic', 'bad magic number');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint32(4, true);
  if (version !== format.version) {
    const message = `it has format ${version}, but this version reads ${format.version}`;
    throw new FrameError('version', message, version);
  }
  const verified = splitDigest(bytes, isVerified);
  if (verified === undefined) throw new FrameError('digest', 'its digest does not match');
  const fields = Array.from({ length: format.fields }, (_, i) => view.getUint32(PREFIX_BYTES + i * 4, true));
  return { fields, body: verified.content.subarray(bodyAt), digest: verified.digest };
}
