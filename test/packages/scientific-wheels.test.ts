/**
 * numpy, pandas and Pillow from the wheels in the folder that PIP_FIND_LINKS names. Expected values of numpy were computed by
 * the same version of native numpy.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createSandbox, type SandboxResult, type Session } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { documentedOutput } from '../support/doc-examples.ts';

const folders = (process.env['PIP_FIND_LINKS'] ?? '').split(/\s+/).filter((folder) => existsSync(folder));
const available = folders.flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)));
const wheels = ['numpy-2.4.6', 'pandas-3.0.2', 'pillow-12.2.0'].map((name) =>
  available.find((path) => basename(path).startsWith(`${name}-`) && path.endsWith('_wasm32.whl')),
);
const isAvailable = wheels.every((file) => file !== undefined);
const REASON = isAvailable ? '' : ' (skipped: PIP_FIND_LINKS names no folder with the wheels)';

const file = (name: string) => readFileSync(new URL(`./scientific/${name}`, import.meta.url), 'utf8');
const lines = (name: string) => file(name).split('\n').filter(Boolean);

describe.skipIf(!isAvailable)(`scientific packages${REASON}`, () => {
  let session: Session;
  beforeAll(async () => {
    session = await createSandbox({
      runtime: 'python',
      packages: wheels.map((path) => path!),
      preload: ['numpy', 'pandas', 'PIL.Image'],
      auto_persist_globals: true,
      policy: { memory_bytes: 512 * 2 ** 20, timeout_seconds: 120, fuel_budget: 50_000_000_000 },
    });
    expect(await session.execute(file('setup.py'))).toMatchObject({ stderr: '', success: true });
  }, 600_000);
  afterAll(() => session.close());

  const evaluate = async (expressions: readonly string[]) => {
    const { metadata } = await session.execute(`evaluate(${JSON.stringify(expressions)})`);
    const values = metadata.result as string[];
    return expressions.map((expression, i) => `${expression} is ${values[i]}`);
  };

  test('numpy gives the values of native numpy', async () => {
    const expressions = lines('numpy.txt');
    const expected = JSON.parse(file('numpy-expected.json')) as string[];
    expect(await evaluate(expressions)).toEqual(expressions.map((one, i) => `${one} is ${expected[i]}`));
  });

  test('pandas and Pillow behave as documented', async () => {
    const values = await evaluate(lines('others.txt'));
    expect(values.filter((text) => !/ is (np\.)?True_?$/.test(text))).toEqual([]);
  });

  test('pandas prints what the recipe in the cookbook shows', async () => {
    const cookbook = readFileSync(new URL('../../docs/COOKBOOK.md', import.meta.url), 'utf8');
    const [, program] = /<!-- program: pandas -->\n```python\n([\s\S]*?)```/.exec(cookbook)!;
    expect((await session.execute(program!)).stdout).toBe(documentedOutput(cookbook, 'pandas'));
  });

  test('a preloaded numpy costs less than 1M fuel to import', async () => {
    expect((await session.execute('import numpy')).fuel_consumed).toBeLessThan(1_000_000);
  });

  test('state of random generators follows checkpoints, forks and rollbacks, with the same fuel', async () => {
    await session.execute('g = np.random.default_rng(7); g.random()');
    await session.checkpoint('drawn');
    const fork = await session.fork();
    const draw = (one: Session) => one.execute('g.random(), float(np.linalg.inv(np.eye(3) * 2)[0, 0])');
    const results = [await draw(session), await draw(fork)];
    await session.rollback('drawn');
    results.push(await draw(session));
    const facts = ({ metadata, fuel_consumed }: SandboxResult) => [metadata.result, fuel_consumed];
    expect(results.map(facts)).toEqual([facts(results[0]!), facts(results[0]!), facts(results[0]!)]);
    await fork.close();
  });

  test('limits hold inside numpy, and the session continues', async () => {
    const spent = await session.execute('while True: np.sort(np.arange(100_000)[::-1].copy())', {
      fuel_budget: 300_000_000,
    });
    expect(spent.metadata.trap_reason).toBe('out_of_fuel');
    const large = await session.execute('np.ones(2 ** 27)');
    expect(large.stderr).toContain('MemoryError');
    expect((await session.execute('int(np.ones(10).sum())')).metadata.result).toBe(10);
  });
});
