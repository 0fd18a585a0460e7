/** Exported sessions: a bundle decodes to the session that was encoded, and anything else is rejected. */
import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeBundle, encodeBundle } from '../../../packages/core/src/stores/bundle/session-bundle.ts';
import { repetitions } from '../../support/repetitions.ts';
import { anySession, withDigest } from '../arbitraries.ts';
import { checkpoint, plainSession, session, state } from '../fixtures.ts';
import { buildBundle, partsOf } from './bundle-parts.ts';

const whole = session('one', state(7, { 'a.txt': 'A'.repeat(3000), 'd/b': '', 'd/l': '-> ../a.txt' }), {
  undo: state(6, { 'a.txt': 'before' }),
  checkpoints: [checkpoint('c', state(2, {}, 'm', { t: 'tmp' }))],
});

/** Returns a bundle whose manifest was changed. */
// biome-ignore lint/suspicious/noExplicitAny: manifests of any shape.
async function withManifest(change: (manifest: any) => void): Promise<Uint8Array> {
  const [first, ...others] = await partsOf(whole);
  const manifest = JSON.parse(first!.content.toString());
  change(manifest);
  return buildBundle([{ content: Buffer.from(JSON.stringify(manifest)) }, ...others]);
}

const expectDamaged = async (bundle: Uint8Array, reason: RegExp) => {
  const attempt = decodeBundle(bundle);
  await expect(attempt).rejects.toMatchObject({ name: 'SandboxError', code: 'session_damaged' });
  await expect(attempt).rejects.toThrow(reason);
};

describe('an exported session', () => {
  test('decodes to the session that was encoded', async () => {
    await fc.assert(
      fc.asyncProperty(anySession, async (written) => {
        const bundle = await encodeBundle(written);
        const read = await decodeBundle(bundle);
        expect(plainSession(read)).toEqual(plainSession(written));
        expect(await encodeBundle(read)).toEqual(bundle);
      }),
      { numRuns: repetitions(20, 200) },
    );
  });

  test('contains each content once and decodes into shared memory', async () => {
    const large = 'x'.repeat(100_000);
    const heavy = session('one', state(2, { a: large, b: large }), { undo: state(1, { c: large }) });
    const [, ...objects] = await partsOf(heavy);
    expect(objects.filter(({ content }) => content.length === large.length)).toHaveLength(1);
    const { state: read } = await decodeBundle(await encodeBundle(heavy));
    for (const data of [...read.delta!, read.workspace.get('a')!.data!])
      expect(data.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  test('is rejected when it is truncated at any position', async () => {
    const bundle = await encodeBundle(whole);
    for (let length = 0; length < bundle.length; length++)
      await expectDamaged(bundle.subarray(0, length), /./);
  });

  // guarantee: stored-sessions
  test('is rejected when any bit is flipped', async () => {
    const bundle = await encodeBundle(whole);
    for (let at = 0; at < bundle.length; at++) {
      const flipped = bundle.slice();
      flipped[at]! ^= 1 << (at % 8);
      await expectDamaged(flipped, /./);
    }
  });

  // guarantee: stored-sessions
  // proves: An exported session with changed bytes and a matching digest is either decoded or rejected as damaged.
  test('is either decoded or rejected as damaged when its bytes change and its digest is corrected', async () => {
    const bundle = await encodeBundle(whole);
    const change = fc.tuple(fc.nat(bundle.length - 33), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        const changed = bundle.slice();
        for (const [at, byte] of changes) changed[at] = byte;
        await decodeBundle(withDigest(changed)).catch((error) => {
          expect(error).toMatchObject({ name: 'SandboxError', code: 'session_damaged' });
        });
      }),
      { numRuns: repetitions(100, 2000) },
    );
  });

  test('is rejected when a valid header is followed by random bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (junk, hasDigest) => {
        const head = Buffer.from([0x4c, 0x57, 0x53, 0x58, 1, 0, 0, 0]);
        const claim = new Uint8Array(Buffer.concat([head, junk, Buffer.alloc(32)]));
        await expectDamaged(hasDigest ? withDigest(claim) : claim, /./);
      }),
      { numRuns: repetitions(40, 500) },
    );
  });

  test('is rejected with the version number when its format version is unknown', async () => {
    await expectDamaged(
      buildBundle(await partsOf(whole), 9),
      /has format version 9; this release reads version 1/,
    );
    await expectDamaged(
      await withManifest((manifest) => {
        manifest.format = 1;
      }),
      /has format version 1; this release reads version 3/,
    );
  });

  // guarantee: stored-sessions
  test('is rejected without allocating memory when a declared size is wrong or too large', async () => {
    const bomb = deflateRawSync(Buffer.alloc(64 * 1024 * 1024));
    const [first, ...others] = await partsOf(whole);
    await expectDamaged(
      buildBundle([{ content: inflateRawSync(bomb), bytes: 10 }]),
      /does not decompress to its declared size/,
    );
    await expectDamaged(
      buildBundle([first!, ...others, { content: Buffer.from('x'), bytes: 0xffffffff }]),
      /uncompressed size of more than/,
    );
    const halves = Array.from({ length: 3 }, () => ({ content: Buffer.from('x'), bytes: 0x7fffffff }));
    await expectDamaged(buildBundle([first!, ...halves]), /uncompressed size of more than/);
    await expectDamaged(
      buildBundle([{ content: Buffer.alloc(17 * 1024 * 1024, 0x20) }]),
      /manifest of more than/,
    );
    const many = buildBundle([first!]);
    new DataView(many.buffer).setUint32(8, 0xffffffff, true);
    await expectDamaged(withDigest(many), /invalid index/);
  });

  test('is rejected when it has an unreferenced, duplicate or missing part', async () => {
    const parts = await partsOf(whole);
    await expectDamaged(buildBundle([...parts, { content: Buffer.from('stray') }]), /is not referenced/);
    await expectDamaged(buildBundle([...parts, parts[1]!]), /twice/);
    await expectDamaged(buildBundle(parts.slice(0, -1)), /does not contain all referenced objects/);
    await expectDamaged(buildBundle([]), /too short|invalid index/);
  });

  test('is rejected when its manifest is invalid', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: manifests of any shape.
    const changes: Record<string, [(manifest: any) => void, RegExp]> = {
      'an id that is a path': [(d) => Object.assign(d.record, { session_id: '../up' }), /record\.session_id/],
      'a device name': [(d) => Object.assign(d.record, { session_id: 'nul' }), /record\.session_id/],
      'a host path': [(d) => Object.assign(d.record.policy, { mounts: [] }), /record\.policy/],
      'an unknown key': [(d) => Object.assign(d, { commit: 1 }), /the top level/],
      'names that are code': [(d) => Object.assign(d.record, { declared: ['x;y'] }), /record\.declared/],
      'two checkpoints of one name': [(d) => d.checkpoints.push(d.checkpoints[0]), /same name/],
      'a wrong size': [
        (d) => Object.assign(d.state.memory[0], { bytes: d.state.memory[0].bytes + 1 }),
        /whose declared size is/,
      ],
      'a file for a tree': [
        (d) => Object.assign(d.state, { workspace: d.state.memory[0] }),
        /is not valid JSON/,
      ],
    };
    for (const [, [change, reason]] of Object.entries(changes))
      await expectDamaged(await withManifest(change), reason);
  });

  test('is rejected when a path leaves the workspace', async () => {
    for (const path of ['../up', '/etc/passwd', 'a/../../b', 'a//b', '.', 'a\0b', '\ud800']) {
      const text = JSON.stringify({ format: 2, entries: [{ path, kind: 'dir', mode: 0o755, mtime_ms: 0 }] });
      const content = Buffer.from(text);
      const ref = { sha256: createHash('sha256').update(content).digest('hex'), bytes: content.length };
      const [first] = await partsOf(session('one', state(1, {}, undefined)));
      const manifest = JSON.parse(first!.content.toString());
      manifest.state = { version: 1, memory: null, workspace: ref, tmp: null };
      await expectDamaged(
        buildBundle([{ content: Buffer.from(JSON.stringify(manifest)) }, { content }]),
        /./,
      );
    }
  });
});
