/** Symbolic and hard links: out of the tree, in cycles, to read-only files, and around the quota. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { attack, canaryFile, tryJavaScript } from './attack.ts';

describe('link', () => {
  // guarantee: file-isolation
  test('does not lead out of a Python guest', async () => {
    const result = await attack(
      'python',
      `import os
seen = []
def attempt(act):
    try: seen.append(act())
    except OSError as error: seen.append(os.strerror(error.errno))
os.symlink('${canaryFile()}', 'a'); os.symlink('../../../../..${canaryFile()}', 'b'); os.symlink('/', 'root')
os.symlink('loop', 'loop'); os.symlink('pong', 'ping'); os.symlink('ping', 'pong')
for path in ('a', 'b', 'root/etc/passwd', 'root/root/root/proc', 'loop', 'ping', 'loop/x'): attempt(lambda: open(path).read())
attempt(lambda: open('root/lib/python3.14/os.py', 'w'))
attempt(lambda: os.remove('root/lib/python3.14/os.py'))
for i in range(60): os.symlink(f'chain{i - 1}' if i else '/app', f'chain{i}')
attempt(lambda: os.stat('chain59'))
attempt(lambda: len(os.listdir('chain30')) > 60)
attempt(lambda: os.symlink('x' * 5000, 'long'))
attempt(lambda: os.symlink('', 'empty'))
seen`,
    );
    const [missing, loop] = ['No such file or directory', 'Symbolic link loop'];
    expect(result.metadata.result).toEqual([
      missing,
      missing,
      missing,
      missing,
      loop,
      loop,
      loop,
      'Read-only file system',
      'Read-only file system',
      loop,
      true,
      'Filename too long',
      missing,
    ]);
  });

  test('does not lead out of a JavaScript guest', async () => {
    const seen = await tryJavaScript([
      `os.symlink('${canaryFile()}', 'a')`,
      `std.loadFile('a')`,
      `os.symlink('/', 'root')`,
      `os.readdir('root/root')[0].includes('etc')`,
      `os.symlink('l', 'l')`,
      `os.stat('l')[1]`,
      `os.realpath('a')[1]`,
      `typeof os.link`,
    ]);
    expect(Object.values(seen)).toEqual(['0', 'null', '0', 'false', '0', '40', '2', 'undefined']);
  });

  // guarantee: file-isolation
  test('created by a guest is not followed by the host', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.execute(`import os\nos.symlink('${canaryFile()}', 'a')\nos.symlink('/app', 'b')`);
    expect(await sandbox.listFiles()).toEqual([]);
    await expect(sandbox.readFile('a')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(sandbox.readFile('b/a')).rejects.toMatchObject({ code: 'file_not_found' });
  });

  test('cannot be a hard link, because Python has no such call', async () => {
    const result = await attack('python', "import os\nhasattr(os, 'link')");
    expect(result.metadata.result).toBe(false);
  });
});
