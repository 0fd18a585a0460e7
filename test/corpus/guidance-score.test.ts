/**
 * A sample of the programs of `npm run bench -- guidance`, so that its published score stays correct.
 *
 * @module-tag full
 */
import { createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { failingPrograms } from '../../tools/bench/guidance/programs.mjs';
import { score, totals } from '../../tools/bench/guidance/score.mjs';

/** One program in this many is in the sample. */
const STEP = 3;
/** Without programs that depend on a time limit, and thus on the speed of the machine. */
const sample = failingPrograms().filter(
  ({ options }, i) => i % STEP === 0 && options.timeout_seconds === undefined,
);

test('error guidance names the cause and the line, and gives no forbidden advice', async () => {
  const scores = [];
  for (const program of sample) {
    const sandbox = await createSandbox({ runtime: program.language });
    for (const code of program.earlier) await sandbox.execute(code);
    scores.push({ program, ...score(program, await sandbox.execute(program.code, program.options)) });
    await sandbox.close();
  }
  const share = totals(scores);
  const problems = scores.flatMap(({ program, problems: found }) =>
    found.map((problem) => `${program.language}: ${program.name}: ${problem}`),
  );
  const message = problems.join('\n');
  expect(share.class.passed / share.class.applicable, message).toBeGreaterThanOrEqual(0.95);
  expect(share.line.passed / share.line.applicable, message).toBeGreaterThanOrEqual(0.9);
  expect(share.allowed.passed, message).toBe(share.allowed.applicable);
});
