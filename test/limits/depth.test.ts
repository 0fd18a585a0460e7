/** How recursion without end is reported. The attacks in src/redteam/corpus/limits.ts cover its other kinds. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

describe('deep recursion', () => {
  test('in Python is reported with its line', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('def f(n):\n    return f(n + 1)\n\nf(0)');
    expect(result.metadata.error).toMatchObject({ type: 'RecursionError', line: 2 });
  });
});
