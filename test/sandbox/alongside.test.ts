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
  const order: string[] = [];
  const slow = one
    .execute('import time\ntime.sleep(1)\nopen("slow", "w").close()')
    .then(() => order.push('slow'));
  const quick = two.execute('open("quick", "w").close()').then(() => order.push('quick'));
  await Promise.all([slow, quick]);
  expect(order).toEqual(['quick', 'slow']);
  expect((await one.listFiles()).map(({ path }) => path)).toEqual(['quick', 'slow']);
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
