/** The workspace quota in bytes and in files, against every way to exceed it. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const LIMIT = 1_000_000;
const policy = { workspace_max_bytes: LIMIT, workspace_max_files: 50 };

const GREEDY: Record<string, string> = {
  'one large write': "open('x', 'wb').write(bytes(1_000_001))",
  'many small writes': "f = open('x', 'wb', buffering=0)\nwhile True: f.write(bytes(1000))",
  'a sparse file': "f = open('x', 'wb', buffering=0)\nf.seek(10**9)\nf.write(b'x')",
  'a truncate upwards': "f = open('x', 'wb')\nf.truncate(2**40)",
  'a truncate by path': "open('x', 'w').close()\nimport os\nos.truncate('x', 2**40)",
  'many files': "for i in range(100): open(str(i), 'w').close()",
  'many folders': 'import os\nfor i in range(100): os.mkdir(str(i))',
  'many links': "import os\nfor i in range(100): os.symlink('x', str(i))",
  'long links':
    "import os\nfor i in range(45): os.symlink('x' * 4000, str(i))\nopen('x', 'wb', buffering=0).write(bytes(900_000))",
  'the other writable folder': "open('/tmp/x', 'wb').write(bytes(1_000_001))",
  'both folders':
    "open('/tmp/x', 'wb', buffering=0).write(bytes(600_000))\nopen('y', 'wb', buffering=0).write(bytes(600_000))",
  'deleted files that are open':
    "import os\nheld = []\nfor i in range(5):\n    f = open('x', 'wb', buffering=0); held.append(f); f.write(bytes(300_000)); os.remove('x')",
  copies:
    "import shutil\nopen('a', 'wb').write(bytes(400_000))\nshutil.copy('a', 'b')\nshutil.copy('a', 'c')",
  'a database':
    "import sqlite3\nc = sqlite3.connect('d.db')\nc.execute('create table t (x)')\nwhile True: c.execute('insert into t values (zeroblob(100000))'); c.commit()",
};

describe('workspace quota', () => {
  // guarantee: workspace-limit
  test.each(Object.keys(GREEDY))('is enforced in Python: %s', async (name) => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    await sandbox.writeFile('before', 'kept');
    const result = await sandbox.execute(GREEDY[name]!);
    expect(result.success).toBe(false);
    expect(`${result.metadata.error?.message}`).toMatch(/No space left on device|disk is full|disk I\/O/);
    const files = await sandbox.listFiles();
    expect(files.length).toBeLessThanOrEqual(50);
    expect(files.reduce((sum, file) => sum + file.size_bytes, 0)).toBeLessThanOrEqual(LIMIT);
    const next = await sandbox.execute("open('before').read()");
    expect(next.metadata.result).toBe('kept');
  });

  // guarantee: workspace-limit
  test('is enforced in JavaScript with the same error', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy });
    const result = await sandbox.execute(`
import * as os from 'os';
const fd = os.open('x', os.O_WRONLY | os.O_CREAT, 0o644);
const block = new Uint8Array(300_000).buffer;
const seen = [];
for (let i = 0; i < 5; i++) seen.push(os.write(fd, block, 0, 300_000));
for (let i = 0; i < 100; i++) if (os.mkdir('d' + i) < 0) { seen.push(os.mkdir('last')); break; }
seen`);
    expect(result.metadata.result).toEqual([300_000, 300_000, 300_000, -28, -28, -28]);
  });

  test('is available again after files are deleted', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    const result = await sandbox.execute(`import os
for i in range(10):
    with open('x', 'wb') as f: f.write(bytes(900_000))
    os.remove('x')
'went on'`);
    expect(result.metadata.result).toBe('went on');
  });

  test('is reported to the program as disk size', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    const result = await sandbox.execute("import shutil\nshutil.disk_usage('/app').total <= 1_000_000");
    expect(result.metadata.result).toBe(true);
  });

  test('of zero allows no files and still runs programs', async () => {
    await using sandbox = await createSandbox({
      runtime: 'python',
      policy: { workspace_max_bytes: 0, workspace_max_files: 0 },
    });
    expect((await sandbox.execute("open('x', 'w')")).metadata.error?.type).toBe('OSError');
    expect((await sandbox.execute('1 + 1')).metadata.result).toBe(2);
  });
});
