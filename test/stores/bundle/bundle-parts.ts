/** Takes exported sessions apart and assembles them, with correct digests. */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { encodeBundle } from '../../../packages/core/src/stores/bundle/session-bundle.ts';
import type { StoredSession } from '../../../packages/core/src/stores/store.ts';
import { withDigest } from '../arbitraries.ts';

/** Builds a bundle from parts; `bytes` overrides the declared size of a part. */
export function buildBundle(
  parts: readonly { content: Uint8Array; bytes?: number }[],
  format = 1,
): Uint8Array {
  const compressed = parts.map(({ content }) => deflateRawSync(content));
  const head = Buffer.alloc(12 + parts.length * 8);
  head.write('LWSX', 0);
  head.writeUInt32LE(format, 4);
  head.writeUInt32LE(parts.length, 8);
  parts.forEach(({ content, bytes: declared = content.length }, i) => {
    head.writeUInt32LE(declared, 12 + i * 8);
    head.writeUInt32LE(compressed[i]!.length, 16 + i * 8);
  });
  return withDigest(new Uint8Array(Buffer.concat([head, ...compressed, Buffer.alloc(32)])));
}

/** Returns the decompressed parts of a valid bundle. */
export async function partsOf(stored: StoredSession): Promise<{ content: Buffer }[]> {
  const bundle = Buffer.from(await encodeBundle(stored));
  const count = bundle.readUInt32LE(8);
  let at = 12 + count * 8;
  return Array.from({ length: count }, (_, i) => {
    const length = bundle.readUInt32LE(16 + i * 8);
    at += length;
    return { content: inflateRawSync(bundle.subarray(at - length, at)) };
  });
}
