import { memoryStore, openSessions } from 'llm-wasm-sandbox';
import { describe, expect, test, vi } from 'vitest';

describe('sessions of a store', () => {
  test('are opened by id and listed with the last used first', async () => {
    await using sessions = openSessions();
    const one = await sessions.create({ runtime: 'python', session_id: 'one' });
    await one.execute('x = 1');
    const two = await sessions.create({ runtime: 'javascript', session_id: 'two' });
    await two.execute('let y = 2');
    expect(await sessions.get('one')).toBe(one);
    await sessions.release('one');
    expect((await (await sessions.get('one')).execute('x')).metadata.result).toBe(1);
    expect((await sessions.list()).map(({ session_id, runtime }) => [session_id, runtime])).toEqual([
      ['one', 'python'],
      ['two', 'javascript'],
    ]);
    await expect(sessions.create({ runtime: 'python', session_id: 'two' })).rejects.toMatchObject({
      code: 'session_mismatch',
    });
    await expect(sessions.get('three')).rejects.toMatchObject({ code: 'session_not_found' });
  });

  test('are opened once when several callers open one at the same time', async () => {
    await using sessions = openSessions();
    const made = await Promise.all(
      Array.from({ length: 4 }, () => sessions.create({ runtime: 'javascript', session_id: 'wanted' })),
    );
    expect(new Set(made).size).toBe(1);
    await sessions.release('wanted');
    const got = await Promise.all(Array.from({ length: 4 }, () => sessions.get('wanted')));
    expect(new Set(got).size).toBe(1);
  });

  test('report their files, variables, calls and fuel', async () => {
    await using sessions = openSessions();
    const sandbox = await sessions.create({ runtime: 'python', session_id: 'facts' });
    await sandbox.execute(
      'import math\ntotal = 3.5\nnames = ["a"] * 100\nopen("out.txt", "w").write("12345")',
    );
    const info = await sessions.info('facts');
    expect(info).toMatchObject({ session_id: 'facts', runtime: 'python', calls: 1, workspace_bytes: 5 });
    expect(info.files.map((file) => file.path)).toEqual(['out.txt']);
    expect(info.variables).toEqual([
      { name: 'total', type: 'float', repr: '3.5' },
      { name: 'names', type: 'list', repr: "['a', 'a', 'a', 'a', 'a', 'a', ...]" },
    ]);
    expect(info.fuel_consumed).toBeGreaterThan(0);
    expect((await sandbox.execute('total')).metadata.result).toBe(3.5);
  });

  test('report declared and global variables of JavaScript', async () => {
    await using sessions = openSessions();
    const sandbox = await sessions.create({ runtime: 'javascript', session_id: 'facts' });
    await sandbox.execute('let count = 1;\nconst list = [1, 2];\nfunction f() {}\nglobalThis.shared = "s";');
    await sandbox.execute('count += 1');
    const { variables } = await sessions.info('facts');
    expect(
      Object.fromEntries(variables.map(({ name, type, repr }) => [name, `${type} ${repr}`])),
    ).toMatchObject({
      count: expect.stringContaining('2'),
      list: expect.stringContaining('[ 1, 2 ]'),
      f: expect.stringMatching(/function/i),
      shared: expect.stringContaining('s'),
    });
  });

  test('report the same variables for a fork and its origin', async () => {
    await using sessions = openSessions();
    const sandbox = await sessions.create({ runtime: 'javascript', session_id: 'origin' });
    await sandbox.execute('let count = 1; globalThis.shared = 2');
    await using fork = await sandbox.fork();
    expect(await fork.variables()).toEqual(await sandbox.variables());
    expect((await fork.variables()).map(({ name }) => name)).toContain('count');
  });

  test('report variables although a repr raises SystemExit', async () => {
    await using sessions = openSessions();
    const sandbox = await sessions.create({ runtime: 'python', session_id: 'evil' });
    await sandbox.execute(
      'class Evil:\n    def __repr__(self): raise SystemExit(9)\nevil = Evil()\nfine = 1',
    );
    const { variables } = await sessions.info('evil');
    expect(variables.map(({ name }) => name)).toEqual(['Evil', 'evil', 'fine']);
  });

  test('are reset, deleted and pruned', async () => {
    await using sessions = openSessions();
    for (const session_id of ['a', 'b', 'c']) {
      const sandbox = await sessions.create({ runtime: 'python', session_id });
      await sandbox.execute('open("f", "w").write("x")\nkept = 1');
    }
    expect(await sessions.resetWorkspace('a')).toBe(1);
    const a = await sessions.get('a');
    expect((await a.execute('import os\n[os.listdir(), kept]')).metadata.result).toEqual([[], 1]);
    await sessions.delete('b');
    expect(await sessions.prune({ older_than_hours: 1 })).toMatchObject({ pruned: [], errors: [] });
    const dry = await sessions.prune({ older_than_hours: 0, dry_run: true });
    expect(dry.pruned.map((one) => one.session_id).sort()).toEqual(['a', 'c']);
    expect(await sessions.list()).toHaveLength(2);
    const report = await sessions.prune({ older_than_hours: 0 });
    expect(report.pruned).toHaveLength(2);
    expect(await sessions.list()).toEqual([]);
  });

  test('lose folders and links too when their workspace is reset', async () => {
    await using sessions = openSessions();
    const sandbox = await sessions.create({ runtime: 'python', session_id: 'full' });
    await sandbox.execute(
      'import os; os.makedirs("a/b"); open("a/b/c", "w").close(); os.symlink("nowhere", "link")',
    );
    expect(await sessions.resetWorkspace('full')).toBe(1);
    expect((await sandbox.execute('os.listdir()')).metadata.result).toEqual([]);
  });

  test('are not pruned right after they were opened', async () => {
    const store = memoryStore();
    await using sessions = openSessions({ store });
    await (await sessions.create({ runtime: 'javascript', session_id: 'old' })).execute('let x = 1');
    await sessions.release('old');
    const stored = (await store.read('old'))!;
    await store.write({ ...stored, record: { ...stored.record, last_used_at: '2020-01-01T00:00:00.000Z' } });
    const sandbox = await sessions.get('old');
    expect((await sessions.prune({ older_than_hours: 24 })).pruned).toEqual([]);
    expect((await sandbox.execute('x')).metadata.result).toBe(1);
  });

  test('are kept by prune if the clock is far ahead', async () => {
    const store = memoryStore();
    await using sessions = openSessions({ store });
    for (const session_id of ['a', 'b']) {
      await (await sessions.create({ runtime: 'javascript', session_id })).execute('let x = 1');
      await sessions.release(session_id);
    }
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2099-01-01T00:00:00Z') });
    try {
      // One session is used after the clock has jumped, so the newest session is not old.
      await (await sessions.get('b')).execute('x');
      await sessions.release('b');
      const kept = await sessions.prune({ older_than_hours: 720 });
      expect(kept).toMatchObject({ pruned: [], errors: [{ session_id: 'a' }] });
      expect(kept.errors[0]!.error).toMatch(/the clock of this machine says 2099-01-01/);
      const all = await sessions.prune({ older_than_hours: 720, include_very_old: true });
      expect(all).toMatchObject({ pruned: [{ session_id: 'a' }], errors: [] });
    } finally {
      vi.useRealTimers();
    }
  });

  test('are limited by max_sessions, even when several are created at once', async () => {
    await using sessions = openSessions({ limits: { max_sessions: 2 } });
    const made = await Promise.allSettled(
      Array.from({ length: 5 }, () => sessions.create({ runtime: 'javascript' })),
    );
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await sessions.list()).toHaveLength(2);
  });

  test('are limited by max_sessions even if they are closed, and existing ones can still be opened', async () => {
    await using sessions = openSessions({ limits: { max_sessions: 2 } });
    for (const session_id of ['a', 'b'])
      await (await sessions.create({ runtime: 'python', session_id })).flush();
    await (await sessions.get('a')).execute('1');
    await (await sessions.get('b')).execute('1');
    await sessions.release('a');
    await sessions.release('b');
    await expect(sessions.create({ runtime: 'python' })).rejects.toMatchObject({ code: 'session_limit' });
    await sessions.create({ runtime: 'python', session_id: 'a' });
  });

  test('count and can be deleted before their first call', async () => {
    await using sessions = openSessions({ limits: { max_sessions: 1 } });
    await sessions.create({ runtime: 'python', session_id: 'idle' });
    await expect(sessions.create({ runtime: 'python', session_id: 'more' })).rejects.toMatchObject({
      code: 'session_limit',
    });
    await sessions.delete('idle');
    await sessions.create({ runtime: 'python', session_id: 'more' });
    expect((await sessions.list()).map(({ session_id }) => session_id)).toEqual(['more']);
  });
});

test('a call does not read the input of the call before it', async () => {
  await using sessions = openSessions();
  const session = await sessions.create({ runtime: 'python', session_id: 'input' });
  async function* lines() {
    yield 'first\n';
    yield 'second\n';
  }
  expect((await session.execute('input()', { stdin: lines() })).metadata.result).toBe('first');
  expect((await session.execute('input()')).metadata.error?.type).toBe('EOFError');
});
