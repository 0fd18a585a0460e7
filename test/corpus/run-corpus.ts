/** Tests that run all programs of a corpus in one sandbox, because creating one for each takes longer. */
import { createSandbox, type RuntimeName, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { FailingProgram } from './failing-program.ts';

const FUEL_BUDGET = 1_000_000_000;

export function runCorpus(runtime: RuntimeName, programs: readonly FailingProgram[]): void {
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandbox = await createSandbox({ runtime, policy: { fuel_budget: FUEL_BUDGET } });
  });
  afterAll(() => sandbox.close());

  test.each(programs.map((program) => [program.code, program] as const))(
    'guidance for %j',
    async (code, program) => {
      for (const { path } of await sandbox.listFiles()) await sandbox.deleteFile(path);
      const result = await sandbox.execute(code, { ...program.options, files: program.files ?? {} });
      const { error_guidance: guidance, error } = result.metadata;
      expect(result.success).toBe(false);
      expect({ type: guidance?.error_type ?? null, error }).toMatchObject({ type: program.type });
      const lines = guidance?.actionable_guidance ?? [];
      if (program.says !== undefined) expect(lines.join('\n')).toContain(program.says);
      for (const line of lines) {
        expect(line).not.toMatch(/\[object|\n/);
        expect(line.length).toBeLessThanOrEqual(600);
      }
    },
  );
}
