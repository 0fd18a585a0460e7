/** A session stores its policy and is in its store as soon as it is created. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, diskStore, openSessions } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';

describe('the policy of a session', () => {
  test('is restored when the session is reopened; fields given on opening replace stored ones permanently', async () => {
    const dir = folderOfTest();
    const options = { runtime: 'python', session_id: 'limits', store: diskStore(dir) } as const;
    const first = await createSandbox({
      ...options,
      policy: { fuel_budget: 50_000_000, stdout_max_bytes: 10, env: { MODE: 'one' } },
    });
    await first.close();
    const second = await createSandbox(options);
    expect(second.policy).toMatchObject({ fuel_budget: 50_000_000, stdout_max_bytes: 10 });
    const looped = await second.execute('while True: pass');
    expect(looped.metadata.trap_reason).toBe('out_of_fuel');
    expect((await second.execute("import os\nos.environ['MODE']")).metadata.result).toBe('one');
    await second.close();
    const third = await createSandbox({ ...options, policy: { fuel_budget: 60_000_000 } });
    await third.close();
    await using fourth = await createSandbox({ ...options, policy: { timeout_seconds: undefined } });
    expect(fourth.policy).toMatchObject({
      fuel_budget: 60_000_000,
      stdout_max_bytes: 10,
      timeout_seconds: 30,
    });
  });

  test('is copied to a fork', async () => {
    await using sandbox = await createSandbox({
      runtime: 'javascript',
      auto_persist_globals: true,
      policy: { fuel_budget: 40_000_000 },
    });
    const fork = await sandbox.fork('limits-of-a-fork');
    await fork.close();
    await using again = await createSandbox({ runtime: 'javascript', session_id: 'limits-of-a-fork' });
    expect(again.policy.fuel_budget).toBe(40_000_000);
  });

  // guarantee: stored-sessions
  // proves: Stored policies contain no mounts. Mounts must be passed each time a session is opened.
  test('never includes mounts, which must be passed each time the session is opened', async () => {
    const dir = folderOfTest();
    const options = { runtime: 'python', session_id: 'mounted', store: diskStore(dir) } as const;
    const mounts = [{ host_path: new URL('./', import.meta.url).pathname, guest_path: '/external' }];
    const first = await createSandbox({ ...options, policy: { mounts } });
    expect((await first.execute("import os\nos.path.exists('/external')")).metadata.result).toBe(true);
    await first.close();
    expect(readFileSync(join(dir, 'mounted', 'session.json'), 'utf8')).not.toContain('external');
    await using second = await createSandbox(options);
    expect((await second.execute("import os\nos.path.exists('/external')")).metadata.result).toBe(false);
  });

  test('is rejected when the guest cannot start with it, and the session stays unchanged and unlocked', async () => {
    const options = { runtime: 'python', session_id: 'small', store: diskStore(folderOfTest()) } as const;
    await (await createSandbox(options)).close();
    await expect(createSandbox({ ...options, policy: { memory_bytes: 5 } })).rejects.toThrow(
      'the minimum is',
    );
    await using again = await createSandbox(options);
    expect(again.policy.memory_bytes).toBe(256 * 1024 * 1024);
  });

  test('is rejected when its environment is larger than a session stores', async () => {
    const env = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`V${i}`, 'x'.repeat(32_000)]));
    await expect(
      createSandbox({ runtime: 'python', auto_persist_globals: true, policy: { env } }),
    ).rejects.toMatchObject({ code: 'invalid_argument', message: expect.stringContaining('policy.env') });
  });
});

describe('new session', () => {
  test('is listed and locked for other processes before its first call', async () => {
    const dir = folderOfTest();
    const sandbox = await createSandbox({ runtime: 'python', session_id: 'idle', store: diskStore(dir) });
    await sandbox.flush();
    await using others = openSessions({ store: diskStore(dir) });
    expect((await others.list()).map(({ session_id, calls }) => [session_id, calls])).toEqual([['idle', 0]]);
    await expect(others.get('idle')).rejects.toMatchObject({ code: 'session_busy' });
    await sandbox.close();
    expect((await (await others.get('idle')).execute('6 * 7')).metadata.result).toBe(42);
  });

  test('stores files that the host writes before its first call', async () => {
    const options = { runtime: 'python', session_id: 'files', store: diskStore(folderOfTest()) } as const;
    const sandbox = await createSandbox(options);
    await sandbox.writeFile('a.txt', 'A');
    await sandbox.writeFile('b.txt', 'B');
    await sandbox.deleteFile('b.txt');
    await sandbox.close();
    await using again = await createSandbox(options);
    expect((await again.listFiles()).map(({ path }) => path)).toEqual(['a.txt']);
    expect((await again.execute("open('a.txt').read()")).metadata.result).toBe('A');
  });
});
