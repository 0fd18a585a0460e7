/** A JSON header in front of binary data: u32 byte length of the header, little-endian, the header, the data. */
import { FrameError } from './frame.ts';

const LENGTH_BYTES = 4;

/** The bytes that precede the data. */
export function encodeJsonHeader(header: unknown): Uint8Array {
  const text = Buffer.from(JSON.stringify(header));
  const bytes = Buffer.alloc(LENGTH_BYTES + text.length);
  bytes.writeUInt32LE(text.length);
  bytes.set(text, LENGTH_BYTES);
  return bytes;
}

/** Splits `bytes` into header and data, or throws a FrameError. The data is a view of `bytes`. */
export function decodeJsonHeader(bytes: Uint8Array): { header: unknown; data: Uint8Array } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = bytes.length < LENGTH_BYTES ? bytes.length + 1 : LENGTH_BYTES + view.getUint32(0, true);
  if (end > bytes.length) throw new FrameError('header', 'its header is cut off');
  return { header: parseJson(bytes.subarray(LENGTH_BYTES, end)), data: bytes.subarray(end) };
}

/** Parses JSON text that may be in shared memory, or throws a FrameError. */
export function parseJson(text: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(text).toString());
  } catch {
    throw new FrameError('header', 'its header is not JSON');
  }
}
