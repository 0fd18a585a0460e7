/** Programs that change environment variables of an interpreter. */
import type { RuntimeName } from '../schema.ts';

/** A program that sets environment variables, or removes those without a value. Their names are identifiers. */
export function assignVariables(
  runtime: RuntimeName,
  variables: readonly (readonly [name: string, value: string | undefined])[],
): string {
  const assign = ASSIGNMENTS[runtime];
  return variables.map(([name, value]) => assign(name, value)).join('\n');
}

const ASSIGNMENTS: Readonly<Record<RuntimeName, (name: string, value: string | undefined) => string>> = {
  python: (name, value) =>
    value === undefined
      ? `__import__('os').environ.pop('${name}', None)`
      : `__import__('os').environ['${name}'] = ${JSON.stringify(value)}`,
  javascript: (name, value) =>
    value === undefined ? `delete process.env.${name};` : `process.env.${name} = ${JSON.stringify(value)};`,
  bash: (name, value) =>
    value === undefined ? `unset ${name}` : `export ${name}='${value.replaceAll("'", `'\\''`)}'`,
};
