/** Checks a caller's input against a schema. */
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { describeIssue, problemsOf } from './validation-messages.ts';

type Parsed<T> = { readonly value: T } | { readonly problems: string };

/** Checks a caller's input. `problems` names every field that does not match the schema. */
export function tryParse<T extends z.ZodType>(schema: T, input: unknown, what: string): Parsed<z.output<T>> {
  const parsed = schema.safeParse(input, { error: describeIssue });
  if (parsed.success) return { value: parsed.data };
  return { problems: problemsOf(parsed.error.issues, [what]).join('; ') };
}

/** Checks a caller's input. The error names every field that does not match the schema. */
export function parse<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = tryParse(schema, input, what);
  if ('problems' in parsed) throw new SandboxError('invalid_argument', parsed.problems);
  return parsed.value;
}
