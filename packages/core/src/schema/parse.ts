/** Checks a caller's input against a schema. */
import type { z } from 'zod';
import { invalidArgument } from '../errors.ts';
import { describeIssue, problemsOf } from './validation-messages.ts';

/** Problems that an error names. An input can have one for each of its members. */
const MAX_PROBLEMS = 20;

type Parsed<T> = { readonly value: T } | { readonly problems: string };

/** Checks a caller's input. `problems` names the fields that do not match the schema. */
export function tryParse<T extends z.ZodType>(schema: T, input: unknown, what: string): Parsed<z.output<T>> {
  const parsed = schema.safeParse(input, { error: describeIssue });
  if (parsed.success) return { value: parsed.data };
  const { issues } = parsed.error;
  const problems = problemsOf(issues.slice(0, MAX_PROBLEMS), [what]);
  if (issues.length > MAX_PROBLEMS) problems.push(`and ${issues.length - MAX_PROBLEMS} more`);
  return { problems: problems.join('; ') };
}

/** Checks a caller's input. The error names the fields that do not match the schema. */
export function parse<T extends z.ZodType>(schema: T, input: unknown, what: string): z.output<T> {
  const parsed = tryParse(schema, input, what);
  if ('problems' in parsed) throw invalidArgument(parsed.problems);
  return parsed.value;
}
