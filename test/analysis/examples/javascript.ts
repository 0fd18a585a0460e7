/** One failed run for each type of guidance, for docs/ERROR_GUIDANCE.md and the tests of the rules. */

import type { GuestError } from '../../../packages/core/src/schema.ts';
import type { GuidanceExample } from './example-failure.ts';

const thrown = (type: string, message: string, more: Partial<GuestError> = {}): GuestError => ({
  type,
  message,
  line: 1,
  ...more,
});

const dayjs = {
  name: 'dayjs',
  import_names: ['dayjs'],
  heavy: false,
  fuel_first_import: 0,
  fuel_cached_import: 0,
  use: 'dates',
};

export const javascriptExamples: readonly GuidanceExample[] = [
  {
    type: 'MissingRequireVendor',
    run: {
      source: "const dayjs = require('Dayjs');",
      packages: [dayjs],
      error: thrown('Error', "Cannot find module 'Dayjs'\nRequire stack:\n- /app/main.js"),
    },
  },
  {
    type: 'UnsupportedFeature',
    run: {
      source: "require('child_process').fork('worker.js');",
      error: thrown(
        'Error',
        'child_process.fork is not available in the sandbox. Processes cannot exchange messages. Use spawnSync with the option input, or files.',
      ),
    },
  },
  {
    type: 'PackageNotAvailable',
    run: {
      source: "import pad from 'left-pad';",
      packages: [dayjs],
      error: thrown('ReferenceError', "could not load module 'left-pad': available packages: dayjs"),
    },
  },
  {
    type: 'FileNotFoundInWorkspace',
    run: {
      source: "import { total } from './lib/total.js';",
      files: () => ['total.js'],
      error: thrown('ReferenceError', "could not load module '/app/lib/total.js': no such file"),
    },
  },
  {
    type: 'DataShape',
    run: {
      source: "JSON.parse('{bad}');",
      error: thrown('SyntaxError', "Expected property name or '}' in JSON at position 1 (line 1 column 2)", {
        stack: '    at <input>:1:2',
        length: 5,
        position: 1,
        near: '{bad}',
      }),
    },
  },
  {
    type: 'CommandFailed',
    run: { source: "execSync('grep x a.txt');", error: thrown('Error', 'Command failed: grep x a.txt') },
  },
  {
    type: 'EncodingError',
    run: { source: "decodeURIComponent('%');", error: thrown('URIError', 'expecting hex digit') },
  },
  {
    type: 'RegexError',
    run: {
      source: "new RegExp('(');",
      error: thrown('SyntaxError', "expecting ')'", { thrower: 'RegExp' }),
    },
  },
  {
    type: 'SyntaxError',
    run: { source: 'let a = ;', error: thrown('SyntaxError', "unexpected token in expression: ';'") },
  },
  {
    type: 'PathRestriction',
    run: {
      source: "const text = std.loadFile('/etc/passwd');\ntext.split('\\n');",
      error: thrown('TypeError', "cannot read property 'split' of null", { line: 2 }),
    },
  },
  {
    type: 'QuickJSTupleDestructuring',
    run: {
      source: "const files = os.readdir('/app');\nfor (const [name] of files) console.log(name);",
      error: thrown('TypeError', 'value is not iterable', { line: 2 }),
    },
  },
  {
    type: 'InputExhausted',
    run: {
      source: 'const line = std.in.getline();\nconst words = line.split(" ");',
      error: thrown('TypeError', "cannot read property 'split' of null", { line: 2 }),
    },
  },
  {
    type: 'AsyncMisuse',
    run: {
      source: 'async function load() {\n  return [1, 2];\n}\nconst items = load();\nitems.map((n) => n * 2);',
      error: thrown('TypeError', 'not a function', { line: 5 }),
    },
  },
  {
    type: 'UndefinedName',
    run: {
      source: 'const total = 3;\nconsole.log(totl);',
      error: thrown('ReferenceError', 'totl is not defined', { line: 2 }),
    },
  },
  {
    type: 'UndefinedValue',
    run: {
      source: 'const user = {};\nconsole.log(user.address.city);',
      error: thrown('TypeError', "cannot read property 'city' of undefined", { line: 2 }),
    },
  },
  {
    type: 'NotAFunction',
    run: {
      source: "const text = 'a,b';\ntext.map(x => x);",
      error: thrown('TypeError', 'not a function', { line: 2, column: 10 }),
      stoppedAt: { file: '/app/main.js', line: 2, function: '<eval>', variables: { text: '"a,b"' } },
    },
  },
  {
    type: 'ReadOnlyValue',
    run: {
      source: 'const n = 1;\nn = 2;',
      error: thrown('TypeError', "'n' is read-only", { line: 2 }),
    },
  },
  {
    type: 'GroupedErrors',
    run: {
      source: "await Promise.any([Promise.reject(new Error('first'))]);",
      error: thrown('AggregateError', 'All promises were rejected', {
        line: null,
        available: ['Error: first'],
        length: 1,
      }),
    },
  },
  {
    type: 'WrongImportName',
    run: {
      source: "import { readJson } from 'node:fs/promises';",
      error: thrown('SyntaxError', "Could not find export 'readJson' in module 'node:fs/promises'"),
    },
  },
  {
    type: 'UnsettledPromise',
    run: {
      source: 'await new Promise(() => {});',
      error: thrown('Error', 'the program awaits a promise that can never settle', { line: null }),
    },
  },
  {
    type: 'InvalidValue',
    run: { source: "new Date('x').toISOString();", error: thrown('RangeError', 'Date value is NaN') },
  },
  {
    type: 'TypeMismatch',
    run: { source: 'const [a, b] = 5;', error: thrown('TypeError', 'value is not iterable') },
  },
  {
    type: 'ToolsNotAvailable',
    run: {
      source: "console.log(await tools.weather({ city: 'Berlin' }));",
      error: thrown('ReferenceError', 'tools is not defined'),
    },
  },
  {
    type: 'AssertionFailed',
    run: {
      source: "const assert = require('assert');\nassert.strictEqual(1 + 1, 3);",
      error: thrown('AssertionError', 'Expected values to be strictly equal: 2 !== 3', { line: 2 }),
    },
  },
  {
    type: 'InvalidValue',
    run: {
      source: "const { createHash } = require('crypto');\ncreateHash('md6');",
      error: thrown('Error', 'Digest method not supported', { line: 2 }),
    },
  },
];
