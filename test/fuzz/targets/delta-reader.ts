/**
 * Saved states with mutated headers and page diffs under a correct digest: a guest rejects them, or it is restored and all its
 * descriptors can be used.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  applyDelta,
  captureDelta,
  DELTA_FORMAT,
  type Delta,
} from '../../../packages/core/src/engine/delta.ts';
import type { Guest } from '../../../packages/core/src/engine/guest.ts';
import { type Image, resetToImage } from '../../../packages/core/src/engine/image.ts';
import { sha256Hex } from '../../../packages/core/src/framing/digest.ts';
import { encodeFrame } from '../../../packages/core/src/framing/frame.ts';
import { decodeJsonHeader, encodeJsonHeader } from '../../../packages/core/src/framing/json-header.ts';
import { Volume } from '../../../packages/core/src/fs/volume.ts';
import { saveKernelState } from '../../../packages/core/src/kernel/kernel-state.ts';
import { isSyscallError } from '../../../packages/core/src/kernel/syscall-error.ts';
import { instantiateGuest } from '../../../packages/core/src/worker/thread/guest-from-image.ts';
import { withDigest } from '../../stores/arbitraries.ts';
import { loadBuiltGuest } from '../../support/built-guest.ts';
import { applyEdits, applyJsonEdits, edits, jsonEdits } from '../mutations.ts';
import { accepts } from '../rejection.ts';
import type { FuzzTarget } from '../target.ts';

const MAX_PAGES = 400;
const PREFIX_BYTES = 8;

const newVolume = () => {
  const volume = new Volume({ maxBytes: 100_000, maxFiles: 50 }, () => 1);
  const file = { kind: 'file', mode: 0o644, mtimeMs: 5 } as const;
  volume.fill('/app', [
    { path: 'd', kind: 'dir', mode: 0o755, mtimeMs: 5 },
    { ...file, path: 'd/f', data: new Uint8Array(50) },
    { ...file, path: 'g', data: new Uint8Array(5000) },
  ]);
  return volume;
};

/** A guest with changed memory, open files, a deleted file, a pipe and a directory, and its saved state. */
function captureExample(guest: Guest, image: Image): Delta {
  const { kernel } = guest;
  kernel.volume = newVolume();
  kernel.open('/app', 'g', 2, 0);
  kernel.open('/app', 'd', 0, 0);
  kernel.pipe();
  kernel.write(kernel.open('/app', 'gone', 0o102, 0o644), new Uint8Array(100).fill(65));
  kernel.volume.unlink('gone', '/app');
  kernel.dup(3);
  kernel.volume.mkdir('removed', '/app', 0o755);
  kernel.open('/app', 'removed', 0, 0);
  kernel.rmdir('removed', '/app');
  kernel.readDirectory(4, ({ name }) => name !== 'f');
  kernel.chdir('d');
  guest.view.all.fill(9, 1_000_000, 1_020_000);
  return captureDelta(guest, image).delta;
}

function useDescriptors({ kernel }: Guest): void {
  const uses = [
    (fd: number) => kernel.fstat(fd),
    (fd: number) => kernel.read(fd, new Uint8Array(16)),
    (fd: number) => kernel.seek(fd, 1, 1),
    (fd: number) => kernel.readDirectory(fd, () => true),
    (fd: number) => kernel.write(fd, new Uint8Array(16)),
    (fd: number) => kernel.close(fd),
  ];
  const count = kernel.fds.slots.length;
  for (let fd = 0; fd < count; fd++) {
    for (const use of uses) {
      try {
        use(fd);
      } catch (cause) {
        if (!isSyscallError(cause)) throw cause;
      }
    }
  }
  saveKernelState(kernel);
  const { bytes, files } = kernel.volume.usage();
  assert.ok(bytes >= 0 && files >= 0, 'the usage of the volume is negative');
}

const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ header: jsonEdits }) },
  { weight: 1, arbitrary: fc.record({ bytes: edits, corrected: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ diff: edits }) },
);

const encodeHeader = (header: unknown) =>
  encodeFrame({ magic: 'LWSD', version: DELTA_FORMAT, fields: 0 }, [], [encodeJsonHeader(header ?? null)]);

type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

/** The parts of a delta are its header, the contents of the deleted file and a page diff. */
type Parts = readonly [encoded: Uint8Array, contents: Uint8Array, diff: Uint8Array];

function changedDelta([encoded, contents, diff]: Parts, header: unknown, how: Change): Delta {
  if ('header' in how) return [encodeHeader(applyJsonEdits(header, how.header)), contents, diff];
  if ('diff' in how) {
    const forged = applyEdits(diff, how.diff);
    const memory = [[{ bytes: forged.length, sha256: sha256Hex(forged) }]];
    return [encodeHeader({ ...(header as object), memory }), contents, forged];
  }
  const changed = applyEdits(encoded, how.bytes);
  return [how.corrected && changed.length > 32 ? withDigest(changed) : changed, contents, diff];
}

export const deltaReader: FuzzTarget = {
  name: 'delta-reader',
  shortRuns: 150,
  async open() {
    const outcomes = { accepted: 0, rejected: 0 };
    const template = await loadBuiltGuest('javascript');
    const { image } = template;
    const size = image.header.pages * 65_536;
    let guest = instantiateGuest(template, MAX_PAGES);
    const parts = captureExample(guest, image) as unknown as Parts;
    const { header } = decodeJsonHeader(parts[0].subarray(PREFIX_BYTES, -32));
    const property = fc.asyncProperty(change, async (how) => {
      const changed = changedDelta(parts, header, how);
      if (guest.view.all.length === size) resetToImage(guest, image);
      else guest = instantiateGuest(template, MAX_PAGES);
      guest.kernel.volume = newVolume();
      const isAccepted = await accepts(
        () => void applyDelta(guest, image, changed),
        'image_invalid',
        'invalid_argument',
      );
      if (isAccepted) useDescriptors(guest);
      outcomes[isAccepted ? 'accepted' : 'rejected']++;
    });
    return {
      property,
      checkCoverage: () => assert.ok(Math.min(...Object.values(outcomes)) > 2, JSON.stringify(outcomes)),
    };
  },
};
