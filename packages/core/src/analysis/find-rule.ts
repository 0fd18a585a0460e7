/**
 * Finds the rule that explains a failed run. Evidence is considered in this order: the trap, the exception that the runtime
 * reported, and, only if the runtime could not report, a traceback at the end of standard error. Invariant: a run with
 * exit code 0 and no trap is never classified, and a report of the runtime always takes precedence over printed output.
 */
import type { GuestError } from '../schema.ts';
import type { AnalysisInput } from './input.ts';
import type { Rule } from './rule.ts';
import { limitRules } from './rules/limit-rules.ts';

/** Standard error is parsed only if it is not longer than this. */
export const STDERR_SCAN_CHARS = 10_240;

export interface Classification {
  readonly rule: Rule;
  readonly match: unknown;
  /** The input, with the exception that explains the failure as `error`. */
  readonly input: AnalysisInput;
}

/** The exception that explains the failure, wherever it was found. */
function explainingError(input: AnalysisInput): GuestError | undefined {
  if (input.error !== undefined) return input.error;
  if (input.exitCause !== undefined) return input.exitCause;
  // Longer text may have been truncated, and is too long to search.
  if (input.ending !== 'unknown' || input.stderr.length > STDERR_SCAN_CHARS) return undefined;
  return input.language.guidance.parseTraceback(input.stderr);
}

function withExplainingError(input: AnalysisInput): AnalysisInput {
  if (input.trap !== null) return input;
  const error = explainingError(input);
  const { refineError } = input.language.guidance;
  if (error === undefined || refineError === undefined) return { ...input, error };
  return { ...input, error: refineError({ source: input.source, error }) };
}

/** The first of `rules` that recognises the run. After a trap only the rules about limits apply. */
export function classify(run: AnalysisInput, rules: readonly Rule[]): Classification | undefined {
  if (run.trap === null && run.exitCode === 0) return undefined;
  const input = withExplainingError(run);
  for (const rule of input.trap === null ? rules : limitRules) {
    const match = rule.match(input);
    if (match !== undefined && match !== null) return { rule, match, input };
  }
  return undefined;
}
