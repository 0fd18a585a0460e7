/**
 * Programs that break a limit. They use only the language and its standard library, because bench/overshoot.mjs runs them
 * in other sandboxes too. Without limits no program ends in reasonable time, except those with `ends`.
 */
import { RUNTIME_NAMES, type RuntimeName } from '../../schema.ts';

export type Limit = 'fuel' | 'time' | 'memory' | 'output';

export interface LimitProgram {
  readonly name: string;
  /** Every limit that stops the program when no other is in force. */
  readonly breaks: readonly Limit[];
  readonly code: string;
  /** The program ends normally although it exceeds a limit. */
  readonly ends?: boolean;
  /** The program uses functions that other sandboxes do not have. */
  readonly sandboxOnly?: boolean;
  readonly reference?: string;
}

/** Loops forever and catches every exception. */
const PYTHON_STUBBORN = `
def stubborn():
    while True:
        try:
            while True: pass
        except BaseException:
            pass
`;

const python: readonly LimitProgram[] = [
  // Loops in the language.
  { name: 'while-true', breaks: ['fuel', 'time'], code: 'while True: pass' },
  { name: 'count-up', breaks: ['fuel', 'time'], code: 'n = 0\nwhile True: n += 1' },
  {
    name: 'catch-everything',
    breaks: ['fuel', 'time'],
    code: 'while True:\n    try:\n        while True: pass\n    except: pass',
  },
  { name: 'catch-base-exception', breaks: ['fuel', 'time'], code: `${PYTHON_STUBBORN}stubborn()` },
  {
    name: 'loop-in-finally',
    breaks: ['fuel', 'time'],
    code: 'try:\n    while True: pass\nfinally:\n    while True: pass',
  },
  {
    name: 'loop-in-del',
    breaks: ['fuel', 'time'],
    code: `${PYTHON_STUBBORN}
class Clingy:
    def __del__(self): stubborn()
x = Clingy()
del x`,
  },
  {
    name: 'loop-in-atexit',
    breaks: ['fuel', 'time'],
    code: `import atexit\n${PYTHON_STUBBORN}atexit.register(stubborn)`,
  },
  {
    name: 'loop-in-signal-handlers',
    breaks: ['fuel', 'time'],
    code: `import signal
${PYTHON_STUBBORN}
for number in range(1, 65):
    try: signal.signal(number, lambda *_: stubborn())
    except (OSError, ValueError): pass
while True: pass`,
  },
  {
    name: 'loop-in-trace-function',
    breaks: ['fuel', 'time'],
    code: `import sys
${PYTHON_STUBBORN}
def trace(*_):
    stubborn()
def f(): pass
sys.settrace(trace)
f()`,
  },
  {
    name: 'loop-in-generator-close',
    breaks: ['fuel', 'time'],
    code: `${PYTHON_STUBBORN}
def g():
    try: yield
    finally: stubborn()
it = g(); next(it); it.close()`,
  },
  {
    name: 'loop-in-weakref-callback',
    breaks: ['fuel', 'time'],
    code: `import weakref
${PYTHON_STUBBORN}
class A: pass
a = A(); r = weakref.ref(a, lambda _: stubborn()); del a`,
  },
  {
    name: 'loop-in-gc-callback',
    breaks: ['fuel', 'time'],
    code: `import gc\n${PYTHON_STUBBORN}gc.callbacks.append(lambda *_: stubborn())\ngc.collect()`,
  },
  {
    name: 'loop-in-excepthook',
    breaks: ['fuel', 'time'],
    code: `import sys\n${PYTHON_STUBBORN}sys.excepthook = lambda *_: stubborn()\n1 / 0`,
  },
  {
    name: 'loop-in-flush',
    breaks: ['fuel', 'time'],
    code: `import sys
${PYTHON_STUBBORN}
class Out:
    def write(self, text): return len(text)
    def flush(self): stubborn()
sys.stdout = Out()`,
  },
  {
    name: 'loop-in-repr-of-result',
    breaks: ['fuel', 'time'],
    code: `${PYTHON_STUBBORN}
class R:
    def __repr__(self): stubborn()
R()`,
  },
  {
    name: 'loop-in-message-of-error',
    breaks: ['fuel', 'time'],
    code: `${PYTHON_STUBBORN}
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

/** Work that the host does for a program: each byte, or each call, has to be charged and limited. */
const hostWork: readonly LimitProgram[] = [
  ...['big5', 'euc-jp', 'euc-kr', 'gbk', 'iso-2022-jp', 'shift_jis'].map(
    (encoding): LimitProgram => ({
      name: `decode-${encoding}`,
      breaks: ['fuel', 'time'],
      sandboxOnly: true,
      code: `const bytes = new Uint8Array(1 << 20).map((_, i) => [0x8f, 0xa1, 0x81, 0xff, 0x0a][i % 5]);
const decoder = new TextDecoder('${encoding}');
for (;;) decoder.decode(bytes, { stream: Math.random() < 0.5 });`,
    }),
  ),
  {
    name: 'decode-invalid-utf-8',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: 'const bytes = new Uint8Array(1 << 22).fill(0xff); for (;;) new TextDecoder().decode(bytes);',
  },
  {
    name: 'hmac-with-long-key',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { createHmac } = require('crypto'); const key = Buffer.alloc(1 << 23); for (;;) createHmac('sha256', key).digest();",
  },
  {
    name: 'deflate-slowest-level',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { deflateSync } = require('zlib'); const data = Buffer.alloc(1 << 18).map((_, i) => (i % 258 < 256 ? 0 : i * 31)); for (;;) deflateSync(data, { level: 9 });",
  },
  {
    name: 'inflate-bomb',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { deflateSync, inflateSync } = require('zlib'); const bomb = deflateSync(Buffer.alloc(1 << 18), { level: 1 }); for (;;) inflateSync(bomb);",
  },
  {
    name: 'pbkdf2-forever',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { pbkdf2Sync } = require('crypto'); for (;;) pbkdf2Sync('p', 's', 30_000, 32, 'sha256');",
  },
  {
    name: 'scrypt-forever',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: "const { scryptSync } = require('crypto'); for (;;) scryptSync('p', 's', 32, { N: 4096 });",
  },
  {
    name: 'random-bytes-forever',
    breaks: ['fuel', 'time'],
    sandboxOnly: true,
    code: 'const bytes = new Uint8Array(65_536); for (;;) crypto.getRandomValues(bytes);',
  },
];

const javascript: readonly LimitProgram[] = [
  ...hostWork,
  { name: 'while-true', breaks: ['fuel', 'time'], code: 'while (true) {}' },
  { name: 'count-up', breaks: ['fuel', 'time'], code: 'let n = 0; for (;;) n++;' },
  { name: 'catch-everything', breaks: ['fuel', 'time'], code: 'for (;;) { try { for (;;) {} } catch {} }' },
  {
    name: 'loop-in-finally',
    breaks: ['fuel', 'time'],
    code: 'for (;;) { try { for (;;) {} } finally { for (;;) {} } }',
  },
  {
    name: 'loop-in-getter',
    breaks: ['fuel', 'time'],
    code: '({ get x() { for (;;) { try { for (;;) {} } catch {} } } }).x',
  },
  {
    name: 'loop-in-proxy',
    breaks: ['fuel', 'time'],
    code: 'const p = new Proxy({}, { get() { for (;;) { try { for (;;) {} } catch {} } } }); p.x;',
  },
  {
    name: 'loop-in-to-primitive',
    breaks: ['fuel', 'time'],
    code: "const o = { [Symbol.toPrimitive]() { for (;;) {} } }; o + '';",
  },
  {
    name: 'loop-in-to-string',
    breaks: ['fuel', 'time'],
    code: "const o = { toString() { for (;;) {} } }; '' + o;",
  },
  {
    name: 'loop-in-value-of',
    breaks: ['fuel', 'time'],
    code: 'const o = { valueOf() { for (;;) {} } }; o * 2;',
  },
  {
    name: 'promise-jobs',
    reference: 'vm2: timeout does not cover promise jobs',
    breaks: ['fuel', 'time'],
    code: 'const again = () => { Promise.resolve().then(again); }; again();',
  },
  {
    name: 'async-loop',
    breaks: ['fuel', 'time'],
    code: '(async () => { for (;;) { try { await null; } catch {} } })();',
  },
  {
    name: 'generator-return',
    breaks: ['fuel', 'time'],
    code: 'function* g() { try { yield 1; } finally { for (;;) {} } } const it = g(); it.next(); it.return();',
  },
  {
    name: 'iterator-without-end',
    breaks: ['fuel', 'time'],
    code: 'const it = { [Symbol.iterator]() { return { next: () => ({ done: false }) }; } }; for (const _ of it) {}',
  },
  {
    name: 'loop-in-message-of-error',
    breaks: ['fuel', 'time'],
    code: 'const e = new Error(); Object.defineProperty(e, "message", { get() { for (;;) {} } }); throw e;',
  },
  {
    name: 'array-to-text',
    reference: 'quickjs-emscripten: ran for 15 s despite a limit of 1 s',
    breaks: ['fuel', 'time'],
    code: "new Array(2e8) + ''",
  },
  { name: 'array-join', breaks: ['fuel', 'time'], code: "new Array(4e8).join('')" },
  {
    name: 'array-fill',
    breaks: ['fuel', 'time'],
    code: 'const a = []; a.length = 4294967295; a.fill.call({ length: 2 ** 53 - 1 }, 0);',
  },
  {
    name: 'index-of',
    breaks: ['fuel', 'time'],
    code: 'Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)',
  },
  {
    name: 'reverse',
    breaks: ['fuel', 'time'],
    code: 'Array.prototype.reverse.call({ length: 2 ** 53 - 1 })',
  },
  { name: 'catastrophic-regex', breaks: ['fuel', 'time'], code: "/^(a+)+$/.test('a'.repeat(60) + 'b')" },
  { name: 'power', breaks: ['fuel', 'time'], code: 'for (;;) 3n ** 600000n;' },
  { name: 'bigint-to-text', breaks: ['fuel', 'time'], code: 'for (;;) (3n ** 600000n).toString();' },
  {
    name: 'sort-with-slow-comparison',
    breaks: ['fuel', 'time'],
    code: '[2, 1].sort(() => { for (;;) {} })',
  },
  {
    name: 'sort-large',
    breaks: ['fuel', 'time'],
    code: 'const x = Array.from({ length: 300000 }, (_, i) => (i * 7919) % 300007); for (;;) [...x].sort((a, b) => a - b);',
  },
  {
    name: 'json-round-trip',
    breaks: ['fuel', 'time'],
    code: 'const x = Array.from({ length: 50000 }, (_, i) => [i, String(i)]); for (;;) JSON.parse(JSON.stringify(x));',
  },
  {
    name: 'text-search',
    breaks: ['fuel', 'time'],
    code: "const s = 'ab'.repeat(500000); for (;;) s.replaceAll('a', 'bb').lastIndexOf('x');",
  },
  {
    name: 'evaluate-source',
    breaks: ['fuel', 'time'],
    code: "const s = 'x=[' + '1+2*3,'.repeat(100000) + ']'; for (;;) new Function(s);",
  },
  {
    name: 'spread-of-arguments',
    breaks: ['fuel', 'time'],
    code: 'const x = new Array(60000).fill(1); for (;;) Math.max(...x);',
  },
  // Waiting.
  {
    name: 'sleep',
    breaks: ['time'],
    sandboxOnly: true,
    code: "import * as os from 'os'; os.sleep(3600_000);",
  },
  { name: 'timer', breaks: ['time'], sandboxOnly: true, code: 'setTimeout(() => {}, 3600_000);' },
  { name: 'interval', breaks: ['time'], sandboxOnly: true, code: 'setInterval(() => {}, 1);' },
  // Memory.
  {
    name: 'text-doubling',
    breaks: ['memory'],
    code: "let s = 'a'; const keep = []; for (;;) { s += s; keep.push(s.toUpperCase()); }",
  },
  {
    name: 'array-growing',
    breaks: ['memory'],
    code: 'const a = []; for (;;) a.push(new Uint8Array(100000).fill(1));',
  },
  { name: 'array-buffer', breaks: ['memory'], code: 'new Uint8Array(1000000000).fill(1)' },
  {
    name: 'repeat',
    breaks: ['memory'],
    code: "const a = []; for (;;) a.push('x'.repeat(5000000) + a.length);",
  },
  {
    name: 'map-growing',
    breaks: ['memory'],
    code: 'const m = new Map(); for (let i = 0; ; i++) m.set(i, { i });',
  },
  {
    name: 'catch-memory-error',
    breaks: ['fuel', 'time'],
    code: 'const a = []; for (;;) { try { a.push(new Uint8Array(10000000).fill(1)); } catch {} }',
  },
  {
    name: 'closures',
    breaks: ['memory'],
    code: 'let f = null; for (;;) { const g = f; const x = new Array(100).fill(0); f = () => [g, x]; }',
  },
  {
    name: 'resizable-buffer',
    breaks: ['memory'],
    code: 'const a = []; for (;;) { const b = new ArrayBuffer(8, { maxByteLength: 20000000 }); b.resize(20000000); a.push(b, new Uint8Array(20000000)); }',
  },
  {
    name: 'error-with-huge-message',
    breaks: ['memory'],
    code: "const s = 'a'.repeat(20000000); const a = []; for (;;) a.push(new Error(s + a.length));",
  },
  // Output.
  { name: 'print-forever', breaks: ['output', 'fuel', 'time'], code: "for (;;) console.log('spam');" },
  { name: 'one-huge-write', breaks: ['output'], ends: true, code: "console.log('x'.repeat(5000000));" },
  {
    name: 'tiny-writes',
    breaks: ['output'],
    ends: true,
    code: "for (let i = 0; i < 20000; i++) console.log('x');",
  },
  {
    name: 'errors-forever',
    breaks: ['output', 'fuel', 'time'],
    code: "for (;;) console.error('spam');",
  },
];

export const LIMIT_PROGRAMS: Readonly<Record<RuntimeName, readonly LimitProgram[]>> = { python, javascript };

/** All programs with their runtime, for the benchmarks. */
export const CORPUS = RUNTIME_NAMES.flatMap((runtime) =>
  LIMIT_PROGRAMS[runtime].map((program) => ({ runtime, ...program })),
);
