/** A session as one file: it comes back as it was, and nothing but a whole one comes back at all. */
import { createHash } from 'node:crypto';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SandboxError } from '../../src/errors.ts';
import { putEntry } from '../../src/fs/entries.ts';
import { BUNDLE_FORMAT, decodeBundle, encodeBundle } from '../../src/stores/format/bundle.ts';
import type { SessionState, StoredSession } from '../../src/stores/store.ts';
import { plainSession, record, session, shared, state } from './support.ts';

const name = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  .filter((text) => !/[/\0]/.test(text) && text !== '.' && text !== '..');
const bytes = fc.uint8Array({ maxLength: 200 }).map(shared);
const entry = fc.record({
  path: fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
  mode: fc.integer({ min: 0, max: 0o7777 }),
  mtimeMs: fc.integer({ min: 0, max: 4e12 }),
  data: bytes,
  target: fc.option(name),
});
const tree = fc.array(entry, { maxLength: 6 }).map((entries) => {
  const made: SessionState['workspace'] = new Map();
  for (const { path, mode, mtimeMs, data, target } of entries) {
    const common = { path, mode, mtimeMs };
    try {
      putEntry(
        made as Map<string, never>,
        (target === null
          ? { ...common, kind: 'file', data }
          : { ...common, kind: 'symlink', target }) as never,
      );
    } catch (error) {
      // Two names can be in each other's way; the tree then has the first of them.
      if (!(error instanceof SandboxError)) throw error;
    }
  }
  return made;
});
const anyState: fc.Arbitrary<SessionState> = fc.record({
  version: fc.nat(),
  delta: fc.option(bytes, { nil: undefined }),
  workspace: tree,
  tmp: tree.map((entries) => [...entries.values()]),
});
const anySession: fc.Arbitrary<StoredSession> = fc
  .record({
    state: anyState,
    undo: fc.option(anyState, { nil: undefined }),
    checkpoints: fc.uniqueArray(
      fc.record({ name: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/), state: anyState }),
      {
        maxLength: 3,
        selector: (checkpoint) => checkpoint.name,
      },
    ),
    fuel: fc.integer({ min: 1, max: 1e12 }),
  })
  .map(({ state: present, undo, checkpoints, fuel }) => ({
    record: record('moved', { policy: { ...record('moved').policy, fuel_budget: fuel } }),
    state: present,
    undo,
    checkpoints: checkpoints.map((kept) => ({ ...kept, created_at: '2026-03-01T12:00:00.000Z' })),
  }));

const whole = session('one', state(7, { 'a.txt': 'A'.repeat(3000), 'd/b': '', 'd/l': '-> ../a.txt' }), {
  undo: state(6, { 'a.txt': 'before' }),
  checkpoints: [
    { name: 'c', created_at: '2026-03-01T12:00:01.000Z', state: state(2, {}, 'm', { t: 'tmp' }) },
  ],
});

/** The bundle with the digest it should have. */
function signed(bundle: Uint8Array): Uint8Array {
  const body = bundle.subarray(0, -32);
  return new Uint8Array(Buffer.concat([body, createHash('sha256').update(body).digest()]));
}

/** A bundle of any parts; each may lie about its size. */
function made(parts: readonly { content: Uint8Array; bytes?: number }[], format = BUNDLE_FORMAT): Uint8Array {
  const packed = parts.map(({ content }) => deflateRawSync(content));
  const head = Buffer.alloc(12 + parts.length * 8);
  head.write('LWSX', 0);
  head.writeUInt32LE(format, 4);
  head.writeUInt32LE(parts.length, 8);
  parts.forEach(({ content, bytes: said = content.length }, i) => {
    head.writeUInt32LE(said, 12 + i * 8);
    head.writeUInt32LE(packed[i]!.length, 16 + i * 8);
  });
  return signed(new Uint8Array(Buffer.concat([head, ...packed, Buffer.alloc(32)])));
}

/** The parts of a good bundle, unpacked. */
async function partsOf(of: StoredSession): Promise<{ content: Buffer }[]> {
  const bundle = Buffer.from(await encodeBundle(of));
  const count = bundle.readUInt32LE(8);
  let at = 12 + count * 8;
  return Array.from({ length: count }, (_, i) => {
    const length = bundle.readUInt32LE(16 + i * 8);
    at += length;
    return { content: inflateRawSync(bundle.subarray(at - length, at)) };
  });
}

// biome-ignore lint/suspicious/noExplicitAny: descriptions of every wrong shape.
async function amended(change: (description: any) => void): Promise<Uint8Array> {
  const [first, ...others] = await partsOf(whole);
  const description = JSON.parse(first!.content.toString());
  change(description);
  return made([{ content: Buffer.from(JSON.stringify(description)) }, ...others]);
}

const refused = async (bundle: Uint8Array, reason: RegExp) => {
  const attempt = decodeBundle(bundle);
  await expect(attempt).rejects.toMatchObject({ name: 'SandboxError', code: 'session_damaged' });
  await expect(attempt).rejects.toThrow(reason);
};

describe('an exported session', () => {
  test('comes back as it was, whatever is in it', async () => {
    await fc.assert(
      fc.asyncProperty(anySession, async (written) => {
        const bundle = await encodeBundle(written);
        const read = await decodeBundle(bundle);
        expect(plainSession(read)).toEqual(plainSession(written));
        expect(await encodeBundle(read)).toEqual(bundle);
      }),
      { numRuns: 200 },
    );
  });

  test('brings all its bytes in shared memory, and each content once', async () => {
    const large = 'x'.repeat(100_000);
    const heavy = session('one', state(2, { a: large, b: large }), { undo: state(1, { c: large }) });
    const [, ...objects] = await partsOf(heavy);
    expect(objects.filter(({ content }) => content.length === large.length)).toHaveLength(1);
    const { state: read } = await decodeBundle(await encodeBundle(heavy));
    for (const data of [read.delta!, read.workspace.get('a')!.data!])
      expect(data.buffer).toBeInstanceOf(SharedArrayBuffer);
  });

  test('is refused when it was cut off anywhere', async () => {
    const bundle = await encodeBundle(whole);
    for (let length = 0; length < bundle.length; length++) await refused(bundle.subarray(0, length), /./);
  });

  test('is refused when a bit was flipped anywhere', async () => {
    const bundle = await encodeBundle(whole);
    for (let at = 0; at < bundle.length; at++) {
      const flipped = bundle.slice();
      flipped[at]! ^= 1 << (at % 8);
      await refused(flipped, /./);
    }
  });

  test('is refused or read, and nothing else, when whoever changed it also mended its digest', async () => {
    const bundle = await encodeBundle(whole);
    const change = fc.tuple(fc.nat(bundle.length - 33), fc.nat(255));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 8 }), async (changes) => {
        const changed = bundle.slice();
        for (const [at, byte] of changes) changed[at] = byte;
        await decodeBundle(signed(changed)).catch((error) => {
          expect(error).toMatchObject({ name: 'SandboxError', code: 'session_damaged' });
        });
      }),
      { numRuns: 2000 },
    );
  });

  test('is refused when bytes of any kind claim to be one', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (junk, isSigned) => {
        const head = Buffer.from([0x4c, 0x57, 0x53, 0x58, BUNDLE_FORMAT, 0, 0, 0]);
        const claim = new Uint8Array(Buffer.concat([head, junk, Buffer.alloc(32)]));
        await refused(isSigned ? signed(claim) : claim, /./);
      }),
      { numRuns: 500 },
    );
  });

  test('of another format says which', async () => {
    await refused(made(await partsOf(whole), 9), /has format 9, this version reads 1/);
    await refused(
      await amended((description) => {
        description.format = 1;
      }),
      /has format 1, this version reads 2/,
    );
  });

  test('that unpacks to more than it says, or says more than is allowed, costs no memory', async () => {
    const bomb = deflateRawSync(Buffer.alloc(64 * 1024 * 1024));
    const [first, ...others] = await partsOf(whole);
    await refused(made([{ content: inflateRawSync(bomb), bytes: 10 }]), /does not unpack to the size/);
    await refused(
      made([first!, ...others, { content: Buffer.from('x'), bytes: 0xffffffff }]),
      /unpacks to more/,
    );
    const halves = Array.from({ length: 3 }, () => ({ content: Buffer.from('x'), bytes: 0x7fffffff }));
    await refused(made([first!, ...halves]), /unpacks to more/);
    await refused(made([{ content: Buffer.alloc(17 * 1024 * 1024, 0x20) }]), /description that is too long/);
    const many = made([first!]);
    new DataView(many.buffer).setUint32(8, 0xffffffff, true);
    await refused(signed(many), /index that does not fit/);
  });

  test('with parts too many, twice or too few is refused', async () => {
    const parts = await partsOf(whole);
    await refused(made([...parts, { content: Buffer.from('stray') }]), /nothing refers to/);
    await refused(made([...parts, parts[1]!]), /twice/);
    await refused(made(parts.slice(0, -1)), /lacks an object/);
    await refused(made([]), /too short|does not fit/);
  });

  test('with a description that no session has is refused', async () => {
    // biome-ignore lint/suspicious/noExplicitAny: descriptions of every wrong shape.
    const changes: Record<string, [(description: any) => void, RegExp]> = {
      'an id that climbs': [(d) => Object.assign(d.record, { session_id: '../up' }), /record\.session_id/],
      'a device for a name': [(d) => Object.assign(d.record, { session_id: 'nul' }), /record\.session_id/],
      'a host path': [(d) => Object.assign(d.record.policy, { mounts: [] }), /record\.policy/],
      'an unknown key': [(d) => Object.assign(d, { commit: 1 }), /its top/],
      'names that are code': [(d) => Object.assign(d.record, { declared: ['x;y'] }), /record\.declared/],
      'two checkpoints of one name': [(d) => d.checkpoints.push(d.checkpoints[0]), /same name/],
      'a wrong size': [
        (d) => Object.assign(d.state.memory, { bytes: d.state.memory.bytes + 1 }),
        /bytes where it says/,
      ],
      'a file for a tree': [(d) => Object.assign(d.state, { workspace: d.state.memory }), /is not JSON/],
    };
    for (const [, [change, reason]] of Object.entries(changes)) await refused(await amended(change), reason);
  });

  test('with paths that leave the workspace is refused', async () => {
    for (const path of ['../up', '/etc/passwd', 'a/../../b', 'a//b', '.', 'a\0b', '\ud800']) {
      const text = JSON.stringify({ format: 2, entries: [{ path, kind: 'dir', mode: 0o755, mtime_ms: 0 }] });
      const content = Buffer.from(text);
      const ref = { sha256: createHash('sha256').update(content).digest('hex'), bytes: content.length };
      const [first] = await partsOf(session('one', state(1, {}, undefined)));
      const description = JSON.parse(first!.content.toString());
      description.state = { version: 1, memory: null, workspace: ref, tmp: null };
      await refused(made([{ content: Buffer.from(JSON.stringify(description)) }, { content }]), /./);
    }
  });
});
