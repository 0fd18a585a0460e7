/** The runner reports a failure when a defence is broken or an expectation does not hold, in every category. */
import { createSandbox } from 'llm-wasm-sandbox';
import { beforeAll, describe, expect, test } from 'vitest';
import type { AttackRow, Category, Verdict } from '../../tools/redteam/src/attack.ts';
import { mismatch } from '../../tools/redteam/src/match.ts';
import { runCli, runCliHere } from '../support/cli.ts';
import { attacksOf, runAttacks, SECRET, Surroundings } from './built.ts';

type WithoutName<Row> = Row extends AttackRow ? Omit<Row, 'name'> : never;
/** What the runner must report, which is the name of the attack, and the expected problem. */
type Case = readonly [reported: string, category: Category, row: WithoutName<AttackRow>, problem: RegExp];

const attackOf = ([name, category, row]: Case) =>
  attacksOf(category, { [category === 'server' ? 'any' : 'python']: [{ name, ...row } as AttackRow] })[0]!;

const CASES: readonly Case[] = [
  ['a wrong value', 'escape', { evaluate: '1 + 1', value: '3' }, /is "2", expected "3"/],
  ['an exception that is missing', 'escape', { evaluate: 'len([])', value: /Error$/ }, /is "0"/],
  ['a secret in the output', 'escape', { code: `print('${SECRET}')` }, /contains the secret/],
  [
    'a program that was not stopped',
    'limits',
    { code: '1', outcomes: ['out_of_fuel'] },
    /ended with finished, expected out_of_fuel/,
  ],
  [
    'a limit other than the expected one',
    'limits',
    {
      code: 'while True: pass',
      policy: { timeout_seconds: 0.1, fuel_budget: 1e15 },
      outcomes: ['out_of_fuel'],
    },
    /ended with timeout/,
  ],
  [
    'a result that differs',
    'truth',
    { code: '7', expect: { metadata: { result: 8 } } },
    /metadata.result is 7/,
  ],
  [
    'a file that is copied',
    'host',
    { mentions: 'import config', file: 'config.py' },
    /config.py would be copied/,
  ],
  [
    'a file that is used',
    'host',
    { plants: 'marker-a file that is used', text: '' },
    /of the host used marker/,
  ],
  [
    'a session with another state',
    'session',
    { steps: [{ run: 'x = 1' }, { run: 'x', expect: { metadata: { result: 2 } } }] },
    /step 2: metadata.result is 1, expected 2/,
  ],
  [
    'a step that should have been rejected',
    'session',
    { steps: [{ open: 'valid', error: 'invalid_argument' }] },
    /step 1: succeeded, expected invalid_argument/,
  ],
  [
    'an error in the host',
    'session',
    { steps: [{ rollback: 'none' }] },
    /step 1: threw checkpoint_not_found/,
  ],
  [
    'a restored session that differs from the live one',
    'session',
    { steps: [{ run: 'import time' }, { sameInFork: 'time.time_ns()' }] },
    /in the live session and/,
  ],
  [
    'growth of memory',
    'host_memory',
    { code: '1', maxGrowthBytes: -1 },
    /resident memory grew by \d+ MiB; the limit is/,
  ],
  [
    'a request that was accepted',
    'server',
    { requests: [{ as: null, method: 'GET', path: '/metrics', status: [200] }] },
    /request 1: status 401, expected 200/,
  ],
  [
    'text that an answer must not contain',
    'server',
    { requests: [{ tool: 'list_runtimes', reject: /python/ }] },
    /the answer matches/,
  ],
  [
    'text that is missing in an answer',
    'server',
    { requests: [{ tool: 'list_runtimes', expect: /cobol/ }] },
    /the answer does not match/,
  ],
  [
    'a server that stalls',
    'server',
    { requests: [{ tool: 'list_runtimes' }], maxStallMs: 0 },
    /did not answer for \d+ ms/,
  ],
  [
    'a problem of several clients',
    'server',
    { attack: async ({ serve }) => [`the server is ${await serve()}`] },
    /the server is http:/,
  ],
  ['no problem for an attack that has failed', 'escape', { evaluate: 'os.fork()', value: /Error$/ }, /^$/],
];

describe('runner', () => {
  let verdicts: readonly Verdict[];
  beforeAll(async () => {
    verdicts = await runAttacks(CASES.map(attackOf));
  });

  test.each(CASES.map(([reported, , , problem], i) => [reported, i, problem] as const))(
    'reports %s',
    (_, i, problem) => {
      expect(verdicts[i]!.problems.join('\n')).toMatch(problem);
    },
  );

  test('reports an expression that was not reached', async () => {
    // Ends the guest, in which other expressions would not be reached either.
    const attack = attackOf(['x', 'escape', { evaluate: 'os.abort()', value: /.*/ }, /not reached/]);
    const [verdict] = await runAttacks([attack]);
    expect(verdict!.problems.join('\n')).toMatch(/not reached: the guest ended with unreachable/);
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
  test('prints the verdicts as a table or as JSON, and exits with 0 if all attacks fail', {
    tags: 'full',
  }, async () => {
    const text = await runCli(['redteam', '--only', 'escape/python/bridge-js']);
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

  test('rejects a selection without attacks', async () => {
    expect(await runCli(['redteam', '--only', 'no-such-attack'])).toMatchObject({ status: 2 });
  });
});
