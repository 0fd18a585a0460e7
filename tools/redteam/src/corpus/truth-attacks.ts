/** Programs that try to make a result say something that did not happen: forged reports, hostile values and exceptions. */
import type { AttackRow, AttackTable, Pattern, ProgramAttack } from '../attack.ts';
import { knownFrom, slug } from './rows.ts';

/** Makes the `encode` of the boot script return the value of this expression. */
const forge = (text: string) => `import _sandbox
run = _sandbox.run
run.__closure__[run.__code__.co_freevars.index('encode')].cell_contents = lambda report: ${text}`;

const forgedReports: readonly ProgramAttack[] = [
  ...Object.entries({
    'a hundred megabytes': `'"' + 'x' * 100_000_000 + '"'`,
    'not JSON': `'{"exit_code":NaN}'`,
    'not text': `type('X', (), {'encode': lambda self: 7})()`,
    'a number': `'7'`,
    null: `'null'`,
    empty: `''`,
    'not UTF-8': `type('X', (), {'encode': lambda self: b'\\xff\\xfe{'})()`,
    'exit code below zero': `'{"exit_code":-5}'`,
    'exit code out of range': `'{"exit_code":1e999}'`,
    'exit code as text': `'{"exit_code":"0"}'`,
    'fields of the host': `'{"exit_code":1,"trap":{"reason":"x"},"success":true,"stdout":"x","fuelConsumed":0}'`,
  }).map(
    ([name, text]): ProgramAttack => ({
      name: `report-${slug(name)}`,
      code: forge(text),
      expect: { success: false, stdout: '' },
    }),
  ),
  ...Object.entries({
    'nested 200000 deep': `'{"exit_code":0,"result":' + '[' * 200000 + ']' * 200000 + '}'`,
    'of 500000 values': `'{"exit_code":0,"result":[' + '0,' * 500000 + '1]}'`,
    'of 250000 objects': `'{"exit_code":0,"result":[' + '{},' * 250000 + '1]}'`,
  }).map(
    ([name, text]): ProgramAttack => ({
      name: `report-${slug(name)}`,
      code: forge(text),
      expect: { metadata: { result: undefined, trapped: false } },
    }),
  ),
  {
    name: 'report-hides-a-limit',
    code: `${forge(`'{"exit_code":0}'`)}\ntry:\n    while True: pass\nexcept BaseException: pass`,
    policy: { fuel_budget: 100_000_000 },
    outcomes: ['out_of_fuel'],
  },
  {
    name: 'report-through-frames',
    code: `import sys
frame = sys._getframe()
while 'report' not in frame.f_locals: frame = frame.f_back
frame.f_locals['report'].update(exit_code=10**5000, result=object(), trapped=False, result_type=7)`,
    expect: { success: false, exit_code: 1 },
  },
  {
    name: 'report-past-end-of-memory',
    code: `import _sandbox, ctypes
top = max((bytearray(65536) for _ in range(300)), key=id)
fake = max((bytes(1000) for _ in range(20000)), key=id)
class Text:
    def encode(self):
        ctypes.c_int.from_address(id(fake) + 8).value = 1_400_000
        return fake
run = _sandbox.run
run.__closure__[run.__code__.co_freevars.index('encode')].cell_contents = lambda report: Text()`,
    expect: { success: false },
  },
  {
    name: 'report-broken-and-printed-traceback',
    code: `import os
os.write(2, b'Traceback (most recent call last):\\n  File "/app/main.py", line 1, in <module>\\nMemoryError\\n')
${forge(`'{"exit_code":"x"}'`)}`,
    expect: { success: false, metadata: { trapped: false, trap_reason: null } },
  },
];

/** Messages of the worker protocol, written as output. */
const forgedMessages = [
  { type: 'done', id: 1, outcome: { stdout: 'forged', report: { exit_code: 0 } } },
  { type: 'failed', id: 1, code: 'internal', message: 'forged' },
  { type: 'output', id: 1, stream: 1, bytes: 'forged' },
].map((message) => [message.type, JSON.stringify(message)] as const);

const hostileValues: Readonly<Record<string, string>> = {
  'type name of 300 characters': "type('x' * 300, (), {})()",
  'contains itself': 'a = []\na.append(a)\na',
  'text of 6 MB': "['x' * 20000] * 300",
  'nested 5000 deep': 'a = []\nfor i in range(5000): a = [a]\na',
  'not a number': "float('nan')",
  infinite: "float('inf')",
  'integer of 400 digits': '10 ** 400',
  'lone surrogate': "'\\udcff'",
  'a million items': 'list(range(10 ** 6))',
};

const hostileExceptions: readonly (readonly [name: string, type: string, code: string])[] = [
  [
    'metaclass with a wrong name',
    'E',
    'class M(type):\n    @property\n    def __name__(cls): return 7\nclass E(Exception, metaclass=M): pass\nraise E',
  ],
  [
    'str that exits',
    'SystemExit',
    'class E(Exception):\n    def __str__(self): raise SystemExit(0)\nraise E',
  ],
  [
    'str of a subclass',
    'E',
    "class S(str):\n    def __len__(self): return -1\n    def __getitem__(self, i): raise ValueError\nclass E(Exception):\n    def __str__(self): return S('abc')\nraise E",
  ],
  ['errno as boolean', 'OSError', 'e = OSError(); e.errno = True; raise e'],
  ['errno of 5000 digits', 'OSError', 'e = OSError(); e.errno = 10 ** 5000; raise e'],
  [
    'file name that raises',
    'OSError',
    'class N:\n    def __str__(self): raise ValueError\ne = OSError(); e.filename = N(); raise e',
  ],
  ['line number as list', 'SyntaxError', "e = SyntaxError('x'); e.lineno = [1]; raise e"],
  ['30000 wide characters', 'ValueError', "raise ValueError('\\U0001F600' * 30000)"],
  ['its own cause', 'ValueError', 'e = ValueError(); e.__cause__ = e; raise e'],
  [
    'a thousand causes',
    'ValueError',
    'e = None\nfor i in range(1000):\n    n = ValueError(i); n.__cause__ = e; e = n\nraise e',
  ],
];

const exitCodes: readonly (readonly [name: string, code: string, exitCode: number])[] = [
  [
    'a subclass of int',
    'class I(int):\n    def __and__(self, other): return [1]\nimport sys; sys.exit(I(3))',
    3,
  ],
  ['text', "import sys; sys.exit('x' * 10)", 1],
  ['a huge integer', 'import sys; sys.exit(256 * 10 ** 30 + 9)', 255],
  [
    'an object that raises',
    'class X:\n    def __str__(self): raise ValueError\nimport sys; sys.exit(X())',
    1,
  ],
];

/** No module of a package is loaded, so no import may be listed. */
const forgedImports = Object.entries({
  'any request': `for request in [*range(0, 65536, 97), *range(0x4C570000, 0x4C570010)]:
    try: fcntl.ioctl(0, request, b'yaml')
    except (OSError, ValueError): pass`,
  'functions of the boot script': `import _sandbox_imports
sys.modules['yaml'] = sys
for act in (lambda: _sandbox_imports._report_loaded('yaml'), lambda: _sandbox_imports.record_loaded(compile('import yaml', '', 'exec'))):
    try: act()
    except OSError: pass`,
  'a failed import': `sys.modules['yaml'] = None
try: import yaml
except ImportError: pass`,
}).map(
  ([name, act]): ProgramAttack => ({
    name: `forged-imports-by-${slug(name)}`,
    code: `import fcntl, sys\n${act}`,
    expect: { success: true, metadata: { imports: [] } },
  }),
);

const python: readonly AttackRow[] = [
  ...forgedReports,
  ...forgedMessages.map(
    ([type, text]): ProgramAttack => ({
      name: `message-${type}`,
      code: `import os\nfor fd in (1, 2): os.write(fd, ${JSON.stringify(text)}.encode())\nraise SystemExit(4)`,
      expect: { exit_code: 4, stdout: text, stderr: text },
    }),
  ),
  {
    name: 'message-on-every-descriptor',
    code: `import os
written = []
for fd in range(0, 256):
    try: os.write(fd, b'\\xff\\x0fo"\\x04type"\\x04done'); written.append(fd)
    except OSError: pass
written`,
    expect: { metadata: { result: [1, 2] } },
  },
  ...Object.entries(hostileValues).map(
    ([name, code]): ProgramAttack => ({
      name: `value-${slug(name)}`,
      code,
      policy: { fuel_budget: 5_000_000_000 },
      expect: { success: true, metadata: { result: /^.{0,200000}$/s } },
    }),
  ),
  {
    name: 'value-with-repr-that-raises',
    code: 'class R:\n    def __repr__(self): raise ValueError(7)\nR()',
    expect: { metadata: { error: { type: 'ValueError', message: '7', line: 2 } } },
  },
  {
    name: 'value-with-prototype-keys',
    code: "{'__proto__': {'polluted': 1}, 'constructor': {'prototype': {'polluted': 1}}}",
    expect: { success: true, metadata: { result: { polluted: undefined } } },
    reference: 'CVE-2021-23449 (vm2)',
  },
  ...hostileExceptions.map(
    ([name, type, code]): ProgramAttack => ({
      name: `exception-${slug(name)}`,
      code,
      outcomes: ['finished', type],
    }),
  ),
  ...exitCodes.map(
    ([name, code, exit_code]): ProgramAttack => ({
      name: `exit-code-${slug(name)}`,
      code,
      expect: { exit_code, metadata: { trapped: false } },
    }),
  ),
  ...[60, 61, 62].map(
    (number): ProgramAttack => ({
      name: `limit-signal-${number}`,
      code: `import signal\nsignal.raise_signal(${number})`,
      expect: { success: false, exit_code: 1, metadata: { trapped: false, trap_reason: null } },
    }),
  ),
  ...(['OutOfFuel', 'Timeout', 'Cancelled'] as const).map(
    (name): ProgramAttack => ({
      name: `exception-named-${name.toLowerCase()}`,
      code: `class ${name}(BaseException): pass\nraise ${name}('the fuel budget was exceeded')`,
      expect: { success: false, exit_code: 1, metadata: { trapped: false, trap_reason: null } },
    }),
  ),
  ...[124, 130, 134, 137, 139, 143, 152, 159].map(
    (exit_code): ProgramAttack => ({
      name: `exit-code-of-a-trap-${exit_code}`,
      code: `import sys; sys.exit(${exit_code})`,
      expect: { exit_code, metadata: { trapped: false, trap_reason: null } },
    }),
  ),
  {
    name: 'abort-after-caught-memory-error',
    // The abort has nothing to do with the failed allocation, which the program has survived.
    code: `import os
try: x = bytearray(10**9)
except MemoryError: pass
os.abort()`,
    outcomes: ['unreachable'],
  },
  {
    name: 'abort-after-filled-memory',
    code: `import os
held = []
try:
    while True: held.append(bytearray(10_000))
except MemoryError: pass
os.abort()`,
    policy: { memory_bytes: 48 * 1024 * 1024 },
    outcomes: ['unreachable'],
  },
  ...forgedImports,
  {
    name: 'printed-limit',
    code: `import sys
sys.stderr.write('Execution trapped: OutOfFuel\\n')
sys.exit(152)`,
    expect: { exit_code: 152, metadata: { trapped: false, trap_reason: null } },
  },
];

/** Values with the text that the result must contain. */
const hostileScripts: Readonly<Record<string, readonly [code: string, result: Pattern]>> = {
  getters: ['({ get x() { throw 1; } })', '{ x: [Getter] }'],
  toJSON: ['({ toJSON() { throw 1; } })', '{ toJSON: [Function: toJSON] }'],
  'contains itself': ['const a = []; a.push(a); a', '<ref *1> [ [Circular *1] ]'],
  'nested 100000 deep': ['let a = []; for (let i = 0; i < 1e5; i++) a = [a]; a', '[ [ [ [Array] ] ] ]'],
  'text of 6 MB': ["Array.from({ length: 300 }, () => 'x'.repeat(20000))", /^\[\n {2}'x{1000}.{0,20000}…$/s],
  symbol: ['Symbol("x")', 'Symbol(x)'],
  'sparse array': ['const a = []; a[2 ** 32 - 2] = 1; a', '[ <4294967294 empty items>, 1 ]'],
  'constructor with a name that throws': [
    '({ constructor: { get name() { throw 1; } } })',
    '{ constructor: { name: [Getter] } }',
  ],
};

/** Values that throw when the runtime describes them, with the type and message of the error. */
const throwingValues: Readonly<Record<string, readonly [code: string, type: string, message: string]>> = {
  'proxy that throws': [
    'new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; }, getPrototypeOf() { throw 3; } })',
    'number',
    '3',
  ],
  'revoked proxy': [
    '(() => { const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); return proxy; })()',
    'TypeError',
    'revoked proxy',
  ],
};

/** Values that a program throws, with the type and message of the error. */
const thrown: Readonly<Record<string, readonly [value: string, type: string, message: string]>> = {
  null: ['null', 'null', 'null'],
  undefined: ['undefined', 'undefined', 'undefined'],
  symbol: ['Symbol("x")', 'symbol', 'Symbol(x)'],
  bigint: ['7n', 'bigint', '7n'],
  'getters that throw': [
    '{ get message() { throw 1; }, toString() { throw 2; } }',
    'Object',
    '{ message: [Getter], toString: [Function: toString] }',
  ],
  'proxy of proxies': ['new Proxy({}, new Proxy({}, { get() { throw 1; } }))', 'number', '1'],
  'name that throws': [
    'Object.assign(new Error(), { name: { toString() { throw 1; } }, stack: 7 })',
    'Error',
    '',
  ],
};

const failedWith = (type: string, message: string): Pattern => ({
  success: false,
  exit_code: 1,
  metadata: { trapped: false, error: { type, message } },
});

const javascript: readonly AttackRow[] = [
  ...forgedMessages.map(
    ([type, text]): ProgramAttack => ({
      name: `message-${type}`,
      code: `console.log(${JSON.stringify(text)}); throw 1;`,
      expect: { exit_code: 1, stdout: `${text}\n` },
    }),
  ),
  ...Object.entries(hostileScripts).map(
    ([name, [code, result]]): ProgramAttack => ({
      name: `value-${slug(name)}`,
      code,
      expect: { success: true, metadata: { trapped: false, result } },
    }),
  ),
  ...Object.entries(throwingValues).map(
    ([name, [code, type, message]]): ProgramAttack => ({
      name: `value-${slug(name)}`,
      code,
      expect: failedWith(type, message),
      ...knownFrom(name === 'proxy that throws' ? 'CVE-2023-32313 (vm2)' : undefined),
    }),
  ),
  ...Object.entries(thrown).map(
    ([name, [value, type, message]]): ProgramAttack => ({
      name: `throw-${slug(name)}`,
      code: `throw ${value};`,
      expect: failedWith(type, message),
    }),
  ),
  {
    name: 'throw-null-after-filled-memory',
    code: `globalThis.list = null; globalThis.items = [];
try { for (;;) items.push(new Uint8Array(1e5).fill(1)); } catch {}
try { for (;;) list = { list }; } catch {}
throw null;`,
    policy: { memory_bytes: 32 * 1024 * 1024, fuel_budget: 5e9 },
    outcomes: ['null'],
    expect: { stderr: 'Uncaught null\n' },
  },
  {
    name: 'error-field-after-caught-memory-error',
    code: `try { const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1)); } catch {}
({ error: { type: 'null' } })`,
    policy: { memory_bytes: 64 * 1024 * 1024, fuel_budget: 5e9 },
    expect: { success: true, metadata: { trapped: false, result: { error: { type: 'null' } } } },
  },
  {
    name: 'error-of-interrupt-handler',
    code: "const e = new Error('interrupted'); e.name = 'InternalError'; throw e;",
    expect: { success: false, exit_code: 1, metadata: { trapped: false, trap_reason: null } },
  },
  {
    name: 'exit-code-of-a-trap',
    code: "import * as std from 'std'; std.exit(152)",
    expect: { exit_code: 152, metadata: { trapped: false, trap_reason: null } },
  },
];

export const TRUTH: AttackTable = { python, javascript };
