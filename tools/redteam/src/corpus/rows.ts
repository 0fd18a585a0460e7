/** Short notations for rows of the corpus. */
import type { ExpressionAttack, Pattern } from '../attack.ts';

/** An expression with its expected value and the reference of the attack. */
export type ExpressionRow = readonly [
  name: string,
  evaluate: string,
  value?: Pattern,
  reference?: string | undefined,
];

/** The name of an exception. Some modules of Python name theirs in lower case. */
export const REFUSED = /^(\w*Error|error|gaierror|UnsupportedOperation)$/;

/** Rows without an expected value expect `fallback`. */
export const expressions = (
  rows: readonly ExpressionRow[],
  fallback: Pattern = REFUSED,
): ExpressionAttack[] =>
  rows.map(([name, evaluate, value = fallback, reference]) => ({
    name,
    evaluate,
    value,
    ...knownFrom(reference),
  }));

/** The property `reference`, unless there is none. */
export const knownFrom = (reference: string | undefined): { readonly reference?: string } =>
  reference === undefined ? {} : { reference };

/** A phrase as part of an id. */
export const slug = (text: string) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
