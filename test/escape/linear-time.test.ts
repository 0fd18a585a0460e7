/**
 * The host matches text from guests and clients with regular expressions, outside of the limits of any program. Each must
 * do linear work, or its text must be short.
 *
 * @module-tag full
 */
import { describe, expect, test } from 'vitest';
import { analyse } from '../../packages/core/src/analysis/analyse.ts';
import { escapeControls } from '../../packages/core/src/analysis/escape-controls.ts';
import {
  declaredNames,
  planProgram,
} from '../../packages/core/src/runtimes/javascript/syntax/module-to-script.ts';
import { tokenize } from '../../packages/core/src/runtimes/javascript/syntax/tokenizer.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import type { RuntimeName } from '../../packages/core/src/schema.ts';
import { parseGuestReport } from '../../packages/core/src/worker/protocol/parse-guest-report.ts';
import { READERS, run } from '../analysis/inputs.ts';
import { countSteps, hostileTexts } from '../support/regex-steps.ts';
import { SOURCES } from '../support/sources.ts';

interface Pattern {
  readonly file: string;
  readonly regex: RegExp;
}

/** Every regular expression literal in the sources. Guest code is not included: its work is metered. */
function literals(): Pattern[] {
  return SOURCES.flatMap(({ path: name, text }) => {
    const tokens = tokenize(text);
    if (tokens === undefined) throw new Error(`cannot read ${name}`);
    return tokens
      .filter(({ kind }) => kind === 'regex')
      .map(({ text }) => {
        const [, body, flags] = /^\/(.*)\/(\w*)$/s.exec(text)!;
        return { file: name.replaceAll('\\', '/'), regex: new RegExp(body!, flags) };
      });
  });
}

/** Patterns that are not linear. `longest` is the length of the longest text that their callers match. */
const BOUNDED: readonly { readonly pattern: string; readonly longest: number; readonly why: string }[] = [
  { pattern: String.raw`/\B(?=(\d{3})+$)/g`, longest: 25, why: 'the digits of a number' },
  {
    pattern: String.raw`/^(?:[\w.-]{1,64}=)?[\x21-\x7e]{16,512}$/`,
    longest: 600,
    why: 'a setting of the operator',
  },
  { pattern: String.raw`/^[\x21-\x7e]{16,512}$/`, longest: 600, why: 'a setting of the operator' },
  { pattern: String.raw`/(^|\s)\/\/.*$/`, longest: 300, why: 'LINE_MAX of value-origin.ts' },
  {
    pattern: String.raw`/\[([^\]=]{0,100})\]\s*=(?![=>])\s*(.{1,200})/`,
    longest: 160,
    why: 'EXCERPT_MAX of quote-guest-text.ts',
  },
  {
    pattern: String.raw`/\bfor\s*\(\s*(?:const|let|var)\s+(\S.{0,99}?)\s+of\s+(.{1,200})/`,
    longest: 160,
    why: 'EXCERPT_MAX of quote-guest-text.ts',
  },
  {
    pattern: String.raw`/(\d+) (?:items?|characters)[\])}>]*$/`,
    longest: 200,
    why: 'the short form of a value in limit-stopped-at.ts',
  },
  {
    pattern: String.raw`/\*\*\/|\*\*|\[[^\]]+\]|[\s\S]/gu`,
    longest: 256,
    why: 'MAX_CHARS of glob-match.ts',
  },
];

const FEW = 24;
const GROWTH = 4;
/** Linear work grows by 4, quadratic work by 16. */
const MAX_GROWTH = 8;
/** Longest text that the recursive matcher of the test can handle. */
const LONGEST = 1000;
/** More steps than this are too many for one match of a bounded text. */
const MAX_STEPS = 1_000_000;

const growth = (regex: RegExp, text: (count: number) => string, count: number) =>
  countSteps(regex, text(count * GROWTH)) / countSteps(regex, text(count));

/** A pattern may do more work per character where a match turns into a mismatch, but only at one length. */
function isLinear(regex: RegExp, text: (count: number) => string): boolean {
  const fitting = Math.floor(LONGEST / GROWTH / (text(2).length - text(1).length));
  if (growth(regex, text, Math.min(FEW, fitting)) < MAX_GROWTH) return true;
  return growth(regex, text, Math.min(FEW * GROWTH, fitting)) < MAX_GROWTH;
}

const patterns = literals();
const bounded = new Map(BOUNDED.map((row) => [row.pattern, row]));

describe('a regular expression', () => {
  test('is found in the source if it is a literal', () => {
    expect(patterns.length).toBeGreaterThan(80);
    const known = new Set(patterns.map(({ regex }) => String(regex)));
    expect(BOUNDED.filter(({ pattern }) => !known.has(pattern))).toEqual([]);
  });

  // guarantee: linear-parsing
  // proves: Every regular expression either takes linear time or is applied only to short text.
  test.each(patterns.map(({ file, regex }) => [String(regex), file, regex] as const))(
    'does linear work or its text is short: %s in %s',
    (name, _, regex) => {
      const limit = bounded.get(name)?.longest;
      for (const text of hostileTexts(regex)) {
        if (limit !== undefined) {
          const count = Math.ceil(limit / text(1).length);
          expect(countSteps(regex, text(count).slice(0, limit))).toBeLessThan(MAX_STEPS);
          continue;
        }
        expect(isLinear(regex, text), JSON.stringify(text(3))).toBe(true);
      }
    },
  );
});

describe('a parser of hostile text', () => {
  const SIZE = 20_000;
  const PIECES: readonly string[] = [
    ...['\n', ' ', '\t', '\u2028', '"', "'", '`', '(', '[', '{', '/', '\\', 'a', '1', '.', ',', '='],
    ...['//', '/*', '/* */', '//\u2028', '${', '`${', '()', '{}', '=>', '\r\n', 'a\n', ' a', '/['],
    ...['function ', 'async ', 'export ', 'import ', 'let ', 'let a\n', 'class a{}\n', 'export{}//\u2028'],
    ...['export default function ', 'import{/*', "import'a' with{}\n", 'while (', 'for (const ', ' of '],
    ...['Traceback (most recent call last):\n', '  File "a", line 1\n', 'SyntaxError: a\n', '  at a\n'],
    ...['Uncaught TypeError: a\n', 'os.', 'os.stat(', 'from a import ', '../', './', '/app/'],
  ];
  const TEMPLATES: Record<string, (middle: string) => string> = {
    repeated: (middle) => middle,
    'after an export': (middle) => `export default function${middle}(){}`,
    'in an import list': (middle) => `import {${middle}} from 'x' */`,
    'after a declaration': (middle) => `let a${middle}`,
    'before an end': (middle) => `${middle}\nSyntaxError: a`,
  };
  const stopped = (language: RuntimeName) => ({ language, isStopped: true, error: undefined });
  const failure = (runtime: 'python' | 'javascript', text: string) => {
    for (const type of ['NameError', 'TypeError', 'SyntaxError', 'ReferenceError', 'KeyError', 'OSError']) {
      const error = {
        type,
        module: 'builtins',
        message: text.slice(0, 20_000),
        stack: text,
        line: 1,
        name: text,
      };
      const input = run(runtime, { source: text, error, files: () => [text.slice(0, 4096)] });
      analyse(input, LANGUAGES[runtime].rules, { error_guidance: true, fuel_analysis: true });
    }
    const unknown = run(runtime, { source: text, ending: 'unknown', stderr: text.slice(0, 10_240) });
    analyse(unknown, LANGUAGES[runtime].rules, { error_guidance: true, fuel_analysis: true });
  };
  const PARSERS: Record<string, (text: string) => unknown> = {
    'program plan': planProgram,
    'declared names': (text) => declaredNames(text, 200),
    'Python traceback': LANGUAGES.python.guidance.parseTraceback,
    'JavaScript traceback': LANGUAGES.javascript.guidance.parseTraceback,
    'Python failure': (text) => failure('python', text),
    'JavaScript failure': (text) => failure('javascript', text),
    'guest report': (text) =>
      parseGuestReport(JSON.stringify({ error: { type: text, message: text }, result: text })),
    'terminal text': escapeControls,
    'Python source': (text) => READERS.python.examine(text.slice(0, 5000), stopped('python')),
    'JavaScript source': (text) => READERS.javascript.examine(text.slice(0, 5000), stopped('javascript')),
  };

  // guarantee: linear-parsing
  test.each(Object.keys(PARSERS))('ends for all long texts: %s', (name) => {
    for (const fill of Object.values(TEMPLATES)) {
      for (const piece of PIECES)
        PARSERS[name]!(fill(piece.repeat(Math.ceil((SIZE * GROWTH) / piece.length))));
    }
  });

  /** Programs of at most 64 KiB with many loops, each of which contains, follows or is followed by most of the program. */
  const LOOPS: Record<string, [RuntimeName, (size: number) => string]> = {
    'generators after many lines': [
      'python',
      (size) =>
        `s="""\n${'\n'.repeat(size * 0.7)}${'while 1: yield\n'.repeat(size / 160)}"""\nwhile True:\n  pass\n`,
    ],
    'many expressions in a line': [
      'javascript',
      (size) => `function*g(){while(true)yield 1}\nlet h=()=>[${'...g(),'.repeat(size / 9)}];\nwhile(true){}`,
    ],
    'nested expressions': [
      'javascript',
      (size) =>
        `function*g(){while(true)yield 1}\nlet h=()=>g(${'...g('.repeat(size / 7)}${')'.repeat(size / 7)});`,
    ],
    'nested heads of loops': [
      'javascript',
      (size) => {
        const depth = size / 540;
        const inside = 'for(;(()=>{'.repeat(depth) + ' a;'.repeat(size / 4.3) + '})();){}'.repeat(depth);
        return `if(0){${inside}}\nwhile(true){}`;
      },
    ],
    'nested loops around many statements': [
      'javascript',
      (size) => 'while(1){'.repeat(size / 400) + 'a;'.repeat(size / 2.7) + '}'.repeat(size / 400),
    ],
    'nested loops without braces': [
      'javascript',
      (size) => `${'while(1)'.repeat(size / 400)}${'a,'.repeat(size / 2.7)}a`,
    ],
    'nested generators': [
      'javascript',
      (size) => 'function*g(){'.repeat(size / 400) + 'a;'.repeat(size / 2.7) + '}'.repeat(size / 400),
    ],
  };

  // guarantee: linear-parsing
  // proves: The number of loops that are found in hostile source text is limited.
  test.each(Object.entries(LOOPS))('finds a limited number of loops: %s', (_, [runtime, text]) => {
    // Each loop that is found is examined with the samples of the run.
    const found = READERS[runtime].examine(text(SIZE * GROWTH * 0.8), stopped(runtime));
    expect(found?.loops.length ?? 0).toBeLessThanOrEqual(200);
  });
});
