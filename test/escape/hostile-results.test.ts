/** Results and exceptions built to break the code that serialises them. */
import { describe, expect, test } from 'vitest';
import { attack } from './attack.ts';

describe('hostile result value', () => {
  // guarantee: untrusted-reports
  test.each([
    ['has a type name of 300 characters', "type('x' * 300, (), {})()", 'string'],
    ['contains itself', 'a = []\na.append(a)\na', 'string'],
    ['is 6 MB of text', "['x' * 20000] * 300", 'string'],
    ['nests 5000 deep', 'a = []\nfor i in range(5000): a = [a]\na', 'string'],
    ['is not a number', "float('nan')", 'string'],
    ['is infinite', "float('inf')", 'string'],
    ['is an integer of 400 digits', '10 ** 400', 'string'],
    ['has a lone surrogate', "'\\udcff'", 'string'],
    ['has a million items', 'list(range(10 ** 6))', 'string'],
  ])('is returned within its size limit: it %s', async (_, code, kind) => {
    const result = await attack('python', code, { policy: { fuel_budget: 5_000_000_000 } });
    expect(result).toMatchObject({ success: true });
    expect(typeof result.metadata.result).toBe(kind);
    expect(JSON.stringify(result.metadata.result).length).toBeLessThan(200_000);
    expect(result.metadata.result_type?.length ?? 0).toBeLessThanOrEqual(200);
  });

  test('is reported as an exception of the program when its repr raises', async () => {
    const result = await attack('python', 'class R:\n    def __repr__(self): raise ValueError(7)\nR()');
    expect(result.metadata.error).toMatchObject({ type: 'ValueError', message: '7', line: 2 });
  });

  test.each([
    ['has getters', '({ get x() { throw 1; } })'],
    ['has a toJSON', '({ toJSON() { throw 1; } })'],
    [
      'is a proxy that throws',
      'new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; }, getPrototypeOf() { throw 3; } })',
    ],
    [
      'is a revoked proxy',
      '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()',
    ],
    ['contains itself', 'const a = []; a.push(a); a'],
    ['nests a hundred thousand deep', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a'],
    ['is 6 MB of text', "Array.from({ length: 300 }, () => 'x'.repeat(20000))"],
    ['is a symbol', 'Symbol("x")'],
    ['is a sparse array', 'const a = []; a[2 ** 32 - 2] = 1; a'],
    ['has a constructor whose name throws', '({ constructor: { get name() { throw 1; } } })'],
  ])('of JavaScript is returned within its size limit: it %s', async (_, code) => {
    const result = await attack('javascript', code);
    // A proxy that throws during inspection counts as an error of the program.
    expect(result.success || result.metadata.error !== undefined).toBe(true);
    expect(result.metadata.trapped).toBe(false);
    expect(JSON.stringify(result.metadata.result ?? null).length).toBeLessThan(200_000);
  });
});

describe('hostile exception', () => {
  // guarantee: untrusted-reports
  test.each([
    [
      'has a metaclass that returns a wrong name',
      'class M(type):\n    @property\n    def __name__(cls): return 7\nclass E(Exception, metaclass=M): pass\nraise E',
      'E',
    ],
    [
      'raises in __str__',
      'class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E',
      'SystemExit',
    ],
    [
      'returns a subclass of str from __str__',
      "class S(str):\n    def __len__(self): return -1\n    def __getitem__(self, i): raise ValueError\nclass E(Exception):\n    def __str__(self): return S('abc')\nraise E",
      'E',
    ],
    ['has a boolean as errno', 'e = OSError(); e.errno = True; raise e', 'OSError'],
    ['has an errno of 5,000 digits', 'e = OSError(); e.errno = 10 ** 5000; raise e', 'OSError'],
    [
      'has a file name whose __str__ raises',
      'class N:\n    def __str__(self): raise ValueError\ne = OSError(); e.filename = N(); raise e',
      'OSError',
    ],
    ['has a list as line number', "e = SyntaxError('x'); e.lineno = [1]; raise e", 'SyntaxError'],
    ['has 30,000 wide characters', "raise ValueError('\\U0001F600' * 30000)", 'ValueError'],
    ['is its own cause', 'e = ValueError(); e.__cause__ = e; raise e', 'ValueError'],
    [
      'has a thousand causes',
      'e = None\nfor i in range(1000):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e',
      'ValueError',
    ],
  ])('is reported: it %s', async (_, code, type) => {
    const result = await attack('python', code);
    expect(result.success || result.metadata.error?.type === type).toBe(true);
    expect(result.metadata.trapped).toBe(false);
  });

  test.each([
    [
      'a subclass of int',
      'class I(int):\n    def __and__(self, other): return [1]\nimport sys; sys.exit(I(3))',
      3,
    ],
    ['a text', "import sys; sys.exit('x' * 10)", 1],
    ['a huge integer', 'import sys; sys.exit(256 * 10 ** 30 + 9)', 9],
    [
      'an object whose __str__ raises',
      'class X:\n    def __str__(self): raise ValueError\nimport sys; sys.exit(X())',
      1,
    ],
  ])('used as an exit code becomes a number: %s', async (_, code, exitCode) => {
    expect(await attack('python', code)).toMatchObject({ exit_code: exitCode });
  });

  test.each([
    'null',
    'undefined',
    'Symbol("x")',
    '7n',
    '{ get message() { throw 1; }, toString() { throw 2; } }',
    'new Proxy({}, new Proxy({}, { get() { throw 1; } }))',
    'Object.assign(new Error(), { name: { toString() { throw 1; } }, stack: 7 })',
  ])('of JavaScript is reported: throw %s', async (value) => {
    const result = await attack('javascript', `throw ${value};`);
    expect(result).toMatchObject({ success: false, exit_code: 1 });
    expect(result.metadata.error).toBeDefined();
  });
});
