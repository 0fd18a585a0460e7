/** What a run tells about the imports it made, and that telling costs next to nothing. */
import { createSandbox } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

test('a first import is recorded with the fuel it took', async () => {
  const result = await python('import yaml');
  expect(result.metadata.imports).toEqual([{ name: 'yaml', fuel: expect.any(Number), cached: false }]);
  const { fuel } = result.metadata.imports[0]!;
  expect(fuel).toBeGreaterThan(1_000_000);
  expect(fuel).toBeLessThan(result.fuel_consumed);
  expect(result.fuel_consumed - fuel).toBeLessThan(1_000_000);
});

test('the same program records the same fuel every time', async () => {
  const [first, second] = await Promise.all([python('import jinja2'), python('import jinja2')]);
  expect(second.metadata.imports).toEqual(first.metadata.imports);
});

test('imports that a package makes belong to it, its parts add up, repeated ones are free', async () => {
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

test('a costly module of the standard library is recorded, a cheap one is not', async () => {
  const result = await python('import json, string, colorsys\nimport asyncio');
  expect(result.metadata.imports).toEqual([{ name: 'asyncio', fuel: expect.any(Number), cached: false }]);
});

test('an import inside a function or a module of the workspace is recorded', async () => {
  const result = await python('import own\nown.work()', {
    files: { 'own.py': 'import tabulate\ndef work():\n    import markupsafe\n' },
  });
  expect(result.metadata.imports.map(({ name }) => name)).toEqual(['tabulate', 'markupsafe']);
});

test('an import that fails is recorded, and its traceback shows none of our frames', async () => {
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

test('a failing importlib.import_module shows no frame of ours either', async () => {
  const result = await python('import importlib\nimportlib.import_module("not_there")');
  expect(result.stderr.match(/_find_and_load$/gm)).toHaveLength(1);
});

test('an exception in an imported module shows the module and the program, nothing between', async () => {
  const result = await python('import own', { files: { 'own.py': '1 / 0\n' } });
  expect(result.stderr).not.toContain('importlib');
  expect(result.stderr).not.toContain('_sandbox');
  expect(result.stderr.match(/ File /g)).toHaveLength(2);
});

test('an import during which the fuel runs out is recorded with what it had used', async () => {
  const result = await python('import sympy', { fuel_budget: 300_000_000 });
  expect(result.metadata.trap_reason).toBe('out_of_fuel');
  const [sympy] = result.metadata.imports;
  expect(sympy).toMatchObject({ name: 'sympy', cached: false });
  expect(sympy!.fuel).toBeGreaterThan(290_000_000);
});

test('recording costs less than one per cent', async () => {
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

test('a program may lie about imports, but not break the record', async () => {
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

test('without setup, packages and helpers are out of reach and the language is whole', async () => {
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

test('without setup, a sandbox that preloads gives the bare language too', async () => {
  await using sandbox = await createSandbox({ runtime: 'python', preload: ['markupsafe'] });
  const bare = await sandbox.execute('import sys\n"markupsafe" in sys.modules', { inject_setup: false });
  const set = await sandbox.execute('import sys\n"markupsafe" in sys.modules');
  expect([bare.metadata.result, set.metadata.result]).toEqual([false, true]);
});
