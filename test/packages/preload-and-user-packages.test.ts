/**
 * The options `preload` and `packages`.
 *
 * @module-tag full
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type SandboxOptions, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { runScript } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { code } from '../support/sandbox.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();

async function run(options: Omit<SandboxOptions, 'runtime'>, program: string): Promise<SandboxResult> {
  await using sandbox = await createSandbox({ runtime: 'python', ...options });
  return await sandbox.execute(program);
}

describe('preload', () => {
  test('makes importing openpyxl take less than 10M fuel', { tags: 'full' }, async () => {
    const result = await run({ preload: ['openpyxl'] }, 'import openpyxl\nopenpyxl.Workbook().active.title');
    expect(result.metadata.result).toBe('Sheet');
    expect(result.metadata.imports).toEqual([{ name: 'openpyxl', fuel: 0, cached: true }]);
    expect(result.fuel_consumed).toBeLessThan(10_000_000);
  });

  test('accepts names of packages and modules', async () => {
    const result = await run({ preload: ['pyyaml', 'dateutil.parser'] }, 'import yaml, dateutil.parser');
    expect(result.metadata.imports.map(({ name, cached }) => [name, cached])).toEqual([
      ['yaml', true],
      ['dateutil', true],
    ]);
  });

  test('isolates runs from changes to preloaded modules', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', preload: ['tabulate'] });
    await sandbox.execute('import tabulate\ntabulate.tabulate = None');
    const result = await sandbox.execute('import tabulate\ntabulate.tabulate([[1]])');
    expect(result.success).toBe(true);
  });

  test('reseeds all random generators for every run', { tags: 'full' }, async () => {
    const program = 'import random, sympy.core.random as r\n[random.random(), r.rng.random()]';
    const preload = ['random', 'sympy.core.random'];
    const [a, b] = await Promise.all([run({ preload }, program), run({ preload }, program)]);
    const [[a1, a2], [b1, b2]] = [a.metadata.result, b.metadata.result] as [number[], number[]];
    expect(a1).not.toBe(b1);
    expect(a2).not.toBe(b2);
  });

  test('imports modules from the workspace of the run', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', preload: ['markupsafe'] });
    const result = await sandbox.execute('import own\nown.x', { files: { 'own.py': 'x = 7' } });
    expect(result.metadata.result).toBe(7);
  });

  test('rejects a missing module', async () => {
    const call = createSandbox({ runtime: 'python', preload: ['not_a_module'] });
    await expect(call).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(createSandbox({ runtime: 'python', preload: ['not_a_module'] })).rejects.toThrow(
      /cannot import "not_a_module": ModuleNotFoundError/,
    );
  });

  test('rejects an invalid module name', async () => {
    const call = createSandbox({ runtime: 'python', preload: ['os; import sys'] });
    await expect(call).rejects.toThrow(/preload.0: must be the name of a module/);
  });

  // guarantee: time-limit
  // proves: Preloading modules stays within the limits of the policy.
  test.each([
    ['fuel', { fuel_budget: 30_000_000 }, /OutOfFuel|out_of_fuel/],
    ['time', { timeout_seconds: 0.05 }, /Timeout|timeout/],
  ])('stays within the limits of the policy: %s', async (_, policy, message) => {
    const call = createSandbox({ runtime: 'python', preload: ['sympy'], policy });
    await expect(call).rejects.toThrow(message);
  });

  // guarantee: time-limit
  // proves: Preloading modules can be cancelled.
  test('can be cancelled', async () => {
    const signal = AbortSignal.timeout(100);
    const call = createSandbox({ runtime: 'python', preload: ['sympy', 'mpmath'], signal });
    await expect(call).rejects.toThrow(/[Cc]ancelled/);
    const aborted = createSandbox({ runtime: 'python', preload: ['sympy', 'mpmath'], signal });
    await expect(aborted).rejects.toThrow(/[Cc]ancelled/);
  });

  test('rejects an image that exceeds the memory limit', async () => {
    const call = createSandbox({
      runtime: 'python',
      preload: ['sympy'],
      policy: { memory_bytes: 32 * 1024 * 1024 },
    });
    await expect(call).rejects.toThrow(/MemoryError|memory_bytes: 33554432 is less than python needs/);
  });

  test('caches images on disk and rebuilds damaged ones', { tags: 'full', timeout: 240_000 }, async () => {
    const cache = join(folder, 'cache');
    const program = code`
      const { createSandbox } = await import('llm-wasm-sandbox');
      const sandbox = await createSandbox({ runtime: 'python', preload: ['tabulate'] });
      const result = await sandbox.execute('import tabulate');
      console.log(JSON.stringify(result.metadata.imports));
      process.exit();
    `;
    const env = { ...(process.env as Record<string, string>), LLM_WASM_SANDBOX_CACHE: cache };
    const start = async () => (await runScript(program, { env })).stdout;
    const expected = '[{"name":"tabulate","fuel":0,"cached":true}]\n';
    expect(await start()).toBe(expected);
    const [name, ...more] = readdirSync(join(cache, 'images'));
    expect(more).toEqual([]);
    const path = join(cache, 'images', name!);
    const whole = readFileSync(path);
    const damaged = Buffer.from(whole);
    damaged[5_000_000]! ^= 1;
    writeFileSync(path, damaged);
    expect(await start()).toBe(expected);
    expect(readFileSync(path).equals(whole)).toBe(true);
  });
});

describe('user packages', () => {
  const place = (name: string, files: Record<string, string>) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(folder, name, path, '..'), { recursive: true });
      writeFileSync(join(folder, name, path), text);
    }
    return join(folder, name);
  };

  test('can be a folder of modules and packages, which are compiled and recorded', async () => {
    const path = place('site', {
      'single.py': 'VALUE = 1\n',
      'pack/__init__.py': 'from .inner import VALUE\n',
      'pack/inner.py': 'VALUE = 2\n',
      'pack/data.txt': 'three',
      '.git/config': 'x',
    });
    const result = await run(
      { packages: [path] },
      code`
        import single, pack, pathlib
        [single.VALUE, pack.VALUE, pathlib.Path(pack.__file__).with_name('data.txt').read_text(), pack.__cached__, pack.inner.__spec__.cached is not None, sorted(p.name for p in pathlib.Path('/data/packages').iterdir())]
      `,
    );
    expect(result.metadata.result).toEqual([
      1,
      2,
      'three',
      '/data/packages/pack/__pycache__/__init__.cpython-314.pyc',
      true,
      ['__pycache__', 'pack', 'single.py'],
    ]);
    expect(result.metadata.imports.map(({ name }) => name)).toEqual(['single', 'pack']);
  });

  test('can be a folder that is a package, which can be preloaded', async () => {
    const path = place('solo', { '__init__.py': 'import yaml\nNAME = __name__\n' });
    const result = await run({ packages: [path], preload: ['solo'] }, 'import solo\nsolo.NAME');
    expect(result.metadata.result).toBe('solo');
    expect(result.metadata.imports).toEqual([{ name: 'solo', fuel: 0, cached: true }]);
  });

  test('can be a wheel or a folder of wheels, and override vendored packages', async () => {
    const path = join(folder, 'wheels');
    mkdirSync(path);
    const file = await wheel(path, 'tabulate', '99.0', { 'tabulate.py': '__version__ = "99.0"\n' });
    const program =
      'import tabulate, importlib.metadata\n[tabulate.__version__, importlib.metadata.version("tabulate")]';
    for (const packages of [[file], [path]]) {
      const result = await run({ packages }, program);
      expect(result.metadata.result).toEqual(['99.0', '99.0']);
    }
  });

  test('are not available in a run without setup', async () => {
    const path = place('bare', { 'bare_module.py': '' });
    await using sandbox = await createSandbox({ runtime: 'python', packages: [path] });
    const result = await sandbox.execute('import bare_module', { inject_setup: false });
    expect(result.metadata.error?.type).toBe('ModuleNotFoundError');
  });

  test.each([
    [
      'compiled code',
      'native',
      { 'x/__init__.py': '', 'x/fast.so': 'ELF' },
      /contains compiled code \(x\/fast\.so\)/,
    ],
    ['no Python module', 'empty', { 'readme.txt': 'x' }, /no Python module/],
  ])('are rejected if the folder contains %s', async (_, name, files, problem) => {
    const call = createSandbox({ runtime: 'python', packages: [place(name, files)] });
    await expect(call).rejects.toThrow(problem);
  });

  test('do not include the targets of symbolic links', async () => {
    const path = place('linked', { 'real.py': 'x = 1' });
    symlinkSync('/etc', join(path, 'outside'));
    symlinkSync('/etc/passwd', join(path, 'passwd.py'));
    const result = await run({ packages: [path] }, 'import os\nsorted(os.listdir("/data/packages"))');
    expect(result.metadata.result).toEqual(['__pycache__', 'real.py']);
  });

  test('are rejected if the path does not exist', async () => {
    const call = createSandbox({ runtime: 'python', packages: [join(folder, 'nowhere')] });
    await expect(call).rejects.toThrow(/does not exist on the host/);
  });

  test('are rejected with the exception that a preloaded module raises', async () => {
    const path = place('raising', { 'raising.py': 'raise RuntimeError("not today")\n' });
    const call = createSandbox({ runtime: 'python', packages: [path], preload: ['raising'] });
    await expect(call).rejects.toThrow(/cannot import "raising": RuntimeError: not today/);
  });

  test('are available to processes of JavaScript and bash', async () => {
    const packages = [place('scripts', { 'x.py': 'print("imported")' })];
    const command = "python3 -c 'import x'";
    for (const [runtime, program] of [
      ['bash', command],
      ['javascript', `console.log(require('child_process').execSync(${JSON.stringify(command)}) + '')`],
    ] as const) {
      await using sandbox = await createSandbox({ runtime, packages });
      expect((await sandbox.execute(program)).stdout.trim()).toBe('imported');
    }
  });
});

describe('session with packages', () => {
  test('cannot be opened with a different preload', async () => {
    const session_id = `warm-${process.pid}`;
    const options: SandboxOptions = { runtime: 'python', session_id, preload: ['markupsafe'] };
    {
      await using sandbox = await createSandbox(options);
      const first = await sandbox.execute('import markupsafe\nimport tabulate\nx = 1');
      expect(first.metadata.imports).toMatchObject([
        { name: 'markupsafe', fuel: 0, cached: true },
        { name: 'tabulate', cached: false },
      ]);
      const second = await sandbox.execute('import tabulate\nx + 1');
      expect(second.metadata.result).toBe(2);
      expect(second.metadata.imports).toEqual([{ name: 'tabulate', fuel: 0, cached: true }]);
    }
    await expect(createSandbox({ runtime: 'python', session_id })).rejects.toMatchObject({
      code: 'session_mismatch',
    });
    await using again = await createSandbox(options);
    expect((await again.execute('x + 2')).metadata.result).toBe(3);
  });

  test('has its packages again after a call without setup', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    const bare = await sandbox.execute('import sortedcontainers', { inject_setup: false });
    expect(bare.metadata.error?.type).toBe('ModuleNotFoundError');
    expect((await sandbox.execute('import sortedcontainers')).success).toBe(true);
  });

  test('keeps the random state of the previous call', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', auto_persist_globals: true });
    await sandbox.execute('import random\nrandom.seed(42)\nexpected = random.Random(42).random()');
    expect((await sandbox.execute('random.random() == expected')).metadata.result).toBe(true);
  });
});
