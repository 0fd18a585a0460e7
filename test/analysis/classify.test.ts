import { describe, expect, test } from 'vitest';
import { analyse } from '../../packages/core/src/analysis/analyse.ts';
import { buildGuidance } from '../../packages/core/src/analysis/build-guidance.ts';
import { classify, STDERR_SCAN_CHARS } from '../../packages/core/src/analysis/find-rule.ts';
import type { AnalysisInput } from '../../packages/core/src/analysis/input.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import type { RuntimeName } from '../../packages/core/src/schema.ts';
import { exception, javascriptRun, OUT_OF_FUEL, pythonRun, run } from './inputs.ts';

const classified = (input: AnalysisInput) => classify(input, LANGUAGES[input.language.name].rules);
const typeOf = (input: AnalysisInput) => classified(input)?.rule.type ?? null;
const adviceFor = (input: AnalysisInput) => buildGuidance(classified(input)!).actionable_guidance.join('\n');

describe('evidence', () => {
  test('a successful run has no type, whatever it printed', () => {
    const stderr =
      'Traceback (most recent call last):\n  File "/app/main.py", line 1\nFileNotFoundError: [Errno 44] No such file or directory: \'/etc/passwd\'\n';
    expect(typeOf(pythonRun({ exitCode: 0, ending: 'returned', stderr }))).toBeNull();
    expect(typeOf(pythonRun({ exitCode: 0, ending: 'unknown', stderr }))).toBeNull();
  });

  test('a trap takes precedence over an exception', () => {
    const error = exception('FileNotFoundError', 'x', { errno: 44, path: '/etc/passwd' });
    expect(typeOf(pythonRun({ trap: OUT_OF_FUEL, error }))).toBe('OutOfFuel');
  });

  test('standard error counts only if the runtime could not report', () => {
    const stderr =
      "Traceback (most recent call last):\n  File \"/app/main.py\", line 1, in <module>\n    open('/etc/passwd')\nFileNotFoundError: [Errno 44] No such file or directory: '/etc/passwd'\n";
    expect(typeOf(pythonRun({ ending: 'exited', stderr }))).toBeNull();
    expect(typeOf(pythonRun({ ending: 'unknown', stderr }))).toBe('PathRestriction');
    expect(typeOf(pythonRun({ ending: 'unknown', stderr: `${stderr}but then it went on\n` }))).toBeNull();
  });

  test.each([
    ["ModuleNotFoundError: No module named 'openpyxl'", 'MissingVendoredPackage'],
    ["ModuleNotFoundError: No module named 'pandas'", 'PackageNotAvailable'],
    ["NameError: name 'x' is not defined", 'UndefinedName'],
    ['json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)', 'DataShape'],
    ['MyError: anything', null],
  ])('a traceback that ends with "%s" has the type %s', (end, type) => {
    const stderr = `Traceback (most recent call last):\n  File "/app/main.py", line 1, in <module>\n    x\n${end}\n`;
    expect(typeOf(pythonRun({ ending: 'unknown', stderr }))).toBe(type);
  });

  test('a traceback of a syntax error and an uncaught JavaScript error are recognised', () => {
    const stderr = '  File "/app/main.py", line 2\n    y = = 2\n        ^\nSyntaxError: invalid syntax\n';
    expect(typeOf(pythonRun({ ending: 'unknown', stderr }))).toBe('SyntaxError');
    const uncaught = 'Uncaught TypeError: value is not iterable\n    at <eval> (/app/main.js:1:1)\n';
    expect(typeOf(javascriptRun({ ending: 'unknown', stderr: uncaught }))).toBe('TypeMismatch');
  });

  test('standard error of more than 10 KB is not parsed', () => {
    const end =
      'Traceback (most recent call last):\n  File "/app/main.py", line 1\nNameError: name \'x\' is not defined\n';
    const padded = (length: number) => `${'\n'.repeat(length - end.length)}${end}`;
    expect(typeOf(pythonRun({ ending: 'unknown', stderr: padded(STDERR_SCAN_CHARS) }))).toBe('UndefinedName');
    expect(typeOf(pythonRun({ ending: 'unknown', stderr: padded(STDERR_SCAN_CHARS + 1) }))).toBeNull();
  });

  test('a limit that is reached during an import is not blamed on the algorithm', () => {
    const stopped = { source: 'import openpyxl', isImportInterrupted: true, fuelConsumed: 5_000_000_000 };
    const error = exception('Timeout', '', { line: 1 });
    const timeout = pythonRun({ ...stopped, error, trap: { reason: 'timeout', message: '' } });
    expect(adviceFor(timeout)).toMatch(
      /was importing openpyxl \(about .* fuel\): the import needs more time/,
    );
    expect(adviceFor(timeout)).not.toMatch(/algorithm|less data/);
    const fuel = pythonRun({ ...stopped, error: { ...error, type: 'OutOfFuel' }, trap: OUT_OF_FUEL });
    expect(adviceFor(fuel)).toContain('was importing openpyxl');
    expect(adviceFor(fuel)).not.toMatch(/algorithm/);
  });

  test.each([
    [
      exception('ValueError', 'unknown file extension: .webp', { line: 2 }),
      "image.save('a.webp')",
      'save the image as PNG',
    ],
    [
      exception('KeyError', "'AVIF'", { line: 2, key: "'AVIF'" }),
      "image.save(b, 'AVIF')",
      'save the image as PNG',
    ],
    [
      exception('UnidentifiedImageError', 'cannot identify image file', {
        line: 2,
        module: 'PIL',
        kind: 'OSError',
      }),
      "Image.open('a.webp')",
      'convert the image to PNG',
    ],
  ])('a codec that Pillow lacks is named', (error, statement, advice) => {
    const input = pythonRun({ source: `from PIL import Image\n${statement}`, error });
    expect(typeOf(input)).toBe('UnsupportedFeature');
    expect(adviceFor(input)).toMatch(/the codec for (?:WEBP|AVIF) images/);
    expect(adviceFor(input)).toContain(advice);
    expect(typeOf({ ...input, source: `import os\n${statement}` })).not.toBe('UnsupportedFeature');
  });

  test("the program's own class is not mistaken for a built-in class of the same name", () => {
    const error = {
      ...exception('FileNotFoundError', 'x', { errno: 44, path: '/etc/passwd' }),
      module: '__main__',
      kind: 'Exception',
    };
    expect(typeOf(pythonRun({ error }))).toBeNull();
  });

  test('an exception that the program raised itself is RaisedByProgram', () => {
    const raised = { raised: true };
    expect(typeOf(pythonRun({ error: exception('MemoryError', '', raised) }))).toBe('RaisedByProgram');
    const missing = exception('FileNotFoundError', '', { ...raised, errno: 44, path: '/etc/x' });
    expect(typeOf(pythonRun({ error: missing }))).toBe('RaisedByProgram');
    const source = "throw new TypeError('value is not iterable'); // os.readdir('/')";
    const error = { type: 'TypeError', message: 'value is not iterable', line: 1 };
    expect(typeOf(javascriptRun({ source, error }))).toBe('RaisedByProgram');
  });

  test('a failed assert statement is AssertionFailed, although it raises', () => {
    expect(typeOf(pythonRun({ error: exception('AssertionError', '', { raised: true }) }))).toBe(
      'AssertionFailed',
    );
  });
});

const MOUNTED = { ...pythonRun().capabilities, mounts: ['/external'] };

describe('paths', () => {
  const missing = (path: string, more: object = {}) =>
    typeOf(
      pythonRun({
        error: exception('FileNotFoundError', path, { errno: 44, path, ...more }),
        capabilities: MOUNTED,
      }),
    );

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
  ])('a missing file %s has the type %s', (path, type) => {
    expect(missing(path)).toBe(type);
  });

  test('a relative path is resolved against the current folder of the program', () => {
    expect(missing('x', { cwd: '/lib' })).toBe('PathRestriction');
    expect(missing('../x', { cwd: '/app/sub' })).toBe('FileNotFoundInWorkspace');
  });

  test('writing to a read-only mount is a PathRestriction', () => {
    const error = exception('OSError', '', { errno: 69, path: '/external/x' });
    const input = pythonRun({ error, capabilities: MOUNTED });
    expect(typeOf(input)).toBe('PathRestriction');
    expect(adviceFor(input)).toContain('read-only mount');
  });
});

describe('packages', () => {
  const missing = (name: string, more: object = {}) =>
    pythonRun({ error: exception('ModuleNotFoundError', `No module named '${name}'`, { name, ...more }) });

  test.each([
    ['openpyxl', 'MissingVendoredPackage'],
    ['PyPDF2', 'MissingVendoredPackage'],
    ['pypdf2', 'WrongImportName'],
    ['pyyaml', 'WrongImportName'],
    ['numpy', 'PackageNotAvailable'],
    ['tkinter', 'UnsupportedFeature'],
    ['constructor', 'PackageNotAvailable'],
  ])('a missing Python module %s has the type %s', (name, type) => {
    expect(typeOf(missing(name))).toBe(type);
  });

  test('a package that is missing from the installation is not blamed on sys.path', () => {
    const advice = adviceFor(missing('openpyxl', { on_path: true }));
    expect(advice).toContain('doctor');
    expect(advice).not.toContain('sys.path');
  });

  test('only installed packages are suggested as alternatives', () => {
    expect(adviceFor(missing('pandas'))).toContain('openpyxl');
    expect(adviceFor({ ...missing('pandas'), packages: [] })).not.toContain('openpyxl');
  });

  test('a package that needs a network is not suggested for installation', () => {
    const addablePackage = (name: string) => name;
    expect(adviceFor({ ...missing('pandas'), addablePackage })).toContain('packages add pandas');
    for (const name of ['httpx', 'flask', 'pymongo'])
      expect(adviceFor({ ...missing(name), addablePackage })).not.toContain('packages add');
  });

  test.each([
    ["const D = require('Dayjs');", "Cannot find module 'Dayjs'", 'MissingRequireVendor'],
    ["import D from 'Decimal.js';", "could not load module 'Decimal.js': …", 'MissingRequireVendor'],
    ['dayjs();', 'dayjs is not defined', 'MissingRequireVendor'],
    ["const x = require('node:unknown');", "Cannot find module 'node:unknown'", 'UnsupportedFeature'],
    ["import vm from 'node:vm';", 'No such built-in module: node:vm', 'UnsupportedFeature'],
    ["const x = require('left-pad');", "Cannot find module 'left-pad'", 'PackageNotAvailable'],
    ["import x from 'left-pad';", "could not load module 'left-pad': …", 'PackageNotAvailable'],
  ])('in JavaScript, %s that fails with "%s" has the type %s', (source, message, type) => {
    expect(typeOf(javascriptRun({ source, error: { type: 'ReferenceError', message, line: 1 } }))).toBe(type);
  });
});

describe('names of earlier calls', () => {
  const undefinedName = (runtime: Exclude<RuntimeName, 'bash'>, source: string, persistent = false) => {
    const errors = {
      python: exception('NameError', "name 'df' is not defined", { name: 'df' }),
      javascript: { type: 'ReferenceError', message: 'df is not defined', line: 1 },
    };
    const earlier = { persistent, sources: [source], heavyImports: new Map() };
    return adviceFor(run(runtime, { error: errors[runtime], earlier }));
  };

  test.each([
    'df = 1',
    'df: int = 1',
    'df, x = 1, 2',
    'def df(): pass',
    'class df: pass',
    'import csv as df',
    'from x import y, df',
  ])('"%s" defines the name', (source) => {
    expect(undefinedName('python', source)).toContain('An earlier call defined');
  });

  test.each(['df == 1', '    df = 1', 'print(df)', 'x.df = 1', 'dfx = 1'])(
    '"%s" does not define the name',
    (source) => {
      expect(undefinedName('python', source)).not.toContain('An earlier call');
    },
  );

  test('JavaScript declarations define names', () => {
    expect(undefinedName('javascript', 'const df = 1;')).toContain('auto_persist_globals');
    expect(undefinedName('javascript', 'const [a, df] = f();')).toContain('auto_persist_globals');
    expect(undefinedName('javascript', 'const dfx = 1;')).not.toContain('auto_persist_globals');
  });

  test('in a persistent session the advice is that the name was deleted or rolled back', () => {
    expect(undefinedName('python', 'df = 1', true)).toContain('rolled back');
    expect(undefinedName('javascript', 'const df = 1;', true)).toContain('rolled back');
  });
});

describe('a long program', () => {
  const profile = {
    programFile: 'program',
    samples: 1,
    fuel: 1,
    firstMemoryBytes: 0,
    lines: [],
    functions: [],
    states: [{ fuel: 1, depth: 1, stack: [], variables: [], memoryBytes: 0 }],
  };
  const BOTH = { error_guidance: true, fuel_analysis: true };

  test.each([
    ['characters', 'x'.repeat(300_000), 32_768],
    ['lines', 'x = 1\n'.repeat(50_000), 2000 * 6 - 1],
  ])('is analysed only at its beginning if it has many %s', (_, source, analysed) => {
    for (const runtime of ['python', 'javascript'] as const) {
      const input = run(runtime, { source, trap: OUT_OF_FUEL, exitCode: 152, profile });
      const { error_guidance } = analyse(input, LANGUAGES[runtime].rules, BOTH);
      expect(error_guidance).toMatchObject({ error_type: 'OutOfFuel' });
      expect(error_guidance!.actionable_guidance.at(-1)).toBe(
        `The program has 300,000 characters; only the first ${analysed.toLocaleString('en-US')} were analysed`,
      );
    }
  });

  test('still gets the class and the line of its error', () => {
    const error = exception('NameError', "name 'y' is not defined", { name: 'y', line: 40_000 });
    const source = 'x = 1\n'.repeat(50_000);
    const { error_guidance } = analyse(pythonRun({ source, error }), LANGUAGES.python.rules, BOTH);
    expect(error_guidance!.error_type).toBe('UndefinedName');
    expect(error_guidance!.actionable_guidance.join('\n')).toMatch(/line 40000[\s\S]*only the first/);
  });
});
