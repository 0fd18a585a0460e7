import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type SandboxOptions } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { code, python } from '../support/sandbox.ts';

describe('a sandbox', () => {
  test('starts a fresh interpreter in the same workspace for each call', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.execute("x = 1\nopen('kept.txt', 'w').write('kept')\nopen('/tmp/gone', 'w').close()");
    const second = await sandbox.execute(
      "import os\n['x' in globals(), open('kept.txt').read(), os.listdir('/tmp')]",
    );
    expect(second.metadata.result).toEqual([false, 'kept', []]);
  });

  test('reports created, modified and deleted files as sorted relative paths', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.writeFile('old.txt', 'old');
    await sandbox.writeFile('/app/sub/dead.txt', 'x');
    const result = await sandbox.execute(code`
      import os
      open('b.txt', 'w').close()
      open('a.txt', 'w').close()
      open('old.txt', 'a').write('!')
      os.remove('sub/dead.txt')
      open('/tmp/scratch', 'w').close()
    `);
    expect(result).toMatchObject({
      files_created: ['a.txt', 'b.txt'],
      files_modified: ['old.txt'],
      files_deleted: ['sub/dead.txt'],
    });
  });

  test('reads, writes, lists and deletes workspace files', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.writeFile('data/in.bin', new Uint8Array([1, 2, 255]));
    expect(await sandbox.readFile('/app/data/in.bin')).toEqual(new Uint8Array([1, 2, 255]));
    await sandbox.execute("open('out.txt', 'w').write('héllo')");
    expect(await sandbox.readFile('out.txt', 'utf8')).toBe('héllo');
    expect((await sandbox.listFiles()).map(({ path, size_bytes }) => [path, size_bytes])).toEqual([
      ['data/in.bin', 3],
      ['out.txt', 6],
    ]);
    await sandbox.deleteFile('out.txt');
    await expect(sandbox.readFile('out.txt')).rejects.toThrow(
      'The workspace has no file "out.txt". Its files are: data/in.bin.',
    );
  });

  test.each(['', '/', '/app', '..', '../x', '/etc/passwd', 'a/../../b', 'a\0b', `${'x'.repeat(300)}`])(
    'rejects the workspace path %j',
    async (path) => {
      await using sandbox = await createSandbox({ runtime: 'python' });
      await expect(sandbox.writeFile(path, 'x')).rejects.toMatchObject({
        name: 'SandboxError',
        code: 'invalid_path',
      });
    },
  );

  test('rejects a path below a file', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.writeFile('a/b', 'x');
    await expect(sandbox.writeFile('a/b/c', 'x')).rejects.toMatchObject({
      code: 'invalid_path',
      message: 'Entry "a/b/c" is below "a/b", which is not a directory. Choose another path.',
    });
  });

  test('writes the files of a call to the workspace before the program starts', async () => {
    const result = await python("open('in.csv').read()", { files: { 'in.csv': 'a,b' } });
    expect(result.metadata.result).toBe('a,b');
    expect(result.files_created).toEqual([]);
  });

  test('enforces the workspace quota for the host and for the guest', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { workspace_max_bytes: 1000 } });
    await expect(sandbox.writeFile('big', new Uint8Array(1001))).rejects.toMatchObject({
      code: 'quota_exceeded',
    });
    const result = await sandbox.execute("with open('big', 'wb') as f: f.write(bytes(1001))");
    expect(result.stderr).toContain('No space left on device');
    expect(result.success).toBe(false);
  });

  test('streams output while the program runs', async () => {
    const seen: string[] = [];
    let running = true;
    const done = python("import sys, time\nprint('one ☃')\ntime.sleep(0.05)\nprint('two', file=sys.stderr)", {
      onStdout: (text) => seen.push(`${running ? 'live' : 'late'} ${text}`),
      onStderr: (text) => seen.push(`${running ? 'live' : 'late'} ${text}`),
    });
    const result = await done;
    running = false;
    expect(seen).toEqual(['live one ☃\n', 'live two\n']);
    expect(result).toMatchObject({ stdout: 'one ☃\n', stderr: 'two\n' });
  });

  test('rejects the call when an output callback throws, and stays usable', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const receiver = () => {
      throw new Error('receiver broke');
    };
    await expect(sandbox.execute('print(1)', { onStdout: receiver })).rejects.toThrow('receiver broke');
    expect((await sandbox.execute('2')).metadata.result).toBe(2);
  });

  test('passes the environment variables of the policy to the guest', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { env: { API_MODE: 'test ☃' } } });
    expect((await sandbox.execute("import os\nos.environ['API_MODE']")).metadata.result).toBe('test ☃');
  });

  // guarantee: file-isolation
  test('mounts host files read-only and does not follow links out of the mounted folder', async () => {
    const folder = folderOfTest();
    mkdirSync(join(folder, 'sub'));
    writeFileSync(join(folder, 'sub', 'a.txt'), 'from the host');
    symlinkSync('/etc', join(folder, 'link'));
    const mounts = [
      { host_path: folder, guest_path: '/external' },
      { host_path: join(folder, 'sub', 'a.txt'), guest_path: '/data/one.txt' },
    ];
    await using sandbox = await createSandbox({ runtime: 'python', policy: { mounts } });
    const result = await sandbox.execute(code`
      import os
      print(open('/external/sub/a.txt').read(), os.listdir('/external'), open('/data/one.txt').read())
      open('/external/sub/a.txt', 'w')
    `);
    expect(result.stdout).toBe("from the host ['sub'] from the host\n");
    expect(result.stderr).toContain('Read-only file system');
  });

  test('runs calls of one sandbox in order', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const calls = [1, 2, 3, 4, 5].map((n) => sandbox.execute(`open('log', 'a').write('${n}')`));
    await Promise.all(calls);
    expect(await sandbox.readFile('log', 'utf8')).toBe('12345');
  });

  test('rejects running and later calls with sandbox_closed after close', async () => {
    const sandbox = await createSandbox({ runtime: 'python' });
    const running = sandbox.execute('while True: pass');
    await sandbox.close();
    await expect(running).rejects.toMatchObject({ code: 'sandbox_closed' });
    await expect(sandbox.execute('1')).rejects.toMatchObject({ code: 'sandbox_closed' });
    await expect(sandbox.listFiles()).rejects.toMatchObject({ code: 'sandbox_closed' });
  });
});

describe('policy', () => {
  test.each<[object, string]>([
    [{ policy: { feul_budget: 1 } }, 'feul_budget'],
    [{ policy: { fuel_budget: 0 } }, 'options.policy.fuel_budget'],
    [{ policy: { fuel_budget: '1' } }, 'options.policy.fuel_budget'],
    [{ policy: { timeout_seconds: -1 } }, 'options.policy.timeout_seconds'],
    [{ policy: { env: { 'A=B': 'x' } } }, 'options.policy.env'],
    [{ policy: { env: { A: 'x\0y' } } }, 'options.policy.env.A'],
    [
      { policy: { mounts: [{ host_path: '/x', guest_path: '/a/../b' }] } },
      'options.policy.mounts.0.guest_path',
    ],
    [{ runtime: 'ruby' }, 'options.runtime'],
    [{ extra: 1 }, 'extra'],
  ])('is rejected with the name of the field: %j', async (options, field) => {
    const call = createSandbox({ runtime: 'python', ...options } as SandboxOptions);
    await expect(call).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(field),
    });
  });

  test('is rejected with the minimum when memory_bytes is less than the runtime needs', async () => {
    const call = createSandbox({ runtime: 'python', policy: { memory_bytes: 1_000_000 } });
    await expect(call).rejects.toThrow(
      /memory_bytes: 1000000 is less than python needs to start; the minimum is \d+\./,
    );
  });

  test.each(['/app/x', '/tmp', '/lib/python3.14/os.py', '/app'])('cannot mount at %s', async (guest_path) => {
    const call = createSandbox({
      runtime: 'python',
      policy: { mounts: [{ host_path: 'package.json', guest_path }] },
    });
    await expect(call).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining(guest_path),
    });
  });

  test('is rejected with the path of a mount that does not exist', async () => {
    const mounts = [{ host_path: './no-such-folder', guest_path: '/external' }];
    await expect(createSandbox({ runtime: 'python', policy: { mounts } })).rejects.toThrow('no-such-folder');
  });

  test('is checked the same way in the options of a call', async () => {
    await expect(python('1', { fuel_budget: -1 })).rejects.toThrow('options.fuel_budget');
    await expect(python('1', { timeout: 1 } as object)).rejects.toThrow('timeout');
    await expect(python(1 as unknown as string)).rejects.toThrow('code: expected a string');
  });
});
