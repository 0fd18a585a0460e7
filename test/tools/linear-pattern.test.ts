import { describe, expect, it } from 'vitest';
import { LinearPattern, UnsupportedPattern } from '../../src/tools/linear-pattern.ts';

const PATTERNS = [
  'abc',
  '^abc$',
  'a|bc|',
  '^(?:a|b)*c$',
  '^a{2,3}$',
  '^a{2,}b?$',
  '^a{0}b$',
  '[a-c]+x',
  '^[^a-c\\d]*$',
  '^\\w+@\\w+\\.\\w{2,}$',
  '^\\s*\\S$',
  '^[\\w.-]+$',
  '^\\u0061\\x62$',
  'a+?b',
  '^.$',
  '^(a?){3}a{3}$',
  '[]]',
  '^$',
  '(a|(b(c)))+$',
];
const TEXTS = [
  '',
  'a',
  'abc',
  'aabc',
  'aaa',
  'aa',
  'aab',
  'xyz',
  'cx',
  'ada@example.org',
  ' \tx',
  'b',
  '\n',
  '😀',
  'abcbc',
  'aaaaaa',
  'a-b.c',
];

describe('patterns of schemas', () => {
  it.each(PATTERNS.map((source) => [source]))('match what the RegExp %s matches', (source) => {
    let expected: RegExp;
    try {
      expected = new RegExp(source, 'u');
    } catch {
      expect(() => new LinearPattern(source)).toThrow(UnsupportedPattern);
      return;
    }
    const pattern = new LinearPattern(source);
    for (const text of TEXTS)
      expect([text, pattern.test(text, () => {})]).toEqual([text, expected.test(text)]);
  });

  it.each([['(?=a)'], ['\\1'], ['a**'], ['('], [')'], ['[a'], ['\\'], ['a{2'], ['\\p{L}'], ['{'], ['[z-a]']])(
    'refuse %s',
    (source) => {
      expect(() => new LinearPattern(source)).toThrow(UnsupportedPattern);
    },
  );
});
