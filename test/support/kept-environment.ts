/** The files of a project share processes: a file that changes the environment variables must restore them. */
import { afterAll, expect } from 'vitest';

const environment = process.env;
const before = { ...environment };

afterAll(() => {
  expect(process.env === environment, 'process.env was replaced').toBe(true);
  const names = new Set([...Object.keys(before), ...Object.keys(environment)]);
  const changed = [...names].filter((name) => before[name] !== environment[name]);
  expect(changed, 'environment variables that were not restored').toEqual([]);
});
