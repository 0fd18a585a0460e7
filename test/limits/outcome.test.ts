/** How a run ended: a closed set of reasons, each with its words and its exit code, and what programs can make of it. */
import { readFileSync } from 'node:fs';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { sandboxResult, TRAPS } from '../../src/schema.ts';
import { run } from '../support/sandbox.ts';

describe('the reasons of a trap', () => {
  test('are a closed set with exit codes of their own', () => {
    expect(Object.keys(TRAPS)).toEqual([
      'out_of_fuel',
      'timeout',
      'cancelled',
      'memory_limit',
      'stack_overflow',
      'unreachable',
      'denied_call',
      'worker_lost',
    ]);
    const codes = Object.values(TRAPS).map(({ exit_code }) => exit_code);
    expect(new Set(codes).size).toBe(codes.length);
    for (const { message, exit_code } of Object.values(TRAPS)) {
      expect(message).toMatch(/^Execution trapped: [A-Z][A-Za-z]+$/);
      expect(exit_code).toBeGreaterThan(100);
      expect(exit_code).toBeLessThan(256);
    }
  });

  test('are documented with their exit codes', () => {
    const text = readFileSync(new URL('../../SECURITY.md', import.meta.url), 'utf8');
    for (const [reason, { exit_code, message }] of Object.entries(TRAPS))
      expect(text).toContain(`| \`${reason}\` | ${exit_code} | ${message} |`);
  });

  test.each([
    ['out_of_fuel', 'while True: pass', { fuel_budget: 10_000_000 }],
    ['timeout', 'import time; time.sleep(100)', { timeout_seconds: 0.1 }],
    ['cancelled', 'import time; time.sleep(100)', { signal: AbortSignal.timeout(100) }],
    ['unreachable', 'import os; os.abort()', {}],
  ] as const)('%s come with their words and code', async (reason, code, options) => {
    const result = await run('python', code, options);
    expect(sandboxResult.safeParse(result).success).toBe(true);
    expect(result).toMatchObject({ success: false, exit_code: TRAPS[reason].exit_code });
    expect(result.metadata).toMatchObject({ trapped: true, trap_reason: reason });
    expect(result.metadata.trap_message).toContain(TRAPS[reason].message);
  });
});

describe('a run that ends by itself', () => {
  test.each([
    ['python', '', 0],
    ['python', 'raise SystemExit(7)', 7],
    ['python', '1 / 0', 1],
    ['python', 'import os; os._exit(9)', 9],
    ['python', 'raise SystemExit(152)', 152],
    ['javascript', '', 0],
    ['javascript', "import * as std from 'std'; std.exit(7)", 7],
    ['javascript', 'throw 1', 1],
  ] as const)('%s %j has its own exit code and no trap', async (runtime, code, exitCode) => {
    const result = await run(runtime, code);
    expect(result).toMatchObject({ exit_code: exitCode, success: exitCode === 0 });
    expect(result.metadata).toMatchObject({ trapped: false, trap_reason: null, trap_message: null });
    expect(sandboxResult.safeParse(result).success).toBe(true);
  });

  test('is judged by its end, not by its words', async () => {
    const result = await run(
      'python',
      "import sys\nprint('Error: OutOfFuel Traceback trapped', file=sys.stderr)",
    );
    expect(result).toMatchObject({ success: true, exit_code: 0 });
  });
});

describe('the interpreter', () => {
  test('stays usable within the grace, and fresh after it', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('x = 1\ntry:\n    while True: x += 1\nfinally: print(x > 1000)', {
      fuel_budget: 50_000_000,
    });
    expect(result.stdout).toBe('True\n');
    expect(await sandbox.execute("'x' in globals()")).toMatchObject({ metadata: { result: false } });
  });
});
