import { createSandbox, type GuestError } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';

const errorOf = async (program: string): Promise<GuestError> => (await python(program)).metadata.error!;

describe('error details of a Python program', () => {
  test.each<[string, Partial<GuestError>]>([
    [
      "open('/etc/passwd')",
      { type: 'FileNotFoundError', kind: 'FileNotFoundError', errno: 44, path: '/etc/passwd' },
    ],
    ["import os\nos.mkdir('d')\nos.chdir('d')\nopen('x')", { path: 'x', cwd: '/app/d', line: 4 }],
    ["import os\nos.rename('a', 'b')", { path: 'a', path2: 'b' }],
    ['import nope', { type: 'ModuleNotFoundError', name: 'nope', on_path: true }],
    ['import sys\nsys.path.clear()\nimport nope', { name: 'nope', on_path: false }],
    ['from math import nope', { name: 'math', attribute: 'nope' }],
    ['total = 1\nprint(totl)', { name: 'totl', suggestion: 'total' }],
    ["'x'.splt()", { name: 'splt', container: 'str', suggestion: 'split' }],
    ['import math\nmath.nope', { name: 'nope', module_name: 'math' }],
    ["d = {'a': 1, 2: 3}\nd['b']", { key: "'b'", container: 'dict', length: 2, available: ["'a'", '2'] }],
    ["d = {'x': [{'a': 1}]}\nd['x'][0]['b']", { key: "'b'", available: ["'a'"] }],
    ['def f(rows, i):\n    return rows[i]\nf([1, 2], 5)', { container: 'list', length: 2, line: 2 }],
    [
      'import json\njson.loads(\'{"a": nope}\')',
      { module: 'json.decoder', kind: 'ValueError', position: 6, length: 11, near: '{"a": nope}' },
    ],
    ["b'ab\\xff'.decode()", { name: 'utf-8', position: 2 }],
    ['x = 1\ny = = 2', { type: 'SyntaxError', line: 2, column: 5 }],
    ["raise ValueError('x')", { raised: true }],
    ["int('x')", { raised: false }],
    [
      'class KeyError(Exception): pass\nraise KeyError',
      { type: 'KeyError', module: '__main__', kind: 'Exception' },
    ],
  ])('describe the exception of %j', async (program, expected) => {
    expect(await errorOf(program)).toMatchObject(expected);
  });

  test('are those of a __repr__ that fails for the result', async () => {
    const { stderr } = await python(code`
      class Broken:
          def __repr__(self): raise ValueError('no text')
      Broken()
    `);
    expect(stderr).toMatch(/^Traceback .*\n {2}File "\/app\/main.py", line 2, in __repr__\n/);
    expect(stderr).not.toContain('_sandbox');
  });

  test('are collected without running code of the program', async () => {
    const result = await python(code`
      class Sly(dict):
          def __repr__(self): print('repr ran'); return 'x'
          def __iter__(self): print('iter ran'); return super().__iter__()
          def __len__(self): print('len ran'); return 0
          def __getattribute__(self, name): print('attribute read'); return super().__getattribute__(name)
      class Key:
          def __repr__(self): print('key repr ran'); return 'k'
      d = Sly(a=1)
      k = Key()
      d[k]
    `);
    expect(result.metadata.error).toMatchObject({ type: 'KeyError', key: 'Key', container: 'Sly' });
    expect(result.stdout.replace(/^key repr ran\n/gm, '')).toBe('');
  });

  test('are limited in size', async () => {
    const error = await errorOf(code`
      d = {str(i) * 1000: i for i in range(1_000)}
      d['x' * 1_000_000]
    `);
    expect(error.available).toHaveLength(20);
    expect(JSON.stringify(error).length).toBeLessThan(60_000);
    const emoji = await errorOf("raise ValueError('\\U0001F600' * 100_000)");
    expect(emoji).toMatchObject({ type: 'ValueError', line: 1 });
  });

  test('are omitted for an exception that cannot be described', async () => {
    const error = await errorOf(code`
      class Bad(OSError):
          @property
          def errno(self): raise RuntimeError
          @property
          def filename(self): raise RuntimeError
          def __str__(self): raise RuntimeError
      def f(): raise Bad()
      f()
    `);
    expect(error).toMatchObject({ type: 'Bad', message: '', kind: 'OSError' });
  });

  test('include the exception that was being handled when the program exited', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute("import sys\ntry:\n    {}['a']\nexcept KeyError:\n    sys.exit(4)");
    expect(result).toMatchObject({ exit_code: 4, stderr: '' });
    expect(result.metadata.error).toBeUndefined();
    expect(result.metadata.error_guidance?.error_type).toBe('DataShape');
  });
});

describe('traceback of a Python program', () => {
  test('omits the middle of a thousand frames', async () => {
    const result = await python('def f(n):\n    return f(n + 1)\nf(0)', { fuel_budget: 300_000_000 });
    expect(result.metadata.error).toMatchObject({ type: 'RecursionError', line: 2 });
    expect(result.stderr).toMatch(/frames omitted in the middle: \d+/);
    expect(result.stderr).toMatch(/RecursionError: maximum recursion depth exceeded\n$/);
  });
});
