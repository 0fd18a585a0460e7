import { describe, expect, test } from 'vitest';
import { classify, RULES } from '../../src/analysis/classify.ts';
import { guide } from '../../src/analysis/guidance.ts';
import { ERRNO } from '../../src/analysis/known.ts';
import { cut, lineText } from '../../src/analysis/quote.ts';
import { closest } from '../../src/analysis/similar-names.ts';
import { STDERR_SCAN_CHARS } from '../../src/analysis/stderr-traceback.ts';
import { WASI_ERRNO as KERNEL_ERRNO } from '../../src/kernel/errno.ts';
import { errorGuidance, executeOptions, policy, sandboxOptions } from '../../src/schema.ts';
import { CATALOGUE, exception, facts, outOfFuel } from './facts.ts';

const typeOf = (change: Parameters<typeof facts>[0]) => classify(facts(change), CATALOGUE)?.rule.type ?? null;

describe('the table of rules', () => {
  test.each(RULES.map((rule) => [rule.type, rule] as const))(
    '%s recognises its own example',
    (type, rule) => {
      const finding = classify(facts(rule.example), CATALOGUE);
      expect(finding?.rule.type).toBe(type);
      const guidance = guide(finding!, CATALOGUE);
      expect(errorGuidance.parse(guidance)).toEqual(guidance);
      expect(guidance.actionable_guidance.length).toBeGreaterThan(0);
      expect(guidance.related_docs.length).toBeGreaterThan(0);
      expect(guidance.actionable_guidance.join('\n')).not.toMatch(/'undefined'|\[object/);
    },
  );

  test('advises only parameters that exist', () => {
    const known = new Set([
      ...Object.keys(policy.shape),
      ...Object.keys(executeOptions.shape),
      ...Object.keys(sandboxOptions.shape),
      // The tool of the specification's own examples, and the blocks of a result.
      'create_session',
      'error_guidance',
      'fuel_analysis',
      // Python's own names.
      'set_int_max_str_digits',
      'exist_ok',
      'linear_regression',
    ]);
    for (const rule of RULES) {
      const { actionable_guidance } = guide(classify(facts(rule.example), CATALOGUE)!, CATALOGUE);
      const own = actionable_guidance
        .filter((line) => !/ line \d+: |^The (key|name) |^Keys /.test(line))
        .join('\n');
      const named = [...own.matchAll(/(?<![\w.'/"])[a-z]+(?:_[a-z]+)+(?![\w'./])/g)].map(([name]) => name);
      expect(named.filter((name) => !known.has(name))).toEqual([]);
    }
  });

  test('has the types of the specification', () => {
    const types = RULES.map(({ type }) => type);
    for (const type of [
      'OutOfFuel',
      'PathRestriction',
      'QuickJSTupleDestructuring',
      'MissingVendoredPackage',
      'WASMUnreachable',
      'MemoryExhausted',
      'SyntaxError',
    ]) {
      expect(types).toContain(type);
    }
  });

  test('points only to documents the rule declares, or to its own section of the catalogue', () => {
    for (const rule of RULES) {
      const guidance = guide(classify(facts(rule.example), CATALOGUE)!, CATALOGUE);
      const allowed = [...rule.docs, `docs/ERROR_GUIDANCE.md#${rule.type.toLowerCase()}`];
      for (const link of guidance.related_docs) expect(allowed).toContain(link);
    }
  });
});

describe('evidence', () => {
  test('a successful run has no type, whatever was printed or reported', () => {
    const stderr =
      'Traceback (most recent call last):\n  File "/app/main.py", line 1\nFileNotFoundError: [Errno 44] No such file or directory: \'/etc/passwd\'\n';
    expect(typeOf({ exit_code: 0, ending: 'returned', stderr })).toBeNull();
    expect(typeOf({ exit_code: 0, ending: 'unknown', stderr })).toBeNull();
  });

  test('a trap decides, whatever exception came with it', () => {
    const error = exception('FileNotFoundError', 'x', { errno: 44, path: '/etc/passwd' });
    expect(typeOf({ trap: outOfFuel, error })).toBe('OutOfFuel');
  });

  test('standard error counts only when the runtime could not report', () => {
    const stderr =
      "Traceback (most recent call last):\n  File \"/app/main.py\", line 1, in <module>\n    open('/etc/passwd')\nFileNotFoundError: [Errno 44] No such file or directory: '/etc/passwd'\n";
    expect(typeOf({ ending: 'exited', stderr })).toBeNull();
    expect(typeOf({ ending: 'unknown', stderr })).toBe('PathRestriction');
    expect(typeOf({ ending: 'unknown', stderr: `${stderr}but then it went on\n` })).toBeNull();
  });

  test.each([
    ["ModuleNotFoundError: No module named 'openpyxl'", 'MissingVendoredPackage'],
    ["ModuleNotFoundError: No module named 'pandas'", 'PackageNotAvailable'],
    ["NameError: name 'x' is not defined", 'UndefinedName'],
    ['json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)', 'DataShape'],
    ['MyError: anything', null],
  ])('the end of a traceback, %s, is read as %s', (end, type) => {
    const stderr = `Traceback (most recent call last):\n  File "/app/main.py", line 1, in <module>\n    x\n${end}\n`;
    expect(typeOf({ ending: 'unknown', stderr })).toBe(type);
  });

  test('the same for JavaScript and for syntax errors', () => {
    const stderr = '  File "/app/main.py", line 2\n    y = = 2\n        ^\nSyntaxError: invalid syntax\n';
    expect(typeOf({ ending: 'unknown', stderr })).toBe('SyntaxError');
    const script = 'Uncaught TypeError: value is not iterable\n    at <eval> (/app/main.js:1:1)\n';
    expect(typeOf({ runtime: 'javascript', ending: 'unknown', stderr: script })).toBe('TypeMismatch');
  });

  test('no more than the first 10 KB of it are looked at', () => {
    const end =
      'Traceback (most recent call last):\n  File "/app/main.py", line 1\nNameError: name \'x\' is not defined\n';
    expect(
      typeOf({ ending: 'unknown', stderr: `${'\n'.repeat(STDERR_SCAN_CHARS - end.length)}${end}` }),
    ).toBe('UndefinedName');
    expect(typeOf({ ending: 'unknown', stderr: `${'\n'.repeat(STDERR_SCAN_CHARS)}${end}` })).toBeNull();
  });

  test("a class of the program's own is not taken for a built-in one of that name", () => {
    const error = {
      ...exception('FileNotFoundError', 'x', { errno: 44, path: '/etc/passwd' }),
      module: '__main__',
      kind: 'Exception',
    };
    expect(typeOf({ error })).toBeNull();
  });

  test('what the program raises itself is its own decision', () => {
    expect(typeOf({ error: exception('MemoryError', '', { raised: true }) })).toBe('RaisedByProgram');
    expect(
      typeOf({ error: exception('FileNotFoundError', '', { raised: true, errno: 44, path: '/etc/x' }) }),
    ).toBe('RaisedByProgram');
    const source = "throw new TypeError('value is not iterable'); // os.readdir('/')";
    expect(
      typeOf({
        runtime: 'javascript',
        source,
        error: { type: 'TypeError', message: 'value is not iterable', line: 1 },
      }),
    ).toBe('RaisedByProgram');
  });
});

describe('paths', () => {
  const missing = (path: string, more: object = {}) =>
    typeOf({
      error: exception('FileNotFoundError', path, { errno: 44, path, ...more }),
      mounts: ['/external'],
    });

  test.each([
    ['/etc/passwd', 'PathRestriction'],
    ['/apple/x', 'PathRestriction'],
    ['/app/../etc/passwd', 'PathRestriction'],
    ['../x', 'PathRestriction'],
    ['C:\\data\\x.csv', 'PathRestriction'],
    ['/app/x', 'FileNotFoundInWorkspace'],
    ['x', 'FileNotFoundInWorkspace'],
    ['sub/../x', 'FileNotFoundInWorkspace'],
    ['/tmp/x', 'FileNotFoundInWorkspace'],
    ['/external/x', 'FileNotFoundInWorkspace'],
  ])('%s that does not exist is %s', (path, type) => {
    expect(missing(path)).toBe(type);
  });

  test('a relative path counts from where the program was', () => {
    expect(missing('x', { cwd: '/lib' })).toBe('PathRestriction');
    expect(missing('../x', { cwd: '/app/sub' })).toBe('FileNotFoundInWorkspace');
  });

  test('writing to a mount is a restriction, and says so', () => {
    const error = exception('OSError', '', { errno: 69, path: '/external/x' });
    const finding = classify(facts({ error, mounts: ['/external'] }), CATALOGUE)!;
    expect(finding.rule.type).toBe('PathRestriction');
    expect(guide(finding, CATALOGUE).actionable_guidance.join()).toContain('read-only mount');
  });
});

describe('packages', () => {
  const missing = (name: string, more: object = {}) =>
    classify(
      facts({ error: exception('ModuleNotFoundError', `No module named '${name}'`, { name, ...more }) }),
      CATALOGUE,
    );

  test.each([
    ['openpyxl', 'MissingVendoredPackage'],
    ['PyPDF2', 'MissingVendoredPackage'],
    ['pypdf2', 'WrongImportName'],
    ['pyyaml', 'WrongImportName'],
    ['numpy', 'PackageNotAvailable'],
    ['tkinter', 'UnsupportedFeature'],
    ['constructor', 'PackageNotAvailable'],
  ])('%s is %s', (name, type) => {
    expect(missing(name)?.rule.type).toBe(type);
  });

  test('one that is missing from the installation is not blamed on sys.path', () => {
    const guidance = guide(missing('openpyxl', { on_path: true })!, CATALOGUE);
    expect(guidance.actionable_guidance.join()).toContain('doctor');
    expect(guidance.actionable_guidance.join()).not.toContain('sys.path');
  });

  test('alternatives are named only if the catalogue has them', () => {
    expect(guide(missing('pandas')!, CATALOGUE).actionable_guidance.join()).toContain('openpyxl');
    expect(guide(missing('pandas')!, { packages: [] }).actionable_guidance.join()).not.toContain('openpyxl');
  });

  test.each([
    ["const dayjs = require('dayjs');", 'require is not defined', 'ReferenceError', 'MissingRequireVendor'],
    [
      "import dayjs from 'dayjs';",
      "could not load module 'dayjs': packages cannot be imported here",
      'ReferenceError',
      'MissingRequireVendor',
    ],
    ['dayjs();', 'dayjs is not defined', 'ReferenceError', 'MissingRequireVendor'],
    ["const fs = require('fs');", 'require is not defined', 'ReferenceError', 'UnsupportedFeature'],
    ["const x = require('left-pad');", 'require is not defined', 'ReferenceError', 'PackageNotAvailable'],
  ])('in JavaScript, %s is recognised', (source, message, type, expected) => {
    expect(typeOf({ runtime: 'javascript', source, error: { type, message, line: 1 } })).toBe(expected);
  });
});

describe('names of earlier calls', () => {
  const undefinedName = (runtime: 'python' | 'javascript', earlier: string, persistent = false) => {
    const error =
      runtime === 'python'
        ? exception('NameError', "name 'df' is not defined", { name: 'df' })
        : { type: 'ReferenceError', message: 'df is not defined', line: 1 };
    const session = {
      persistent,
      in_session: true,
      earlier_sources: [earlier],
      earlier_heavy_imports: new Map(),
    };
    return guide(
      classify(facts({ runtime, error, session }), CATALOGUE)!,
      CATALOGUE,
    ).actionable_guidance.join('\n');
  };

  test.each([
    'df = 1',
    'df: int = 1',
    'df, x = 1, 2',
    'def df(): pass',
    'class df: pass',
    'import csv as df',
    'from x import y, df',
  ])('are found in %s', (earlier) => {
    expect(undefinedName('python', earlier)).toContain('An earlier call defined');
  });

  test.each(['df == 1', '    df = 1', 'print(df)', 'x.df = 1', 'dfx = 1'])(
    'are not seen in %s',
    (earlier) => {
      expect(undefinedName('python', earlier)).not.toContain('An earlier call');
    },
  );

  test('are found in JavaScript, too', () => {
    expect(undefinedName('javascript', 'const df = 1;')).toContain('auto_persist_globals');
    expect(undefinedName('javascript', 'const [a, df] = f();')).toContain('auto_persist_globals');
    expect(undefinedName('javascript', 'const dfx = 1;')).not.toContain('auto_persist_globals');
  });
});

describe('texts', () => {
  test('quote what a guest wrote on one short line', () => {
    expect(cut(`a\n\u0000b\u202e${'c'.repeat(1000)}`)).toMatch(/^a b c+…$/);
    expect(cut('x'.repeat(10_000_000)).length).toBe(160);
  });

  test('find a line', () => {
    expect([0, 1, 2, 3, 4].map((line) => lineText('a\n  b\n\nd', line))).toEqual(['a', 'a', 'b', '', 'd']);
    expect(lineText('a', 99)).toBe('');
  });
});

test('error numbers are those of the kernel', () => {
  for (const [name, number] of Object.entries(ERRNO.python)) {
    // CPython's own number for what Emscripten does not do; the kernel never returns it.
    if (name !== 'EOPNOTSUPP')
      expect([name, (KERNEL_ERRNO as Record<string, number>)[name]]).toEqual([name, number]);
  }
});

describe('names that look alike', () => {
  test('are found whatever the folder and the letter case, best first', () => {
    expect(closest('Date.csv', ['x/data.csv', 'date.CSV', 'notes.txt', 'dates.csv'])).toEqual([
      'date.CSV',
      'dates.csv',
      'x/data.csv',
    ]);
    expect(closest('report', ['a', 'zzzzzz', ''])).toEqual([]);
    expect(closest('', ['a'])).toEqual([]);
  });
});

describe('hostile text', () => {
  const texts = [
    ' '.repeat(100_000),
    '\n'.repeat(100_000),
    `import a${' '.repeat(100_000)}`,
    'a, '.repeat(50_000),
    '[['.repeat(50_000),
    'while '.repeat(20_000),
    `const x = ${'os.readdir('.repeat(10_000)}`,
    'Traceback (most recent call last):\n'.repeat(2_000),
    '  File "/app/main.py", line 1\n'.repeat(300),
    'Uncaught TypeError: x\n'.repeat(400),
  ];

  test('takes no rule more than a moment', () => {
    // Counted in steps, not in time: a rule that goes over the text again for each of its characters never ends here.
    for (const text of texts) {
      for (const rule of RULES) {
        const session = {
          persistent: false,
          in_session: true,
          earlier_sources: [text, text],
          earlier_heavy_imports: new Map(),
        };
        const error = rule.example.error && {
          ...rule.example.error,
          message: text.slice(0, 40_000),
          name: 'a',
          line: 1,
        };
        const changes = [
          { ...rule.example, source: text, session },
          { ...rule.example, source: text, session, error },
          { ...rule.example, error: undefined, ending: 'unknown' as const, stderr: text },
        ];
        for (const change of changes) {
          const finding = classify(facts(change), CATALOGUE);
          if (finding !== undefined)
            expect(JSON.stringify(guide(finding, CATALOGUE)).length).toBeLessThan(8_000);
        }
      }
    }
  }, 20_000);
});
