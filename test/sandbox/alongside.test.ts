import { createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';

test('a sandbox alongside another has the same files, in either language', async () => {
  await using python = await createSandbox({ runtime: 'python' });
  await using javascript = await python.alongside('javascript');
  await python.execute('open("a.txt", "w").write("from python")');
  const seen = await javascript.execute('std.loadFile("a.txt")');
  expect(seen.metadata.result).toBe('from python');
  await javascript.writeFile('b.txt', 'from the host');
  expect((await python.listFiles()).map(({ path }) => path)).toEqual(['a.txt', 'b.txt']);
});

test('calls of two sandboxes over the same files run at the same time and keep what both wrote', async () => {
  await using one = await createSandbox({ runtime: 'python' });
  await using two = await one.alongside('python');
  const done = new AbortController();
  const endless = one.execute('open("endless", "w").close()\nwhile True: pass', {
    fuel_budget: Number.MAX_SAFE_INTEGER,
    timeout_seconds: 100,
    signal: done.signal,
  });
  expect(await two.execute('open("quick", "w").close()')).toMatchObject({ success: true });
  done.abort();
  expect((await endless).metadata.trap_reason).toBe('cancelled');
  expect((await one.listFiles()).map(({ path }) => path)).toEqual(['endless', 'quick']);
});

test('a run tells how much of its fuel it has used, never less than before', async () => {
  await using sandbox = await createSandbox({ runtime: 'python' });
  const told: number[] = [];
  const result = await sandbox.execute('while True: pass', {
    fuel_budget: 2_000_000_000,
    on_progress: ({ fuel_consumed, fuel_budget }) => {
      expect(fuel_budget).toBe(2_000_000_000);
      told.push(fuel_consumed);
    },
  });
  expect(result.metadata.trap_reason).toBe('out_of_fuel');
  expect(told.length).toBeGreaterThan(1);
  expect(told).toEqual([...told].sort((a, b) => a - b));
  expect(told.at(-1)).toBeGreaterThan(100_000_000);
});
