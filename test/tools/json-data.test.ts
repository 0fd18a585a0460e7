import { describe, expect, test } from 'vitest';
import { atOnce } from '../../packages/core/src/concurrency/slices.ts';
import { toJson } from '../../packages/core/src/tools/json-data.ts';

const MAX_BYTES = 10 * 1024 * 1024;

describe('the JSON text of a result', () => {
  test('is that of JSON.stringify', () => {
    const value = { a: [1, 'x', null, undefined, { b: {} }, []], u: undefined, d: new Date(0), é: '\n"' };
    expect(atOnce(toJson(value, MAX_BYTES))).toBe(JSON.stringify(value));
    for (const single of ['x', 1, true, null, [], {}])
      expect(atOnce(toJson(single, MAX_BYTES))).toBe(JSON.stringify(single));
  });

  test('is written in many steps if it has many members', () => {
    const value = Array.from({ length: 100_000 }, () => ({}));
    const steps = toJson(value, MAX_BYTES);
    let count = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) count++;
    expect(count).toBeGreaterThan(100);
    expect(step.value).toBe(JSON.stringify(value));
  });

  test.each([
    ['depth', JSON.parse(`${'['.repeat(65)}${']'.repeat(65)}`), 'levels'],
    ['members', Array(200_001).fill(1), 'members'],
    ['bytes', 'x'.repeat(MAX_BYTES), 'larger'],
    ['infinity', [Number.POSITIVE_INFINITY], 'Infinity'],
    ['binary data', { a: new Uint8Array(1) }, 'binary'],
  ])('is refused because of its %s', (_, value, message) => {
    expect(() => atOnce(toJson(value, MAX_BYTES))).toThrow(message);
  });
});
