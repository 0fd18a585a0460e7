/** The one registry of open sessions and the one place that checks their number. */
import { createSandbox, isSession, openSessions } from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';

const python = { runtime: 'python' } as const;

describe('the limit on sessions', () => {
  it('counts forks', async () => {
    await using sessions = openSessions({ limits: { max_sessions: 2 } });
    const session = await sessions.create({ ...python, session_id: 'origin' });
    await session.fork('copy');
    await expect(session.fork('third')).rejects.toMatchObject({ code: 'session_limit' });
    expect((await sessions.list()).map(({ session_id }) => session_id).sort()).toEqual(['copy', 'origin']);
  });

  it('holds for concurrent creations, forks and imports together', async () => {
    await using sessions = openSessions({ limits: { max_sessions: 3 } });
    const session = await sessions.create({ ...python, session_id: 'origin' });
    await session.flush();
    const bundle = await sessions.export('origin');
    const attempts = await Promise.allSettled([
      sessions.create({ ...python, session_id: 'a' }),
      session.fork('b'),
      sessions.import(bundle, { session_id: 'c' }),
      session.fork('d'),
    ]);
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(await sessions.list()).toHaveLength(3);
  });

  it('frees a place when a session cannot be created', async () => {
    await using sessions = openSessions({ limits: { max_sessions: 1 } });
    await expect(
      sessions.create({ ...python, session_id: 'bad', policy: { memory_bytes: 1 } }),
    ).rejects.toMatchObject({ code: 'invalid_argument' });
    expect((await sessions.create({ ...python, session_id: 'good' })).session_id).toBe('good');
  });
});

describe('the registry', () => {
  it('creates exclusively on request', async () => {
    await using sessions = openSessions();
    const [one, two] = await Promise.allSettled([
      sessions.create({ ...python, session_id: 'same' }, { exclusive: true }),
      sessions.create({ ...python, session_id: 'same' }, { exclusive: true }),
    ]);
    expect([one.status, two.status].sort()).toEqual(['fulfilled', 'rejected']);
    const again = await sessions.create({ ...python, session_id: 'same' });
    expect(again).toBe(await sessions.get('same'));
  });

  it('adopts forks, so that they are opened once', async () => {
    await using sessions = openSessions();
    const session = await sessions.create({ ...python, session_id: 'origin' });
    const fork = await session.fork('copy');
    expect(await sessions.get('copy')).toBe(fork);
  });

  it('opens a session again after it was closed directly', async () => {
    await using sessions = openSessions();
    const session = await sessions.create({ ...python, session_id: 'closed' });
    await session.execute('x = 1');
    await session.close();
    expect(sessions.opened('closed')).toBeUndefined();
    const again = await sessions.get('closed');
    expect((await again.execute('x')).metadata.result).toBe(1);
  });

  it('opens a session again while it is being closed', async () => {
    await using sessions = openSessions();
    for (const close of ['close', 'release'] as const) {
      const session = await sessions.create({ ...python, session_id: close });
      await session.execute('x = 1');
      const closing = close === 'close' ? session.close() : sessions.release(close);
      const again = await sessions.get(close);
      expect((await again.execute('x')).metadata.result).toBe(1);
      await closing;
    }
  });

  it('deletes a session that is being closed', async () => {
    await using sessions = openSessions();
    const session = await sessions.create({ ...python, session_id: 'gone' });
    await session.execute('x = 1');
    const closing = session.close();
    expect(await sessions.delete('gone')).toBeGreaterThan(0);
    await closing;
    expect(await sessions.list()).toEqual([]);
  });

  it('does not create a session that is deleted while it is being opened', async () => {
    await using sessions = openSessions();
    await sessions.create({ ...python, session_id: 'gone' });
    await sessions.release('gone');
    const opening = sessions.get('gone').catch((cause) => cause);
    await sessions.delete('gone');
    expect(await opening).toMatchObject({ code: 'session_not_found' });
    expect(await sessions.list()).toEqual([]);
  });

  it('does not wait for a fork that waits for a running call', async () => {
    await using sessions = openSessions();
    const session = await sessions.create({ ...python, session_id: 'busy' });
    const running = session.execute('while True: pass');
    const fork = session.fork('later');
    expect((await sessions.list()).map(({ session_id }) => session_id)).toEqual(['busy']);
    running.cancel();
    expect((await fork).session_id).toBe('later');
  });
});

describe('error codes', () => {
  it('distinguish a missing checkpoint, a missing call and a taken name', async () => {
    await using session = await createSandbox({ ...python, auto_persist_globals: true });
    await expect(session.rollback('nowhere')).rejects.toMatchObject({ code: 'checkpoint_not_found' });
    await expect(session.deleteCheckpoint('nowhere')).rejects.toMatchObject({ code: 'checkpoint_not_found' });
    await expect(session.undo()).rejects.toMatchObject({ code: 'nothing_to_undo' });
    await using fork = await session.fork('taken-name');
    await expect(session.fork('taken-name')).rejects.toMatchObject({ code: 'session_exists' });
    expect(fork.session_id).toBe('taken-name');
  });
});

describe('isSession', () => {
  it('distinguishes a session from a plain sandbox', async () => {
    await using plain = await createSandbox(python);
    await using session = await createSandbox({ ...python, auto_persist_globals: true });
    expect([isSession(plain), isSession(session)]).toEqual([false, true]);
    expect([plain.session_id, typeof session.session_id]).toEqual([undefined, 'string']);
  });
});
