/** The record of imports in results of Python programs. */
import { createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

test('records a first import with its fuel', async () => {
  const result = await python('import yaml');
  expect(result.metadata.imports).toEqual([{ name: 'yaml', fuel: expect.any(Number), cached: false }]);
  const { fuel } = result.metadata.imports[0]!;
  expect(fuel).toBeGreaterThan(1_000_000);
  expect(fuel).toBeLessThan(result.fuel_consumed);
  expect(result.fuel_consumed - fuel).toBeLessThan(1_000_000);
});

test('records the same fuel for the same program', async () => {
  const [first, second] = await Promise.all([python('import jinja2'), python('import jinja2')]);
  expect(second.metadata.imports).toEqual(first.metadata.imports);
});

test('counts nested imports and submodules as part of the package, and repeated imports once', async () => {
  const result = await python(code`
    import openpyxl
    import openpyxl
    import et_xmlfile
    from dateutil import parser
    import dateutil.relativedelta
  `);
  const { imports } = result.metadata;
  expect(imports.map(({ name }) => name)).toEqual(['openpyxl', 'dateutil']);
  expect(imports.every(({ cached }) => !cached)).toBe(true);
});

test('records costly modules of the standard library and no cheap ones', async () => {
  const result = await python('import json, string, colorsys\nimport asyncio');
  expect(result.metadata.imports).toEqual([{ name: 'asyncio', fuel: expect.any(Number), cached: false }]);
});

test('records imports in functions and in modules of the workspace', async () => {
  const result = await python('import own\nown.work()', {
    files: { 'own.py': 'import tabulate\ndef work():\n    import markupsafe\n' },
  });
  expect(result.metadata.imports.map(({ name }) => name)).toEqual(['tabulate', 'markupsafe']);
});

test('records a failing import, whose traceback contains no frames of the runtime', async () => {
  const result = await python('import yaml.nothing_here');
  expect(result.metadata.imports.map(({ name }) => name)).toEqual(['yaml']);
  expect(result.stderr).toBe(
    [
      'Traceback (most recent call last):',
      '  File "/app/main.py", line 1, in <module>',
      '    import yaml.nothing_here',
      "ModuleNotFoundError: No module named 'yaml.nothing_here'",
      '',
    ].join('\n'),
  );
});

test('removes its frames from the traceback of importlib.import_module', async () => {
  const result = await python('import importlib\nimportlib.import_module("not_there")');
  expect(result.stderr.match(/_find_and_load$/gm)).toHaveLength(1);
});

test('removes its frames from the traceback of an exception in an imported module', async () => {
  const result = await python('import own', { files: { 'own.py': '1 / 0\n' } });
  expect(result.stderr).not.toContain('importlib');
  expect(result.stderr).not.toContain('_sandbox');
  expect(result.stderr.match(/ File /g)).toHaveLength(2);
});

test('records an import that runs out of fuel', async () => {
  const result = await python('import sympy', { fuel_budget: 300_000_000 });
  expect(result.metadata.trap_reason).toBe('out_of_fuel');
  const [sympy] = result.metadata.imports;
  expect(sympy).toMatchObject({ name: 'sympy', cached: false });
  expect(sympy!.fuel).toBeGreaterThan(290_000_000);
});

test('adds less than one per cent of fuel', async () => {
  const program = (recorded: boolean, name: string) => code`
    import importlib._bootstrap as bootstrap
    wrapper = bootstrap._find_and_load
    [original] = [cell.cell_contents for cell in wrapper.__closure__ if callable(cell.cell_contents)]
    bootstrap._find_and_load = [original, wrapper][${Number(recorded)}]
    import ${name}
  `;
  for (const name of ['tzdata', 'markupsafe', 'openpyxl']) {
    const without = (await python(program(false, name))).fuel_consumed;
    const recorded = (await python(program(true, name))).fuel_consumed;
    expect(recorded).toBeGreaterThan(without);
    expect(recorded - without).toBeLessThan(0.01 * without);
  }
});

test('tolerates forged reports of a program', async () => {
  const result = await python(code`
    import fcntl
    for i in range(10_000):
        fcntl.ioctl(0, 0x4C570001, b'yaml' + str(i).encode())
    fcntl.ioctl(0, 0x4C570001, b'x' * 1000)
    fcntl.ioctl(0, 0x4C570003, b'yaml')
    for i in range(10):
        fcntl.ioctl(0, 0x4C570002, b'')
    try:
        fcntl.ioctl(0, 0x4C570004, b'')
    except OSError as error:
        print(error.errno)
  `);
  expect(result.exit_code).toBe(0);
  expect(result.stdout).toBe('59\n');
  expect(result.metadata.imports.length).toBeLessThanOrEqual(256);
});

test('a run without setup has no packages but the whole standard library', async () => {
  const result = await python(
    code`
      import json, sys
      missing = []
      for name in ('openpyxl', 'yaml', 'sandbox_utils', 'PyPDF2'):
          try:
              __import__(name)
          except ModuleNotFoundError as error:
              missing.append(error.name)
      [missing, sys.path, json.dumps([1])]
    `,
    { inject_setup: false },
  );
  expect(result.metadata.result).toEqual([
    ['openpyxl', 'yaml', 'sandbox_utils', 'PyPDF2'],
    ['/app', '/lib/python3.14'],
    '[1]',
  ]);
});

test('a run without setup has no preloaded modules', async () => {
  await using sandbox = await createSandbox({ runtime: 'python', preload: ['markupsafe'] });
  const bare = await sandbox.execute('import sys\n"markupsafe" in sys.modules', { inject_setup: false });
  const set = await sandbox.execute('import sys\n"markupsafe" in sys.modules');
  expect([bare.metadata.result, set.metadata.result]).toEqual([false, true]);
});
