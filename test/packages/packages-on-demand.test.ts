/** Packages that programs get when they import them, with wheels that the test creates and approves. */
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox, diskStore, type SandboxOptions } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { runCliHere } from '../support/cli.ts';
import { nativeWheel } from './native-extension.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = mkdtempSync(join(tmpdir(), 'packages-on-demand-'));
const index = join(folder, 'index');
const env = {
  LLM_WASM_SANDBOX_PACKAGES_DIR: join(folder, 'packages'),
  LLM_WASM_SANDBOX_PYODIDE_URL: join(folder, 'no-distribution'),
  PIP_CONFIG_FILE: '/dev/null',
  PIP_NO_INDEX: '1',
  PIP_FIND_LINKS: index,
};
Object.assign(process.env, env);

const auto = { runtime: 'python', packages: 'auto' } as const;
const packages = (...args: readonly string[]) => runCliHere(['packages', ...args], join(folder, 'store'));
const USE_NATIVE = 'import counter\n[counter.add(1), counter.add(1)]';

beforeAll(async () => {
  mkdirSync(index);
  await nativeWheel(index);
  await wheel(index, 'helper_pkg', '1.2', { 'helper.py': 'one = 1\n' });
  await wheel(index, 'large', '1.0', { 'large.py': 'x = bytes(64 * 2**20)\n' });
  await wheel(index, 'unapproved', '1.0', { 'unapproved.py': 'x = 1\n' });
  const { status, stderr } = await packages('lock', index);
  expect(stderr).toContain('approved helper-pkg 1.2');
  expect(status).toBe(0);
  // Replaces the approved wheel with one that has another digest.
  await wheel(index, 'unapproved', '1.0', { 'unapproved.py': 'x = 2\n' });
});
beforeEach(() => {
  rmSync(join(folder, 'packages', 'packages.json'), { force: true });
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

async function run(code: string, options: Partial<SandboxOptions> = {}) {
  await using sandbox = await createSandbox({ ...auto, ...options });
  return await sandbox.execute(code);
}

describe('packages on demand', () => {
  test('are added when a program imports them, and only once', async () => {
    const first = await run('import helper\nhelper.one');
    expect(first.metadata.result).toBe(1);
    expect(first.metadata.packages_added).toMatchObject([{ name: 'helper-pkg', version: '1.2' }]);
    expect(first.metadata.packages_added![0]!.bytes).toBeGreaterThan(0);
    const second = await run('import helper\nhelper.one');
    expect(second.metadata.result).toBe(1);
    expect(second.metadata.packages_added).toBeUndefined();
  });

  test('are loaded in the image, so that the import costs almost no fuel', async () => {
    const plain = await run('1');
    const { metadata, fuel_consumed } = await run('import counter\n1');
    expect(metadata.imports).toMatchObject([{ name: 'counter', cached: true }]);
    expect(fuel_consumed - plain.fuel_consumed).toBeLessThan(500_000);
  });

  test('do not change a program without imports of packages', async () => {
    const { metadata, fuel_consumed } = await run('import json\njson.dumps(1)');
    const plain = await run('import json\njson.dumps(1)', { packages: [] });
    expect(metadata.packages_added).toBeUndefined();
    expect(fuel_consumed).toBe(plain.fuel_consumed);
  });

  test('do not replace modules of the workspace', async () => {
    await using sandbox = await createSandbox(auto);
    const files = { 'helper.py': 'one = "mine"\n' };
    const { metadata } = await sandbox.execute('import helper\nhelper.one', { files });
    expect(metadata.result).toBe('mine');
    expect(metadata.packages_added).toBeUndefined();
  });

  test('with unknown digests are refused unless they are trusted', { tags: 'full' }, async () => {
    const refused = await run('import unapproved');
    expect(refused.success).toBe(false);
    expect(refused.metadata.packages_added![0]!.problem).toContain('unknown digest');
    expect(refused.metadata.error_guidance!.error_type).toBe('PackageNotAvailable');
    const trusted = await run('import unapproved\nunapproved.x', { trust_new_packages: true });
    expect(trusted.metadata.result).toBe(2);
  });

  test('are used once they are approved', { tags: 'full' }, async () => {
    const approved = join(folder, 'packages', 'lock.json');
    const before = readFileSync(approved);
    await using sandbox = await createSandbox(auto);
    expect((await sandbox.execute('import unapproved')).success).toBe(false);
    await packages('lock', 'unapproved');
    expect((await sandbox.execute('import unapproved\nunapproved.x')).metadata.result).toBe(2);
    writeFileSync(approved, before);
  });

  test('are refused if the list of approved wheels contains an option of pip', async () => {
    const approved = join(folder, 'packages', 'lock.json');
    const before = readFileSync(approved, 'utf8');
    for (const lie of [before.replace('"helper-pkg"', '"--help"'), before.replace('"1.2"', '"1.2 --pre"')]) {
      expect(lie).not.toBe(before);
      writeFileSync(approved, lie);
      await expect(run('import helper')).rejects.toThrow('lock.json is damaged');
    }
    writeFileSync(approved, before);
  });

  test('are searched for after a search without a network', { tags: 'full' }, async () => {
    await using sandbox = await createSandbox(auto);
    const { metadata } = await sandbox.execute('import lxml');
    expect(metadata.packages_added).toMatchObject([{ name: 'lxml', problem: expect.any(String) }]);
    const both = await sandbox.execute('import helper, counter');
    expect(both.metadata.packages_added!.map(({ name }) => name)).toHaveLength(2);
    expect(both.success).toBe(true);
  });

  test('are not replaced or hidden by what lies in the folder wheels', { tags: 'full' }, async () => {
    const cwd = join(folder, 'project');
    mkdirSync(join(cwd, 'wheels', 'helper_pkg-1.2-0-py3-none-any.whl'), { recursive: true });
    symlinkSync('missing', join(cwd, 'wheels', 'helper_pkg-1.2-1-py3-none-any.whl'));
    writeFileSync(join(cwd, 'wheels', 'helper_pkg-1.2-2-py3-none-any.whl'), 'not a wheel');
    // Its digest is approved, but for another package.
    copyFileSync(
      join(index, readdirSync(index).find((name) => !/^(helper|large|unapproved)/.test(name))!),
      join(cwd, 'wheels', 'helper_pkg-1.2-3-py3-none-any.whl'),
    );
    const { stdout } = await runCliHere(
      ['run', '-c', 'import helper; print(helper.one)'],
      join(folder, 'store'),
      cwd,
    );
    expect(stdout).toBe('1\n');
  });

  test('do not delay the answer to a cancelled call', { tags: 'full' }, async () => {
    const cancellation = new AbortController();
    const steps: string[] = [];
    const onPackageStep = (text: string) => {
      steps.push(text);
      cancellation.abort();
    };
    await using sandbox = await createSandbox({ ...auto, onPackageStep });
    const { metadata } = await sandbox.execute('import helper', { signal: cancellation.signal });
    expect(metadata.trap_reason).toBe('cancelled');
    expect(steps).toHaveLength(1);
    // Adding the package continues.
    expect((await sandbox.execute('import helper\nhelper.one')).metadata.result).toBe(1);
  });

  test('that are not searched for after a failed search are listed as well', async () => {
    const { metadata } = await run('import scipy\nimport sklearn');
    const [first, second] = metadata.packages_added!;
    expect(first).toMatchObject({ name: 'scipy', problem: expect.stringContaining('No wheel of scipy') });
    expect(second).toMatchObject({
      name: 'scikit-learn',
      problem: expect.stringContaining('not searched for'),
    });
  });

  test('that are unknown are not searched for', async () => {
    const { metadata, stderr } = await run('import no_such_module');
    expect(stderr).toContain("No module named 'no_such_module'");
    expect(metadata.packages_added).toBeUndefined();
  });

  test('cannot be combined with other packages or with preload', async () => {
    for (const options of [{ packages: ['auto', 'numpy'] }, { preload: ['openpyxl'] }])
      await expect(createSandbox({ ...auto, ...options })).rejects.toMatchObject({
        code: 'invalid_argument',
      });
  });

  test('are used by run by default', async () => {
    const file = join(folder, 'main.py');
    writeFileSync(file, 'import helper\nprint(helper.one)\n');
    const { stdout, stderr } = await runCliHere(['run', file], join(folder, 'store'));
    expect(stdout).toBe('1\n');
    expect(stderr).toMatch(/helper-pkg 1\.2 was added \(\d+ bytes, [\d.]+ s\)/);
  });
});

describe('session with packages on demand', () => {
  test('starts in the image of its first program and gets further packages later', {
    tags: 'full',
  }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    expect((await session.execute(USE_NATIVE)).metadata.result).toEqual([1, 2]);
    expect(session.session.preload).toContain('counter');
    const later = await session.execute('import helper\n[helper.one, counter.add(1)]');
    expect(later.metadata.result).toEqual([1, 3]);
    await session.undo();
    expect((await session.execute('counter.add(1)')).metadata.result).toBe(3);
    await using fork = await session.fork();
    expect((await fork.execute('import helper\n[helper.one, counter.add(1)]')).metadata.result).toEqual([
      1, 4,
    ]);
  });

  test('gets packages after calls without packages', { tags: 'full' }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    await session.execute('x = 41');
    expect((await session.execute('import helper\nx + helper.one')).metadata.result).toBe(42);
    expect(session.session.preload).toEqual([expect.stringMatching(/^later:[0-9a-f]{64}$/)]);
  });

  test('keeps its image when it is a fork with variables', { tags: 'full' }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    await session.execute('x = 41');
    await using fork = await session.fork();
    expect((await fork.execute('import helper\nx + helper.one')).metadata.result).toBe(42);
    expect(fork.session.preload).toEqual([expect.stringMatching(/^later:/)]);
  });

  test('runs calls that were started at the same time in order', { tags: 'full' }, async () => {
    await using session = await createSandbox({ ...auto, auto_persist_globals: true });
    const calls = ['x = 40', 'import helper\nx += helper.one', 'x += 1', USE_NATIVE, 'x + helper.one'];
    const results = await Promise.all(calls.map((code) => session.execute(code)));
    expect(results.map(({ metadata }) => metadata.result).slice(3)).toEqual([[1, 2], 43]);
    const cancelled = session.execute('import helper', { signal: AbortSignal.abort() });
    expect((await cancelled).metadata.trap_reason).toBe('cancelled');
  });

  test('is opened again if its modules could not be loaded into the image', { tags: 'full' }, async () => {
    const store = diskStore(join(folder, 'sessions'));
    // Too little memory for what the module allocates.
    const options = { ...auto, session_id: 'small', store, policy: { memory_bytes: 48 * 2 ** 20 } };
    {
      await using session = await createSandbox(options);
      expect((await session.execute('import large')).stderr).toContain('MemoryError');
      await session.execute('x = 1');
      expect(session.session.preload).toEqual([expect.stringMatching(/^packages:/)]);
    }
    await using session = await createSandbox(options);
    expect((await session.execute('x')).metadata.result).toBe(1);
  });

  test('is opened again with its packages, on demand or not', { tags: 'full' }, async () => {
    const store = diskStore(join(folder, 'sessions'));
    const options = { ...auto, session_id: 'kept', store };
    {
      await using session = await createSandbox(options);
      await session.execute(USE_NATIVE);
      await session.execute('import helper');
    }
    await using session = await createSandbox(options);
    expect((await session.execute('[helper.one, counter.add(1)]')).metadata.result).toEqual([1, 3]);
  });
});
