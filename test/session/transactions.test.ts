import { createSandbox, memoryStore, type Session } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const LANGUAGES = {
  python: {
    set: 'x = 1\nopen("f", "w").write("one")',
    show: 'print(x, open("f").read())',
    change: 'x = 2\nopen("f", "w").write("two")',
    fail: 'raise ValueError("no")',
    exit: 'import sys; sys.exit(4)',
    hardExit: 'import os; os._exit(4)',
    loop: 'while True: pass',
    stubborn: 'while True:\n    try:\n        while True: pass\n    except BaseException: pass',
  },
  javascript: {
    set: 'let x = 1; std.open("f", "w").puts("one")',
    show: 'console.log(x, std.loadFile("f"))',
    change: 'x = 2; std.open("f", "w").puts("two")',
    fail: 'throw new Error("no")',
    exit: 'std.exit(4)',
    hardExit: 'std.exit(4)',
    loop: 'while (true) {}',
    stubborn: 'for (;;) new Array(1e7).fill(0).sort()',
  },
} as const;

describe.each(Object.keys(LANGUAGES) as (keyof typeof LANGUAGES)[])('call in a %s session', (runtime) => {
  const programs = LANGUAGES[runtime];
  const begin = async (policy = {}): Promise<Session> => {
    const sandbox = await createSandbox({ runtime, auto_persist_globals: true, policy });
    expect((await sandbox.execute(programs.set)).metadata.state).toBe('committed');
    return sandbox;
  };
  const shown = async (sandbox: Session) => (await sandbox.execute(programs.show)).stdout.trim();

  test('keeps its changes when it ends with an exception', async () => {
    await using sandbox = await begin();
    const result = await sandbox.execute(`${programs.change}\n${programs.fail}`);
    expect(result).toMatchObject({ success: false, exit_code: 1, metadata: { state: 'committed' } });
    expect(await shown(sandbox)).toBe('2 two');
  });

  test('is rolled back with memory and files when the process exits without the interpreter', async () => {
    await using sandbox = await begin();
    const result = await sandbox.execute(`${programs.change}\n${programs.hardExit}`);
    expect(result).toMatchObject({ exit_code: 4, files_modified: [], metadata: { state: 'rolled_back' } });
    expect(await shown(sandbox)).toBe('1 one');
  });

  test('keeps its changes when OutOfFuel ends it as an exception', async () => {
    await using sandbox = await begin();
    const result = await sandbox.execute(`${programs.change}\n${programs.loop}`, {
      fuel_budget: 100_000_000,
    });
    expect(result.metadata).toMatchObject({ trap_reason: 'out_of_fuel', state: 'committed' });
    expect(await shown(sandbox)).toBe('2 two');
  });

  test('is rolled back when it ignores its limit', async () => {
    await using sandbox = await begin();
    const result = await sandbox.execute(`${programs.change}\n${programs.stubborn}`, {
      fuel_budget: 500_000_000,
    });
    expect(result.metadata).toMatchObject({ trap_reason: 'out_of_fuel', state: 'rolled_back' });
    expect(await shown(sandbox)).toBe('1 one');
  });

  test('can be undone once by rollback() without a name', async () => {
    await using sandbox = await begin();
    await sandbox.execute(programs.change);
    await sandbox.rollback();
    expect(await shown(sandbox)).toBe('1 one');
    await sandbox.rollback();
    await expect(sandbox.undo()).rejects.toMatchObject({ code: 'nothing_to_undo' });
  });

  test('sees files that the host wrote and deleted since the previous call', async () => {
    await using sandbox = await begin();
    await sandbox.writeFile('f', 'host');
    expect(await shown(sandbox)).toBe('1 host');
    await sandbox.deleteFile('f');
    expect(await shown(sandbox)).not.toContain('host');
  });

  test('starts without variables and with the same files when auto_persist_globals is false', async () => {
    await using sandbox = await createSandbox({
      runtime,
      session_id: `plain-${runtime}`,
      auto_persist_globals: false,
    });
    expect((await sandbox.execute(programs.set)).metadata.state).toBe('fresh');
    const result = await sandbox.execute(programs.show);
    expect(result.success).toBe(false);
    expect(await sandbox.readFile('f', 'utf8')).toBe('one');
  });
});

describe('sessions', () => {
  test('run calls, checkpoints and rollbacks in the order of the requests', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    const answers = await Promise.all([
      sandbox.execute('x = 1'),
      sandbox.checkpoint('one'),
      sandbox.execute('x = 2'),
      sandbox.rollback('one'),
      sandbox.execute('x'),
    ]);
    expect(answers[4].metadata.result).toBe(1);
  });

  test('run in parallel', async () => {
    const sandboxes = await Promise.all(
      Array.from({ length: 6 }, () => createSandbox({ runtime: 'python', auto_persist_globals: true })),
    );
    for (let round = 0; round < 4; round++) {
      await Promise.all(sandboxes.map((sandbox, i) => sandbox.execute(round === 0 ? `x = ${i}` : 'x += 10')));
    }
    const results = await Promise.all(sandboxes.map((sandbox) => sandbox.execute('x')));
    expect(results.map((result) => result.metadata.result)).toEqual([30, 31, 32, 33, 34, 35]);
    await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
  });

  test('can be reopened by id with the same runtime only', async () => {
    const first = await createSandbox({ runtime: 'python', session_id: 'named' });
    await first.execute('x = 5');
    await expect(createSandbox({ runtime: 'python', session_id: 'named' })).rejects.toMatchObject({
      code: 'session_busy',
    });
    await first.close();
    await expect(createSandbox({ runtime: 'javascript', session_id: 'named' })).rejects.toMatchObject({
      code: 'session_mismatch',
    });
    await using again = await createSandbox({ runtime: 'python', session_id: 'named' });
    expect((await again.execute('x')).metadata.result).toBe(5);
    expect(again.session).toMatchObject({ session_id: 'named', calls: 2 });
  });

  test('limit the number of checkpoints and list the existing ones in errors', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    await sandbox.execute('let x = 1');
    expect(await sandbox.checkpoint()).toMatchObject({ name: 'checkpoint-1' });
    for (let i = 2; i <= 32; i++) await sandbox.checkpoint();
    await expect(sandbox.checkpoint()).rejects.toMatchObject({ code: 'session_limit' });
    await sandbox.deleteCheckpoint('checkpoint-3');
    expect((await sandbox.checkpoints()).length).toBe(31);
    await expect(sandbox.rollback('nowhere')).rejects.toThrow(
      'Its checkpoints are: checkpoint-1, checkpoint-2, checkpoint-4',
    );
    await expect(sandbox.checkpoint('../evil')).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  test('spend fuel on an import once, and the fuel analysis reports cached imports', async () => {
    const store = memoryStore();
    const open = () => createSandbox({ runtime: 'python', session_id: 'importing', store });
    const first = await open();
    expect((await first.execute('import openpyxl')).fuel_consumed).toBeGreaterThan(100_000_000);
    const again = [await first.execute('import openpyxl')];
    await first.close();
    // The import stays cached when the session is reopened.
    await using later = await open();
    again.push(await later.execute('import openpyxl'));
    for (const { fuel_consumed, metadata } of again) {
      expect(fuel_consumed).toBeLessThan(1_000_000);
      expect(metadata.imports).toMatchObject([{ name: 'openpyxl', cached: true }]);
      const said = [metadata.fuel_analysis!.recommendation, ...metadata.fuel_analysis!.likely_causes].join(
        ' ',
      );
      expect(said).toContain('cached imports');
    }
  });

  test('show the source of functions from earlier calls in tracebacks', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    await sandbox.execute('def divide(a, b):\n    return a / b  # here');
    const result = await sandbox.execute('divide(1, 0)');
    expect(result.stderr).toContain('File "/app/main.py", line 2, in divide\n    return a / b  # here');
    expect(result.stderr).toContain('File "/app/call-2.py", line 1, in <module>\n    divide(1, 0)');
  });
});
