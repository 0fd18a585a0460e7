/** Export and import: a session moves between stores as one file, with its complete state. */
import { createHash } from 'node:crypto';
import { diskStore, memoryStore, openSessions, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { PERSISTENT_VALUES } from './persistent-values.ts';

const show = (runtime: RuntimeName, expression: string) =>
  runtime === 'python' ? `print(${expression})` : `console.log(${expression})`;

describe.each(['python', 'javascript'] as const)('exported %s session', (runtime) => {
  test('keeps its variables, files, policy and checkpoints in another store', async () => {
    await using here = openSessions({ store: memoryStore() });
    const sandbox = await here.create({ runtime, session_id: 'moving', policy: { fuel_budget: 90_000_000 } });
    for (const { make } of PERSISTENT_VALUES[runtime]) await sandbox.execute(make);
    await sandbox.checkpoint('all');
    await sandbox.writeFile('by-host.txt', 'host');
    const bytes = await here.export('moving');
    await here.delete('moving');

    await using there = openSessions({ store: diskStore(folderOfTest()) });
    const record = await there.import(bytes);
    expect(record).toMatchObject({ session_id: 'moving', calls: PERSISTENT_VALUES[runtime].length });
    const moved = await there.get('moving');
    expect(moved.policy.fuel_budget).toBe(90_000_000);
    expect(await moved.readFile('by-host.txt', 'utf8')).toBe('host');
    for (const { name, show: expression, expected } of PERSISTENT_VALUES[runtime]) {
      const { stdout, stderr } = await moved.execute(show(runtime, expression));
      expect([name, stderr, stdout.trimEnd()]).toEqual([name, '', expected]);
    }
    await moved.rollback('all');
    const { show: first, expected } = PERSISTENT_VALUES[runtime][0]!;
    expect((await moved.execute(show(runtime, first))).stdout.trimEnd()).toBe(expected);
  });
});

describe('an imported session', () => {
  test('needs an unused id and accepts another id and another policy', async () => {
    await using sessions = openSessions();
    const sandbox = await sessions.create({ runtime: 'python', session_id: 'taken' });
    await sandbox.execute('x = 1');
    const bytes = await sessions.export('taken');
    await sessions.release('taken');
    await expect(sessions.import(bytes)).rejects.toMatchObject({
      code: 'session_exists',
      message: expect.stringContaining('another session_id'),
    });
    await expect(sessions.import(bytes, { session_id: 'TAKEN' })).rejects.toThrow('differs only in case');
    await expect(sessions.import(bytes, { session_id: '../up' })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await sessions.import(bytes, { session_id: 'other', policy: { timeout_seconds: 3 } });
    const other = await sessions.get('other');
    expect(other.policy.timeout_seconds).toBe(3);
    await other.execute('x += 1');
    expect((await (await sessions.get('taken')).execute('x')).metadata.result).toBe(1);
    expect((await other.execute('x')).metadata.result).toBe(2);
  });

  test('counts towards max_sessions', async () => {
    await using sessions = openSessions({ limits: { max_sessions: 1 } });
    await sessions.create({ runtime: 'python', session_id: 'only' });
    const bytes = await sessions.export('only');
    await expect(sessions.import(bytes, { session_id: 'more' })).rejects.toMatchObject({
      code: 'session_limit',
    });
    await expect(sessions.export('absent')).rejects.toMatchObject({ code: 'session_not_found' });
  });

  // guarantee: stored-sessions
  // proves: If the saved memory of an imported session is invalid, its first call is rejected, and its files stay readable.
  // biome-ignore lint/suspicious/noExplicitAny: the headers are invalid on purpose.
  test.each<[string, (header: any) => unknown, RegExp]>([
    ['a negative clock', ({ kernel }) => Object.assign(kernel, { clock_ms: -1 }), /kernel\.clock_ms/],
    ['no descriptors', ({ kernel }) => delete kernel.slots, /kernel\.slots/],
    ['a fourth stream', ({ kernel }) => Object.assign(kernel.files[0], { stream: 3 }), /kernel\.files/],
    ['more pages than a memory can have', (header) => Object.assign(header, { pages: 2 ** 31 }), /pages/],
    ['globals that are not numbers', (header) => Object.assign(header, { globals: { g0: 'x' } }), /globals/],
    ['another module', (header) => Object.assign(header, { module: 'other' }), /another module/],
  ])(
    'rejects its first call and keeps its files readable when its saved memory is invalid: %s',
    async (_, change, reason) => {
      await using sessions = openSessions();
      const sandbox = await sessions.create({ runtime: 'javascript', session_id: 'changed' });
      await sandbox.execute('let x = 1; std.open("f", "w").puts("kept")');
      await sessions.release('changed');
      const stored = (await sessions.store.read('changed'))!;
      const delta = changed(stored.state.delta!, change);
      await sessions.store.write({ ...stored, state: { ...stored.state, delta } });
      const again = await sessions.get('changed');
      await expect(again.execute('x')).rejects.toMatchObject({
        code: 'image_invalid',
        message: expect.stringMatching(reason),
      });
      expect(await again.readFile('f', 'utf8')).toBe('kept');
    },
  );
});

/** Returns a saved memory with a changed header and a matching digest. */
// biome-ignore lint/suspicious/noExplicitAny: the headers are invalid on purpose.
function changed([encoded, ...diffs]: readonly Uint8Array[], change: (header: any) => unknown): Uint8Array[] {
  const old = Buffer.from(encoded!);
  const header = JSON.parse(old.subarray(12, -32).toString());
  change(header);
  const text = Buffer.from(JSON.stringify(header));
  const fixed = Buffer.from(old.subarray(0, 12));
  fixed.writeUInt32LE(text.length, 8);
  const whole = Buffer.concat([fixed, text]);
  return [new Uint8Array(Buffer.concat([whole, createHash('sha256').update(whole).digest()])), ...diffs];
}
