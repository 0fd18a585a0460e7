/** The folder in which programs start: `policy.cwd`. */
import { createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const FOLDER = 'data/ä b';
const PWD = {
  python: `import os, subprocess
' '.join([os.getcwd(), subprocess.run('pwd', capture_output=True, text=True).stdout.strip(), open('in.txt').read()])`,
  javascript: `const pwd = require('child_process').execSync('pwd').toString().trim();
[process.cwd(), pwd, require('fs').readFileSync('in.txt')].join(' ')`,
  bash: 'echo "$PWD" "$(bash -c pwd)" $(cat in.txt) $OLDPWD',
};

describe('the folder of programs', () => {
  test.each(Object.entries(PWD))('is their working directory in %s', async (runtime, code) => {
    for (const [home, root] of [
      [undefined, '/app'],
      ['/home/user', '/home/user'],
    ] as const) {
      const policy = { cwd: FOLDER, ...(home && { home }) };
      await using sandbox = await createSandbox({ runtime: runtime as 'python', policy });
      await sandbox.writeFile(`${FOLDER}/in.txt`, 'text');
      const { metadata, stdout, stderr } = await sandbox.execute(code);
      expect(`${metadata.result ?? stdout.trim()}${stderr}`).toBe(`${root}/${FOLDER} ${root}/${FOLDER} text`);
    }
  });

  test('is the workspace if it does not exist, or is a file', async () => {
    for (const cwd of ['missing', 'file', 'file/below']) {
      await using sandbox = await createSandbox({ runtime: 'bash', policy: { cwd } });
      await sandbox.writeFile('file', 'x');
      expect((await sandbox.execute('pwd')).stdout).toBe('/app\n');
    }
  });

  test('has modules that Python programs can import', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { cwd: 'lib' } });
    await sandbox.writeFile('lib/near.py', 'value = 1');
    await sandbox.writeFile('far.py', 'value = 2');
    const { metadata } = await sandbox.execute('import near, far\n[near.value, far.value]');
    expect(metadata.result).toEqual([1, 2]);
  });

  test('is where a session starts; later programs start where the previous one has ended', async () => {
    const store = memoryStore();
    const options = { runtime: 'bash', session_id: 's', store } as const;
    const session = await createSandbox({ ...options, policy: { cwd: 'a' } });
    await session.writeFile('a/b/file', 'x');
    expect((await session.execute('pwd; cd b')).stdout).toBe('/app/a\n');
    await session.close();
    const again = await createSandbox(options);
    expect((await again.execute('pwd')).stdout).toBe('/app/a/b\n');
    await again.close();
  });

  test('must be a path in the workspace', async () => {
    const long = 'x'.repeat(4097);
    for (const cwd of ['', '/', '/app', '.', '..', 'a/..', 'a/../b', './a', 'a/', 'a//b', 'a\0', long])
      await expect(createSandbox({ runtime: 'bash', policy: { cwd } }), cwd).rejects.toMatchObject({
        code: 'invalid_argument',
      });
  });

  test('can have names with dots', async () => {
    await using sandbox = await createSandbox({ runtime: 'bash', policy: { cwd: '.a/..b/c..' } });
    await sandbox.writeFile('.a/..b/c../file', 'x');
    expect((await sandbox.execute('pwd')).stdout).toBe('/app/.a/..b/c..\n');
  });
});
