/** Checks input of a caller against a schema. */
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';

/** Checks input of a caller. The error names every field that does not match the schema. */
export function parse<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => `${[what, ...path].join('.')}: ${message}`);
  throw new SandboxError('invalid_argument', problems.join('; '));
}
