/** Path traversal with `..`, in every form a path can take. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { attack, canaryFile, tryJavaScript, useCanary } from './attack.ts';

useCanary();

const UP = '../'.repeat(60);

describe('path traversal', () => {
  // guarantee: file-isolation
  test('stops at the guest’s root in Python', async () => {
    const result = await attack(
      'python',
      `import os
seen = [os.path.samefile('${UP}', '/'), os.path.samefile('/..', '/'), os.path.samefile('/app/../..//../.', '/')]
for path in ('${UP}etc/passwd', '/app/../../etc/passwd', '..${canaryFile()}', '/app/${UP}${canaryFile()}'):
    try: open(path); seen.append(path)
    except FileNotFoundError: seen.append(None)
os.chdir('/'); os.chdir('..'); os.chdir('../..')
seen.append(os.getcwd())
fd = os.open('/app', os.O_RDONLY)
try: os.open('../../etc/passwd', os.O_RDONLY, dir_fd=fd)
except FileNotFoundError: seen.append('dir_fd')
os.mkdir('/app/d'); os.chdir('/app/d'); os.rename('/app/d', '/app/e')
try: seen.append(sorted(os.listdir('..')))
except OSError: seen.append('gone')
seen`,
    );
    expect(result.metadata.result).toEqual([
      true,
      true,
      true,
      null,
      null,
      null,
      null,
      '/',
      'dir_fd',
      expect.anything(),
    ]);
    expect(result.metadata.result).not.toContain('secret.txt');
  });

  test('stops at the guest’s root in JavaScript', async () => {
    const seen = await tryJavaScript([
      `os.realpath('${UP}')`,
      `std.loadFile('${UP}etc/passwd')`,
      `std.loadFile('${UP}${canaryFile().slice(1)}')`,
      `os.stat('/app/../../../proc')[1]`,
      `os.mkdir('${UP}evil')`,
      `std.open('../evil', 'w')`,
    ]);
    expect(Object.values(seen)).toEqual(['/,0', 'null', 'null', '2', '-30', 'null']);
  });

  // guarantee: file-isolation
  test.each(['../x', 'a/../../x', '/app/../x', '/etc/x', '..', '/app/..', './../x'])(
    'is rejected by the file methods of the sandbox: %s',
    async (path) => {
      await using sandbox = await createSandbox({ runtime: 'python' });
      for (const act of [
        () => sandbox.writeFile(path, 'x'),
        () => sandbox.readFile(path),
        () => sandbox.deleteFile(path),
        () => sandbox.execute('1', { files: { [path]: 'x' } }),
      ])
        await expect(act()).rejects.toMatchObject({ code: 'invalid_path' });
    },
  );
});
