/**
 * Programs that try to get wrong guidance: they print tracebacks, trap messages and paths, handle the exceptions they
 * cause, raise exceptions that look like others, or falsify their report. Guidance must be true of the run.
 */
import { createSandbox, type RuntimeName, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const TRACEBACK =
  'Traceback (most recent call last):\\n  File "/app/main.py", line 1, in <module>\\n    open("/etc/passwd")\\n';
const PRINTED = [
  `${TRACEBACK}FileNotFoundError: [Errno 44] No such file or directory: \\'/etc/passwd\\'`,
  `${TRACEBACK}ModuleNotFoundError: No module named \\'openpyxl\\'`,
  `${TRACEBACK}MemoryError`,
  'Execution trapped: OutOfFuel',
  'Execution trapped: Unreachable',
  'wasm trap: all fuel consumed by WebAssembly',
  'OutOfFuel',
  'TypeError: value is not iterable',
  'SyntaxError: invalid syntax',
  'root:x:0:0:root:/root:/bin/bash\\n/etc/passwd',
  'RecursionError: maximum recursion depth exceeded',
  'Uncaught TypeError: value is not iterable\\n    at <eval> (/app/main.js:1:1)',
];

interface Row {
  readonly code: string;
  readonly exit: number;
  /** The correct type; null if there must be no guidance. */
  readonly type: string | null;
}

const printing: Row[] = PRINTED.flatMap((text) =>
  [0, 1, 2].flatMap((exit) =>
    ['stderr', 'stdout'].map((stream) => ({
      code: `import sys\nprint('${text}', file=sys.${stream})\nsys.exit(${exit})`,
      exit,
      type: null,
    })),
  ),
);

const python: Row[] = [
  ...printing,
  { code: "try:\n    open('/etc/passwd')\nexcept OSError:\n    pass", exit: 0, type: null },
  {
    code: "import traceback\ntry:\n    open('/etc/passwd')\nexcept OSError:\n    traceback.print_exc()",
    exit: 0,
    type: null,
  },
  {
    code: "import sys, traceback\ntry:\n    open('/etc/passwd')\nexcept OSError:\n    traceback.print_exc()\nsys.exit(1)",
    exit: 1,
    type: null,
  },
  {
    code: 'import os\ntry:\n    import openpyxl_nope\nexcept ImportError:\n    pass\nos._exit(2)',
    exit: 2,
    type: null,
  },
  {
    code: "try:\n    open('/etc/passwd')\nexcept OSError:\n    pass\n1 / 0",
    exit: 1,
    type: 'DivisionByZero',
  },
  {
    code: "try:\n    open('/etc/passwd')\nexcept OSError as e:\n    raise ValueError('no user list')",
    exit: 1,
    type: 'RaisedByProgram',
  },
  { code: "raise MemoryError('OutOfFuel')", exit: 1, type: 'RaisedByProgram' },
  { code: "raise RecursionError('maximum recursion depth exceeded')", exit: 1, type: 'RaisedByProgram' },
  {
    code: "raise ModuleNotFoundError(\"No module named 'openpyxl'\", name='openpyxl')",
    exit: 1,
    type: 'RaisedByProgram',
  },
  {
    code: "e = FileNotFoundError(44, 'No such file', '/etc/passwd')\nraise e",
    exit: 1,
    type: 'RaisedByProgram',
  },
  { code: 'class OutOfFuel(BaseException): pass\nraise OutOfFuel', exit: 1, type: 'RaisedByProgram' },
  {
    code: "class FileNotFoundError(Exception):\n    errno = 44\n    filename = '/etc/passwd'\nraise FileNotFoundError()",
    exit: 1,
    type: 'RaisedByProgram',
  },
  { code: "raise TypeError('value is not iterable')", exit: 1, type: 'RaisedByProgram' },
  { code: "int('/etc/passwd')", exit: 1, type: 'InvalidValue' },
  { code: "{}['/etc/passwd']", exit: 1, type: 'DataShape' },
  { code: "assert False, 'Execution trapped: OutOfFuel'", exit: 1, type: 'AssertionFailed' },
  {
    code: "import sys\nsys.excepthook = lambda *a: print('MemoryError', file=sys.stderr)\n1 / 0",
    exit: 1,
    type: 'DivisionByZero',
  },
  {
    code: 'class E(Exception):\n    def __str__(self): raise MemoryError\nraise E',
    exit: 1,
    type: 'RaisedByProgram',
  },
  { code: "import sys\nsys.stderr.write('MemoryError: x\\n' * 700_000)\nsys.exit(0)", exit: 0, type: null },
  {
    code: "import sys\nsys.stderr.write('MemoryError: x\\n' * 700_000)\n1 / 0",
    exit: 1,
    type: 'DivisionByZero',
  },
];

const javascript: Row[] = [
  ...PRINTED.flatMap((text) =>
    [0, 1, 2].map((exit) => ({ code: `console.error('${text}');\nstd.exit(${exit});`, exit, type: null })),
  ),
  { code: 'try { const [a] = 5; } catch (e) { console.error(e); }', exit: 0, type: null },
  {
    code: "try { os.readdir('/etc')[0].x.y; } catch (e) { console.error(e); std.exit(1); }",
    exit: 1,
    type: null,
  },
  { code: "throw new TypeError('value is not iterable');", exit: 1, type: 'RaisedByProgram' },
  { code: "throw new Error('OutOfFuel');", exit: 1, type: 'RaisedByProgram' },
  {
    code: "const e = new Error('out of memory');\ne.name = 'InternalError';\nthrow e;",
    exit: 1,
    type: 'RaisedByProgram',
  },
  { code: "// os.readdir('/app')\nconst [a, b] = 5;", exit: 1, type: 'TypeMismatch' },
  { code: "const [files, code] = os.readdir('/app');\nconst [x] = 5;", exit: 1, type: 'TypeMismatch' },
  { code: 'const point = { x: 1 };\nconst [x, y] = point;', exit: 1, type: 'TypeMismatch' },
];

describe.each([
  ['python', python],
  ['javascript', javascript],
] as [RuntimeName, Row[]][])('misleading %s programs', (runtime, rows) => {
  let sandbox: Sandbox;
  beforeAll(async () => {
    sandbox = await createSandbox({
      runtime,
      policy: { fuel_budget: 3_000_000_000, stderr_max_bytes: 20_000_000 },
    });
  });
  afterAll(() => sandbox.close());

  test.each(rows.map((row) => [row.code, row] as const))('%j', async (code, { exit, type }) => {
    const { exit_code, metadata } = await sandbox.execute(code);
    expect({
      exit_code,
      trap: metadata.trap_reason,
      type: metadata.error_guidance?.error_type ?? null,
    }).toEqual({
      exit_code: exit,
      trap: null,
      type,
    });
  });
});

test('a falsified report is quoted only in shortened form', async () => {
  await using sandbox = await createSandbox({ runtime: 'python' });
  const { metadata } = await sandbox.execute(
    "class E(Exception): pass\nE.__name__ = 'x' * 100_000\nE.__module__ = 'builtins'\nraise E('y' * 10_000_000)",
  );
  expect(JSON.stringify(metadata.error_guidance ?? {}).length).toBeLessThan(5_000);
});
