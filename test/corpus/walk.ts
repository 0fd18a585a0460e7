/** Runs a corpus through one sandbox, so that two hundred programs take seconds. */
import { createSandbox, type RuntimeName, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Failing } from './program.ts';

const BUDGET = 1_000_000_000;

export function walkCorpus(runtime: RuntimeName, programs: readonly Failing[]): void {
  let sandbox: Sandbox;

  beforeAll(async () => {
    sandbox = await createSandbox({ runtime, policy: { fuel_budget: BUDGET } });
  });
  afterAll(() => sandbox.close());

  test.each(programs.map((program) => [program.code, program] as const))('%j', async (code, program) => {
    for (const { path } of await sandbox.listFiles()) await sandbox.deleteFile(path);
    const result = await sandbox.execute(code, { ...program.options, files: program.files ?? {} });
    const { error_guidance: guidance } = result.metadata;
    expect(result.success).toBe(false);
    expect({ type: guidance?.error_type ?? null, error: result.metadata.error }).toMatchObject({
      type: program.type,
    });
    if (program.says !== undefined) expect(guidance?.actionable_guidance.join('\n')).toContain(program.says);
    for (const line of guidance?.actionable_guidance ?? []) {
      expect(line).not.toMatch(/\[object|\n/);
      expect(line.length).toBeLessThanOrEqual(600);
    }
  });

  test('at least nine of ten get a specific type', () => {
    const known = programs.filter(({ type }) => type !== null).length;
    expect(known / programs.length).toBeGreaterThanOrEqual(0.9);
  });
}
