/** The executor of Cloudflare's code mode, with the published package. */
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { type CodemodeExecutor, codemodeExecutor } from 'llm-wasm-sandbox/adapters';
import { afterAll, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { INSTALL_TIMEOUT_MS, install, runSlotExample, typeErrors } from './framework-project.ts';

const PACKAGES = ['@cloudflare/codemode@0.5.6', '@tanstack/ai@0.58.0', 'ai@7.0.173', 'zod@4.6.7'];
const installed = (context: TestContext) => install('codemode', PACKAGES, context);

const TYPED = `
import type { Executor } from '@cloudflare/codemode';
import { createSandbox } from 'llm-wasm-sandbox';
import { codemodeExecutor } from 'llm-wasm-sandbox/adapters';
export const executor: Executor = codemodeExecutor(await createSandbox({ runtime: 'javascript' }));
`;

describe('executor of code mode', { timeout: INSTALL_TIMEOUT_MS }, () => {
  test('has the type of the package', (context) => {
    expect(typeErrors(installed(context), TYPED)).toBe('');
  });

  test('runs the function of a model with the tool of the package', (context) => {
    expect(runSlotExample('codemode', installed(context))).toBe("{ result: 21, logs: [ 'Paris' ] }\n");
  });
});

describe('codemodeExecutor', () => {
  let sandbox: Sandbox;
  let executor: CodemodeExecutor;
  beforeAll(async () => {
    sandbox = await createSandbox({ runtime: 'javascript', policy: { fuel_budget: 300_000_000 } });
    executor = codemodeExecutor(sandbox);
  });
  afterAll(() => sandbox.close());

  test('calls the functions of providers, preludes and connectors', async () => {
    const db = {
      name: 'db',
      fns: { one: async (x: unknown) => x },
      prelude: 'db.twice = async (n) => 2 * (await db.one(n));',
    };
    const gh = { name: 'gh', binding: { callTool: async (method: string, args: unknown) => [method, args] } };
    const code = 'async () => [await db.twice(4), await gh.list({ q: 1 })]';
    expect(await executor.execute(code, [db], { connectors: [gh] })).toEqual({
      result: [8, ['list', { q: 1 }]],
      logs: [],
    });
  });

  test('returns failures as errors', async () => {
    const error = async (code: string) => (await executor.execute(code, {})).error;
    expect(await error('async () => codemode.missing()')).toBe('There is no tool codemode.missing.');
    expect(await error('async () => codemode.constructor("x")')).toMatch('no tool codemode.constructor');
    expect(await error('async () => { throw new Error("no"); }')).toBe('no');
    expect(await error('async () => { while (true); }')).toMatch(/OutOfFuel/);
    expect(await error('async () => {')).toEqual(expect.any(String));
    expect(await error('async () => fetch("http://localhost")')).toEqual(expect.any(String));
  });
});
