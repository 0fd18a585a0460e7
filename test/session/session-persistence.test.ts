/** The contents of a session and what the store has of them, with a store whose writes fail on demand. */
import { expect, test } from 'vitest';
import { SandboxError } from '../../packages/core/src/errors.ts';
import { SessionPersistence } from '../../packages/core/src/session/session-persistence.ts';
import { memoryStore } from '../../packages/core/src/stores/memory/memory-store.ts';

const SETTINGS = {
  session_id: 'session',
  runtime: 'python',
  auto_persist_globals: true,
  preload: [],
  policy: {},
} as const;

async function open() {
  const store = memoryStore();
  const failures: string[] = [];
  let isBroken = false;
  const write: typeof store.write = async (...args) => {
    if (isBroken) throw new SandboxError('store_failed', 'The disk is full.');
    await store.write(...args);
  };
  const session = await SessionPersistence.open({ ...store, write }, SETTINGS);
  session.onSaveFailed = ({ code }) => failures.push(code);
  return {
    session,
    store,
    failures,
    breakStore: (isNowBroken: boolean) => {
      isBroken = isNowBroken;
    },
  };
}

/** Commits a call that leaves the next version. */
function commit(session: SessionPersistence): void {
  const { state } = session;
  session.commit({ ...state, version: state.version + 1, delta: [new Uint8Array(1)] }, state);
}

test('a new session is saved once, and a call after it', async () => {
  const { session, store } = await open();
  expect(session.isNew).toBe(true);
  expect(await store.read('session')).toBeUndefined();
  session.saveIfNew();
  await session.flush();
  commit(session);
  await session.flush();
  expect((await store.read('session'))?.state.version).toBe(1);
});

test('a failed save is reported once, and the next flush tries again', async () => {
  const { session, store, failures, breakStore } = await open();
  session.saveIfNew();
  await session.flush();
  breakStore(true);
  commit(session);
  expect(await session.isSaved()).toBe(false);
  expect(session.hasReportedFailure).toBe(false);
  await expect(session.flush()).rejects.toMatchObject({ code: 'store_failed' });
  expect(session.hasReportedFailure).toBe(true);
  expect(() => session.reportFailure()).not.toThrow();
  breakStore(false);
  await session.flush();
  expect(await session.isSaved()).toBe(true);
  expect((await store.read('session'))?.state.version).toBe(1);
  expect(failures).toEqual(['store_failed']);
});

test('the states of an unloaded session are only in the store', async () => {
  const { session } = await open();
  session.saveIfNew();
  commit(session);
  session.checkpoint('first');
  await session.flush();
  session.unload();
  expect(session.isLoaded).toBe(false);
  expect(() => session.state).toThrow('not in memory');
  expect(() => session.save()).toThrow('not in memory');
  expect(session.record.session_id).toBe('session');
  expect(session.checkpoints().map(({ name }) => name)).toEqual(['first']);
  session.load(await session.readStates());
  expect(session.state.version).toBe(1);
});

test('a version is not used again after a rollback or a failed change', async () => {
  const { session } = await open();
  session.saveIfNew();
  commit(session);
  const before = session.contents;
  commit(session);
  session.restore(before);
  expect(session.state).toMatchObject({ version: 3, delta: before.state.delta });
  await session.rollback(undefined);
  expect(session.state).toMatchObject({ version: 4, delta: undefined });
  await expect(session.rollback(undefined)).rejects.toMatchObject({ code: 'nothing_to_undo' });
});
