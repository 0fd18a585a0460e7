/** Results and errors whose names, texts and types are traps for whoever describes them. */
import { describe, expect, test } from 'vitest';
import { attack } from './witness.ts';

describe('an evil result', () => {
  test.each([
    ['has a type name of 300 characters', "type('x' * 300, (), {})()", 'string'],
    ['contains itself', 'a = []\na.append(a)\na', 'string'],
    ['is 6 MB of text', "['x' * 20000] * 300", 'string'],
    ['nests 5000 deep', 'a = []\nfor i in range(5000): a = [a]\na', 'string'],
    ['is not a number', "float('nan')", 'string'],
    ['is endless', "float('inf')", 'string'],
    ['is too large a number', '10 ** 400', 'string'],
    ['has a lone surrogate', "'\\udcff'", 'string'],
    ['has a million items', 'list(range(10 ** 6))', 'string'],
  ])('that %s is shown cut', async (_, code, kind) => {
    const result = await attack('python', code, { policy: { fuel_budget: 5_000_000_000 } });
    expect(result).toMatchObject({ success: true });
    expect(typeof result.metadata.result).toBe(kind);
    expect(JSON.stringify(result.metadata.result).length).toBeLessThan(200_000);
    expect(result.metadata.result_type?.length ?? 0).toBeLessThanOrEqual(200);
  });

  test('whose repr raises is an error of the program', async () => {
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
      'is revoked',
      '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()',
    ],
    ['contains itself', 'const a = []; a.push(a); a'],
    ['nests a hundred thousand deep', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a'],
    ['is 6 MB of text', "Array.from({ length: 300 }, () => 'x'.repeat(20000))"],
    ['is a symbol', 'Symbol("x")'],
    ['is a sparse array', 'const a = []; a[2 ** 32 - 2] = 1; a'],
    ['has a constructor that lies', '({ constructor: { get name() { throw 1; } } })'],
  ])('of JavaScript that %s is shown cut', async (_, code) => {
    const result = await attack('javascript', code);
    // A proxy that throws when it is looked at is an error of the program.
    expect(result.success || result.metadata.error !== undefined).toBe(true);
    expect(result.metadata.trapped).toBe(false);
    expect(JSON.stringify(result.metadata.result ?? null).length).toBeLessThan(200_000);
  });
});

describe('an evil error', () => {
  test.each([
    [
      'has a metaclass that lies about its name',
      'class M(type):\n    @property\n    def __name__(cls): return 7\nclass E(Exception, metaclass=M): pass\nraise E',
      'E',
    ],
    [
      'has a text that raises',
      'class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E',
      'SystemExit',
    ],
    [
      'has a text of a subclass of str',
      "class S(str):\n    def __len__(self): return -1\n    def __getitem__(self, i): raise ValueError\nclass E(Exception):\n    def __str__(self): return S('abc')\nraise E",
      'E',
    ],
    ['has an error number that is none', 'e = OSError(); e.errno = True; raise e', 'OSError'],
    ['has an error number without end', 'e = OSError(); e.errno = 10 ** 5000; raise e', 'OSError'],
    [
      'has a file name that raises',
      'class N:\n    def __str__(self): raise ValueError\ne = OSError(); e.filename = N(); raise e',
      'OSError',
    ],
    ['has a line that is a list', "e = SyntaxError('x'); e.lineno = [1]; raise e", 'SyntaxError'],
    ['has 30,000 wide characters', "raise ValueError('\\U0001F600' * 30000)", 'ValueError'],
    ['is its own cause', 'e = ValueError(); e.__cause__ = e; raise e', 'ValueError'],
    [
      'has a thousand causes',
      'e = None\nfor i in range(1000):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e',
      'ValueError',
    ],
  ])('that %s is still reported', async (_, code, type) => {
    const result = await attack('python', code);
    expect(result.success || result.metadata.error?.type === type).toBe(true);
    expect(result.metadata.trapped).toBe(false);
  });

  test.each([
    [
      'an integer that lies',
      'class I(int):\n    def __and__(self, other): return [1]\nimport sys; sys.exit(I(3))',
      3,
    ],
    ['a text', "import sys; sys.exit('x' * 10)", 1],
    ['a huge integer', 'import sys; sys.exit(256 * 10 ** 30 + 9)', 9],
    [
      'an object whose text raises',
      'class X:\n    def __str__(self): raise ValueError\nimport sys; sys.exit(X())',
      1,
    ],
  ])('code: %s becomes a number', async (_, code, exitCode) => {
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
  ])('of JavaScript is still reported: throw %s', async (value) => {
    const result = await attack('javascript', `throw ${value};`);
    expect(result).toMatchObject({ success: false, exit_code: 1 });
    expect(result.metadata.error).toBeDefined();
  });
});
