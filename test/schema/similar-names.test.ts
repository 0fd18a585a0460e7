import { expect, test } from 'vitest';
import { similarNames } from '../../src/schema/similar-names.ts';

test('similar names are found regardless of folder and letter case, best first', () => {
  expect(similarNames('Date.csv', ['x/data.csv', 'date.CSV', 'notes.txt', 'dates.csv'])).toEqual([
    'date.CSV',
    'dates.csv',
    'x/data.csv',
  ]);
});

test('names with little in common are not similar', () => {
  expect(similarNames('report', ['a', 'zzzzzz', ''])).toEqual([]);
  expect(similarNames('', ['a'])).toEqual([]);
});
