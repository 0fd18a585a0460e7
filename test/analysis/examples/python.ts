/** One failed run for each type of guidance, for docs/ERROR_GUIDANCE.md and the tests of the rules. */

import type { GuestError, TrapReason } from '../../../packages/core/src/schema.ts';
import type { GuidanceExample } from './example-failure.ts';
import { toolFailureExamples } from './python-tools.ts';

/** A built-in exception. */
const raised = (type: string, message: string, more: Partial<GuestError> = {}): GuestError => ({
  type,
  module: 'builtins',
  kind: type,
  message,
  line: 1,
  ...more,
});

const trap = (reason: TrapReason, message: string) => ({
  reason,
  message: `Execution trapped: ${message}`,
});

const openpyxl = {
  name: 'openpyxl',
  import_names: ['openpyxl'],
  heavy: true,
  fuel_first_import: 0,
  fuel_cached_import: 0,
  use: 'Read and write Excel .xlsx workbooks',
};

export const pythonExamples: readonly GuidanceExample[] = [
  // ---- limits ----
  {
    type: 'OutOfFuel',
    run: {
      source: 'total = 0\nwhile True:\n    total += 1',
      trap: trap('out_of_fuel', 'OutOfFuel'),
      error: { type: 'OutOfFuel', message: '', line: 3 },
      fuelConsumed: 10_000_000_000,
    },
  },
  {
    type: 'Timeout',
    run: {
      source: 'import time\ntime.sleep(60)',
      trap: trap('timeout', 'Timeout'),
      error: { type: 'Timeout', message: '', line: 2 },
    },
  },
  { type: 'Cancelled', run: { source: 'while True: pass', trap: trap('cancelled', 'Cancelled') } },
  {
    type: 'MemoryExhausted',
    run: { source: "text = 'x' * 10**9", error: raised('MemoryError', '') },
  },
  {
    type: 'RecursionLimit',
    run: {
      source: 'def f(n):\n    return f(n + 1)\nf(0)',
      error: raised('RecursionError', 'maximum recursion depth exceeded', { line: 2 }),
      stoppedAt: { file: '/app/main.py', line: 2, function: 'f', variables: {} },
    },
  },
  {
    type: 'WASMUnreachable',
    run: {
      source: 'import os\nos.abort()',
      trap: trap('unreachable', 'Unreachable (abort() was called)'),
      error: { type: 'Unreachable', message: 'abort() was called', line: 2 },
    },
  },
  {
    type: 'DeniedCall',
    run: {
      source:
        'import ctypes\nmethod = ctypes.c_uint.from_address(id(len) + 8).value\nctypes.c_uint.from_address(method + 4).value = 3\nlen([1])',
      trap: trap(
        'denied_call',
        'DeniedCall (The guest called env.pyodide_js_init, which the sandbox does not provide)',
      ),
    },
  },
  {
    type: 'WorkerLost',
    run: { source: 'print(1)', trap: trap('worker_lost', 'WorkerLost (the worker thread ended)') },
  },

  // ---- files ----
  {
    type: 'PathRestriction',
    run: {
      source: "open('/etc/passwd')",
      error: raised('FileNotFoundError', "[Errno 44] No such file or directory: '/etc/passwd'", {
        errno: 44,
        path: '/etc/passwd',
      }),
    },
  },
  {
    type: 'WorkspaceQuota',
    run: {
      source: "open('big.bin', 'wb').write(bytes(70_000_000))",
      error: raised('OSError', '[Errno 51] No space left on device', { errno: 51 }),
    },
  },
  {
    type: 'FileNotFoundInWorkspace',
    run: {
      source: "open('date.csv')",
      files: () => ['data.csv', 'notes.txt'],
      error: raised('FileNotFoundError', "[Errno 44] No such file or directory: 'date.csv'", {
        errno: 44,
        path: 'date.csv',
      }),
    },
  },
  {
    type: 'FileConflict',
    run: {
      source: "open('/app')",
      error: raised('IsADirectoryError', "[Errno 31] Is a directory: '/app'", { errno: 31, path: '/app' }),
    },
  },
  {
    type: 'FileMode',
    run: {
      source: "open('report.txt', 'w')",
      error: raised('PermissionError', "[Errno 2] Permission denied: 'report.txt'", {
        errno: 2,
        path: 'report.txt',
      }),
    },
  },
  {
    type: 'FileMode',
    run: {
      source: "f = open('a.txt', 'w')\nf.read()",
      error: {
        type: 'UnsupportedOperation',
        module: 'io',
        kind: 'OSError',
        message: 'not readable',
        line: 2,
      },
    },
  },

  // ---- imports and features ----
  {
    type: 'MissingVendoredPackage',
    run: {
      source: "import sys\nsys.path = ['/app']\nimport openpyxl",
      packages: [openpyxl],
      error: raised('ModuleNotFoundError', "No module named 'openpyxl'", {
        name: 'openpyxl',
        on_path: false,
        line: 3,
      }),
    },
  },
  {
    type: 'WrongImportName',
    run: {
      source: 'from math import squareroot',
      error: raised('ImportError', "cannot import name 'squareroot' from 'math' (unknown location)", {
        name: 'math',
        attribute: 'squareroot',
      }),
    },
  },
  {
    type: 'UnsupportedFeature',
    run: {
      source: 'import threading\nthreading.Event().wait()',
      error: raised('RuntimeError', 'deadlock: the wait would never end: there are no threads', { line: 2 }),
    },
  },
  {
    type: 'PackageNotAvailable',
    run: {
      source: 'import pandas as pd',
      packages: [openpyxl],
      addablePackage: () => 'pandas',
      error: raised('ModuleNotFoundError', "No module named 'pandas'", { name: 'pandas' }),
    },
  },
  {
    type: 'PackageNotAvailable',
    run: {
      source: "from bs4 import BeautifulSoup\nsoup = BeautifulSoup('<p>Hi</p>', 'lxml')",
      error: raised(
        'FeatureNotFound',
        "Couldn't find a tree builder with the features you requested: lxml. Do you need to install a parser library?",
        { module: 'bs4.exceptions', kind: 'ValueError', line: 2 },
      ),
    },
  },

  // ---- data ----
  {
    type: 'DataShape',
    run: {
      source: "user = {'name': 'Ada', 'mail': 'a@b.c'}\nprint(user['email'])",
      error: raised('KeyError', "'email'", {
        key: "'email'",
        container: 'dict',
        length: 2,
        available: ["'name'", "'mail'"],
        line: 2,
      }),
    },
  },
  {
    type: 'EncodingError',
    run: {
      source: "b'caf\\xe9'.decode()",
      error: raised(
        'UnicodeDecodeError',
        "'utf-8' codec can't decode byte 0xe9 in position 3: unexpected end of data",
        { name: 'utf-8', position: 3 },
      ),
    },
  },
  {
    type: 'InputExhausted',
    run: { source: "name = input('Name: ')", error: raised('EOFError', 'EOF when reading a line') },
  },
  {
    type: 'InvalidFormat',
    run: {
      source: "import zipfile\nzipfile.ZipFile('notes.txt')",
      error: {
        type: 'BadZipFile',
        module: 'zipfile',
        kind: 'Exception',
        message: 'File is not a zip file',
        line: 2,
      },
    },
  },
  {
    type: 'DatabaseError',
    run: {
      source: "import sqlite3\nsqlite3.connect(':memory:').execute('SELECT * FROM users')",
      error: {
        type: 'OperationalError',
        module: 'sqlite3',
        kind: 'Exception',
        message: 'no such table: users',
        line: 2,
      },
    },
  },

  {
    type: 'RequestFailed',
    run: {
      source: "import requests\nprint(requests.get('https://api.example.com/v1/items').json())",
      error: raised(
        'ConnectionError',
        "('Connection aborted.', PermissionError(2, 'GET https://api.example.com/v1/items is not permitted: no rule matches it. Trying again will not help.'))",
        { module: 'requests.exceptions' },
      ),
      requests: [
        {
          method: 'GET',
          url: 'https://api.example.com/v1/items',
          outcome: 'refused',
          error:
            'GET https://api.example.com/v1/items is not permitted: no rule matches it. Trying again will not help.',
          bytes_up: 0,
          bytes_down: 0,
          duration_ms: 0,
        },
      ],
    },
  },
  // ---- tools ----
  ...toolFailureExamples,
  {
    type: 'ToolsNotAvailable',
    run: {
      source: 'print(await tools.weather(city="Berlin"))',
      error: raised('NameError', "name 'tools' is not defined", { name: 'tools' }),
    },
  },

  // ---- the program ----
  {
    type: 'SyntaxError',
    run: {
      source: 'x = 1\ny = = 2',
      error: raised('SyntaxError', 'invalid syntax (main.py, line 2)', { line: 2, column: 5 }),
    },
  },
  {
    type: 'UndefinedName',
    run: {
      source: 'total = 3\nprint(totl)',
      error: raised('NameError', "name 'totl' is not defined", {
        name: 'totl',
        suggestion: 'total',
        line: 2,
      }),
    },
  },
  {
    type: 'MissingAttribute',
    run: {
      source: "'a b'.splt()",
      error: raised('AttributeError', "'str' object has no attribute 'splt'", {
        name: 'splt',
        container: 'str',
        suggestion: 'split',
      }),
    },
  },
  {
    type: 'WrongArguments',
    run: {
      source: 'def area(w, h): return w * h\narea(3)',
      error: raised('TypeError', "area() missing 1 required positional argument: 'h'", { line: 2 }),
    },
  },
  {
    type: 'TypeMismatch',
    run: {
      source: "print('total: ' + 3)",
      error: raised('TypeError', 'can only concatenate str (not "int") to str'),
    },
  },
  {
    type: 'NumberTooLarge',
    run: {
      source: 'import math\nmath.exp(1000)',
      error: raised('OverflowError', 'math range error', { line: 2 }),
    },
  },
  {
    type: 'GroupedErrors',
    run: {
      source: [
        'import asyncio',
        'async def check(row):',
        "    raise ValueError(f'bad row {row}')",
        'async with asyncio.TaskGroup() as group:',
        '    group.create_task(check(7))',
      ].join('\n'),
      error: raised('ExceptionGroup', 'unhandled errors in a TaskGroup (1 sub-exception)', {
        available: ['ValueError: bad row 7 (line 3)'],
        length: 1,
        line: 4,
      }),
    },
  },
  {
    type: 'AwaitTimeout',
    run: {
      source: 'import asyncio\nawait asyncio.wait_for(asyncio.sleep(60), 1)',
      error: raised('TimeoutError', '', { line: 2 }),
    },
  },
  {
    type: 'DivisionByZero',
    run: { source: 'print(10 / len([]))', error: raised('ZeroDivisionError', 'division by zero') },
  },
  {
    type: 'AssertionFailed',
    run: {
      source: 'assert 1 + 1 == 3, "math"',
      error: raised('AssertionError', 'math', { raised: true }),
    },
  },
  {
    type: 'RegexError',
    run: {
      source: "import re\nre.compile('(a')",
      error: {
        type: 'PatternError',
        module: 're',
        kind: 'Exception',
        message: 'missing ), unterminated subpattern at position 0',
        line: 2,
      },
    },
  },
  {
    type: 'MutationDuringIteration',
    run: {
      source: 'd = {1: 2}\nfor k in d: d[k + 1] = 0',
      error: raised('RuntimeError', 'dictionary changed size during iteration', { line: 2 }),
    },
  },
  {
    type: 'AsyncMisuse',
    run: {
      source: 'import asyncio\nasync def f(): asyncio.run(asyncio.sleep(0))\nawait f()',
      error: raised('RuntimeError', 'asyncio.run() cannot be called from a running event loop', { line: 2 }),
    },
  },
  {
    type: 'InvalidValue',
    run: {
      source: "int('12a')",
      error: raised('ValueError', "invalid literal for int() with base 10: '12a'"),
    },
  },

  {
    type: 'CommandFailed',
    run: {
      source: "import subprocess\nsubprocess.run(['grep', 'x', 'a.txt'], check=True)",
      error: {
        type: 'CalledProcessError',
        module: 'subprocess',
        message: "Command '['grep', 'x', 'a.txt']' returned non-zero exit status 1.",
        line: 2,
      },
    },
  },

  {
    type: 'CommandNotFound',
    run: {
      source: '%prun main()',
      error: {
        type: 'UsageError',
        module: 'builtins',
        message: 'Line magic function `%prun` not found.',
        line: 1,
      },
    },
  },

  // ---- exit ----
  {
    type: 'RaisedByProgram',
    run: {
      source: "raise ValueError('price must be positive')",
      error: raised('ValueError', 'price must be positive', { raised: true }),
    },
  },
  {
    type: 'OutputLimit',
    run: {
      source: 'print("x" * 3_000_000)\nraise SystemExit(1)',
      ending: 'exited',
      stdoutDroppedBytes: 1_000_000,
    },
  },
  {
    type: 'WrongArguments',
    run: {
      source:
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--input', required=True)\nargs = parser.parse_args()",
      exitCode: 2,
      error: raised('ArgumentError', 'the following arguments are required: --input', {
        module: 'argparse',
        kind: 'SystemExit',
        line: null,
      }),
    },
  },
  {
    type: 'TypeMismatch',
    run: {
      source: 'import pickle\npickle.dumps(lambda x: x)',
      error: raised(
        'PicklingError',
        "Can't pickle <function <lambda> at 0x14bdcd8>: it's not found as __main__.<lambda>",
        { module: '_pickle', kind: 'Exception', line: 2 },
      ),
    },
  },
];
