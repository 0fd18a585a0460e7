import { describe, expect, it } from 'vitest';
import { LinearPattern, UnsupportedPattern } from '../../packages/core/src/tools/linear-pattern.ts';

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

  // guarantee: untrusted-tool-servers
  // proves: Patterns in schemas are refused if their repetitions take too many steps.
  it.each([
    ['((){5000}){5000}'],
    ['(((){5000}){5000}){5000}'],
    ['((|){500}){5000}'],
    ['((a{0}){5000}){5000}'],
    ['(((){0,1}){5000}){5000}'],
    [`(${'()'.repeat(900)}){9999}`],
  ])('refuse %s, whose repetitions take too many steps', (source) => {
    expect(() => new LinearPattern(source)).toThrow(UnsupportedPattern);
  });

  it('count the steps that add no state', () => {
    const steps = (source: string) => new LinearPattern(source).buildSteps;
    expect(steps('(){5000}')).toBeGreaterThan(5000);
    expect(steps('((){20}){100}')).toBeGreaterThan(2000);
    expect(steps('^(?:[a-z0-9]+(?:-[a-z0-9]+)*){1,200}$')).toBeLessThan(10_000);
  });

  it('take no steps for the text after a match', () => {
    let steps = 0;
    const take = (count: number) => {
      steps += count;
    };
    expect(new LinearPattern('^x').test('x'.repeat(1024 * 1024), take)).toBe(true);
    expect(steps).toBeLessThan(10);
  });

  it('take steps for every range of a character class', () => {
    const stepsOf = (source: string) => {
      let steps = 0;
      new LinearPattern(source).test('-'.repeat(100), (count) => {
        steps += count;
      });
      return steps;
    };
    expect(stepsOf(`[${'ab'.repeat(800)}]`)).toBeGreaterThan(100 * 100);
    expect(stepsOf('[a-z]')).toBeLessThan(500);
  });
});
