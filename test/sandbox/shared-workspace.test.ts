import { createSandbox, type RuntimeName } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import type { Sandbox } from '../../packages/core/src/sandbox/sandbox.ts';

/** A sandbox with its internal method that servers use. */
const create = async (runtime: RuntimeName) => (await createSandbox({ runtime })) as unknown as Sandbox;

test('a sandbox of another runtime in the same workspace sees the same files', async () => {
  await using python = await create('python');
  await using javascript = await python.withRuntime('javascript');
  await python.execute('open("a.txt", "w").write("from python")');
  const seen = await javascript.execute('std.loadFile("a.txt")');
  expect(seen.metadata.result).toBe('from python');
  await javascript.writeFile('b.txt', 'from the host');
  expect((await python.listFiles()).map(({ path }) => path)).toEqual(['a.txt', 'b.txt']);
});

test('two sandboxes in one workspace run at the same time and keep the files of both', async () => {
  await using one = await create('python');
  await using two = await one.withRuntime('python');
  const done = new AbortController();
  let isWritten = () => {};
  const written = new Promise<void>((resolve) => {
    isWritten = resolve;
  });
  const endless = one.execute(
    'open("endless", "w").close()\nprint("written", flush=True)\nwhile True: pass',
    {
      fuel_budget: Number.MAX_SAFE_INTEGER,
      timeout_seconds: 100,
      signal: done.signal,
      onStdout: () => isWritten(),
    },
  );
  await written;
  expect(await two.execute('open("quick", "w").close()')).toMatchObject({ success: true });
  done.abort();
  expect((await endless).metadata.trap_reason).toBe('cancelled');
  expect((await one.listFiles()).map(({ path }) => path)).toEqual(['endless', 'quick']);
});

test('edits that arrive together are made in turns of their own', async () => {
  await using sandbox = await create('javascript');
  let turn = 0;
  const turns: number[] = [];
  const next = () => {
    turn++;
    if (turns.length < 5) setImmediate(next);
  };
  setImmediate(next);
  const edit = () =>
    sandbox.editFiles(() => {
      turns.push(turn);
      return { removed: [], entries: [] };
    });
  await Promise.all([1, 2, 3, 4, 5].map(edit));
  expect(new Set(turns).size).toBe(5);
});

test('progress reports the fuel consumed so far and never decreases', async () => {
  await using sandbox = await createSandbox({ runtime: 'python' });
  const reported: number[] = [];
  const result = await sandbox.execute('while True: pass', {
    fuel_budget: 2_000_000_000,
    onProgress: ({ fuel_consumed, fuel_budget }) => {
      expect(fuel_budget).toBe(2_000_000_000);
      reported.push(fuel_consumed);
    },
  });
  expect(result.metadata.trap_reason).toBe('out_of_fuel');
  expect(reported.length).toBeGreaterThan(1);
  expect(reported).toEqual([...reported].sort((a, b) => a - b));
  expect(reported.at(-1)).toBeGreaterThan(100_000_000);
});
