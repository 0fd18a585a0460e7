/** Programs that remove environment variables of an interpreter. */
import type { RuntimeName } from '../schema.ts';

/** The program for these variables. Their names are identifiers. */
export const removeVariables = (runtime: RuntimeName, names: readonly string[]): string =>
  names.map(REMOVALS[runtime]).join('\n');

const REMOVALS: Readonly<Record<RuntimeName, (name: string) => string>> = {
  python: (name) => `__import__('os').environ.pop('${name}', None)`,
  javascript: (name) => `delete process.env.${name};`,
  bash: (name) => `unset ${name}`,
};
