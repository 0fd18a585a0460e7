import { expect, test } from 'vitest';
import { wordCounts } from '../../scripts/words.mjs';

/** The documents together must stay readable and true, so a new section replaces another. */
const CEILING = 40_000;
const SECURITY_CEILING = 2_600;

test('the documents together have at most the words of their ceiling', () => {
  const counts = wordCounts();
  const total = [...counts.values()].reduce((sum, words) => sum + words, 0);
  expect(total, 'node scripts/words.mjs prints the words of each document').toBeLessThanOrEqual(CEILING);
  expect(counts.get('SECURITY.md')).toBeLessThanOrEqual(SECURITY_CEILING);
});
