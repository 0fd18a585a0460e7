/** Attacks on the limits of fuel, time, memory, output, files and recursion. */
import type { PolicyInput, RuntimeName } from '../../schema.ts';
import type { AttackRow, AttackTable, Pattern, ProgramAttack } from '../attack.ts';
import { LIMIT_PROGRAMS, type Limit, type LimitProgram } from './limit-programs.ts';
import { knownFrom, slug } from './rows.ts';

const MiB = 1024 * 1024;
const OUTPUT_CAP = 10_000;

/** The limit under attack, with all other limits far above what the program uses. */
const POLICIES: Record<Limit, PolicyInput> = {
  fuel: { fuel_budget: 100_000_000, timeout_seconds: 60 },
  time: { fuel_budget: 1e15, timeout_seconds: 0.2 },
  memory: { memory_bytes: 64 * MiB, fuel_budget: 30e9, timeout_seconds: 60 },
  output: {
    stdout_max_bytes: OUTPUT_CAP,
    stderr_max_bytes: OUTPUT_CAP,
    fuel_budget: 400_000_000,
    timeout_seconds: 60,
  },
};

const ENDS: Record<Limit, readonly string[]> = {
  fuel: ['out_of_fuel'],
  time: ['timeout'],
  memory: ['memory_limit', 'MemoryError', 'InternalError', 'RangeError'],
  output: ['finished', 'out_of_fuel'],
};

/** One attack for each limit that the program breaks. */
const attacksOf = ({ name, breaks, code, reference }: LimitProgram): ProgramAttack[] =>
  breaks.map((limit) => ({
    name: `${limit}-${name}`,
    code,
    policy: POLICIES[limit],
    ends: ENDS[limit],
    ...(limit === 'output' && { expect: truncated(name.startsWith('errors') ? 'stderr' : 'stdout') }),
    ...knownFrom(reference),
  }));

const truncated = (stream: 'stdout' | 'stderr'): Pattern => ({
  [stream]: /^.{3000}/s,
  metadata: { [`${stream}_truncated`]: true },
});

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
const DEPTH_ENDS = [
  ...[
    'finished',
    'out_of_fuel',
    'memory_limit',
    'RecursionError',
    'RangeError',
    'InternalError',
    'SyntaxError',
  ],
  ...['MemoryError', 'OverflowError', 'AttributeError'],
];

const DEPTH_REFERENCES: Readonly<Record<string, string>> = {
  proxies: 'CVE-2023-31922 (QuickJS)',
  'parentheses in source': 'CVE-2024-13903 (QuickJS)',
  'brackets in source': 'CVE-2023-48183 (QuickJS)',
};

const depthAttacks = (runtime: RuntimeName, extraEnds: readonly string[]): ProgramAttack[] =>
  Object.entries(DEEP[runtime]).map(([name, code]) => {
    const reference = runtime === 'javascript' ? DEPTH_REFERENCES[name] : undefined;
    return {
      name: `depth-${slug(name)}`,
      code,
      policy: { fuel_budget: 1e9, timeout_seconds: 20 },
      ends: [...DEPTH_ENDS, ...extraEnds],
      ...knownFrom(reference),
    };
  });

const WORKSPACE_LIMIT = 1_000_000;

const FILLERS: Record<string, string> = {
  'one large write': "open('x', 'wb').write(bytes(1_000_001))",
  'many small writes': "f = open('x', 'wb', buffering=0)\nwhile True: f.write(bytes(1000))",
  'a sparse file': "f = open('x', 'wb', buffering=0)\nf.seek(10**9)\nf.write(b'x')",
  'a truncate upwards': "f = open('x', 'wb')\nf.truncate(2**40)",
  'a truncate by path': "open('x', 'w').close()\nimport os\nos.truncate('x', 2**40)",
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
    ends: ['out_of_fuel'],
  }),
);

const python: readonly AttackRow[] = [
  ...LIMIT_PROGRAMS.python.flatMap(attacksOf),
  // CPython does not check its stack in a few places where C code recurses.
  ...depthAttacks('python', ['stack_overflow']),
  ...workspaceAttacks,
  ...signalAttacks,
  {
    name: 'fuel-monitoring-callback',
    // A callback that runs while the next call is prepared must count.
    code: `import sys
sys.monitoring.use_tool_id(3, 'x')
def burn(*_):
    while True: pass
sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, burn)
sys.monitoring.set_events(3, sys.monitoring.events.PY_START)
(lambda: 0)()`,
    policy: POLICIES.fuel,
    ends: ['out_of_fuel'],
  },
  {
    name: 'signal-that-is-caught',
    code: `try:
    while True: pass
except BaseException as error:
    print(type(error).__name__, flush=True)
print('and on', flush=True)`,
    policy: POLICIES.fuel,
    ends: ['out_of_fuel'],
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
    ends: ['timeout', 'UnicodeError', 'UnicodeEncodeError'],
    reference: 'CVE-2022-45061 (CPython)',
  },
];

const javascript: readonly AttackRow[] = [
  ...LIMIT_PROGRAMS.javascript.flatMap(attacksOf),
  ...depthAttacks('javascript', []),
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
    ends: ['timeout'],
    reference: 'GHSA-r4fx-v8hh-22mv (vm2)',
  },
  {
    name: 'time-in-120000-newlines',
    code: '\n'.repeat(120_000),
    policy: { timeout_seconds: 2 },
    ends: ['finished'],
  },
];

export const LIMITS: AttackTable = { python, javascript };
