/** Saved states as other versions of the interpreter or of the format would have written them. */
import { createHash } from 'node:crypto';

/** Returns a delta with a changed format or header and a matching digest. */
export function alteredDelta(
  [encoded, ...diffs]: readonly Uint8Array[],
  format: number,
  facts: Record<string, unknown>,
): Uint8Array[] {
  const old = Buffer.from(encoded!);
  const header = { ...JSON.parse(old.subarray(12, -32).toString()), ...facts };
  const text = Buffer.from(JSON.stringify(header));
  const fixed = Buffer.from(old.subarray(0, 12));
  fixed.writeUInt32LE(format, 4);
  fixed.writeUInt32LE(text.length, 8);
  const bytes = Buffer.concat([fixed, text]);
  const whole = Buffer.concat([bytes, createHash('sha256').update(bytes).digest()]);
  const shared = new Uint8Array(new SharedArrayBuffer(whole.length));
  shared.set(whole);
  return [shared, ...diffs];
}
