/** When the effects of an operation on a session are in the store, and what happens if they cannot be saved. */
import {
  createPool,
  createSandbox,
  memoryStore,
  openSessions,
  type Pool,
  SandboxError,
  type SandboxOptions,
  type SessionStore,
} from 'llm-wasm-sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { childProcesses } from '../support/child-processes.ts';

/** A memory store that fails or delays writes on request, like a disk that is full or slow. */
function unreliableStore() {
  const store = memoryStore();
  const control = { isFull: false, delayMs: 0, writes: 0 };
  const write: SessionStore['write'] = async (session) => {
    await new Promise((next) => setTimeout(next, control.delayMs));
    if (control.isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    await store.write(session);
    control.writes++;
  };
  return { store: { ...store, write }, control };
}

const STORE_FAILED = { code: 'store_failed', message: expect.stringContaining('no space left') };

/** A program whose state takes long to save. */
const SLOW_TO_SAVE = 'import os\ndata = os.urandom(5_000_000) * 12\nx = 2\nopen("f", "w").close()';

/** A pool with its own process, and a function that kills the process. */
function killablePool(): { pool: Pool; kill: () => void } {
  const pool = createPool({ maxWorkers: 1, isolation: 'process', optimization: 'demand' });
  onTestFinished(() => pool.close());
  const before = new Set(childProcesses());
  const kill = () => {
    for (const child of childProcesses()) if (!before.has(child)) process.kill(child, 'SIGKILL');
  };
  return { pool, kill };
}

function open(store: SessionStore, options: Partial<SandboxOptions> = {}) {
  return createSandbox({ runtime: 'javascript', session_id: 'one', store, ...options });
}

describe('a session with `commit: "answer"`', () => {
  // guarantee: durability
  test('completes a call only after its state is in the store', async () => {
    const { store, control } = unreliableStore();
    await using session = await open(store, { commit: 'answer' });
    expect((await store.read('one'))?.state.version).toBe(0);
    control.delayMs = 200;
    const { metadata } = await session.execute('globalThis.x = 1; std.open("f", "w").puts("1")');
    expect(metadata.state).toBe('committed');
    const stored = await store.read('one');
    expect(stored?.state.version).toBe(1);
    expect([...stored!.state.workspace.keys()]).toEqual(['f']);
    await session.writeFile('g', 'text');
    expect([...(await store.read('one'))!.state.workspace.keys()]).toEqual(['f', 'g']);
  });

  // guarantee: durability
  test('fails a call that cannot be saved, undoes it, logs it, and continues when the store works again', async () => {
    const { store, control } = unreliableStore();
    const events: object[] = [];
    const logger = { info: () => {}, warn: (fields: object) => void events.push(fields) };
    await using session = await open(store, { commit: 'answer', logger });
    await session.execute('globalThis.xs = [1]; std.open("f", "w").puts("1")');
    control.isFull = true;
    const change = 'xs.push(2); std.open("f", "w").puts("2"); std.open("new", "w").puts("2")';
    await expect(session.execute(change)).rejects.toMatchObject(STORE_FAILED);
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'session.save_failed', session_id: 'one', error: 'store_failed' }),
    );
    await expect(session.execute('1')).rejects.toMatchObject(STORE_FAILED);
    control.isFull = false;
    const { metadata } = await session.execute('xs.push(3); [xs, std.loadFile("f")]');
    expect(metadata.result).toEqual([[1, 3], '1']);
    expect((await session.listFiles()).map(({ path }) => path)).toEqual(['f']);
  });

  test('does not continue an undone call in the thread that ran it', async () => {
    const { store, control } = unreliableStore();
    await using pool = createPool({ maxWorkers: 2 });
    await using session = await open(store, { commit: 'answer', pool });
    await session.execute('globalThis.xs = [1]');
    for (let i = 0; i < 3; i++) {
      control.isFull = true;
      await expect(session.execute('xs.push(0)')).rejects.toMatchObject(STORE_FAILED);
      control.isFull = false;
      // Another program occupies the thread of the session, so the next call may run in the other thread.
      await using other = await createSandbox({ runtime: 'javascript', pool });
      const busy = other.execute('for (const start = Date.now(); Date.now() - start < 100; );');
      await session.execute(`xs.push(${i + 2})`);
      await busy;
    }
    expect((await session.execute('xs')).metadata.result).toEqual([1, 2, 3, 4]);
  });

  test.each([
    ['checkpoint', (session) => session.checkpoint('new')],
    ['rollback', (session) => session.rollback('old')],
    ['undo', (session) => session.undo()],
    ['deleteCheckpoint', (session) => session.deleteCheckpoint('old')],
    ['fork', (session) => session.fork('two')],
  ] as [string, (session: Awaited<ReturnType<typeof open>>) => Promise<unknown>][])(
    'fails %s without an effect if it cannot be saved',
    async (_, act) => {
      const { store, control } = unreliableStore();
      await using session = await open(store, { commit: 'answer', session_id: 'one' });
      await session.execute('globalThis.x = 1');
      await session.checkpoint('old');
      await session.execute('x = 2; std.open("f", "w").puts("2")');
      control.isFull = true;
      await expect(act(session)).rejects.toMatchObject(STORE_FAILED);
      control.isFull = false;
      expect((await session.checkpoints()).map(({ name }) => name)).toEqual(['old']);
      expect((await session.execute('[x, std.loadFile("f")]')).metadata.result).toEqual([2, '2']);
      expect((await store.list()).records.map(({ session_id }) => session_id)).toEqual(['one']);
      await act(session);
    },
  );

  test('fails to create a session that cannot be saved, and releases its name', async () => {
    const { store, control } = unreliableStore();
    control.isFull = true;
    await expect(open(store, { commit: 'answer' })).rejects.toMatchObject(STORE_FAILED);
    control.isFull = false;
    await using session = await open(store, { commit: 'answer' });
    expect((await session.execute('1')).success).toBe(true);
  });

  // guarantee: durability
  // proves: A call is reported as rolled_back if its process ends before the state is saved.
  test.runIf(process.platform === 'linux')(
    'reports a call as rolled_back if its process ends before the state is saved',
    { tags: 'full' },
    async () => {
      const { pool, kill } = killablePool();
      await using session = await open(memoryStore(), { commit: 'answer', pool, runtime: 'python' });
      await session.execute('x = 1');
      // The output arrives before the state, which takes long to save, is complete.
      const program = `${SLOW_TO_SAVE}\nprint("ran")`;
      const execution = session.execute(program, { onStdout: () => setTimeout(kill, 5) });
      expect((await execution).metadata).toMatchObject({ state: 'rolled_back', trap_reason: 'worker_lost' });
      expect((await session.execute('x')).metadata).toMatchObject({ result: 1, state: 'committed' });
    },
  );

  test('saves a call that is answered while the pool closes, or reports it as lost', {
    tags: 'full',
  }, async () => {
    await using pool = createPool({ maxWorkers: 1, optimization: 'demand' });
    await using session = await open(memoryStore(), { commit: 'answer', pool, runtime: 'python' });
    await session.execute('x = 1');
    const program = `${SLOW_TO_SAVE}\nprint("ran")`;
    const { metadata } = await session.execute(program, { onStdout: () => void pool.close() });
    const isSaved = metadata.state === 'committed';
    expect(metadata.trap_reason).toBe(isSaved ? null : 'worker_lost');
    expect((await session.execute('x')).metadata).toMatchObject({ result: isSaved ? 2 : 1 });
  });
});

describe('a session with `commit: "background"`', () => {
  test('is the default, and completes a call before the store has its state', async () => {
    const { store, control } = unreliableStore();
    await using session = await open(store);
    control.delayMs = 300;
    await session.execute('globalThis.x = 1');
    expect((await store.read('one'))?.state.version ?? 0).toBe(0);
    await session.flush();
    expect((await store.read('one'))?.state.version).toBe(1);
  });

  // guarantee: durability
  test('reports a failed save in the next call, keeps the state in memory and saves it again', async () => {
    const { store, control } = unreliableStore();
    await using session = await open(store);
    await session.flush();
    control.isFull = true;
    expect((await session.execute('globalThis.xs = [1]')).metadata.state).toBe('committed');
    await expect(session.execute('xs.push(2)')).rejects.toMatchObject(STORE_FAILED);
    await expect(session.execute('xs.push(3)')).rejects.toMatchObject(STORE_FAILED);
    control.isFull = false;
    expect((await session.execute('xs.push(4); xs')).metadata.result).toEqual([1, 4]);
    await session.flush();
    expect((await store.read('one'))?.state.version).toBe(2);
  });

  test('fails the next checkpoint, fork and close after a failed save', async () => {
    for (const act of ['checkpoint', 'fork', 'flush', 'close'] as const) {
      const { store, control } = unreliableStore();
      await using session = await open(store);
      await session.flush();
      control.isFull = true;
      await session.execute('globalThis.x = 1');
      await expect(session[act](), act).rejects.toMatchObject(STORE_FAILED);
      control.isFull = false;
    }
  });

  // guarantee: durability
  // proves: A pool that is closed saves the sessions whose calls have returned.
  test('is saved after a call that has returned when its pool is closed', { tags: 'full' }, async () => {
    for (const isolation of ['thread', 'process'] as const) {
      await using pool = createPool({ maxWorkers: 1, optimization: 'demand', isolation });
      const events: object[] = [];
      const logger = { info: () => {}, warn: (fields: object) => void events.push(fields) };
      await using session = await open(memoryStore(), { pool, runtime: 'python', logger });
      await session.execute('x = 1');
      expect((await session.execute(SLOW_TO_SAVE)).metadata.state).toBe('committed');
      await pool.close();
      expect(pool.workers, isolation).toBe(0);
      expect((await session.execute('x')).metadata).toMatchObject({ result: 2, state: 'committed' });
      expect((await session.listFiles()).map(({ path }) => path)).toEqual(['f']);
      expect(events).toEqual([]);
    }
  });

  // guarantee: durability
  // proves: If a process ends during a save, a session with `commit: "background"` restores the previous state, reports the loss and stays usable.
  test.runIf(process.platform === 'linux')(
    'restores the state from before a call whose process ends during the save, reports the loss, and stays usable',
    { tags: 'full' },
    async () => {
      const { pool, kill } = killablePool();
      // The save takes long, but on a busy machine it may be complete before the process is killed.
      for (let attempt = 1; ; attempt++) {
        await using session = await open(memoryStore(), { pool, runtime: 'python' });
        await session.execute('x = 1');
        expect((await session.execute(SLOW_TO_SAVE)).metadata.state).toBe('committed');
        kill();
        const next = await session.execute('x').catch((cause: unknown) => cause);
        if (!(next instanceof SandboxError)) {
          expect(attempt).toBeLessThan(5);
          continue;
        }
        expect(next).toMatchObject({ code: 'store_failed', message: expect.stringContaining('call 2') });
        expect(await session.listFiles()).toEqual([]);
        expect((await session.execute('x')).metadata).toMatchObject({ result: 1, state: 'committed' });
        return;
      }
    },
  );
});

describe('registry', () => {
  test('fails to close if a session could not be saved, now or when it was released', async () => {
    for (const release of [false, true]) {
      const { store, control } = unreliableStore();
      const sessions = openSessions({ store });
      const session = await sessions.create({ runtime: 'javascript', session_id: 'one' });
      await session.flush();
      control.isFull = true;
      await session.execute('globalThis.x = 1');
      if (release) await expect(sessions.release('one')).rejects.toMatchObject(STORE_FAILED);
      await expect(sessions.close()).rejects.toMatchObject({
        code: 'store_failed',
        message: expect.stringContaining('could not be saved: one. '),
      });
    }
  });

  test('passes its commit option to the sessions', async () => {
    const { store, control } = unreliableStore();
    await using sessions = openSessions({ store, commit: 'answer' });
    const session = await sessions.create({ runtime: 'javascript', session_id: 'one' });
    const { writes } = control;
    await session.execute('globalThis.x = 1');
    expect(control.writes).toBe(writes + 1);
  });
});
