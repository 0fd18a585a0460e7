/** How unbounded recursion is reported. The attacks in tools/redteam/src/corpus/limit-attacks.ts cover its other kinds. */
import { createPool, createSandbox, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

/** Prints how deep a recursion through C code goes. */
const counted = (body: string) => `
import sys
sys.setrecursionlimit(10**9)
n = 0
class A:
    def __getattr__(self, name):
        global n
        n += 1
        ${body}
try: A().x
except RecursionError: print(n)
`;

const RECURSIONS: readonly (readonly [RuntimeName, string, string, RegExp | string])[] = [
  ['python', 'methods that C code calls', counted('return self.x'), /^\d{4}\n$/],
  ['python', 'comparisons', counted('return sorted([1, 2], key=lambda _: self.x)'), /^\d{4}\n$/],
  [
    'python',
    'C code that does not check',
    'x = iter([1])\nfor i in range(160_000): x = map(int, x)\nlist(x)',
    'stack_overflow',
  ],
  [
    'javascript',
    'functions',
    'let n = 0; const f = () => { n++; f(); }; try { f() } catch { console.log(n) }',
    /^\d{4}\n$/,
  ],
];

describe('recursion', () => {
  test('in Python is reported with its line', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('def f(n):\n    return f(n + 1)\n\nf(0)');
    expect(result.metadata.error).toMatchObject({ type: 'RecursionError', line: 2 });
  });

  // guarantee: determinism
  // proves: Recursion ends at the same depth in all runs on the same worker.
  test.each(RECURSIONS)('of %s %s ends at the same depth in every run of a worker', async (...row) => {
    const [runtime, , code, expected] = row;
    await using pool = createPool({ maxWorkers: 1 });
    await using sandbox = await createSandbox({ runtime, pool });
    const runs = [];
    for (let run = 0; run < 3; run++) {
      const { stdout, fuel_consumed, metadata } = await sandbox.execute(code);
      runs.push({ stdout, fuel_consumed, trap: metadata.trap_reason });
    }
    if (typeof expected === 'string') expect(runs[0]!.trap).toBe(expected);
    else expect(runs[0]!.stdout).toMatch(expected);
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).toEqual(runs[0]);
  });
});
