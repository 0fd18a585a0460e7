/** The search for packages by what they are for. */
import { expect, test } from 'vitest';
import { matchesQuery } from '../../packages/core/src/runtimes/packages/available-packages.ts';

/** As an added package describes itself. */
const added = (name: string, use: string) => ({
  language: 'python' as const,
  name,
  import_names: [name],
  use,
});
const PACKAGES = [
  added('pandas', 'Powerful data structures for data analysis, time series, and statistics'),
  added('pillow', 'Python Imaging Library (fork)'),
  added('matplotlib', 'Python plotting package'),
];

test.each([
  ['data frame', ['pandas']],
  ['dataframe', ['pandas']],
  ['image', ['pillow']],
  ['plot', ['matplotlib']],
  ['chart', ['matplotlib']],
  ['', ['pandas', 'pillow', 'matplotlib']],
  ['quantum', []],
])('the query %j finds %j', (query, names) => {
  expect(PACKAGES.filter((one) => matchesQuery(one, query)).map(({ name }) => name)).toEqual(names);
});
