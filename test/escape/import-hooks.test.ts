/** Hooks into the import system. They may change the program that installs them and nothing else. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

describe('an import hook', () => {
  // guarantee: fresh-state
  test('in a workspace file affects only that sandbox', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.writeFile('colorsys.py', "raise SystemError('mine')");
    const own = await sandbox.execute('import colorsys');
    expect(own.metadata.error?.type).toBe('SystemError');
    await using other = await createSandbox({ runtime: 'python' });
    expect((await other.execute('import colorsys')).success).toBe(true);
  });
});
