/**
 * Images with mutated headers, indices and contents under a correct digest: readImage rejects them with image_invalid or
 * returns segments that lie within the memory they describe.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { readImage } from '../../../packages/core/src/engine/image.ts';
import { IMAGE_FORMAT, PAGE_BYTES } from '../../../packages/core/src/engine/image-identity.ts';
import { encodeFrame } from '../../../packages/core/src/framing/frame.ts';
import { withDigest } from '../../stores/arbitraries.ts';
import { applyEdits, applyJsonEdits, edits, jsonEdits } from '../mutations.ts';
import { accepts } from '../rejection.ts';
import type { FuzzTarget } from '../target.ts';

const ORIGIN = { runtime: 'test', module: 'm', layers: 'l' };
const HEADER = {
  ...ORIGIN,
  pages: 4,
  globals: { 'global:0': '7' },
  cwd: '/app',
  umask: 18,
  handles: { run: 64 },
};
const IMAGE_PAGE = 4096;
const PREFIX_BYTES = 16;
/** First page and number of pages of each segment. */
const SEGMENTS = [
  [0, 2],
  [5, 1],
  [60, 4],
] as const;

/** An image with this header. `change` replaces one number of the index. */
function imageWith(header: unknown, change?: { at: number; value: number }): Uint8Array {
  const text = Buffer.from(JSON.stringify(header) ?? '');
  const dataAt = Math.ceil((PREFIX_BYTES + text.length + SEGMENTS.length * 8) / IMAGE_PAGE) * IMAGE_PAGE;
  const index = Buffer.alloc(dataAt - PREFIX_BYTES - text.length);
  SEGMENTS.forEach(([first, count], i) => {
    index.writeUInt32LE(first, i * 8);
    index.writeUInt32LE(count, i * 8 + 4);
  });
  if (change !== undefined) index.writeUInt32LE(change.value, change.at * 4);
  const contents = SEGMENTS.map(([first, count]) => new Uint8Array(count * IMAGE_PAGE).fill(first + 1));
  const format = { magic: 'LWSI', version: IMAGE_FORMAT, fields: 2 };
  return encodeFrame(format, [text.length, SEGMENTS.length], [text, index, ...contents]);
}

/** Positions of the fields, the header and the index: mutations of the contents alone are always accepted. */
const nearStart = edits.map((list) =>
  list.map((edit) => ({ ...edit, at: edit.at % (PREFIX_BYTES + JSON.stringify(HEADER).length + 24) })),
);
const indexChange = fc.record({
  at: fc.nat(SEGMENTS.length * 2 - 1),
  value: fc.oneof(fc.nat(80), fc.constantFrom(2 ** 20, 2 ** 31, 2 ** 32 - 1)),
});
const change = fc.oneof(
  fc.record({ index: indexChange }),
  fc.record({ header: jsonEdits }),
  fc.record({ bytes: fc.oneof(nearStart, edits), corrected: fc.boolean() }),
);

export const imageReader: FuzzTarget = {
  name: 'image-reader',
  shortRuns: 400,
  open() {
    const outcomes = { accepted: 0, rejected: 0 };
    const property = fc.asyncProperty(change, async (how) => {
      const edited =
        'header' in how
          ? imageWith(applyJsonEdits(HEADER, how.header))
          : 'index' in how
            ? imageWith(HEADER, how.index)
            : applyEdits(imageWith(HEADER), how.bytes);
      const bytes = 'bytes' in how && how.corrected && edited.length > 32 ? withDigest(edited) : edited;
      const isAccepted = await accepts(() => {
        const { header, segments } = readImage(bytes, ORIGIN);
        assert.ok(Number.isInteger(header.pages) && header.pages >= 0 && header.pages <= 65_536);
        assert.ok(Object.values(header.globals).every((value) => typeof value === 'string'));
        assert.ok(Object.values(header.handles).every((value) => typeof value === 'number'));
        assert.equal(typeof header.cwd, 'string');
        assert.equal(typeof header.umask, 'number');
        const stored = segments.reduce((sum, segment) => sum + segment.bytes.length, 0);
        assert.ok(stored <= bytes.length, 'the segments are larger than the image');
        for (const { at, bytes: contents } of segments)
          assert.ok(at + contents.length <= header.pages * PAGE_BYTES);
      }, 'image_invalid');
      outcomes[isAccepted ? 'accepted' : 'rejected']++;
    });
    return {
      property,
      checkCoverage: () => assert.ok(Math.min(...Object.values(outcomes)) > 20, JSON.stringify(outcomes)),
    };
  },
};
