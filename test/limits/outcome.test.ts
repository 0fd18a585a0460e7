/** The outcome of a run: a closed set of trap reasons with messages and exit codes that no program can imitate. */
import { readFileSync } from 'node:fs';
import { createPool, createSandbox } from 'llm-wasm-sandbox';
import { afterAll, describe, expect, test } from 'vitest';
import { sandboxResult, TRAPS, type TrapReason } from '../../packages/core/src/schema.ts';
import { run, type TestProgram } from '../support/sandbox.ts';

const MiB = 1024 * 1024;

interface WatchedEnding extends TestProgram {
  /** Runs while the program runs. */
  readonly meanwhile?: () => Promise<void>;
}

const LOOPS = { python: 'while True: pass', javascript: 'for (;;) {}' } as const;
const both = (ending: Omit<WatchedEnding, 'runtime' | 'code'>): WatchedEnding[] =>
  (['python', 'javascript'] as const).map((runtime) => ({ runtime, code: LOOPS[runtime], ...ending }));

const pool = createPool({ optimization: 'demand' });
afterAll(() => pool.close());

/** Terminates all workers while the program runs. */
async function loseWorkers(): Promise<void> {
  await expect.poll(() => pool.running).toBeGreaterThan(0);
  await pool.close();
}

/**
 * Programs for every reason. JavaScript has no entry where its interpreter cannot end that way: it checks its stack
 * wherever it recurses (see depth.test.ts), reports failed allocations as exceptions, has no abort, and all imports of
 * its binary are provided.
 */
const ENDINGS: Record<TrapReason, readonly WatchedEnding[]> = {
  out_of_fuel: both({ policy: { fuel_budget: 10_000_000 } }),
  timeout: both({ options: () => ({ timeout_seconds: 0.1 }) }),
  cancelled: both({ options: () => ({ signal: AbortSignal.timeout(100) }) }),
  memory_limit: [
    {
      runtime: 'python',
      code: 'import ctypes\nx = []\ntry:\n    while True: x.append(bytes(100_000))\nexcept MemoryError: ctypes.c_int.from_address(0xffffffff).value',
      policy: { memory_bytes: 40 * MiB },
    },
  ],
  process_limit: [
    {
      runtime: 'python',
      code: 'import os; os.system("f() { (f); }; f")',
      policy: { max_process_depth: 3 },
    },
  ],
  stack_overflow: [
    // C code that recurses without a stack check: hashes of nested objects.
    { runtime: 'python', code: 'x = ()\nfor i in range(1_000_000): x = (x,)\nhash(x)' },
    {
      runtime: 'python',
      code: 'from types import MappingProxyType as M\nx = {}\nfor i in range(1_000_000): x = M(x)\nhash(x)',
    },
  ],
  unreachable: [
    { runtime: 'python', code: 'import os; os.abort()' },
    { runtime: 'python', code: 'import ctypes; ctypes.c_int.from_address(0xffffffff).value' },
  ],
  denied_call: [
    {
      // Function 3 of the binary's table starts the bridge. No name refers to it, so the program forges a pointer.
      runtime: 'python',
      code: `import ctypes
method = ctypes.c_uint.from_address(id(len) + 8).value
ctypes.c_uint.from_address(method + 4).value = 3
len([1])`,
    },
  ],
  worker_lost: both({ meanwhile: loseWorkers }),
};

/** Traps inside C code, where the interpreter cannot raise an exception. */
const HARD: Record<string, TestProgram> = {
  'fuel in a sum': { runtime: 'python', code: 'sum(range(10**12))' },
  'fuel in a database': {
    runtime: 'python',
    code: "import sqlite3; sqlite3.connect(':memory:').execute('with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c').fetchall()",
  },
  'fuel in a join': { runtime: 'javascript', code: "new Array(4e8).join('')" },
  'fuel in a big integer': { runtime: 'javascript', code: 'for (;;) 3n ** 600000n;' },
  'time in a sum': {
    runtime: 'python',
    code: 'sum(range(10**12))',
    policy: { fuel_budget: 1e15, timeout_seconds: 0.2 },
  },
  'an abort': { runtime: 'python', code: 'import os; os.abort()' },
  'a wild pointer': { runtime: 'python', code: 'import ctypes; ctypes.c_int.from_address(0xffffffff).value' },
  'a full stack': {
    runtime: 'python',
    code: 'from functools import reduce; hash(reduce(lambda x, _: (x,), range(1_000_000), ()))',
    policy: { fuel_budget: 1e10 },
  },
};

describe('trap reasons', () => {
  // guarantee: outcome
  test('are a closed set with distinct exit codes', () => {
    expect(Object.keys(TRAPS)).toEqual([
      'out_of_fuel',
      'timeout',
      'cancelled',
      'memory_limit',
      'process_limit',
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

  // guarantee: outcome
  test('are documented in docs/TROUBLESHOOTING.md with their exit codes', () => {
    const text = readFileSync(new URL('../../docs/TROUBLESHOOTING.md', import.meta.url), 'utf8');
    for (const [reason, { exit_code, message }] of Object.entries(TRAPS))
      expect(text).toContain(`| \`${reason}\` | ${exit_code} | ${message} |`);
  });

  // guarantee: outcome
  // proves: Each trap reason has a test program.
  test('each have a test program', () => {
    expect(Object.keys(ENDINGS)).toEqual(Object.keys(TRAPS));
    for (const endings of Object.values(ENDINGS)) expect(endings.length).toBeGreaterThan(0);
  });

  const cases = Object.entries(ENDINGS).flatMap(([reason, endings]) =>
    endings.map((ending) => [reason as TrapReason, ending.runtime, ending] as const),
  );
  // guarantee: outcome
  test.each(cases)(
    'are reported with a message and an exit code: %s, %s',
    async (reason, runtime, ending) => {
      await using sandbox = await createSandbox({
        runtime,
        policy: { fuel_budget: 1e10, ...ending.policy },
        pool,
      });
      const running = sandbox.execute(ending.code, ending.options?.());
      await ending.meanwhile?.();
      const result = await running;
      expect(sandboxResult.safeParse(result).success).toBe(true);
      expect(result).toMatchObject({ success: false, exit_code: TRAPS[reason].exit_code });
      expect(result.metadata).toMatchObject({ trapped: true, trap_reason: reason });
      expect(result.metadata.trap_message).toContain(TRAPS[reason].message);
      expect(result.metadata.error_guidance?.actionable_guidance.length).toBeGreaterThan(0);
      expect(await sandbox.execute('6 * 7')).toMatchObject({ success: true, metadata: { result: 42 } });
    },
  );

  test.each(Object.entries(HARD))('inside C code are reported with the line: %s', async (_, ending) => {
    const { runtime, code, policy } = ending;
    await using sandbox = await createSandbox({ runtime, policy: { fuel_budget: 100_000_000, ...policy } });
    const { metadata, stderr } = await sandbox.execute(`\n\n${code}`);
    expect(metadata).toMatchObject({ trapped: true, error: { line: 3 } });
    expect(metadata.error_guidance?.actionable_guidance.join('\n')).toContain('at line 3');
    expect(stderr).toBe('');
  });

  // guarantee: outcome
  test('are reported without running hooks that a program installs for stack traces', async () => {
    // Creating an error in the guest would run these hooks. The host reads the line from memory instead.
    const program = `Error.prepareStackTrace = () => { console.log('seen'); std.writeFile('seen', ''); for (;;) {} };
globalThis.Error = function () { console.log('seen'); for (;;) {} };
new Array(4e8).join('')`;
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const result = await sandbox.execute(program, { fuel_budget: 100_000_000 });
    expect(result).toMatchObject({ exit_code: 152, stdout: '', stderr: '', files_created: [] });
    expect(result.fuel_consumed).toBeLessThanOrEqual(150_000_000);
  });

  // guarantee: outcome
  test('are reported without running accessors that a program installs on code objects', async () => {
    // Reading co_filename in the guest would sleep. The interpreter caches attributes of types.
    const program = `import gc, sys, time, types
isOver = False
def name(self):
    if isOver: time.sleep(3600)
    return 'mine'
attributes = gc.get_referents(types.CodeType.__dict__)[0]
original = attributes['co_filename']
attributes['co_filename'] = property(name)
sys._clear_type_cache()
print(name.__code__.co_filename)
isOver = True
try:
    while True: pass
except BaseException: pass
sum(range(10**12))`;
    await using sandbox = await createSandbox({ runtime: 'python' });
    const limits = { fuel_budget: 1_000_000_000, timeout_seconds: 3600 };
    expect(await sandbox.execute(program, limits)).toMatchObject({ exit_code: 152, stdout: 'mine\n' });
  });
});

describe('run that is not stopped', () => {
  test.each([
    ['python', '', 0],
    ['python', 'raise SystemExit(7)', 7],
    ['python', '1 / 0', 1],
    ['python', 'import os; os._exit(9)', 9],
    ['python', 'raise SystemExit(152)', 152],
    ['javascript', '', 0],
    ['javascript', "import * as std from 'std'; std.exit(7)", 7],
    ['javascript', 'throw 1', 1],
  ] as const)('has the exit code of the program and no trap: %s %j', async (runtime, code, exitCode) => {
    const result = await run(runtime, code);
    expect(result).toMatchObject({ exit_code: exitCode, success: exitCode === 0 });
    expect(result.metadata).toMatchObject({ trapped: false, trap_reason: null, trap_message: null });
    expect(sandboxResult.safeParse(result).success).toBe(true);
  });

  test('is not classified by its output', async () => {
    const result = await run(
      'python',
      "import sys\nprint('Error: OutOfFuel Traceback trapped', file=sys.stderr)",
    );
    expect(result).toMatchObject({ success: true, exit_code: 0 });
  });
});

describe('interpreter', () => {
  test('stays usable during the grace period and is fresh in the next call', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('x = 1\ntry:\n    while True: x += 1\nfinally: print(x > 1000)', {
      fuel_budget: 50_000_000,
    });
    expect(result.stdout).toBe('True\n');
    expect(await sandbox.execute("'x' in globals()")).toMatchObject({ metadata: { result: false } });
  });
});
