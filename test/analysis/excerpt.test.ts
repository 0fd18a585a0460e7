import { expect, test } from 'vitest';
import { oneLine, sourceLine } from '../../packages/core/src/analysis/quote-guest-text.ts';

test('guest text is quoted as one short line without control characters', () => {
  expect(oneLine(`a\n\u0000b\u202e${'c'.repeat(1000)}`)).toMatch(/^a b c+…$/);
  expect(oneLine('x'.repeat(10_000_000)).length).toBe(160);
});

test('a source line is found by its number', () => {
  expect([0, 1, 2, 3, 4].map((line) => sourceLine('a\n  b\n\nd', line))).toEqual(['a', 'a', 'b', '', 'd']);
  expect(sourceLine('a', 99)).toBe('');
});
