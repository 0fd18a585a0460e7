import { createPool, createSandbox, memoryStore, openSessions } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const javascript = { runtime: 'javascript' } as const;

describe('argument of the wrong type', () => {
  test('is rejected with invalid_argument and its name', async () => {
    await using sandbox = await createSandbox(javascript);
    await using sessions = openSessions();
    // biome-ignore lint/suspicious/noExplicitAny: the arguments are wrong on purpose
    type Untyped = any;
    const untyped: Untyped = sandbox;
    const registry: Untyped = sessions;
    const [open, create, pool]: Untyped[] = [openSessions, createSandbox, createPool];
    const session = await sessions.create({ ...javascript, session_id: 's' });
    const calls: Record<string, () => unknown> = {
      path: () => untyped.readFile(5),
      'path (writeFile)': () => untyped.writeFile(5, 'a'),
      'path (deleteFile)': () => untyped.deleteFile(null),
      content: () => untyped.writeFile('a'),
      'content (object)': () => untyped.writeFile('a', {}),
      encoding: () => untyped.readFile('a', 'latin1'),
      code: () => untyped.execute(5),
      options: () => untyped.execute('1', null),
      'options (openSessions)': () => open(null),
      'options.store': () => open({ store: 5 }),
      'options.limits': () => open({ limits: null }),
      'options.runtime': () => registry.create(),
      'options.session_id': () => registry.create({ ...javascript, session_id: 5 }),
      mode: () => registry.create({ ...javascript, session_id: 'm' }, null),
      session_id: () => registry.delete(42),
      'session_id (get)': () => registry.get(null),
      'session_id (info)': () => registry.info(),
      'session_id (resetWorkspace)': () => registry.resetWorkspace({}),
      'session_id (export)': () => registry.export(42),
      'session_id (release)': () => registry.release(42),
      bytes: () => registry.import('text'),
      'options (import)': () => registry.import(new Uint8Array(), null),
      'options (prune)': () => registry.prune(),
      'options.older_than_hours': () => registry.prune({ older_than_hours: -1 }),
      'options (createSandbox)': () => create(null),
      'options (createPool)': () => pool(null),
    };
    for (const [name, call] of Object.entries(calls)) {
      const [argument] = name.split(' ');
      await expect((async () => call())(), name).rejects.toMatchObject({
        name: 'SandboxError',
        code: 'invalid_argument',
        message: expect.stringMatching(new RegExp(`^${argument}\\b`)),
      });
    }
    expect(await sandbox.listFiles()).toEqual([]);
    expect((await sessions.list()).map(({ session_id }) => session_id)).toEqual(['s']);
    await session.close();
  });
});

describe('deleting a session', () => {
  test('fails while another registry has it open', async () => {
    const store = memoryStore();
    await using one = openSessions({ store });
    await using other = openSessions({ store });
    const session = await one.create({ ...javascript, session_id: 's', commit: 'answer' });
    await session.writeFile('kept', 'x');
    await expect(other.delete('s')).rejects.toMatchObject({ code: 'session_busy' });
    expect(await session.readFile('kept', 'utf8')).toBe('x');
    expect(await one.delete('s')).toBeGreaterThan(0);
  });

  test('makes later calls of the same registry wait for its end', async () => {
    await using sessions = openSessions();
    const session = await sessions.create({ ...javascript, session_id: 's', commit: 'answer' });
    await session.writeFile('old', 'x');
    const [deleted, got, made] = await Promise.allSettled([
      sessions.delete('s'),
      sessions.get('s'),
      sessions.delete('s'),
    ]);
    expect(deleted).toMatchObject({ status: 'fulfilled' });
    expect(got).toMatchObject({ reason: { code: 'session_not_found' } });
    expect(made).toMatchObject({ reason: { code: 'session_not_found' } });
    const next = await sessions.create({ ...javascript, session_id: 's' });
    expect(await next.listFiles()).toEqual([]);
  });
});
