/** The fuel budget: it is exact, raises an exception on the current line, and has a fixed grace period. */
import { createSandbox, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { GRACE } from '../../packages/core/src/engine/run-context.ts';
import { code, run } from '../support/sandbox.ts';

const PROGRAMS: Record<Exclude<RuntimeName, 'bash'>, string> = {
  python: 'total = 0\nfor i in range(2000): total += i * i\ntotal',
  javascript: 'let total = 0; for (let i = 0; i < 2000; i++) total += i * i; total',
};

describe.each(['python', 'javascript'] as const)('the fuel limit: %s', (runtime) => {
  // guarantee: fuel-limit
  test('is exact: the fuel that a program needs is enough, one unit less is not', async () => {
    const { fuel_consumed: needed } = await run(runtime, PROGRAMS[runtime]);
    const enough = await run(runtime, PROGRAMS[runtime], { fuel_budget: needed });
    expect(enough).toMatchObject({
      success: true,
      fuel_consumed: needed,
      metadata: { result: 2_664_667_000 },
    });
    const short = await run(runtime, PROGRAMS[runtime], { fuel_budget: needed - 1 });
    expect(short).toMatchObject({ success: false, exit_code: 152, metadata: { trap_reason: 'out_of_fuel' } });
    expect(short.fuel_consumed).toBeGreaterThanOrEqual(needed - 1);
  });

  test('counts the same fuel in every run, whatever the other limits are', async () => {
    const runs = [
      await run(runtime, PROGRAMS[runtime]),
      await run(runtime, PROGRAMS[runtime], { timeout_seconds: 7.25 }),
      await run(runtime, PROGRAMS[runtime], { fuel_budget: 123_456_789 }),
    ];
    expect(new Set(runs.map(({ fuel_consumed }) => fuel_consumed)).size).toBe(1);
  });

  test('counts the work inside built-in functions', async () => {
    const programs = {
      python: ['sum(range(1000))', 'sum(range(1_000_000))'],
      javascript: ["new Array(1e3).join('x').length", "new Array(1e6).join('x').length"],
    }[runtime];
    const [small, large] = await Promise.all(programs.map((program) => run(runtime, program)));
    expect(large!.fuel_consumed - small!.fuel_consumed).toBeGreaterThan(1_000_000);
  });

  test('counts the preparation of a long program', async () => {
    const program = { python: '#\n'.repeat(20_000), javascript: ';'.repeat(40_000) }[runtime];
    const { fuel_consumed: needed } = await run(runtime, program);
    expect(needed).toBeGreaterThan(30_000_000);
    const exact = await run(runtime, program, { fuel_budget: needed });
    expect(exact).toMatchObject({ success: true, fuel_consumed: needed });
    const short = await run(runtime, program, { fuel_budget: needed - 1 });
    expect(short.metadata.trap_reason).toBe('out_of_fuel');
  });

  test('starts at zero for every call', async () => {
    await using sandbox = await createSandbox({ runtime });
    const first = await sandbox.execute(PROGRAMS[runtime]);
    await sandbox.execute(PROGRAMS[runtime], { fuel_budget: 1_000 });
    expect((await sandbox.execute(PROGRAMS[runtime])).fuel_consumed).toBe(first.fuel_consumed);
  });

  test('stops a program with a budget of one instruction', async () => {
    const say = { python: "print('here')", javascript: "console.log('here')" }[runtime];
    const result = await run(runtime, say, { fuel_budget: 1 });
    expect(result).toMatchObject({ exit_code: 152, metadata: { trap_reason: 'out_of_fuel' } });
    expect(result.fuel_consumed).toBeLessThanOrEqual(1 + GRACE.fuel);
  });

  // guarantee: fuel-limit
  test('stops a program before a bulk instruction that the budget does not cover', async () => {
    const fill = { python: 'x = bytearray(200_000_000)', javascript: 'new Uint8Array(200_000_000).fill(1)' }[
      runtime
    ];
    const result = await run(runtime, fill, { fuel_budget: 2_000_000 });
    expect(result).toMatchObject({ exit_code: 152, metadata: { trap_reason: 'out_of_fuel' } });
    expect(result.fuel_consumed).toBeLessThanOrEqual(2_000_000 + GRACE.fuel);
  });
});

describe('the line of an OutOfFuel error', () => {
  // guarantee: fuel-limit
  // proves: In Python, the traceback and the error name the line at which the fuel ran out.
  test('is in the traceback and in the error in Python', async () => {
    const program = code`
      def spin():
          n = 0
          while True:
              n += 1

      def outer():
          spin()

      outer()
    `;
    const result = await run('python', program, { fuel_budget: 100_000_000 });
    expect(result.metadata.error).toMatchObject({
      type: 'OutOfFuel',
      message: 'the fuel budget of 100000000 is used up',
    });
    expect([3, 4]).toContain(result.metadata.error?.line);
    expect(result.stderr).toMatch(/line 9, in <module>[\s\S]*line 7, in outer[\s\S]*line [34], in spin/);
    expect(result.stderr).not.toContain('_sandbox');
  });

  test('is in the stack and in the error in JavaScript', async () => {
    const program = code`
      function spin() {
        for (let n = 0; ; ) {
          n = n + 1;
        }
      }
      function outer() {
        spin();
      }
      outer();
    `;
    const result = await run('javascript', program, { fuel_budget: 100_000_000 });
    expect(result.metadata.error).toMatchObject({
      type: 'OutOfFuel',
      message: 'the fuel budget of 100000000 is used up',
    });
    expect([2, 3]).toContain(result.metadata.error?.line);
    // The stack of QuickJS has the line of the last call, or of the function if it calls nothing.
    expect(result.stderr).toMatch(
      /^Uncaught .*\n +at spin \(\/app\/main\.js:1:\d+\)\n +at outer \(\/app\/main\.js:7:\d+\)\n.*main\.js:9:/,
    );
    expect(result.metadata.stopped_at).toMatchObject({
      line: result.metadata.error?.line,
      function: 'spin',
    });
  });

  // QuickJS polls for interrupts at calls and at jumps back to the head of a loop, and acts on every ten-thousandth poll.
  // After a jump it reports the last position before the loop.
  test('is a line of the loop in JavaScript, whichever position the stack has', async () => {
    for (const calls of [0, 1, 2, 3]) {
      const before = 'work(0); '.repeat(calls);
      const program = `function work(x) { return x + 1; }\n${before}\nlet n = 0;\nfor (;;) {\n  n = work(n);\n}`;
      const { metadata, stderr } = await run('javascript', program, { fuel_budget: 100_000_000 });
      const position = calls === 0 ? '[15]' : '[25]';
      expect(stderr).toMatch(
        new RegExp(
          `^Uncaught .*\\n( +at work \\(/app/main\\.js:1:\\d+\\)\\n)? +at <eval> \\(/app/main\\.js:${position}:`,
        ),
      );
      expect([1, 4, 5]).toContain(metadata.error?.line);
    }
  });

  test('is that of a long regular expression, sort or power', async () => {
    for (const line of [
      "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
      '3 ** 20000000',
      'sorted([K(), K()])',
    ]) {
      const program = `class K:\n    def __lt__(self, other): return any(iter(int, 1))\n\n${line}`;
      const result = await run('python', program, { fuel_budget: 100_000_000 });
      expect(result.metadata.trap_reason).toBe('out_of_fuel');
      expect(result.metadata.error?.line).toBe(line.startsWith('sorted') ? 2 : 4);
    }
  });
});

describe('the grace period', () => {
  test('lets a program clean up without changing the outcome', async () => {
    const program = code`
      try:
          while True: pass
      finally:
          open('kept.txt', 'w').write('kept')
          print('cleaned up')
    `;
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute(program, { fuel_budget: 100_000_000 });
    expect(result).toMatchObject({
      success: false,
      exit_code: 152,
      stdout: 'cleaned up\n',
      files_created: ['kept.txt'],
    });
    expect(await sandbox.readFile('kept.txt', 'utf8')).toBe('kept');
  });

  // guarantee: fuel-limit
  test('is granted once and is as long as documented', async () => {
    const program = 'while True:\n    try:\n        while True: pass\n    except BaseException: pass';
    for (const budget of [1_000_000, 77_777_777, 300_000_000]) {
      const { fuel_consumed } = await run('python', program, { fuel_budget: budget });
      expect(fuel_consumed).toBeGreaterThan(budget + 0.9 * GRACE.fuel);
      expect(fuel_consumed).toBeLessThanOrEqual(budget + GRACE.fuel);
    }
  });

  test('does not run catch or finally blocks in JavaScript', async () => {
    const program =
      "try { for (;;) {} } catch { console.log('caught'); } finally { console.log('finally'); }";
    const result = await run('javascript', program, { fuel_budget: 100_000_000 });
    expect(result).toMatchObject({ exit_code: 152, stdout: '' });
  });
});

// guarantee: fuel-limit
test.each([
  [
    'a monitoring callback',
    `import sys
def busy(*_):
    if sys._getframe(1).f_code.co_name == 'prepare':
        for _ in range(3_000_000): pass
m = sys.monitoring
m.use_tool_id(1, 'x')
m.register_callback(1, m.events.PY_START, busy)
m.set_events(1, m.events.PY_START)`,
  ],
  [
    'a profile function',
    `import sys
def busy(frame, event, arg):
    if event == 'call' and frame.f_code.co_name == 'prepare':
        for _ in range(3_000_000): pass
sys.setprofile(busy)`,
  ],
  [
    'a patched environment',
    `import os
def busy(*_):
    for _ in range(3_000_000): pass
os.environ.__class__.update = busy`,
  ],
])('fuel includes the work of hooks that run before the next call of a session: %s', async (_, code) => {
  await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
  await sandbox.execute('1');
  const plain = (await sandbox.execute('1')).fuel_consumed;
  await sandbox.execute(code);
  const hooked = (await sandbox.execute('1')).fuel_consumed;
  expect(plain).toBeLessThan(5_000_000);
  expect(hooked).toBeGreaterThan(50_000_000);
  const stopped = await sandbox.execute('1', { fuel_budget: 20_000_000 });
  expect(stopped.metadata.trap_reason).toBe('out_of_fuel');
});
