/** Environment variables of a test file. */
import { afterAll, beforeAll } from 'vitest';

/** Sets variables while the tests of a file run. Unlike those of `vi.stubEnv`, they stay when stubs are removed. */
export function setEnvironment(variables: Readonly<Record<string, string>>): void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  beforeAll(() => {
    Object.assign(process.env, variables);
  });
  afterAll(() => {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
  });
}
