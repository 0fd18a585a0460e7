/** Exported sessions with mutated bytes or a mutated manifest: the reader decodes them or rejects them as damaged. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { decodeBundle, encodeBundle } from '../../../packages/core/src/stores/bundle/session-bundle.ts';
import { anySession, withDigest } from '../../stores/arbitraries.ts';
import { buildBundle, partsOf } from '../../stores/bundle/bundle-parts.ts';
import { plainSession } from '../../stores/fixtures.ts';
import { applyEdits, applyJsonEdits, edits, jsonEdits } from '../mutations.ts';
import { accepts } from '../rejection.ts';
import type { FuzzTarget } from '../target.ts';

const change = fc.oneof(
  fc.record({ bundle: edits, corrected: fc.boolean() }),
  fc.record({ manifest: jsonEdits }),
  fc.record({ part: fc.nat(5), contents: edits }),
);
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

async function changed(written: Parameters<typeof encodeBundle>[0], how: Change): Promise<Uint8Array> {
  if ('bundle' in how) {
    const bytes = applyEdits(await encodeBundle(written), how.bundle);
    return how.corrected && bytes.length > 32 ? withDigest(bytes) : bytes;
  }
  const parts: { content: Uint8Array }[] = await partsOf(written);
  const [first] = parts;
  if ('manifest' in how) {
    const manifest = applyJsonEdits(JSON.parse(Buffer.from(first!.content).toString()), how.manifest);
    parts[0] = { content: Buffer.from(JSON.stringify(manifest)) };
  } else {
    const at = how.part % parts.length;
    parts[at] = { content: applyEdits(parts[at]!.content, how.contents) };
  }
  return buildBundle(parts);
}

export const bundleReader: FuzzTarget = {
  name: 'bundle-reader',
  shortRuns: 150,
  open() {
    const outcomes = { accepted: 0, rejected: 0 };
    const property = fc.asyncProperty(anySession, change, async (written, how) => {
      const bundle = await changed(written, how);
      const isAccepted = await accepts(async () => {
        // An accepted bundle is a session that can be exported and imported again.
        const read = await decodeBundle(bundle);
        const again = await decodeBundle(await encodeBundle(read));
        assert.deepEqual(plainSession(again), plainSession(read));
      }, 'session_damaged');
      outcomes[isAccepted ? 'accepted' : 'rejected']++;
    });
    return {
      property,
      checkCoverage: () =>
        assert.ok(outcomes.accepted > 0 && outcomes.rejected > 60, JSON.stringify(outcomes)),
    };
  },
};
