import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jsonParts, parseJsonSteps } from '../../packages/server/src/server/json-steps.ts';

function parsed(text: string): { value: unknown; steps: number } {
  const run = parseJsonSteps(text);
  for (let steps = 0; ; steps++) {
    const step = run.next();
    if (step.done) return { value: step.value, steps };
  }
}

const long = fc
  .tuple(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 3 }))
  .map(([text, times]) => `${text}\\"\u2028\ud83d\ude00`.repeat(times * 20_000).slice(0, 200_000));

describe('JSON in steps', () => {
  test('the parts of a value are its JSON text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect([...jsonParts(value)].join('')).toBe(JSON.stringify(value));
        expect([...jsonParts(value, 1)].join('')).toBe(JSON.stringify(value, null, 1));
      }),
    );
    expect([...jsonParts({ list: [1, { a: [] }].values() })].join('')).toBe('{"list":[1,{"a":[]}]}');
    expect([...jsonParts([].values())].join('')).toBe('[]');
    const date = { at: new Date(0), none: undefined, list: [undefined] };
    expect([...jsonParts(date)].join('')).toBe(JSON.stringify(date));
  });

  test('long strings are written and parsed in short steps', () => {
    fc.assert(
      fc.property(long, fc.jsonValue(), (text, other) => {
        const value = { text, other, list: [text, 1] };
        const parts = [...jsonParts(value)];
        expect(parts.join('')).toBe(JSON.stringify(value));
        expect(Math.max(...parts.map((part) => part.length))).toBeLessThan(1_000_000);
        expect(parsed(parts.join(''))).toMatchObject({ value });
      }),
      { numRuns: 20 },
    );
  });

  test('the number of steps grows with the text', () => {
    const steps = (chars: number) => parsed(JSON.stringify(['x'.repeat(chars)])).steps;
    expect(steps(1000)).toBe(0);
    expect(steps(4_000_000)).toBeGreaterThanOrEqual(4 * steps(1_000_000) - 4);
    expect(steps(1_000_000)).toBeGreaterThan(10);
  });

  test.each([
    ['{"a":"', 'no end'],
    ['{"', 'no end of a name'],
    ['["\\', 'an escape at the end'],
  ])('invalid long text is a SyntaxError: %s', (start) => {
    expect(() => parsed(start + 'x'.repeat(200_000))).toThrow(SyntaxError);
  });

  test('a long name is a SyntaxError', () => {
    expect(() => parsed(JSON.stringify({ ['n'.repeat(200_000)]: 1 }))).toThrow(
      /name of a member has more than 4096/,
    );
  });

  test('invalid escapes and control characters in long strings are refused', () => {
    const filler = 'x'.repeat(100_000);
    for (const bad of ['\\q', '\\u12', '\n', '\\'])
      expect(() => parsed(`["${filler}${bad}${filler}"]`), bad).toThrow(SyntaxError);
  });

  test('names of up to 4,096 characters are kept', () => {
    const value = { ['n'.repeat(4000)]: 'x'.repeat(100_000), __proto__: null, [`\n`.repeat(1500)]: 1 };
    expect(parsed(JSON.stringify(value).replace('":"', '" :\t"')).value).toEqual(
      JSON.parse(JSON.stringify(value)),
    );
  });

  test('many short strings are parsed in steps', () => {
    const list = Array.from({ length: 2000 }, (_, i) => `${i}`.padEnd(1000, '"'));
    const { value, steps } = parsed(JSON.stringify(list));
    expect(value).toEqual(list);
    expect(steps).toBeGreaterThan(20);
  });

  test('a lone long string is a value', () => {
    const text = 'é'.repeat(200_000);
    expect(parsed(JSON.stringify(text)).value).toBe(text);
  });
});
