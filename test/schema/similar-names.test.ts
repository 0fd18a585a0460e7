import { expect, test } from 'vitest';
import { intendedName, similarNames } from '../../packages/core/src/schema/similar-names.ts';

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

test('a misspelt name differs by one letter or by two that are swapped', () => {
  const known = ['numpy', 'pandas', 'lodash', 'json'];
  const found = ['nunpy', 'numpyy', 'nmpy', 'nupmy', 'panda', 'lodahs'].map((one) =>
    intendedName(one, known),
  );
  expect(found).toEqual(['numpy', 'numpy', 'numpy', 'numpy', 'pandas', 'lodash']);
  for (const other of ['numpy', 'nunmpyx', 'nunqy', 'yumpn', 'jsom', 'np', '', 'pandas'.repeat(50)])
    expect(intendedName(other, known)).toBeUndefined();
});
