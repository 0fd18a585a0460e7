/** The rules of docs/specification.md about results, thresholds and events. */
import { createSandbox, EVENTS, type EventName, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { THRESHOLDS } from '../../packages/core/src/analysis/suggested-limits.ts';
import { javascript, python } from '../support/sandbox.ts';

interface Logged {
  readonly level: string;
  readonly message: string;
  readonly event: EventName;
  readonly [field: string]: unknown;
}

/** Runs programs and returns the logged events. */
async function logged(
  programs: readonly string[],
  policy: object = {},
): Promise<{ events: Logged[]; results: SandboxResult[] }> {
  const events: Logged[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    events.push({ level, message, ...(fields as { event: EventName }) });
  const logger = { info: write('info'), warn: write('warn') };
  const sandbox = await createSandbox({
    runtime: 'python',
    policy: { fuel_budget: 300_000_000, ...policy },
    logger,
  });
  const results = [];
  for (const code of programs) results.push(await sandbox.execute(code));
  await sandbox.close();
  return { events, results };
}

const of = (events: readonly Logged[], event: EventName) => events.filter((one) => one.event === event);

describe('Decision 1: Use SandboxResult.metadata for New Fields', () => {
  test('adds both blocks to metadata and no top-level field', async () => {
    const result = await python("open('/etc/passwd')");
    expect(result).not.toHaveProperty('error_guidance');
    expect(result.metadata).toHaveProperty('error_guidance');
    expect(result.metadata).toHaveProperty('fuel_analysis');
  });
});

describe('Decision 2: Error Classification via Pattern Matching', () => {
  test('gives equal runs equal guidance', async () => {
    const runs = await Promise.all([1, 2, 3].map(() => python("d = {'a': 1}\nd['b']")));
    const [first, ...others] = runs.map(({ metadata }) => metadata.error_guidance);
    for (const other of others) expect(other).toEqual(first);
  });
});

test('Decision 3: Fuel Analysis Thresholds (50/75/90)', () => {
  expect(THRESHOLDS.map(([from]) => from)).toEqual([90, 75, 50, 0]);
});

describe('Risk 1: Pattern Matching False Positives', () => {
  test('does not classify by text that the program printed', async () => {
    const { metadata } = await python("import sys\nprint('OutOfFuel', file=sys.stderr)\n{}['k']");
    expect(metadata.error_guidance?.error_type).toBe('DataShape');
  });
});

describe('Rollback Plan', () => {
  test.each([
    [{ error_guidance: false }, ['fuel_analysis']],
    [{ fuel_analysis: false }, ['error_guidance']],
    [{ error_guidance: false, fuel_analysis: false }, []],
  ])('the policy %j adds %j', async (policy, left) => {
    const { results, events } = await logged(["open('/etc/passwd')"], policy);
    const present = ['error_guidance', 'fuel_analysis'].filter((name) => name in results[0]!.metadata);
    expect(present).toEqual(left);
    const [complete] = of(events, 'execution.complete');
    expect(['error_guidance', 'fuel_analysis'].filter((name) => name in complete!)).toEqual(left);
  });
});

describe('Open Question 3: error guidance via structured logging', () => {
  test('logs the start and the completion of a call under one id', async () => {
    const { events, results } = await logged(['print(1)']);
    expect(events.map(({ event }) => event)).toEqual(['execution.start', 'execution.complete']);
    const [start, complete] = events;
    expect(start).toMatchObject({
      level: 'info',
      message: 'execution.start',
      runtime: 'python',
      fuel_budget: 300_000_000,
    });
    expect(complete).toMatchObject({
      execution_id: start!['execution_id'],
      success: true,
      exit_code: 0,
      trap_reason: null,
      fuel_consumed: results[0]!.fuel_consumed,
      fuel_analysis: results[0]!.metadata.fuel_analysis,
    });
    expect(complete).not.toHaveProperty('error_guidance');
  });

  test('includes the guidance in execution.complete', async () => {
    const { events, results } = await logged(["{}['k']"]);
    expect(of(events, 'execution.complete')[0]?.['error_guidance']).toEqual(
      results[0]!.metadata.error_guidance,
    );
  });

  test('logs security events separately', async () => {
    const { events } = await logged(["open('/etc/passwd')", 'while True: pass']);
    expect(of(events, 'security.path_restricted')[0]).toMatchObject({
      level: 'warn',
      error_message: 'FileNotFoundError: /etc/passwd',
    });
    expect(of(events, 'security.limit_exceeded')[0]).toMatchObject({ trap_reason: 'out_of_fuel' });
  });

  test('logs unclassified errors', async () => {
    const { events } = await logged([
      'import sys\nsys.exit(3)',
      "data = bytearray(b'x')\nview = memoryview(data)\ndata.append(1)",
    ]);
    const [exit, exported] = of(events, 'execution.unclassified_error');
    expect(exit).toMatchObject({ level: 'warn', exit_code: 3 });
    expect(exported).toMatchObject({ error_type: 'BufferError', error_module: 'builtins' });
  });

  test('emits only documented events, none of which contains the program', async () => {
    const secret = 'secret-9f3a';
    const { events } = await logged([`x = '${secret}'`, `x = '${secret}'\nraise ValueError`]);
    for (const { event } of events) expect(Object.keys(EVENTS)).toContain(event);
    expect(JSON.stringify(of(events, 'execution.start'))).not.toContain(secret);
  });

  test('ignores exceptions of a logger and rejects a logger without methods', async () => {
    const fail = () => {
      throw new Error('disk full');
    };
    const sandbox = await createSandbox({ runtime: 'python', logger: { info: fail, warn: fail } });
    expect((await sandbox.execute('1 / 0')).exit_code).toBe(1);
    await sandbox.close();
    await expect(createSandbox({ runtime: 'python', logger: {} as never })).rejects.toMatchObject({
      code: 'invalid_argument',
    });
  });
});

describe('guidance from the source', () => {
  test('says that an earlier call defined a name', async () => {
    const { results } = await logged(['table = [1, 2]', 'print(table)']);
    const guidance = results[1]!.metadata.error_guidance!;
    expect(guidance.error_type).toBe('UndefinedName');
    expect(guidance.actionable_guidance.join()).toContain("An earlier call defined 'table'");
  });

  test('quotes the failed line in both languages', async () => {
    const py = (await python('a = 1\nb = a + None')).metadata.error_guidance!;
    expect(py.actionable_guidance).toContain('It failed on line 2: b = a + None');
    const js = (await javascript('const a = 1;\na.b.c();')).metadata.error_guidance!;
    expect(js.actionable_guidance).toContain('It failed on line 2: a.b.c();');
  });
});

describe('Decision 5: Session-Aware Fuel Analysis', () => {
  test('logs session events', async () => {
    const events: Logged[] = [];
    const write = (fields: object, message: string) =>
      events.push({ level: 'any', message, ...(fields as { event: EventName }) });
    const logger = { info: write, warn: write };
    const sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true, logger });
    await sandbox.execute('x = 1');
    await sandbox.checkpoint('one');
    await sandbox.rollback('one');
    const fork = await sandbox.fork();
    await fork.close();
    await sandbox.close();
    const named = events.map(({ event }) => event).filter((event) => event.startsWith('session.'));
    expect(named).toEqual([
      'session.open',
      'session.checkpoint',
      'session.rollback',
      'session.fork',
      'session.close',
      'session.close',
    ]);
    for (const one of events.filter(({ event }) => event.startsWith('session.'))) {
      expect(one['session_id']).toEqual(expect.any(String));
    }
    expect(of(events, 'execution.complete')[0]).toMatchObject({
      session_id: sandbox.session_id,
      state: 'committed',
    });
  });

  test('quotes the line of this call when a function of an earlier call fails', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    await sandbox.execute('# a comment\nimport atexit\ndef late(): return {}["k"]\natexit.register(late)');
    await sandbox.execute('def first(rows):\n    return rows[0]');
    const { metadata } = await sandbox.execute('x = 1\nfirst([])');
    expect(metadata.error_guidance?.error_type).toBe('DataShape');
    expect(metadata.error_guidance?.actionable_guidance.join('\n')).toContain('line 2: first([])');
  });

  test('says that a name was removed by a rollback', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    await sandbox.execute('table = [1]');
    await sandbox.rollback();
    const { metadata } = await sandbox.execute('print(table)');
    expect(metadata.error_guidance?.actionable_guidance.join()).toContain('rolled back');
  });
});
