/** Recursion of every kind ends in an exception or a trap, and the sandbox stays usable. */
import { createSandbox, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const NESTED = 'x = []\nfor i in range(100_000): x = [x]\n';

const DEEP: Record<RuntimeName, Record<string, string>> = {
  python: {
    functions: 'def f(): f()\nf()',
    'functions with the recursion limit disabled':
      'import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()',
    'methods called by C code': 'class A:\n    def __repr__(self): return repr(self)\nrepr(A())',
    'comparisons called by C code':
      'class A:\n    def __lt__(self, o): return sorted([A(), A()])\nsorted([A(), A()])',
    'missing attributes': "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().x",
    representations: `${NESTED}repr(x)`,
    equality: `${NESTED}y = []\nfor i in range(100_000): y = [y]\nx == y`,
    'JSON serialisation': `${NESTED}import json\njson.dumps(x)`,
    'JSON parsing': "import json\njson.loads('[' * 1_000_000)",
    'deep copies': `${NESTED}import copy\ncopy.deepcopy(x)`,
    pickles: `${NESTED}import pickle\npickle.dumps(x)`,
    'brackets in source': "compile('(' * 100_000 + ')' * 100_000, 'f', 'eval')",
    'operators in source': "compile('-' * 200_000 + '1', 'f', 'eval')",
    'attributes in source': "compile('a' + '.a' * 200_000, 'f', 'eval')",
    'groups of a regular expression': "import re\nre.compile('(' * 50_000 + ')' * 50_000)",
    generators: 'def g(n):\n    yield from g(n + 1)\nlist(g(0))',
    'class bodies': "x = type('A', (), {})\nfor i in range(20_000): x = type('A', (x,), {})",
    deallocation: 'x = None\nfor i in range(200_000): x = (x,)\ndel x',
    imports:
      "import sys\nclass F:\n    def find_spec(self, n, *a): __import__(n + 'x')\nsys.meta_path.insert(0, F())\nimport q",
    exceptions: 'def f():\n    try: f()\n    finally: f()\nf()',
    'hashes of tuples': 'x = ()\nfor i in range(1_000_000): x = (x,)\nhash(x)',
    'hashes of aliases': 'x = int\nfor i in range(300_000): x = list[x]\nhash(x)',
  },
  javascript: {
    functions: 'function f() { return f() + 1; } f()',
    getters: 'const o = { get x() { return this.x; } }; o.x',
    'text of nested arrays': 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; String(a)',
    'JSON serialisation': 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)',
    'JSON parsing': "JSON.parse('['.repeat(1e6))",
    'brackets in source': "eval('['.repeat(1e5) + ']'.repeat(1e5))",
    'parentheses in source': "eval('('.repeat(1e6))",
    proxies: 'let p = {}; for (let i = 0; i < 1e5; i++) p = new Proxy(p, {}); p.x',
    'keys of proxies': 'let p = {}; for (let i = 0; i < 3e5; i++) p = new Proxy(p, {}); Object.keys(p)',
    'realms of proxies':
      'let f = function () {}; for (let i = 0; i < 3e5; i++) f = new Proxy(f, {}); Reflect.construct(Array, [], f)',
    prototypes: 'let o = {}; for (let i = 0; i < 1e5; i++) o = Object.create(o); o.x',
    'bound functions': 'let f = () => 1; for (let i = 0; i < 3e3; i++) f = f.bind(null); f()',
    promises: 'let p = Promise.resolve(1); for (let i = 0; i < 5e4; i++) p = p.then((x) => x); await p',
    'structured clones': 'let a = {}; for (let i = 0; i < 1e5; i++) a = { a }; structuredClone(a)',
    'groups of a regular expression': "new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))",
    backtracking: "/(?:a|b)*c/.test('ab'.repeat(3e5))",
    iterators: 'function* g() { yield* g(); } [...g()]',
    sorting: '[2, 1].sort(function c() { return [2, 1].sort(c); })',
    deallocation: 'let o = null; for (let i = 0; i < 3e5; i++) o = { o }; o = null; 1',
    replacing: "'a'.replace(/a/, function f() { return 'a'.replace(/a/, f); })",
  },
};

const CASES = (Object.keys(DEEP) as RuntimeName[]).flatMap((runtime) =>
  Object.keys(DEEP[runtime]).map((name) => [runtime, name] as const),
);

describe('deep recursion', () => {
  // guarantee: recursion-limit
  test.each(CASES)('ends in an exception or a trap: %s, %s', async (runtime, name) => {
    await using sandbox = await createSandbox({ runtime, policy: { fuel_budget: 3e9, timeout_seconds: 30 } });
    const result = await sandbox.execute(DEEP[runtime][name]!);
    const { trap_reason, error } = result.metadata;
    const ended = trap_reason ?? error?.type ?? 'finished';
    expect([
      ...['finished', 'out_of_fuel', 'memory_limit'],
      // QuickJS checks its stack wherever it recurses; CPython has a few places where it does not.
      ...(runtime === 'python' ? ['stack_overflow'] : []),
      ...[
        'RecursionError',
        'RangeError',
        'InternalError',
        'SyntaxError',
        'MemoryError',
        'OverflowError',
        'AttributeError',
      ],
    ]).toContain(ended);
    expect(await sandbox.execute('6 * 7')).toMatchObject({ success: true, metadata: { result: 42 } });
  });

  test('in Python is reported with its line', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('def f(n):\n    return f(n + 1)\n\nf(0)');
    expect(result.metadata.error).toMatchObject({ type: 'RecursionError', line: 2 });
  });
});
