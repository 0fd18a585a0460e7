/** The runner reports a failure when a defence is broken or an expectation does not hold, in every category. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import type { AttackRow, Category } from '../../src/redteam/attack.ts';
import { mismatch } from '../../src/redteam/match.ts';
import { runCli, runCliHere } from '../support/cli.ts';
import { attacksOf, runAttacks, SECRET, Surroundings } from './built.ts';

/** The problems that the runner reports for a row. */
async function problemsOf(category: Category, row: AttackRow, runtime: 'python' | 'any' = 'python') {
  const [verdict] = await runAttacks(attacksOf(category, { [runtime]: [row] }));
  return verdict!.problems.join('\n');
}

describe('runner', () => {
  test.each<[string, Category, AttackRow, RegExp]>([
    ['a wrong value', 'escape', { name: 'x', evaluate: '1 + 1', value: '3' }, /is "2", expected "3"/],
    ['an exception that is missing', 'escape', { name: 'x', evaluate: 'len([])', value: /Error$/ }, /is "0"/],
    [
      'an expression that was not reached',
      'escape',
      { name: 'x', evaluate: 'os.abort()', value: /.*/ },
      /not reached: the guest ended with unreachable/,
    ],
    ['a secret in the output', 'escape', { name: 'x', code: `print('${SECRET}')` }, /contains the secret/],
    [
      'a program that was not stopped',
      'limits',
      { name: 'x', code: '1', outcomes: ['out_of_fuel'] },
      /ended with finished, expected out_of_fuel/,
    ],
    [
      'a limit other than the expected one',
      'limits',
      {
        name: 'x',
        code: 'while True: pass',
        policy: { timeout_seconds: 0.1, fuel_budget: 1e15 },
        outcomes: ['out_of_fuel'],
      },
      /ended with timeout/,
    ],
    [
      'a result that differs',
      'truth',
      { name: 'x', code: '7', expect: { metadata: { result: 8 } } },
      /metadata.result is 7/,
    ],
    [
      'a session with another state',
      'session',
      { name: 'x', steps: [{ run: 'x = 1' }, { run: 'x', expect: { metadata: { result: 2 } } }] },
      /step 2: metadata.result is 1, expected 2/,
    ],
    [
      'a step that should have been rejected',
      'session',
      { name: 'x', steps: [{ open: 'valid', error: 'invalid_argument' }] },
      /step 1: succeeded, expected invalid_argument/,
    ],
    [
      'an error in the host',
      'session',
      { name: 'x', steps: [{ rollback: 'none' }] },
      /step 1: threw checkpoint_not_found/,
    ],
    [
      'a restored session that differs from the live one',
      'session',
      { name: 'x', steps: [{ run: 'import time' }, { sameInFork: 'time.time_ns()' }] },
      /in the live session and/,
    ],
    [
      'growth of memory',
      'host_memory',
      { name: 'x', code: '1', maxGrowthBytes: -1 },
      /resident memory grew by \d+ MiB; the limit is/,
    ],
  ])('reports %s', async (_, category, row, problem) => {
    expect(await problemsOf(category, row)).toMatch(problem);
  });

  test.each<[string, AttackRow, RegExp]>([
    [
      'a request that was accepted',
      { name: 'x', requests: [{ as: null, method: 'GET', path: '/metrics', status: [200] }] },
      /request 1: status 401, expected 200/,
    ],
    [
      'text that an answer must not contain',
      { name: 'x', requests: [{ tool: 'list_runtimes', reject: /python/ }] },
      /the answer matches/,
    ],
    [
      'text that is missing in an answer',
      { name: 'x', requests: [{ tool: 'list_runtimes', expect: /cobol/ }] },
      /the answer does not match/,
    ],
    [
      'a server that stalls',
      { name: 'x', requests: [{ tool: 'list_runtimes' }], maxStallMs: 0 },
      /did not answer for \d+ ms/,
    ],
  ])('reports %s', async (_, row, problem) => {
    expect(await problemsOf('server', row, 'any')).toMatch(problem);
  });

  test('reports a change of the host and a next run that differs', async () => {
    const surroundings = await Surroundings.create();
    try {
      expect(surroundings.checkHost()).toEqual([]);
      process.env['REDTEAM_SECRET'] = 'changed';
      expect(surroundings.checkHost()).toEqual([expect.stringMatching(/host process: env.REDTEAM_SECRET/)]);
      await using session = await createSandbox({ runtime: 'python', session_id: 'changed' });
      await session.execute('leftover = 1');
      expect(await surroundings.checkNextRun(session as never)).toEqual([
        expect.stringMatching(/the next run: stdout/),
      ]);
    } finally {
      await surroundings.close();
    }
  });

  test('reports no problem for an attack that has failed', async () => {
    expect(await problemsOf('escape', { name: 'x', evaluate: 'os.fork()', value: /Error$/ })).toBe('');
  });
});

describe('pattern', () => {
  test.each<[unknown, unknown, boolean]>([
    [1, 1, true],
    ['1', 1, false],
    ['abc', /b/, true],
    [undefined, /b/, false],
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [[1, 2], [1, 2], true],
    [[1, 2, 3], [1, 2], false],
    [null, {}, false],
    [Number.NaN, Number.NaN, true],
    [{}, { a: undefined }, true],
  ])('compares %j with %j', (value, pattern, matches) => {
    expect(mismatch(value, pattern) === undefined).toBe(matches);
  });
});

describe('redteam command', () => {
  test('prints the verdicts as a table or as JSON, and exits with 0 if all attacks fail', async () => {
    const text = runCli(['redteam', '--only', 'escape/python/bridge-js']);
    expect(text.status).toBe(0);
    expect(text.stdout).toMatch(/^pass +escape\/python\/bridge-js +CVE-2026-25905/m);
    expect(text.stdout).toMatch(/^escape +1 +1 +0$/m);
    const json = await runCliHere(['redteam', '--json', '--only', 'escape/python/bridge-js'], '');
    expect(JSON.parse(json.stdout)).toMatchObject({
      passed: true,
      categories: [{ category: 'escape', attacks: 1, failed: 0 }],
      attacks: [{ id: 'escape/python/bridge-js', passed: true, problems: [] }],
    });
  });

  test('rejects a selection without attacks', () => {
    expect(runCli(['redteam', '--only', 'no-such-attack'])).toMatchObject({ status: 2 });
  });
});
