/** The quota covers /app, /tmp and deleted files that are open. Nothing that a guest does to it makes a later call throw. */
import { createPool, createSandbox, memoryStore, type SessionStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const QUOTA = 1_000_000;

const FILL = {
  '/app': 'f = open("/app/full", "wb"); f.write(bytes(1_000_000)); f.flush()',
  '/tmp': 'f = open("/tmp/full", "wb"); f.write(bytes(1_000_000)); f.flush()',
  'a deleted open file':
    'import os\nf = open("/tmp/full", "wb+"); f.write(bytes(1_000_000)); f.flush(); os.unlink("/tmp/full")',
};

const open = (store: SessionStore, pool: ReturnType<typeof createPool>) =>
  createSandbox({
    runtime: 'python',
    session_id: 'one',
    store,
    pool,
    policy: { workspace_max_bytes: QUOTA },
  });

describe.each(Object.entries(FILL))('session whose guest filled %s', (_, fill) => {
  // guarantee: workspace-limit
  // proves: A session whose guest has filled its quota rejects files from the host with quota_exceeded and runs further calls.
  test('refuses host files with quota_exceeded and runs further calls, live and restored', {
    tags: 'full',
  }, async () => {
    const store = memoryStore();
    await using first = createPool({ maxWorkers: 1, optimization: 'demand' });
    const live = await open(store, first);
    expect((await live.execute(fill)).success).toBe(true);
    await expect(live.writeFile('host', 'text')).rejects.toMatchObject({ code: 'quota_exceeded' });
    await expect(live.execute('1', { files: { host: 'text' } })).rejects.toMatchObject({
      code: 'quota_exceeded',
    });
    expect((await live.execute('f.tell()')).metadata).toMatchObject({ result: QUOTA, state: 'committed' });
    await live.close();

    await using second = createPool({ maxWorkers: 1, optimization: 'demand' });
    await using restored = await open(store, second);
    expect((await restored.execute('f.tell()')).metadata).toMatchObject({ result: QUOTA });
    const denied = await restored.execute('with open("more", "w") as more: more.write("x" * 10)');
    expect(denied.metadata.error).toMatchObject({ type: 'OSError', errno: expect.any(Number) });
    await expect(restored.writeFile('host', 'text')).rejects.toMatchObject({ code: 'quota_exceeded' });
  });

  // guarantee: workspace-limit
  // proves: A session runs further calls if the host writes a file while the guest fills its quota.
  test('runs further calls when the host wrote a file during the call', async () => {
    const store = memoryStore();
    await using first = createPool({ maxWorkers: 1, optimization: 'demand' });
    const live = await open(store, first);
    const running = live.execute(`print("started", flush=True)\n${fill}`, {
      onStdout: () => void live.writeFile('host', 'text'),
    });
    expect((await running).success).toBe(true);
    expect((await live.execute('open("host").read()')).metadata.result).toBe('text');
    await live.close();
    await using second = createPool({ maxWorkers: 1, optimization: 'demand' });
    await using restored = await open(store, second);
    await restored.deleteFile('host');
    expect((await restored.execute('f.tell()')).metadata.result).toBe(QUOTA);
  });
});

describe('restored session', () => {
  test('starts in /app when the host replaced its working directory and an open directory by files', async () => {
    const store = memoryStore();
    await using first = createPool({ maxWorkers: 1, optimization: 'demand' });
    const live = await open(store, first);
    await live.execute('import os\nos.mkdir("d")\nos.chdir("d")\nfd = os.open(".", os.O_RDONLY)');
    await live.clearFiles();
    await live.writeFile('d', 'text');
    expect((await live.execute('open("/app/d").read()')).metadata.result).toBe('text');
    await live.close();
    await using second = createPool({ maxWorkers: 1, optimization: 'demand' });
    await using restored = await open(store, second);
    expect((await restored.execute('os.getcwd()')).metadata.result).toBe('/app');
  });

  test('shows edits of the host as a live session does', async () => {
    await using live = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    await live.writeFile('kept', 'old');
    await live.writeFile('d/gone', 'x');
    await live.execute(
      "import os\ngone = open('d/gone'); kept = open('kept'); os.chmod('kept', 0o600)\nfd = os.open('d', 0); os.utime('d', (5, 5)); os.utime('.', (6, 6))",
    );
    await live.deleteFile('d/gone');
    await live.writeFile('kept', 'new text');
    await live.writeFile('d/added', 'y');
    await using fork = await live.fork();
    const show =
      "[gone.read(), kept.read(), os.listdir(fd), *([oct(s.st_mode), s.st_mtime, s.st_ino] for s in map(os.stat, ('kept', 'd', 'd/added', '.')))]";
    const [fromLive, fromRestored] = [await live.execute(show), await fork.execute(show)];
    expect(fromLive.metadata.result).toEqual(fromRestored.metadata.result);
    expect(fromLive.metadata.result).toEqual(expect.arrayContaining(['', 'new text', ['added']]));
  });
});
