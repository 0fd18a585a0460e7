/** Checks input of a caller against a schema. */
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { describeIssue, problemsOf } from './validation-messages.ts';

/** Checks input of a caller. The error names every field that does not match the schema. */
export function parse<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = schema.safeParse(input, { error: describeIssue });
  if (parsed.success) return parsed.data;
  throw new SandboxError('invalid_argument', problemsOf(parsed.error.issues, [what]).join('; '));
}
