/** The parse of programs is bounded, and the whole program is read. */
import { describe, expect, test } from 'vitest';
import type { RuntimeName } from '../../packages/core/src/schema.ts';
import { READERS } from './inputs.ts';

const examine = (language: RuntimeName, code: string, error?: { line: number; column: number }) =>
  READERS[language].examine(code, {
    language,
    isStopped: error === undefined,
    error: error && { type: 'TypeError', message: 'not a function', ...error },
  });

describe('a program', () => {
  test('of 200,000 characters is read to its end', { tags: 'full' }, () => {
    const python = examine('python', `${'# filler\n'.repeat(22_000)}while True:\n  pass\n`);
    expect(python!.loops).toMatchObject([{ line: 22_001, isInfinite: true }]);
    const javascript = `${'// filler\n'.repeat(20_000)}console.log(Math.rnd(2.5));\n`;
    const calls = examine('javascript', javascript, { line: 20_001, column: 18 })!.calls;
    expect(calls.map(({ callee }) => callee)).toEqual(['Math.rnd', 'console.log']);
  });

  // guarantee: linear-parsing
  // proves: A program that is too long, has too many tokens or is not valid is not read.
  test.each<[string, RuntimeName, string]>([
    ['is too long', 'python', 'x = 1\n'.repeat(50_000)],
    ['has too many tokens', 'javascript', 'a,'.repeat(100_000)],
    ['is nested too deeply', 'javascript', '('.repeat(50_000) + ')'.repeat(50_000)],
    ['is not valid', 'python', ')'.repeat(200_000)],
    ['is not valid', 'javascript', '({[=>'.repeat(50_000)],
  ])('that %s is not read: %s', (_, language, code) => {
    expect(examine(language, code)).toBeUndefined();
  });

  test('names the calls around a position, up to the function that contains it', () => {
    const calls = (code: string, column: number) =>
      examine('javascript', `\n${code}`, { line: 2, column })!.calls.map(({ callee }) => callee);
    expect(calls('text.map(x => x);', 10)).toEqual(['text.map']);
    expect(calls('items.map(x => f(x));', 18)).toEqual(['f']);
    expect(calls('console.log([1].flatmap(a), b);', 17)).toEqual(['[1].flatmap', 'console.log']);
  });

  test('that ended with an error of another kind is not read', () => {
    const error = { type: 'NameError', message: "name 'x' is not defined" };
    expect(READERS.python.examine('x', { language: 'python', isStopped: false, error })).toBeUndefined();
  });
});

describe('a loop', () => {
  const lines = (language: RuntimeName, code: string) =>
    examine(language, code)!
      .loops.filter(({ isInfinite }) => isInfinite)
      .map(({ line }) => line);

  test.each<[string, RuntimeName, string, number[]]>([
    ['a break of an inner loop', 'python', 'while True:\n  for x in y:\n    break\n', [1]],
    [
      'a return of an inner function',
      'python',
      'while True:\n  f = lambda: 1\n  def g():\n    return 1\n',
      [1],
    ],
    ['a loop in a string', 'python', 's = """\nwhile True:\n  pass\n"""\n', []],
    ['a break of a switch', 'javascript', 'while (true) {\n  switch (a) { case 1: break; }\n}', [1]],
    ['a labelled break', 'javascript', 'a: while (true) {\n  while (true) { break a; }\n}', []],
    ['a return of a callback', 'javascript', 'while (true) {\n  items.map((x) => { return x; });\n}', [1]],
    ['do … while', 'javascript', 'do {\n  n++;\n} while (true);', [1]],
    [
      'a generator that is not read',
      'python',
      'from itertools import count\nevens = (n for n in count())\n',
      [],
    ],
  ])('is endless or not despite %s', (_, language, code, expected) => {
    expect(lines(language, code)).toEqual(expected);
  });
});
