/** Attacks on the integrity of sessions: transactions, forks, checkpoints, stored state, names. */
import type { AttackTable, SessionAttack } from '../attack.ts';

const MiB = 1024 * 1024;
const LIMITED = { fuel_budget: 30_000_000 };

/** Names that other systems have resolved to a path outside a folder of sessions. */
const NAMES = ['../evil', '..', '/etc', 'a/b', 'a\\b', '', '.', 'a\0b', 'x'.repeat(300), '\u202eevil'];

const forgedNames = NAMES.map(
  (name, i): SessionAttack => ({
    name: `name-${i + 1}-of-${NAMES.length}`,
    steps: [{ open: name, error: 'invalid_argument' }],
    reference: 'CVE-2025-53110 (MCP filesystem server)',
  }),
);

const HOSTILE_CHECKPOINT_NAMES: SessionAttack = {
  name: 'checkpoint-with-hostile-name',
  steps: [
    { run: '1' },
    { checkpoint: '__proto__', error: 'invalid_argument' },
    { checkpoint: '../evil', error: 'invalid_argument' },
    { rollback: 'constructor', error: 'checkpoint_not_found' },
    { run: '6 * 7', expect: { metadata: { result: 42 } } },
  ],
};

/** Damage that the program does to its own interpreter, and a later call that must still work after an undo. */
const damage = (
  name: string,
  code: string,
  probe: readonly [code: string, result: unknown],
): SessionAttack => ({
  name: `undo-${name}`,
  steps: [
    { run: probe[0], expect: { metadata: { result: probe[1] } } },
    { checkpoint: 'good' },
    { run: code, options: { fuel_budget: 300_000_000 } },
    { rollback: 'good' },
    { run: probe[0], expect: { metadata: { result: probe[1] } } },
  ],
});

const PYTHON_PROBE = [
  "x = sum(range(10))\nimport math\n[x, math.floor(2.5), len('abc')]",
  [45, 2, 3],
] as const;
const JAVASCRIPT_PROBE = [
  'var x = [1, 2, 3].map((n) => n * 2); [x.length, JSON.stringify({ a: 1 })]',
  [3, '{"a":1}'],
] as const;

/** Runs `setup`, then compares `observe` in the live session and in a fork, which is restored from the saved state. */
const restored = (name: string, setup: string, observe: string): SessionAttack => ({
  name: `restored-${name}`,
  steps: [{ run: setup, outcomes: ['finished'] }, { sameInFork: observe }],
});

/** Changes what the boot script uses. The next program must fail with this error, not fail the call or seem to have run. */
const sabotage = (name: string, code: string, error: string): SessionAttack => ({
  name: `sabotage-${name}`,
  steps: [
    { run: '1' },
    { checkpoint: 'good' },
    { run: code, outcomes: ['finished'] },
    {
      run: 'print("ran")',
      outcomes: [error],
      expect: { success: false, stdout: '', metadata: { trapped: false } },
    },
    { rollback: 'good' },
    { run: '6 * 7', expect: { metadata: { result: 42 } } },
  ],
});

const PYTHON_SABOTAGE = [
  ...['SystemExit', 'SystemExit(0)', 'SystemExit("done")'].map((error) => [error, 'RuntimeError'] as const),
  ...['KeyboardInterrupt', 'GeneratorExit', 'MemoryError', 'StopIteration', 'BaseException'].map(
    (error) => [error, error] as const,
  ),
].flatMap(([raised, error], i) => [
  sabotage(
    `environment-${i + 1}-${error}`,
    `import os\ndef fail(*_): raise ${raised}\nos.environ.update = fail`,
    error,
  ),
  sabotage(
    `source-cache-${i + 1}-${error}`,
    `import linecache\nclass Cache(dict):\n    def __setitem__(self, *_): raise ${raised}\nlinecache.cache = Cache()`,
    error,
  ),
]);

/** Replaces built-in functions with one that throws. Programs may fail afterwards, but the calls must not. */
const JAVASCRIPT_SABOTAGE = Object.entries({
  arrays: 'Object.getOwnPropertyNames(Array.prototype).map((name) => [Array.prototype, name])',
  collections:
    '[Map, Set, WeakMap, Promise].flatMap((type) => Object.getOwnPropertyNames(type.prototype).map((name) => [type.prototype, name]))',
  functions: 'Object.getOwnPropertyNames(Function.prototype).map((name) => [Function.prototype, name])',
  namespaces:
    '[Object, Reflect, JSON, Math, Symbol].flatMap((all) => Object.getOwnPropertyNames(all).map((name) => [all, name]))',
  globals: 'Object.getOwnPropertyNames(globalThis).map((name) => [globalThis, name])',
}).map(
  ([name, targets]): SessionAttack => ({
    name: `sabotage-${name}`,
    steps: [
      {
        run: `const targets = ${targets}; const { defineProperty } = Object; let i = 0;
const value = () => { throw null; };
while (i < targets.length) { const [target, name] = [targets[i][0], targets[i][1]]; i++; try { target[name] = value; } catch {} }`,
      },
      { run: '1 + 1' },
      { run: 'throw new Error("x")', expect: { success: false, metadata: { trapped: false } } },
    ],
  }),
);

/** Fills the quota, lets the host write, and continues. No step may fail in the host. */
const filled = (name: string, fill: string): SessionAttack => ({
  name: `quota-${name}`,
  policy: { workspace_max_bytes: 2 * MiB },
  steps: [
    { run: 'kept = 7' },
    { run: fill },
    { write: 'host.txt', text: 'x'.repeat(1024 * 1024), mayFail: 'quota_exceeded' },
    { run: 'kept', expect: { metadata: { result: 7 } } },
    {
      run: "__import__('shutil').rmtree('/tmp/d', ignore_errors=True); kept",
      expect: { metadata: { result: 7 } },
    },
    { reopen: true },
    { run: 'kept', expect: { metadata: { result: 7 } } },
  ],
});

/** A large file, whose contents are hashed when they are saved and when they are read. */
const largeFile = (write: string, length: string): readonly SessionAttack[] => {
  const isComplete = { run: length, expect: { metadata: { result: 8_000_000 } } };
  return [
    {
      name: 'large-file-reopened',
      steps: [{ run: write, outcomes: ['finished'] }, isComplete, { reopen: true }, isComplete],
    },
    {
      name: 'large-file-rolled-back',
      steps: [
        { run: write, outcomes: ['finished'] },
        { checkpoint: 'large' },
        { write: 'large', text: 'small' },
        { run: length, expect: { metadata: { result: 5 } } },
        { rollback: 'large' },
        { reopen: true },
        isComplete,
      ],
    },
  ];
};

/** The host must not accept a name that no program could have created. */
const UNICODE_NAMES: SessionAttack = {
  name: 'file-name-that-is-not-unicode',
  steps: [
    { run: '1' },
    { write: 'a\ud800', text: 'x', error: 'invalid_path' },
    { write: 'a\0b', text: 'x', error: 'invalid_path' },
    { reopen: true },
    { run: '6 * 7', expect: { metadata: { result: 42 } } },
  ],
};

const python: readonly SessionAttack[] = [
  ...largeFile("open('large', 'wb').write(bytes(8_000_000))", "__import__('os').path.getsize('large')"),
  UNICODE_NAMES,
  ...PYTHON_SABOTAGE,
  ...forgedNames,
  {
    name: 'killed-call-leaves-nothing',
    steps: [
      { run: "x = 1\nopen('f', 'w').write('one')" },
      {
        run: "x = 2\nopen('f', 'w').write('two')\nopen('g', 'w').close()\nwhile True:\n    try:\n        while True: pass\n    except BaseException: pass",
        options: LIMITED,
        outcomes: ['out_of_fuel'],
      },
      {
        run: "import os\n[x, open('f').read(), os.listdir('.')]",
        expect: { metadata: { result: [1, 'one', ['f']] } },
      },
    ],
  },
  {
    name: 'aborted-call-leaves-nothing',
    steps: [
      { run: "x = 1\nopen('f', 'w').write('one')" },
      { run: "x = 2\nopen('f', 'w').write('two')\nimport os\nos.abort()", outcomes: ['unreachable'] },
      { run: "[x, open('f').read()]", expect: { metadata: { result: [1, 'one'] } } },
    ],
  },
  {
    name: 'fork-is-independent',
    steps: [
      { run: "x = [1]\nopen('f', 'w').write('one')" },
      { fork: 'copy' },
      { run: "x.append(2)\nopen('f', 'w').write('two')", in: 'copy' },
      { run: "[x, open('f').read()]", expect: { metadata: { result: [[1], 'one'] } } },
      { run: "[x, open('f').read()]", in: 'copy', expect: { metadata: { result: [[1, 2], 'two'] } } },
    ],
  },
  {
    name: 'state-of-another-session',
    steps: [
      {
        run: "secret = 'mine'\nopen('f', 'w').write(secret)\nimport builtins, sys\nbuiltins.leak = secret; sys.leak = secret",
      },
      { open: 'other' },
      {
        run: "import builtins, os, sys\n['secret' in globals(), hasattr(builtins, 'leak'), hasattr(sys, 'leak'), os.listdir('.')]",
        in: 'other',
        expect: { metadata: { result: [false, false, false, []] } },
      },
    ],
    reference: 'Capsule: the state of one session is readable from another',
  },
  damage('cleared-globals', 'globals().clear()', PYTHON_PROBE),
  damage(
    'cleared-builtins',
    '__builtins__.clear() if isinstance(__builtins__, dict) else vars(__builtins__).clear()',
    PYTHON_PROBE,
  ),
  damage('trace-function', 'import sys\nsys.settrace(lambda *a: 1 / 0)', PYTHON_PROBE),
  damage('replaced-stdout', 'import sys\nsys.stdout = None\nsys.displayhook = None', PYTHON_PROBE),
  damage(
    'overwritten-boot-script',
    'import _sandbox\n_sandbox.run = None\nvars(_sandbox).clear()',
    PYTHON_PROBE,
  ),
  damage(
    'corrupted-memory',
    'import ctypes\nfor at in range(4096, 20_000_000, 4096): ctypes.c_int.from_address(at).value = -1',
    PYTHON_PROBE,
  ),
  damage(
    'removed-workspace',
    "import shutil, os\nos.chdir('/')\nshutil.rmtree('/app', ignore_errors=True)",
    PYTHON_PROBE,
  ),
  damage(
    'exhausted-descriptors',
    "import os\nheld = [os.open('/dev/null', 0) for _ in range(253)]",
    PYTHON_PROBE,
  ),
  filled(
    'tmp',
    "import os\nos.mkdir('/tmp/d')\ntry:\n    open('/tmp/d/x', 'wb', buffering=0).write(bytes(2 * 1024 * 1024))\nexcept OSError: pass",
  ),
  filled(
    'deleted-open-file',
    "import os\nf = open('x', 'wb', buffering=0)\nf.write(bytes(2 * 1024 * 1024 - 100))\nos.remove('x')",
  ),
  restored(
    'mode-of-workspace',
    "import os\nos.chmod('/app', 0o700)\nos.chmod('/tmp', 0o711)",
    "[oct(os.stat('/app').st_mode), oct(os.stat('/tmp').st_mode)]",
  ),
  restored(
    'deleted-open-file',
    "import os\nf = open('x', 'w+')\nf.write('abc'); f.flush()\nos.chmod('x', 0o640); os.utime('x', (5, 5))\nos.remove('x')",
    '(lambda s: [oct(s.st_mode), s.st_mtime, s.st_ino, f.seek(0), f.read()])(os.fstat(f.fileno()))',
  ),
  restored(
    'deleted-folder-descriptor',
    "import os\nos.mkdir('d')\nfd = os.open('d', os.O_RDONLY)\nos.rmdir('d'); os.mkdir('d'); open('d/f', 'w').close()",
    "[os.listdir(fd), os.fstat(fd).st_ino == os.stat('d').st_ino, os.stat('f', dir_fd=fd).st_size]",
  ),
  restored(
    'renamed-folder-descriptor',
    "import os\nos.mkdir('d'); open('d/f', 'w').close()\nfd = os.open('d', os.O_RDONLY)\nos.rename('d', 'e')",
    "[os.listdir(fd), os.stat('f', dir_fd=fd).st_size, (os.fchdir(fd), os.getcwd())[1]]",
  ),
  restored(
    'half-read-scandir',
    "import os\nfor i in range(300): open(f's{i}', 'w').close()\nit = os.scandir('.')\nfirst = next(it).name\nos.remove('s99'); open('zzz', 'w').close()",
    '[first] + [(e.name, e.inode()) for e in it]',
  ),
  restored(
    'deleted-working-folder',
    "import os\nos.mkdir('w'); os.chdir('w'); os.rmdir('/app/w'); os.mkdir('/app/w')",
    "[os.path.exists('/app/w'), os.access('.', os.F_OK), os.listdir('.'), os.getcwd()]",
  ),
  restored(
    'inode-numbers',
    "open('b', 'w').close(); open('a', 'w').close()\nimport os",
    "[os.stat(p).st_ino for p in ('a', 'b')]",
  ),
  restored(
    'position-of-open-file',
    "import os\nopen('p', 'w').write('abcdef')\np = open('p'); p.read(2)",
    'p.read(2)',
  ),
  restored('pipe-contents', "import os\nr, w = os.pipe()\nos.write(w, b'abc')", 'os.read(r, 3).decode()'),
  restored('random-state', 'import random\nrandom.seed(5); random.random()', 'random.random()'),
  {
    name: 'file-attribute-after-rollback',
    steps: [{ run: '1' }, { checkpoint: 'a' }, { run: '2' }, { rollback: 'a' }, { sameInFork: '__file__' }],
  },
  HOSTILE_CHECKPOINT_NAMES,
  {
    name: 'variables-of-hostile-objects',
    steps: [
      {
        run: 'class R:\n    def __repr__(self): 1 / 0\nclass S:\n    def __repr__(self): return 7\nx = 1\ny, z = R(), S()',
      },
      { variables: ['R', 'S', 'x', 'y', 'z'] },
      { run: 'x', expect: { metadata: { result: 1 } } },
    ],
  },
  {
    name: 'variables-that-change-the-session',
    steps: [
      {
        run: "class R:\n    def __repr__(self):\n        globals()['x'] = 2\n        open('f', 'w').close()\n        return ''\nx = 1\ny = R()",
      },
      { variables: ['R', 'x', 'y'] },
      { run: "import os\n[x, os.listdir('.')]", expect: { metadata: { result: [1, []] } } },
    ],
  },
  {
    name: 'variables-without-end',
    policy: { fuel_budget: 50_000_000 },
    steps: [
      { run: 'class R:\n    def __repr__(self):\n        while True: pass\nx = 1\ny = R()' },
      { variables: ['R', 'x', 'y'] },
      { run: 'x', expect: { metadata: { result: 1 } } },
    ],
  },
  {
    name: 'fuel-of-monitoring-callback',
    // The callback that the first call registers runs while the second call is prepared. The fuel that it uses counts.
    policy: { fuel_budget: 50_000_000 },
    steps: [
      {
        run: `import sys
sys.monitoring.use_tool_id(3, 'x')
def burn(code, _):
    while code.co_name == 'prepare': pass
sys.monitoring.register_callback(3, sys.monitoring.events.PY_START, burn)
sys.monitoring.set_events(3, sys.monitoring.events.PY_START)`,
        outcomes: ['finished'],
      },
      { run: '1', outcomes: ['out_of_fuel'] },
    ],
  },
  {
    name: 'session-survives-reopening',
    steps: [
      { run: "x = {'a': {1, 2}}\ndef f(): return x\nopen('f', 'w').write('kept')" },
      { reopen: true },
      { run: "[len(f()['a']), open('f').read()]", expect: { metadata: { result: [2, 'kept'] } } },
    ],
  },
];

const javascript: readonly SessionAttack[] = [
  ...largeFile(
    "require('fs').writeFileSync('large', new Uint8Array(8_000_000))",
    "require('fs').statSync('large').size",
  ),
  UNICODE_NAMES,
  ...JAVASCRIPT_SABOTAGE,
  {
    name: 'killed-call-leaves-nothing',
    steps: [
      {
        run: "var x = 1; import * as std from 'std'; const f = std.open('f', 'w'); f.puts('one'); f.close();",
      },
      { run: "x = 2; new Array(4e8).join('');", options: LIMITED, outcomes: ['out_of_fuel'] },
      { run: 'x', expect: { metadata: { result: 1 } } },
    ],
  },
  {
    name: 'fork-is-independent',
    steps: [
      { run: 'var x = [1];' },
      { fork: 'copy' },
      { run: 'x.push(2);', in: 'copy' },
      { run: 'x', expect: { metadata: { result: [1] } } },
      { run: 'x', in: 'copy', expect: { metadata: { result: [1, 2] } } },
    ],
  },
  {
    name: 'state-of-another-session',
    steps: [
      { run: "globalThis.secret = 'mine'; Object.prototype.leak = 1;" },
      { open: 'other' },
      {
        run: '[typeof secret, typeof ({}).leak]',
        in: 'other',
        expect: { metadata: { result: ['undefined', 'undefined'] } },
      },
    ],
    reference: 'Capsule: the state of one session is readable from another',
  },
  damage(
    'polluted-prototypes',
    'Object.prototype.toString = Array.prototype.map = JSON.stringify = () => { throw 1; };',
    JAVASCRIPT_PROBE,
  ),
  damage(
    'deleted-globals',
    'for (const key of Reflect.ownKeys(globalThis)) try { delete globalThis[key]; } catch {}',
    JAVASCRIPT_PROBE,
  ),
  damage('endless-interval', 'setInterval(() => {}, 0); throw 1;', JAVASCRIPT_PROBE),
  {
    name: 'variables-after-a-comment',
    steps: [
      { run: 'let a = 1; /* let */ const b = 2; // function\nvar c = 3;' },
      { variables: ['a', 'b', 'c'] },
    ],
  },
  {
    name: 'variables-after-an-unclosed-template',
    steps: [{ run: 'let a = 1;' }, { run: 'let b = `${', outcomes: ['SyntaxError'] }, { variables: ['a'] }],
  },
  {
    name: 'variables-with-getters',
    steps: [
      {
        run: "var a = 1; Object.defineProperty(globalThis, 'b', { get() { for (;;) {} }, enumerable: true, configurable: true });",
      },
      { variables: ['a', 'b'] },
      { run: 'a', expect: { metadata: { result: 1 } } },
    ],
  },
  {
    name: 'newlines-do-not-stall-the-host',
    steps: [
      { run: 'var a = 1;' },
      { run: '\n'.repeat(120_000) },
      { run: 'a', expect: { metadata: { result: 1 } } },
    ],
  },
  HOSTILE_CHECKPOINT_NAMES,
  {
    name: 'hundreds-of-files',
    steps: [
      {
        run: "const { readdirSync, writeFileSync } = require('fs'); for (let i = 0; i < 200; i++) writeFileSync('f' + i, String(i));",
      },
      { run: 'readdirSync(".").length', expect: { metadata: { result: 200 } } },
      { reopen: true },
      { run: 'readdirSync(".").length', expect: { metadata: { result: 200 } } },
    ],
  },
  {
    name: 'thousands-of-temporary-files',
    steps: [
      {
        run: "var fs = require('fs'); for (let i = 0; i < 3000; i++) fs.writeFileSync('/tmp/f' + i, 'x');",
      },
      { sameInFork: "fs.readdirSync('/tmp').length + fs.readFileSync('/tmp/f2999', 'utf8')" },
    ],
  },
  {
    name: 'session-survives-reopening',
    steps: [
      { run: 'var x = new Map([[1, { a: new Set([2]) }]]); function f() { return x; }' },
      { reopen: true },
      { run: 'f().get(1).a.has(2)', expect: { metadata: { result: true } } },
    ],
  },
];

export const SESSIONS: AttackTable = { python, javascript };
