/** The files of a project share processes: a file that changes the environment variables must restore them. */
import { afterAll, expect } from 'vitest';

const environment = process.env;
const before = { ...environment };

afterAll(() => {
  expect(process.env === environment, 'process.env was replaced').toBe(true);
  expect({ ...environment }, 'environment variables were not restored').toEqual(before);
});
