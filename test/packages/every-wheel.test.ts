/**
 * Runs a program that uses its native part with every wheel in the folders that PIP_FIND_LINKS names, and in their subfolders
 * "official" and "community". All of them take minutes and need pip for some packages in pure Python, so only the nightly
 * tests run them. Five of them run together in all other tests, which takes some seconds.
 *
 * @module-tag full
 */
import { randomUUID } from 'node:crypto';
import { createSandbox, diskStore, openSessions, type SandboxResult, type Session } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pureWheels, wheelCases } from '../../scripts/native-wheels.mjs';
import { temporarySessionStore } from '../support/cli-sessions.ts';
import { isNightly } from '../support/repetitions.ts';

const cases = wheelCases();
const find = (id: RegExp) => cases.find((one) => id.test(one.id));
const quick = [
  /^numpy .*official/,
  /^lxml .*official/,
  /^cryptography .*official/,
  /^shapely /,
  /^ujson /,
].map(find);
const isAvailable = quick.every((one) => one !== undefined);
const REASON = isAvailable ? '' : ' (skipped: PIP_FIND_LINKS names no folder with the wheels)';

const policy = {
  memory_bytes: 512 * 2 ** 20,
  timeout_seconds: 300,
  fuel_budget: 50_000_000_000,
  deterministic: true,
};
/** Each name of a package once. */
const packages = [
  ...new Map(
    quick.flatMap((one) => one?.packages ?? []).map((path) => [path.replace(/^.*\/|-.*$/g, ''), path]),
  ).values(),
];

const summary = ({ success, stderr, fuel_consumed }: SandboxResult) => ({ success, stderr, fuel_consumed });
const PASSED = { success: true, stderr: '', fuel_consumed: expect.any(Number) };

describe.skipIf(!isAvailable)(`real wheels${REASON}`, () => {
  const open = (more = {}) =>
    createSandbox({ runtime: 'python', packages, policy, auto_persist_globals: true, ...more });
  const stored = temporarySessionStore();
  let session: Session;
  beforeAll(async () => {
    session = await open();
  }, 300_000);
  afterAll(() => session.close());

  test.each(quick.map((one) => [one?.id, one?.code] as const))('%s works', async (_, code) => {
    expect(summary(await session.execute(code!))).toEqual(PASSED);
  });

  test('numpy reports what LAPACK reports', async () => {
    const attempts = [
      'inv([[1., 2.], [2., 4.]])',
      'solve([[0.]], [1.])',
      'cholesky([[1., 2.], [2., 1.]])',
    ].map(
      (call) => `
try: np.linalg.${call}
except np.linalg.LinAlgError as error: messages.append(str(error))`,
    );
    const { metadata } = await session.execute(
      `import numpy as np\nmessages = []${attempts.join('')}\n[messages, np.linalg.inv([[2.]]).tolist()]`,
    );
    expect(metadata.result).toEqual([
      ['Singular matrix', 'Singular matrix', 'Matrix is not positive definite'],
      [[0.5]],
    ]);
  });

  test('work after a checkpoint, in a fork and after a rollback, with the same fuel', async () => {
    const program = quick.map((one) => one!.code).join('\n');
    await session.checkpoint('loaded');
    const fork = await session.fork();
    const results = [await session.execute(program), await fork.execute(program)];
    await session.rollback('loaded');
    results.push(await session.execute(program));
    await fork.close();
    expect(results.map(summary)).toEqual(
      results.map(() => ({ ...PASSED, fuel_consumed: results[0]!.fuel_consumed })),
    );
  });

  test.runIf(isNightly)('use the same fuel in every deterministic sandbox', async () => {
    const program = quick.map((one) => one!.code).join('\n');
    const fuels: number[] = [];
    for (let i = 0; i < 2; i++) {
      await using sandbox = await open();
      const result = await sandbox.execute(program);
      expect(summary(result)).toEqual(PASSED);
      fuels.push(result.fuel_consumed);
    }
    expect(fuels[0]).toBe(fuels[1]);
  });

  test.runIf(isNightly)('keep their objects in another process', async () => {
    const more = packages.flatMap((path) => ['--packages', path]);
    const create = `
import shapely, numpy as np
from lxml import etree
from cryptography.hazmat.primitives.asymmetric import ed25519
shape = shapely.box(0, 0, 2, 2); tree = etree.fromstring('<a><b k="7"/></a>')
key = ed25519.Ed25519PrivateKey.generate(); signature = key.sign(b'text'); generator = np.random.default_rng(7)`;
    const use = `
key.public_key().verify(signature, b'text')
print(shape.union(shapely.box(1, 1, 3, 3)).area, tree.xpath('string(//@k)'), generator.random())`;
    expect(await stored.run('wheels', create, ...more)).toMatchObject({ stderr: '', status: 0 });
    expect(await stored.run('wheels', use, ...more)).toMatchObject({
      stdout: '7.0 7 0.625095466604667\n',
      status: 0,
    });
  });
});

describe.runIf(isNightly && isAvailable)('every wheel', () => {
  const stored = temporarySessionStore();

  /** Runs a program in a new session, then again after a checkpoint, in a fork and after a rollback. */
  async function runWithState(all: readonly string[], program: string): Promise<SandboxResult[]> {
    await using session = await createSandbox({
      runtime: 'python',
      packages: [...all],
      policy,
      auto_persist_globals: true,
    });
    const results = [await session.execute(program)];
    await session.checkpoint('loaded');
    await using fork = await session.fork();
    results.push(await session.execute(program), await fork.execute(program));
    await session.rollback('loaded');
    return [...results, await session.execute(program)];
  }

  /** Runs a program in a stored session, then again in another process. */
  async function runInProcesses(all: readonly string[], program: string): Promise<SandboxResult[]> {
    await using sessions = openSessions({ store: diskStore(stored.store) });
    const session_id = randomUUID();
    const session = await sessions.create({ runtime: 'python', packages: [...all], policy, session_id });
    const first = await session.execute(program);
    await session.close();
    const more = all.flatMap((path) => ['--packages', path]);
    const { stdout } = await stored.run(session_id, program, '--json', ...more);
    return [first, JSON.parse(stdout)];
  }

  test.each(cases.map((one) => ({ name: one.id, one })))('$name', async ({ one }) => {
    const pure = pureWheels(one.missing);
    const absent = one.missing.filter((_, i) => pure[i] === undefined);
    expect(absent, 'packages that pip does not find').toEqual([]);
    const all = [...one.packages, ...pure.map((path) => path!)];
    if (one.refusal !== undefined) {
      await expect(createSandbox({ runtime: 'python', packages: all, policy })).rejects.toThrow(one.refusal);
      return;
    }
    const results = [...(await runWithState(all, one.code)), ...(await runInProcesses(all, one.code))];
    expect(results.map(summary)).toEqual(results.map(() => PASSED));
    const [fresh, again, inFork, afterRollback, freshToo, inOtherProcess] = results.map(
      ({ fuel_consumed }) => fuel_consumed,
    );
    expect(freshToo).toBe(fresh);
    expect([inFork, afterRollback, inOtherProcess]).toEqual([again, again, again]);
  });
});
