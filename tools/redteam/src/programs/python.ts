/** What the red team runs in Python. */
import type { AttackPrograms, LimitProgram, RecursiveProgram } from './attack-programs.ts';

/** Loops forever and catches every exception. */
const STUBBORN = `
def stubborn():
    while True:
        try:
            while True: pass
        except BaseException:
            pass
`;

const limitPrograms: readonly LimitProgram[] = [
  // Loops in the language.
  { name: 'while-true', breaks: ['fuel', 'time'], code: 'while True: pass' },
  { name: 'count-up', breaks: ['fuel', 'time'], code: 'n = 0\nwhile True: n += 1' },
  {
    name: 'catch-everything',
    breaks: ['fuel', 'time'],
    code: 'while True:\n    try:\n        while True: pass\n    except: pass',
  },
  { name: 'catch-base-exception', breaks: ['fuel', 'time'], code: `${STUBBORN}stubborn()` },
  {
    name: 'loop-in-finally',
    breaks: ['fuel', 'time'],
    code: 'try:\n    while True: pass\nfinally:\n    while True: pass',
  },
  {
    name: 'loop-in-del',
    breaks: ['fuel', 'time'],
    code: `${STUBBORN}
class Clingy:
    def __del__(self): stubborn()
x = Clingy()
del x`,
  },
  {
    name: 'loop-in-atexit',
    breaks: ['fuel', 'time'],
    code: `import atexit\n${STUBBORN}atexit.register(stubborn)`,
  },
  {
    name: 'loop-in-signal-handlers',
    breaks: ['fuel', 'time'],
    code: `import signal
${STUBBORN}
for number in range(1, 65):
    try: signal.signal(number, lambda *_: stubborn())
    except (OSError, ValueError): pass
while True: pass`,
  },
  {
    name: 'loop-in-trace-function',
    breaks: ['fuel', 'time'],
    code: `import sys
${STUBBORN}
def trace(*_):
    stubborn()
def f(): pass
sys.settrace(trace)
f()`,
  },
  {
    name: 'loop-in-generator-close',
    breaks: ['fuel', 'time'],
    code: `${STUBBORN}
def g():
    try: yield
    finally: stubborn()
it = g(); next(it); it.close()`,
  },
  {
    name: 'loop-in-weakref-callback',
    breaks: ['fuel', 'time'],
    code: `import weakref
${STUBBORN}
class A: pass
a = A(); r = weakref.ref(a, lambda _: stubborn()); del a`,
  },
  {
    name: 'loop-in-gc-callback',
    breaks: ['fuel', 'time'],
    code: `import gc\n${STUBBORN}gc.callbacks.append(lambda *_: stubborn())\ngc.collect()`,
  },
  {
    name: 'loop-in-excepthook',
    breaks: ['fuel', 'time'],
    code: `import sys\n${STUBBORN}sys.excepthook = lambda *_: stubborn()\n1 / 0`,
  },
  {
    name: 'loop-in-flush',
    breaks: ['fuel', 'time'],
    code: `import sys
${STUBBORN}
class Out:
    def write(self, text): return len(text)
    def flush(self): stubborn()
sys.stdout = Out()`,
  },
  {
    name: 'loop-in-repr-of-result',
    breaks: ['fuel', 'time'],
    code: `${STUBBORN}
class R:
    def __repr__(self): stubborn()
R()`,
  },
  {
    name: 'loop-in-message-of-error',
    breaks: ['fuel', 'time'],
    code: `${STUBBORN}
class E(Exception):
    def __str__(self): stubborn()
raise E`,
  },
  {
    name: 'ignored-signals',
    breaks: ['fuel', 'time'],
    code: `import signal
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: pass`,
  },
  // Long work in one built-in function.
  { name: 'sum-of-range', breaks: ['fuel', 'time'], code: 'sum(range(10**12))' },
  {
    name: 'power',
    reference: 'Monty: 3**20000000 ran for 3.4 s despite a limit of 1 s',
    breaks: ['fuel', 'time'],
    code: '3 ** 20000000',
  },
  { name: 'factorial', breaks: ['fuel', 'time'], code: 'import math\nmath.factorial(10**6)' },
  {
    name: 'integer-to-text',
    breaks: ['fuel', 'time'],
    code: 'import sys\nsys.set_int_max_str_digits(0)\nlen(str(1 << 40000000))',
  },
  {
    name: 'integer-from-text',
    reference: 'CVE-2020-10735 (CPython)',
    breaks: ['fuel', 'time'],
    code: "import sys\nsys.set_int_max_str_digits(0)\nint('9' * 10**7)",
  },
  {
    name: 'catastrophic-regex',
    breaks: ['fuel', 'time'],
    code: "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')",
  },
  {
    name: 'sort-with-slow-comparison',
    breaks: ['fuel', 'time'],
    code: `class K:
    def __lt__(self, other):
        while True: pass
sorted([K(), K()])`,
  },
  {
    name: 'sort-large',
    breaks: ['fuel', 'time'],
    code: 'import random\nx = [random.random() for _ in range(300000)]\nwhile True: sorted(x)',
  },
  {
    name: 'text-search',
    breaks: ['fuel', 'time'],
    code: "('a' * 10**6).find('a' * 499999 + 'b' + 'a' * 499999) \nwhile True: ('ab' * 10**6).replace('a', 'bb').count('bbb')",
  },
  {
    name: 'json-round-trip',
    breaks: ['fuel', 'time'],
    code: 'import json\nx = [[i, str(i)] for i in range(50000)]\nwhile True: json.loads(json.dumps(x))',
  },
  {
    name: 'decimal-precision',
    breaks: ['fuel', 'time'],
    code: 'import decimal\ndecimal.getcontext().prec = 10**6\ndecimal.Decimal(2).sqrt() ** decimal.Decimal("0.123")',
  },
  {
    name: 'compression',
    breaks: ['fuel', 'time'],
    code: 'import lzma, os\nlzma.compress(os.urandom(6_000_000), preset=5)',
  },
  {
    name: 'recursive-query',
    breaks: ['fuel', 'time'],
    code: "import sqlite3\nsqlite3.connect(':memory:').execute('with recursive c(x) as (select 1 union all select x+1 from c) select count(*) from c').fetchall()",
  },
  {
    name: 'itertools-product',
    breaks: ['fuel', 'time'],
    code: 'import itertools, collections\ncollections.deque(itertools.count(), 0)',
  },
  {
    name: 'compile-large-source',
    breaks: ['fuel', 'time'],
    code: "source = 'x = [' + '1 + 2 * a[3], ' * 100000 + ']'\nwhile True: compile(source, 'f', 'exec')",
  },
  // Waiting.
  { name: 'sleep', breaks: ['time'], code: 'import time\ntime.sleep(3600)' },
  {
    name: 'sleep-again',
    breaks: ['time'],
    code: 'import time\nwhile True:\n    try: time.sleep(3600)\n    except BaseException: pass',
  },
  { name: 'poll', breaks: ['time'], code: 'import select\nselect.poll().poll()' },
  { name: 'asyncio-sleep', breaks: ['time'], code: 'import asyncio\nasyncio.run(asyncio.sleep(3600))' },
  // Work on the host, which costs the guest little fuel.
  {
    name: 'stat-through-links',
    breaks: ['time'],
    code: `import os
for i in range(39):
    os.symlink((f'l{i-1}/' if i else '') + './' * 1900 + '.', f'l{i}')
while True: os.stat('l38')`,
  },
  {
    name: 'truncate-up-and-down',
    breaks: ['time'],
    code: "f = open('x', 'wb')\nwhile True:\n    f.truncate(50_000_000); f.truncate(20_000_000)",
  },
  {
    name: 'rename-full-folder',
    breaks: ['time'],
    code: `import os
os.mkdir('a')
for i in range(300): os.mkdir(f'a/{i}')
while True:
    os.rename('a', 'much-longer'); os.rename('much-longer', 'a')`,
  },
  { name: 'random-bytes', breaks: ['time'], code: 'import os\nwhile True: os.urandom(10_000_000)' },
  // Memory.
  { name: 'bytes', breaks: ['memory'], code: "x = b'a' * 10**9" },
  { name: 'list', breaks: ['memory'], code: 'x = [0] * 10**9' },
  { name: 'text-doubling', breaks: ['memory'], code: "x = 'a'\nwhile True: x += x" },
  { name: 'list-growing', breaks: ['memory'], code: 'x = []\nwhile True: x.append(bytes(100_000))' },
  { name: 'dict-growing', breaks: ['memory'], code: 'x = {}\ni = 0\nwhile True:\n    x[i] = i; i += 1' },
  {
    name: 'catch-memory-error',
    breaks: ['fuel', 'time'],
    code: 'x = []\nwhile True:\n    try: x.append(bytearray(10_000_000))\n    except BaseException: pass',
  },
  { name: 'nested-tuples', breaks: ['memory'], code: 'x = ()\nwhile True: x = (x, bytes(50_000))' },
  { name: 'shift', breaks: ['memory'], code: 'x = 1 << (8 * 10**9)' },
  {
    name: 'decompression-bomb',
    reference: 'CVE-2024-0450 (CPython zipfile)',
    breaks: ['memory'],
    code: `import zlib
c = zlib.compressobj(1); chunk = bytes(1_000_000)
bomb = b''.join([c.compress(chunk) for _ in range(100)] + [c.flush()])
x = zlib.decompress(bomb)`,
  },
  {
    name: 'database-blob',
    breaks: ['memory'],
    code: "import sqlite3\nsqlite3.connect(':memory:').execute('select randomblob(900000000)').fetchall()",
  },
  {
    name: 'error-with-huge-message',
    breaks: ['memory'],
    code: "x = ['a' * 10_000_000]\nraise ValueError(str(x * 50))",
  },
  // Output.
  { name: 'print-forever', breaks: ['output', 'fuel', 'time'], code: "while True: print('spam')" },
  {
    name: 'one-huge-write',
    breaks: ['output'],
    ends: true,
    code: "import os\nos.write(1, b'x' * 20_000_000)",
  },
  {
    name: 'tiny-writes',
    breaks: ['output'],
    ends: true,
    code: "import os\nfor i in range(20_000): os.write(1, b'x')",
  },
  { name: 'not-utf-8', breaks: ['output'], ends: true, code: "import os\nos.write(1, b'\\xff' * 1_000_000)" },
  {
    name: 'errors-forever',
    breaks: ['output', 'fuel', 'time'],
    code: "import sys\nwhile True: sys.stderr.write('spam\\n')",
  },
];

/** Collecting garbage would use most of the fuel. */
const NESTED = 'import gc\ngc.disable()\nx = []\nfor i in range(60_000): x = [x]\n';

const recursion: Readonly<Record<string, RecursiveProgram>> = {
  functions: ['def f(): f()\nf()', 'RecursionError'],
  'functions with the recursion limit disabled': [
    'import sys\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()',
    'out_of_fuel',
  ],
  'methods called by C code': [
    'class A:\n    def __repr__(self): return repr(self)\nrepr(A())',
    'RecursionError',
  ],
  'comparisons called by C code': [
    'class A:\n    def __lt__(self, o): return sorted([A(), A()])\nsorted([A(), A()])',
    'RecursionError',
  ],
  'missing attributes': [
    "class A:\n    def __getattr__(self, n): return getattr(self, n + 'x')\nA().x",
    'RecursionError',
  ],
  representations: [`${NESTED}repr(x)`, 'out_of_fuel'],
  equality: [`${NESTED}y = []\nfor i in range(60_000): y = [y]\nx == y`, 'finished'],
  'JSON serialisation': [`${NESTED}import json\njson.dumps(x)`, 'finished'],
  'JSON parsing': ["import json\njson.loads('[' * 1_000_000)", 'RecursionError'],
  'deep copies': [`${NESTED}import copy\ncopy.deepcopy(x)`, 'RecursionError'],
  pickles: [`${NESTED}import pickle\npickle.dumps(x)`, 'RecursionError', 1e9],
  'brackets in source': ["compile('(' * 100_000 + ')' * 100_000, 'f', 'eval')", 'SyntaxError'],
  'operators in source': ["compile('-' * 200_000 + '1', 'f', 'eval')", 'MemoryError'],
  'attributes in source': ["compile('a' + '.a' * 50_000, 'f', 'eval')", 'RecursionError'],
  'groups of a regular expression': ["import re\nre.compile('(' * 10_000 + ')' * 10_000)", 'RecursionError'],
  generators: ['def g(n):\n    yield from g(n + 1)\nlist(g(0))', 'RecursionError'],
  'class bodies': ["x = type('A', (), {})\nfor i in range(20_000): x = type('A', (x,), {})", 'out_of_fuel'],
  deallocation: ['import gc\ngc.disable()\nx = None\nfor i in range(100_000): x = (x,)\ndel x', 'finished'],
  imports: [
    "import sys\nclass F:\n    def find_spec(self, n, *a): __import__(n + 'x')\nsys.meta_path.insert(0, F())\nimport q",
    'RecursionError',
  ],
  exceptions: ['def f():\n    try: f()\n    finally: f()\nf()', 'out_of_fuel'],
  'hashes of tuples': [
    'import gc\ngc.disable()\nx = ()\nfor i in range(200_000): x = (x,)\nhash(x)',
    'finished',
  ],
  'hashes of aliases': [
    'import gc\ngc.disable()\nx = int\nfor i in range(90_000): x = list[x]\nhash(x)',
    'finished',
  ],
};

export const pythonAttackPrograms: AttackPrograms = {
  nextRun: `
import builtins, sys
print(len(dir(builtins)), sys.getrecursionlimit(), sorted(k for k in globals() if k[0] != '_'))
print([type(x).__name__ for x in (1, 'a', [], {}, len)], sum(range(100)), '{:.2f}'.format(1.5), sys.stdout.fileno())
`,
  neighbour: "total = 0\nfor i in range(3000): total += i\nprint(total, open('own.txt').read())",
  evaluator: (expressions) => `
import json, os, sys
for number, line in enumerate(json.loads(${JSON.stringify(JSON.stringify(expressions))})):
    try: seen = ascii(eval(line))[:200]
    except Exception as error: seen = type(error).__name__
    print('\\n' + json.dumps([number, seen]), flush=True)
`,
  toolProbe: 'print(list((await tools.echo(n=1)).values()))',
  limitPrograms,
  memory: { bytes: 40 * 1024 * 1024, outcomes: ['memory_limit', 'MemoryError'] },
  longPrograms: { fuel: '#\n'.repeat(60_000), memory: 'x = 1\n'.repeat(100_000) },
  recursion,
  recursionReferences: {},
};
