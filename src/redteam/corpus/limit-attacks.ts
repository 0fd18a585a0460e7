/** Attacks on the limits of fuel, time, memory, output, files and recursion. */
import type { PolicyInput, RuntimeName } from '../../schema.ts';
import type { AttackRow, AttackTable, Pattern, ProgramAttack } from '../attack.ts';
import { CHART_ATTACKS } from './chart-attacks.ts';
import { LIMIT_PROGRAMS, type Limit, type LimitProgram } from './limit-programs.ts';
import { knownFrom, slug } from './rows.ts';

const MiB = 1024 * 1024;
const OUTPUT_CAP = 10_000;

/** The limit under attack, with all other limits far above what the program uses. */
const POLICIES: Record<Limit, PolicyInput> = {
  fuel: { fuel_budget: 50_000_000, memory_bytes: 128 * MiB, timeout_seconds: 60 },
  time: { fuel_budget: 1e15, timeout_seconds: 0.2 },
  memory: { fuel_budget: 30e9, timeout_seconds: 60 },
  output: {
    stdout_max_bytes: OUTPUT_CAP,
    stderr_max_bytes: OUTPUT_CAP,
    fuel_budget: 400_000_000,
    timeout_seconds: 60,
  },
};

/** Small, because filling the memory takes most of the time of these attacks. */
const MEMORY_BYTES: Record<RuntimeName, number> = { python: 40 * MiB, javascript: 16 * MiB };

const OUTCOMES: Record<Exclude<Limit, 'memory'>, readonly string[]> = {
  fuel: ['out_of_fuel'],
  time: ['timeout'],
  output: ['finished', 'out_of_fuel'],
};

/** QuickJS throws null if it has no memory for an error. */
const MEMORY_OUTCOMES: Record<RuntimeName, readonly string[]> = {
  python: ['memory_limit', 'MemoryError'],
  javascript: ['memory_limit', 'InternalError', 'RangeError', 'null'],
};

/** One attack for each limit that a program breaks. */
const attacksOf = (runtime: RuntimeName): ProgramAttack[] =>
  LIMIT_PROGRAMS[runtime].flatMap((program) => attacksWith(program, runtime));

const attacksWith = (
  { name, breaks, code, reference }: LimitProgram,
  runtime: RuntimeName,
): ProgramAttack[] =>
  breaks.map((limit) => ({
    name: `${limit}-${name}`,
    code,
    policy:
      limit === 'memory' ? { ...POLICIES.memory, memory_bytes: MEMORY_BYTES[runtime] } : POLICIES[limit],
    outcomes: limit === 'memory' ? MEMORY_OUTCOMES[runtime] : OUTCOMES[limit],
    ...(limit === 'output' && { expect: truncated(name.startsWith('errors') ? 'stderr' : 'stdout') }),
    ...knownFrom(reference),
  }));

const truncated = (stream: 'stdout' | 'stderr'): Pattern => ({
  [stream]: /^.{3000}/s,
  metadata: { [`${stream}_truncated`]: true },
});

/** Collecting garbage would use most of the fuel. */
const NESTED = 'import gc\ngc.disable()\nx = []\nfor i in range(60_000): x = [x]\n';
const DEPTH_FUEL = 400_000_000;

/** Programs that recurse, and how each must end. */
const DEEP: Record<RuntimeName, Record<string, readonly [code: string, end: string, fuel?: number]>> = {
  python: {
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
    'groups of a regular expression': [
      "import re\nre.compile('(' * 10_000 + ')' * 10_000)",
      'RecursionError',
    ],
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
  },
  javascript: {
    functions: ['function f() { return f() + 1; } f()', 'RangeError'],
    getters: ['const o = { get x() { return this.x; } }; o.x', 'RangeError'],
    'text of nested arrays': ['let a = []; for (let i = 0; i < 2e4; i++) a = [a]; String(a)', 'RangeError'],
    'JSON serialisation': [
      'let a = []; for (let i = 0; i < 2e4; i++) a = [a]; JSON.stringify(a)',
      'out_of_fuel',
    ],
    'JSON parsing': ["JSON.parse('['.repeat(1e6))", 'RangeError'],
    'brackets in source': ["eval('['.repeat(1e5) + ']'.repeat(1e5))", 'RangeError'],
    'parentheses in source': ["eval('('.repeat(1e6))", 'RangeError'],
    proxies: ['let p = {}; for (let i = 0; i < 3e4; i++) p = new Proxy(p, {}); p.x', 'RangeError'],
    'keys of proxies': [
      'let p = {}; for (let i = 0; i < 8e4; i++) p = new Proxy(p, {}); Object.keys(p)',
      'RangeError',
    ],
    'realms of proxies': [
      'let f = function () {}; for (let i = 0; i < 3e4; i++) f = new Proxy(f, {}); Reflect.construct(Array, [], f)',
      'RangeError',
    ],
    prototypes: ['let o = {}; for (let i = 0; i < 3e4; i++) o = Object.create(o); o.x', 'finished'],
    'bound functions': ['let f = () => 1; for (let i = 0; i < 3e3; i++) f = f.bind(null); f()', 'finished'],
    promises: [
      'let p = Promise.resolve(1); for (let i = 0; i < 1e4; i++) p = p.then((x) => x); await p',
      'finished',
    ],
    'structured clones': [
      'let a = {}; for (let i = 0; i < 2e4; i++) a = { a }; structuredClone(a)',
      'RangeError',
    ],
    'groups of a regular expression': ["new RegExp('(?:'.repeat(1e5) + ')'.repeat(1e5))", 'SyntaxError'],
    backtracking: ["/(?:a|b)*c/.test('ab'.repeat(3e4))", 'out_of_fuel'],
    iterators: ['function* g() { yield* g(); } [...g()]', 'RangeError'],
    sorting: ['[2, 1].sort(function c() { return [2, 1].sort(c); })', 'RangeError'],
    deallocation: ['let o = null; for (let i = 0; i < 1e5; i++) o = { o }; o = null; 1', 'finished'],
    replacing: ["'a'.replace(/a/, function f() { return 'a'.replace(/a/, f); })", 'RangeError'],
  },
};

/** Known vulnerabilities of the interpreters that these programs would exploit. */
const DEPTH_REFERENCES: Readonly<Record<RuntimeName, Readonly<Record<string, string>>>> = {
  python: {},
  javascript: {
    proxies: 'CVE-2023-31922 (QuickJS)',
    'parentheses in source': 'CVE-2024-13903 (QuickJS)',
    'brackets in source': 'CVE-2023-48183 (QuickJS)',
  },
};

const depthAttacks = (runtime: RuntimeName): ProgramAttack[] =>
  Object.entries(DEEP[runtime]).map(([name, [code, end, fuel = DEPTH_FUEL]]) => ({
    name: `depth-${slug(name)}`,
    code,
    policy: { fuel_budget: fuel, timeout_seconds: 60 },
    outcomes: [end],
    ...knownFrom(DEPTH_REFERENCES[runtime][name]),
  }));

const WORKSPACE_LIMIT = 1_000_000;

const FILLERS: Record<string, string> = {
  'one large write': "open('x', 'wb').write(bytes(1_000_001))",
  'many small writes': "f = open('x', 'wb', buffering=0)\nwhile True: f.write(bytes(1000))",
  'a sparse file': "f = open('x', 'wb', buffering=0)\nf.seek(10**9)\nf.write(b'x')",
  'extending a file with truncate()': "f = open('x', 'wb')\nf.truncate(2**40)",
  'extending a file with os.truncate()': "open('x', 'w').close()\nimport os\nos.truncate('x', 2**40)",
  'many files': "for i in range(100): open(str(i), 'w').close()",
  'many folders': 'import os\nfor i in range(100): os.mkdir(str(i))',
  'many links': "import os\nfor i in range(100): os.symlink('x', str(i))",
  'long links':
    "import os\nfor i in range(45): os.symlink('x' * 4000, str(i))\nopen('x', 'wb', buffering=0).write(bytes(900_000))",
  'the other writable folder': "open('/tmp/x', 'wb').write(bytes(1_000_001))",
  'both folders':
    "open('/tmp/x', 'wb', buffering=0).write(bytes(600_000))\nopen('y', 'wb', buffering=0).write(bytes(600_000))",
  'deleted files that are open':
    "import os\nheld = []\nfor i in range(5):\n    f = open('x', 'wb', buffering=0); held.append(f); f.write(bytes(300_000)); os.remove('x')",
  copies:
    "import shutil\nopen('a', 'wb').write(bytes(400_000))\nshutil.copy('a', 'b')\nshutil.copy('a', 'c')",
  'a database':
    "import sqlite3\nc = sqlite3.connect('d.db')\nc.execute('create table t (x)')\nwhile True: c.execute('insert into t values (zeroblob(100000))'); c.commit()",
};
const workspaceAttacks = Object.entries(FILLERS).map(
  ([name, code]): ProgramAttack => ({
    name: `workspace-${slug(name)}`,
    code,
    policy: { workspace_max_bytes: WORKSPACE_LIMIT, workspace_max_files: 50 },
    expect: {
      success: false,
      metadata: { error: { message: /No space left on device|disk is full|disk I\/O/ } },
    },
  }),
);

/** The signals by which the host reports a limit to Python, disabled by the program. */
const signalAttacks = Object.entries({
  ignored: 'signal.signal(n, signal.SIG_IGN)',
  'reset-to-default': 'signal.signal(n, signal.SIG_DFL)',
  caught: 'signal.signal(n, lambda *a: None)',
  'handled-with-exit': 'signal.signal(n, lambda *a: os._exit(0))',
  blocked: 'signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))',
  'redirected-to-descriptor': 'signal.set_wakeup_fd(os.open("w", os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK))',
}).map(
  ([name, act]): ProgramAttack => ({
    name: `signal-${name}`,
    code: `import os, signal
for n in (60, 61, 62):
    try: ${act}
    except (AttributeError, OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass`,
    policy: POLICIES.fuel,
    outcomes: ['out_of_fuel'],
  }),
);

/** Programs of which preparing takes more than running. */
const LONG_PROGRAMS: Record<RuntimeName, readonly ProgramAttack[]> = {
  python: [
    {
      name: 'fuel-long-program',
      code: '#\n'.repeat(60_000),
      policy: POLICIES.fuel,
      outcomes: ['out_of_fuel'],
    },
    {
      name: 'memory-long-program',
      code: 'x = 1\n'.repeat(100_000),
      policy: { ...POLICIES.memory, memory_bytes: MEMORY_BYTES.python },
      outcomes: MEMORY_OUTCOMES.python,
    },
  ],
  javascript: [
    {
      name: 'fuel-long-program',
      code: ';'.repeat(100_000),
      policy: POLICIES.fuel,
      outcomes: ['out_of_fuel'],
    },
    {
      name: 'memory-long-program',
      code: 'let x;{}'.repeat(300_000),
      policy: { ...POLICIES.memory, memory_bytes: MEMORY_BYTES.javascript },
      outcomes: [...MEMORY_OUTCOMES.javascript, 'SyntaxError'],
    },
  ],
};

/** Encodings whose characters depend on the version of Node.js. */
const UNPORTABLE = ['gbk', 'gb18030', 'big5', 'euc-jp', 'iso-2022-jp', 'shift_jis', 'euc-kr'].map(
  (encoding): ProgramAttack => ({
    name: `deterministic-${encoding}`,
    code: `new TextDecoder('${encoding}').decode(new Uint8Array([0xa2, 0xe3]))`,
    policy: { deterministic: true },
    outcomes: ['RangeError'],
  }),
);

const python: readonly AttackRow[] = [
  ...LONG_PROGRAMS.python,
  ...attacksOf('python'),
  ...depthAttacks('python'),
  ...workspaceAttacks,
  ...signalAttacks,
  {
    name: 'signal-that-is-caught',
    code: `try:
    while True: pass
except BaseException as error:
    print(type(error).__name__, flush=True)
print('and on', flush=True)`,
    policy: POLICIES.fuel,
    outcomes: ['out_of_fuel'],
    expect: { stdout: 'OutOfFuel\nand on\n', success: false },
  },
  {
    name: 'output-swapped-descriptors',
    code: `import os\nkeep = os.dup(1); os.dup2(2, 1)\nprint('x' * 5000, flush=True)\nos.dup2(keep, 1)\nprint('back', flush=True)`,
    policy: { stderr_max_bytes: 100 },
    expect: {
      stdout: 'back\n',
      stderr: 'x'.repeat(100),
      metadata: { stderr_truncated: true, stderr_dropped_bytes: 4901 },
    },
  },
  {
    name: 'time-in-idna-codec',
    code: "('\\u4e2d' * 200000).encode('idna')",
    policy: POLICIES.time,
    outcomes: ['timeout', 'UnicodeError', 'UnicodeEncodeError'],
    reference: 'CVE-2022-45061 (CPython)',
  },
];

const javascript: readonly AttackRow[] = [
  ...LONG_PROGRAMS.javascript,
  ...UNPORTABLE,
  ...attacksOf('javascript'),
  ...depthAttacks('javascript'),
  {
    name: 'workspace-writes',
    code: `
import * as os from 'os';
const fd = os.open('x', os.O_WRONLY | os.O_CREAT, 0o644);
const block = new Uint8Array(300_000).buffer;
const seen = [];
for (let i = 0; i < 5; i++) seen.push(os.write(fd, block, 0, 300_000));
for (let i = 0; i < 100; i++) if (os.mkdir('d' + i) < 0) { seen.push(os.mkdir('last')); break; }
seen`,
    policy: { workspace_max_bytes: WORKSPACE_LIMIT, workspace_max_files: 50 },
    expect: { metadata: { result: [300_000, 300_000, 300_000, -28, -28, -28] } },
  },
  {
    name: 'time-in-finalization-callback',
    code: 'const r = new FinalizationRegistry(() => { for (;;) {} }); (() => { r.register({}, 1); })(); await null; for (let i = 0; i < 1e6; i++) ({});\nfor (;;) {}',
    policy: POLICIES.time,
    outcomes: ['timeout'],
    reference: 'GHSA-r4fx-v8hh-22mv (vm2)',
  },
  {
    name: 'time-in-120000-newlines',
    code: '\n'.repeat(120_000),
    policy: { timeout_seconds: 2 },
    outcomes: ['finished'],
  },
  ...CHART_ATTACKS,
];

export const LIMITS: AttackTable = { python, javascript };
