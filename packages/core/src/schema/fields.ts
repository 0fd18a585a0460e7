/** The usual forms of fields. */
import * as z from 'zod';

/** A whole number. */
export const wholeNumber = (min: number, max = Number.POSITIVE_INFINITY) => {
  const atLeast = z.number().int().min(min);
  return max === Number.POSITIVE_INFINITY ? atLeast : atLeast.max(max);
};

/** A field with a description that does not fit in its line. */
export const described = <T extends z.ZodType>(schema: T, what: string): T => schema.describe(what);

export const optionalField = <T extends z.ZodType>(schema: T, what: string) =>
  schema.optional().describe(what);
