/** Time limits and cancellation end every program. tools/bench/overshoot.mjs measures how promptly. */
import { createSandbox, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { run } from '../support/sandbox.ts';

const FOREVER: Record<RuntimeName, Record<string, string>> = {
  python: {
    'in a loop': 'while True: pass',
    'in a built-in': 'sum(range(10**13))',
    asleep: 'import time; time.sleep(3600)',
    'in a poll without descriptors': 'import select; select.poll().poll()',
    'in a handler that catches every exception':
      'while True:\n    try:\n        while True: pass\n    except BaseException: pass',
  },
  javascript: {
    'in a loop': 'for (;;) {}',
    'in a built-in': "new Array(4e9 - 1).join('')",
    asleep: "import * as os from 'os'; os.sleep(3600000);",
    'waiting for a timer': 'setTimeout(() => {}, 3600000);',
    'in promise jobs': 'const again = () => Promise.resolve().then(again); again();',
  },
  bash: {
    'in a loop': 'while :; do :; done',
    'in a command': "awk 'BEGIN { while (1) x++ }'",
    asleep: 'sleep 3600',
    'in a pipeline': 'while :; do :; done | cat',
    'in a handler': "trap 'while :; do :; done' EXIT",
  },
};
const CASES = (Object.keys(FOREVER) as RuntimeName[]).flatMap((runtime) =>
  Object.entries(FOREVER[runtime]).map(([where, code]) => [runtime, where, code] as const),
);
const plenty = { fuel_budget: 1e15 };

describe('the time limit', () => {
  // guarantee: time-limit
  test.each(CASES)('ends a program: %s, %s', async (runtime, _, code) => {
    const result = await run(runtime, code, { ...plenty, timeout_seconds: 0.2 });
    expect(result).toMatchObject({ success: false, exit_code: 124, metadata: { trap_reason: 'timeout' } });
    expect(result.metadata.trap_message).toContain('Execution trapped: Timeout');
  });

  test.each(['python', 'javascript', 'bash'] as const)(
    'of a call overrides that of the policy (%s)',
    async (runtime) => {
      await using sandbox = await createSandbox({
        runtime,
        policy: { timeout_seconds: 0.1, fuel_budget: 1e15 },
      });
      const code = FOREVER[runtime]['in a loop']!;
      expect(await sandbox.execute(code)).toMatchObject({
        exit_code: 124,
        metadata: { trap_reason: 'timeout' },
      });
      const longer = await sandbox.execute(code, { timeout_seconds: 0.4 });
      expect(longer).toMatchObject({ exit_code: 124 });
      expect(longer.duration_ms).toBeGreaterThan(390);
    },
  );

  // guarantee: time-limit
  test('does not include queue time, which is reported separately', { tags: 'full' }, async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: plenty });
    await sandbox.execute('1');
    const first = sandbox.execute('import time; time.sleep(1.3)');
    const second = sandbox.execute("print('ran')", { timeout_seconds: 1 });
    expect(await first).toMatchObject({ success: true });
    const result = await second;
    expect(result).toMatchObject({ success: true, stdout: 'ran\n' });
    expect(result.metadata.queue_ms).toBeGreaterThan(1000);
  });

  test('of a microsecond ends a program', async () => {
    for (const runtime of ['python', 'javascript'] as const) {
      const result = await run(runtime, FOREVER[runtime]['in a loop']!, {
        ...plenty,
        timeout_seconds: 0.000001,
      });
      expect(result).toMatchObject({ exit_code: 124, metadata: { trap_reason: 'timeout' } });
    }
  });

  // On an overloaded machine the grace period can be over before the traceback is written, so this may need retries.
  test('is reported with the line that waited in Python, and the limit', { retry: 5 }, async () => {
    const result = await run('python', '\n\nimport time\ntime.sleep(3600)', { timeout_seconds: 0.2 });
    const message = 'the time limit of 0.2 s was exceeded';
    expect(result.metadata.error).toMatchObject({ type: 'Timeout', line: 4, message });
  });
});

describe('cancellation', () => {
  test.each(CASES)('ends a program: %s, %s', async (runtime, _, code) => {
    const result = await run(runtime, code, {
      ...plenty,
      timeout_seconds: 60,
      signal: AbortSignal.timeout(200),
    });
    expect(result).toMatchObject({ success: false, exit_code: 130, metadata: { trap_reason: 'cancelled' } });
    expect(result.metadata.trap_message).toContain('Execution trapped: Cancelled');
  });

  // guarantee: time-limit
  // proves: A call whose signal is already aborted returns at once and runs nothing, however long the queue is.
  test('that precedes the call makes it return at once and run nothing, however long the queue is', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const running = sandbox.execute('import time; time.sleep(0.5); print(1)');
    const result = await sandbox.execute("open('never', 'w')", { signal: AbortSignal.abort() });
    expect(result).toMatchObject({
      exit_code: 130,
      fuel_consumed: 0,
      metadata: { trap_reason: 'cancelled' },
    });
    expect(await running).toMatchObject({ stdout: '1\n' });
    expect(await sandbox.listFiles()).toEqual([]);
  });

  test('in the queue runs nothing and delays no other call', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const cancel = new AbortController();
    const running = sandbox.execute('import time; time.sleep(0.3)');
    const waiting = sandbox.execute("open('never', 'w')", { signal: cancel.signal });
    const last = sandbox.execute('7');
    cancel.abort();
    expect(await waiting).toMatchObject({ exit_code: 130, fuel_consumed: 0 });
    expect(await running).toMatchObject({ success: true });
    expect(await last).toMatchObject({ metadata: { result: 7 } });
    expect(await sandbox.listFiles()).toEqual([]);
  });

  test('affects neither other sandboxes nor later calls', async () => {
    await using one = await createSandbox({ runtime: 'python', policy: plenty });
    await using other = await createSandbox({ runtime: 'python' });
    const cancelled = one.execute('while True: pass', { signal: AbortSignal.timeout(100) });
    const beside = other.execute('import time; time.sleep(0.4); "whole"');
    expect(await cancelled).toMatchObject({ metadata: { trap_reason: 'cancelled' } });
    expect(await beside).toMatchObject({ metadata: { result: 'whole' } });
    expect(await one.execute('8')).toMatchObject({ metadata: { result: 8 } });
  });

  // guarantee: time-limit
  test('ends a program that is sleeping in the grace period of its fuel limit', async () => {
    const handler = '    print("asleep", flush=True)\n    time.sleep(3600)';
    const program = `import time\ntry:\n    while True: pass\nexcept BaseException:\n${handler}`;
    const cancel = new AbortController();
    const result = await run('python', program, {
      fuel_budget: 50_000_000,
      signal: cancel.signal,
      onStdout: () => cancel.abort(),
    });
    // The first limit is the reported one. If the cancellation were ignored, the run would end as worker_lost.
    expect(result).toMatchObject({ exit_code: 152, metadata: { trap_reason: 'out_of_fuel' } });
  });

  test('keeps output and files written before it', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: plenty });
    const program = "open('f', 'w').write('x')\nprint('one', flush=True)\nimport time\ntime.sleep(3600)";
    const cancel = new AbortController();
    const onStdout = () => cancel.abort();
    const result = await sandbox.execute(program, { signal: cancel.signal, timeout_seconds: 60, onStdout });
    expect(result).toMatchObject({ stdout: 'one\n', files_created: ['f'] });
  });
});
