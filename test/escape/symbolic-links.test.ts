/** Symbolic links that a guest creates, as the host sees them. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { canaryFile, useCanary } from './attack.ts';

useCanary();

describe('a link', () => {
  // guarantee: file-isolation
  test('created by a guest is not followed by the host', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.execute(`import os\nos.symlink('${canaryFile()}', 'a')\nos.symlink('/app', 'b')`);
    expect(await sandbox.listFiles()).toEqual([]);
    await expect(sandbox.readFile('a')).rejects.toMatchObject({ code: 'file_not_found' });
    await expect(sandbox.readFile('b/a')).rejects.toMatchObject({ code: 'file_not_found' });
  });
});
