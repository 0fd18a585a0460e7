/** The record of imports in results of Python programs. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

test('the import tracker records a first import with its fuel', async () => {
  const result = await python('import yaml');
  expect(result.metadata.imports).toEqual([{ name: 'yaml', fuel: expect.any(Number), cached: false }]);
  const { fuel } = result.metadata.imports[0]!;
  expect(fuel).toBeGreaterThan(1_000_000);
  expect(fuel).toBeLessThan(result.fuel_consumed);
  expect(result.fuel_consumed - fuel).toBeLessThan(1_000_000);
});

test('the import tracker records the same fuel for the same program', async () => {
  const [first, second] = await Promise.all([python('import jinja2'), python('import jinja2')]);
  expect(second.metadata.imports).toEqual(first.metadata.imports);
});

test('the import tracker counts nested imports and submodules as part of the package, and repeated imports once', async () => {
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

test('the import tracker records costly modules of the standard library and no cheap ones', async () => {
  const result = await python('import json, string, colorsys\nimport unittest');
  expect(result.metadata.imports).toEqual([{ name: 'unittest', fuel: expect.any(Number), cached: false }]);
});

test('the import tracker records imports in functions and in modules of the workspace', async () => {
  const result = await python('import own\nown.work()', {
    files: { 'own.py': 'import tabulate\ndef work():\n    import markupsafe\n' },
  });
  expect(result.metadata.imports.map(({ name }) => name)).toEqual(['tabulate', 'markupsafe']);
});

test('the import tracker records a failing import, whose traceback contains no frames of the runtime', async () => {
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

test('the import tracker removes its frames from the traceback of importlib.import_module', async () => {
  const result = await python('import importlib\nimportlib.import_module("not_there")');
  expect(result.stderr.match(/_find_and_load$/gm)).toHaveLength(1);
});

test('the import tracker removes its frames from the traceback of an exception in an imported module', async () => {
  const result = await python('import own', { files: { 'own.py': '1 / 0\n' } });
  expect(result.stderr).not.toContain('importlib');
  expect(result.stderr).not.toContain('_sandbox');
  expect(result.stderr.match(/ File /g)).toHaveLength(2);
});

test('the import tracker records an import that runs out of fuel', async () => {
  const result = await python('import sympy', { fuel_budget: 300_000_000 });
  expect(result.metadata.trap_reason).toBe('out_of_fuel');
  const [sympy] = result.metadata.imports;
  expect(sympy).toMatchObject({ name: 'sympy', cached: false });
  expect(sympy!.fuel).toBeGreaterThan(290_000_000);
});

test('the import tracker adds less than one per cent of fuel', async () => {
  const program = (recorded: boolean, name: string) => code`
    import gc, importlib._bootstrap as bootstrap
    gc.disable()
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

describe('forged import', () => {
  const PREAMBLE = code`
    import fcntl, functools, importlib._bootstrap as bootstrap, sys, _sandbox, _sandbox_imports as tracker
    BEGIN, END, LOADED, FAILED = 0x4C570001, 0x4C570002, 0x4C570003, 0x4C570004
    real, wrapper = tracker.ioctl, bootstrap._find_and_load
    fresh = compile('import yaml', '/app/main.py', 'exec')
    def burn(): sum(range(100_000))
    def quietly(action):
        try: return action()
        except BaseException as error: return type(error).__name__
  `;

  test.each([
    [
      'a direct system call',
      'for r in (BEGIN, LOADED, END, FAILED): print(quietly(lambda: fcntl.ioctl(0, r, b"yaml")))',
    ],
    [
      'a call to the function that reports',
      'sys.modules["yaml"] = 1; quietly(lambda: tracker._report_loaded("yaml"))',
    ],
    [
      'a call to the function that reads bytecode',
      'sys.modules["yaml"] = 1; quietly(lambda: tracker.record_loaded(fresh))',
    ],
    [
      'the bytecode of a program that is not run',
      'tracker._modules = {"yaml": 1}; quietly(lambda: tracker.record_loaded(fresh))',
    ],
    [
      'code that replaces the wrapper',
      'def evil(name, import_):\n    fcntl.ioctl(0, BEGIN, 0, True); burn(); fcntl.ioctl(0, END, 0, True)\nevil_code = evil.__code__.replace(co_filename=wrapper.__code__.co_filename, co_freevars=wrapper.__code__.co_freevars)\nquietly(lambda: setattr(wrapper, "__code__", evil_code))\nquietly(lambda: wrapper("yaml", None))',
    ],
    ['a module that is marked as missing', 'sys.modules["yaml"] = None; quietly(lambda: __import__("yaml"))'],
    [
      'a name whose methods return another name',
      'class Name(str):\n    def partition(self, by): return ("yaml", "", "")\n    def __contains__(self, other): return True\nquietly(lambda: wrapper(Name("colorsys"), None))',
    ],
    [
      'a partial function',
      'tracker.ioctl = functools.partial(real, 0, LOADED); quietly(lambda: __import__("colorsys"))',
    ],
  ])('by %s is not recorded', async (_, attack) => {
    const result = await python(`${PREAMBLE}\n${attack}`);
    expect(result.metadata.error).toBeUndefined();
    expect(result.metadata.imports).toEqual([]);
  });

  test('does not get the fuel that is used after the import', async () => {
    // The first import stays unfinished: the module suppresses the report of its end.
    const result = await python(`${PREAMBLE}\nimport yaml\nburn(); burn()`, {
      files: { 'yaml.py': 'import _sandbox_imports\n_sandbox_imports.ioctl = lambda *args: 0\n' },
    });
    expect(result.metadata.imports).toEqual([{ name: 'yaml', fuel: 0, cached: false }]);
  });

  test('does not end the import of another module', async () => {
    const result = await python('import fcntl\nimport yaml', {
      files: {
        'yaml.py': code`
          import fcntl
          try: fcntl.ioctl(0, 0x4C570002, 0, True)
          except OSError as error: print(error.errno)
          sum(range(300_000))
        `,
      },
    });
    expect(result.stdout).toBe('59\n');
    expect(result.metadata.imports).toMatchObject([{ name: 'yaml' }]);
    expect(result.metadata.imports[0]!.fuel).toBeGreaterThan(3_000_000);
  });
});

test('a run without setup has no packages but the whole standard library', async () => {
  const result = await python(
    code`
      import json, sys
      missing = []
      for name in ('openpyxl', 'yaml', 'rpds', 'PyPDF2'):
          try:
              __import__(name)
          except ModuleNotFoundError as error:
              missing.append(error.name)
      [missing, sys.path, json.dumps([1])]
    `,
    { inject_setup: false },
  );
  expect(result.metadata.result).toEqual([
    ['openpyxl', 'yaml', 'rpds', 'PyPDF2'],
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
