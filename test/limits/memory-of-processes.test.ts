/**
 * The memory limit of calls whose programs are random trees of processes: shells that copy themselves, pipes, children of other
 * languages, and growth anywhere. Several run at once, and the resident memory of this process is measured.
 */
import fc from 'fast-check';
import { createPool, createSandbox, type Pool } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import '../support/property-seed.ts';
import { repetitions } from '../support/repetitions.ts';

const MiB = 1024 * 1024;
const LIMIT = 64 * MiB;
/** What a thread may take besides the memory of its call: guests that wait for the next one, code, and copies of pipes that grow. */
const MARGIN = 128 * MiB;
const AT_ONCE = 3;

const size = fc.integer({ min: 500_000, max: 6_000_000 });

/** Growth, then a read from the common pipe, in which the copies that have not run yet run. */
const grow = size.map((bytes) => `printf -v x$((n++)) '%*s' ${bytes} ''`);
const leaf = fc.oneof(
  { weight: 5, arbitrary: grow },
  { weight: 4, arbitrary: fc.constant('read -r line <&$r') },
  { weight: 1, arbitrary: size.map((bytes) => `head -c ${bytes} /dev/zero`) },
  { weight: 1, arbitrary: size.map((bytes) => `python3 -c 'print(len(bytearray(${bytes} * 2)))'`) },
  { weight: 1, arbitrary: size.map((bytes) => `node -p 'new Uint8Array(${bytes} * 2).fill(1).length'`) },
  { weight: 1, arbitrary: fc.constant('sleep 0.001') },
);

const { commands } = fc.letrec<{ commands: string; command: string }>((tie) => ({
  command: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    tie('commands').map((body) => `{ ${body}\n} &`),
    tie('commands').map((body) => `( ${body} )`),
    tie('commands').map((body) => `y$((n++))=$( ${body} )`),
    fc.tuple(tie('commands'), tie('commands')).map(([one, two]) => `{ ${one}\n} | { ${two}\n}`),
  ),
  commands: fc.array(tie('command'), { minLength: 1, maxLength: 5 }).map((list) => list.join('\n')),
}));

/** All copies can read from one pipe, whose writer runs last: a copy that reads runs the others inside its call. */
const COMMON_PIPE = `n=0
coproc C { for i in {1..40}; do echo line; done; }
exec {w}>&\${C[1]} {r}<&\${C[0]}`;

const copies = fc.array(commands, { maxLength: 9 });
const programs = fc
  .tuple(copies, commands)
  .map(([bodies, last]) =>
    [COMMON_PIPE, ...bodies.map((body) => `{ ${body}\nread -r line <&$r; } &`), last, 'wait'].join('\n'),
  );

describe('the memory of a call', () => {
  let pool: Pool;
  beforeAll(async () => {
    pool = createPool({ maxWorkers: AT_ONCE, optimization: 'demand' });
    await Promise.all(
      Array.from({ length: AT_ONCE }, () => run("python3 -c '1'; node -p 1; head -c 1 /dev/zero")),
    );
  });
  afterAll(() => pool.close());

  async function run(program: string) {
    const policy = { memory_bytes: LIMIT, fuel_budget: 2e9, timeout_seconds: 100 };
    await using sandbox = await createSandbox({ runtime: 'bash', pool, policy });
    return await sandbox.execute(program);
  }

  // guarantee: memory-limit
  test('never exceeds its limit, whatever tree of processes grows', { tags: 'full' }, async () => {
    const before = process.memoryUsage.rss();
    let [peak, full, refused] = [before, 0, 0];
    const timer = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage.rss());
    }, 5);
    const atOnce = fc.array(programs, { minLength: AT_ONCE, maxLength: AT_ONCE });
    try {
      await fc.assert(
        fc.asyncProperty(atOnce, async (texts) => {
          for (const { memory_used_bytes, stderr } of await Promise.all(texts.map(run))) {
            expect(memory_used_bytes).toBeLessThanOrEqual(LIMIT);
            if (memory_used_bytes > 0.9 * LIMIT) full++;
            if (/cannot allocate|Out of memory/.test(stderr)) refused++;
          }
        }),
        { numRuns: repetitions(4, 100) },
      );
    } finally {
      clearInterval(timer);
    }
    expect(peak - before).toBeLessThan(AT_ONCE * (LIMIT + MARGIN));
    expect(Math.min(full, refused)).toBeGreaterThan(2);
  });
});
