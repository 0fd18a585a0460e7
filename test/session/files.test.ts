/** Session files that the program, the host and the user of the store folder change at the same time. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, diskStore, memoryStore, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';

const begin = () => createSandbox({ runtime: 'python', auto_persist_globals: true });
const paths = async (sandbox: Session) => (await sandbox.listFiles()).map(({ path }) => path);

/** Runs a program and calls `host` as soon as the program has started. */
async function during(sandbox: Session, code: string, host: () => Promise<void>) {
  let done: Promise<void> | undefined;
  const result = await sandbox.execute(`print("go", flush=True)\nimport os, time; time.sleep(0.3)\n${code}`, {
    onStdout: () => {
      done ??= host();
    },
  });
  await done;
  // Runs after the call in the session's queue, so the changes of the call are applied when it returns.
  await sandbox.checkpoints();
  return result;
}

describe('session files', () => {
  test('are not changed by a call that fails to start', async () => {
    await using sandbox = await begin();
    const first = sandbox.execute('open("a", "w").write("A")');
    await expect(sandbox.execute('1', { files: { '../up': '' } })).rejects.toMatchObject({
      code: 'invalid_path',
    });
    await first;
    expect(await paths(sandbox)).toEqual(['a']);
  });

  test('that the host writes during a call are kept when the call is rolled back', async () => {
    await using sandbox = await begin();
    await sandbox.writeFile('old', '1');
    const result = await during(sandbox, 'os._exit(1)', async () => {
      await sandbox.writeFile('new/h', 'host');
      await sandbox.deleteFile('old');
    });
    expect(result.metadata.state).toBe('rolled_back');
    expect(await paths(sandbox)).toEqual(['new/h']);
    expect((await sandbox.execute('os = __import__("os"); os.listdir()')).metadata.result).toEqual(['new']);
  });

  test('that are passed with a call are rolled back with it', async () => {
    await using sandbox = await begin();
    await sandbox.execute('import os');
    const stopped = await sandbox.execute('os._exit(1)', { files: { 'in/a': 'x' } });
    expect(stopped.metadata.state).toBe('rolled_back');
    await sandbox.checkpoints();
    expect(await paths(sandbox)).toEqual([]);
    await sandbox.execute('open("in/a").read()', { files: { 'in/a': 'x' } });
    await sandbox.rollback();
    expect((await sandbox.execute('os.listdir()')).metadata.result).toEqual([]);
  });

  test.each([
    ['removes', 'os.rmdir("d")', [['d'], ['x']]],
    ['replaces with a file', 'os.rmdir("d"); open("d", "w").close()', [['d'], false]],
  ])('that the host writes into a folder that the program %s cause no error', async (_, code, expected) => {
    await using sandbox = await begin();
    await sandbox.execute('import os; os.mkdir("d")');
    const result = await during(sandbox, code, () => sandbox.writeFile('d/x', 'host'));
    expect(result.metadata.state).toBe('committed');
    await sandbox.flush();
    const seen = 'import os; [os.listdir(), os.path.isdir("d") and os.listdir("d")]';
    expect((await sandbox.execute(seen)).metadata.result).toEqual(expected);
    await sandbox.flush();
  });

  test('keep unlinked open files and extreme timestamps when the session is reopened', async () => {
    const store = memoryStore();
    const open = () => createSandbox({ runtime: 'python', session_id: 'odd', store });
    const first = await open();
    await first.execute(
      'import os\nf = open("u", "w+"); g = open("u"); os.unlink("u")\n' +
        'os.utime("/app", (1e12, 1e12)); os.utime("/tmp", (-1e12, -1e12))',
    );
    await first.close();
    await using second = await open();
    const result = await second.execute(
      'f.write("abc"); f.flush()\n[g.read(), os.stat("/app").st_mtime, os.stat("/tmp").st_mtime]',
    );
    expect(result.metadata.result).toEqual(['abc', 1e12, -1e12]);
  });

  test('and variables are unchanged after a call that the policy gave too little memory', async () => {
    const store = memoryStore();
    const open = (memory_bytes: number) =>
      createSandbox({ runtime: 'python', session_id: 'large', store, policy: { memory_bytes } });
    const first = await open(256 << 20);
    await first.execute('b = bytearray(100 << 20); b[-1] = 7');
    await first.close();
    const small = await open(64 << 20);
    await expect(small.execute('1')).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringMatching(/needs [\d,]+ bytes of memory.*larger memory_bytes/),
    });
    await small.close();
    await using large = await open(256 << 20);
    expect((await large.execute('b[-1]')).metadata.result).toBe(7);
  });
});

describe('file edited in the workspace folder of a session', () => {
  const dir = folderOfFile();

  test('fails the next call when it exceeds the quota, until it is removed', async () => {
    const policy = { workspace_max_bytes: 1000 };
    await using sandbox = await createSandbox({
      runtime: 'python',
      session_id: 'crammed',
      store: diskStore(dir),
      policy,
    });
    await sandbox.execute('x = 1');
    await sandbox.flush();
    const large = join(dir, 'crammed', 'workspace', 'large');
    writeFileSync(large, 'x'.repeat(2000));
    for (let i = 0; i < 2; i++) {
      await expect(sandbox.execute('x += 1')).rejects.toMatchObject({
        code: 'quota_exceeded',
        message: expect.stringContaining('workspace_max_bytes 1000'),
      });
    }
    expect(readFileSync(large, 'utf8')).toHaveLength(2000);
    rmSync(large);
    expect((await sandbox.execute('x')).metadata.result).toBe(1);
  });

  test('is part of checkpoints and forks and is restored by a rollback', async () => {
    await using sandbox = await createSandbox({
      runtime: 'python',
      session_id: 'edited',
      store: diskStore(dir),
    });
    await sandbox.execute('x = 1');
    await sandbox.flush();
    const inside = (name: string) => join(dir, 'edited', 'workspace', name);
    writeFileSync(inside('by-hand'), 'mine');
    await sandbox.checkpoint('with');
    writeFileSync(inside('later'), 'mine too');
    await using fork = await sandbox.fork('branch');
    expect(await paths(fork)).toEqual(['by-hand', 'later']);
    await sandbox.execute('open("by-hand", "w").write("changed")');
    await sandbox.rollback('with');
    await sandbox.flush();
    expect(readFileSync(inside('by-hand'), 'utf8')).toBe('mine');
  });
});
