/** The workspace quota in bytes and in files, against every way to exceed it. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const LIMIT = 1_000_000;
const policy = { workspace_max_bytes: LIMIT, workspace_max_files: 50 };

describe('workspace quota', () => {
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
