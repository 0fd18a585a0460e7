/**
 * Which kind of failure a run was. Evidence in this order: the trap, the exception as the runtime saw it, and only when
 * the runtime could not report, the beginning of standard error. Invariant: a run with exit code 0 and without a trap
 * has no kind, and nothing a program printed gives it one.
 */
import type { Catalogue, RunFacts } from './input.ts';
import { statementOf } from './quote.ts';
import type { Rule } from './rule.ts';
import { dataRules } from './rules/data.ts';
import { fileRules } from './rules/files.ts';
import { importRules } from './rules/imports.ts';
import { javascriptRules } from './rules/javascript.ts';
import { limitRules } from './rules/limits.ts';
import { pythonRules, syntaxRules } from './rules/python.ts';
import { lastRules, raisedRules } from './rules/raised.ts';
import { readTraceback } from './stderr-traceback.ts';

/** All rules, in the order they are tried. */
export const RULES: readonly Rule[] = [
  ...limitRules,
  // Before raise statements: an assert is one, but says more.
  ...pythonRules.filter(({ type }) => type === 'AssertionFailed'),
  ...raisedRules,
  ...fileRules,
  ...importRules,
  ...dataRules,
  ...javascriptRules.filter(({ type }) => type === 'RegexError'),
  ...syntaxRules,
  ...pythonRules.filter(({ type }) => type !== 'AssertionFailed'),
  ...javascriptRules.filter(({ type }) => type !== 'RegexError'),
  ...lastRules,
];

export interface Finding {
  readonly rule: Rule;
  readonly match: unknown;
  /** The facts with the exception that was found to be the reason. */
  readonly facts: RunFacts;
}

/** The facts with the one exception that explains the failure, wherever it was found. */
function withReason(facts: RunFacts): RunFacts {
  if (facts.trap !== null) return facts;
  const error =
    facts.error ??
    facts.exit_cause ??
    (facts.ending === 'unknown' ? readTraceback(facts.runtime, facts.stderr) : undefined);
  if (error === undefined || facts.runtime === 'python') return { ...facts, error };
  // The classes of the engine are open to programs: an error of the engine itself does not come from a line that throws.
  const raised =
    error.raised === true || (!error.thrower && /\bthrow\b/.test(statementOf({ ...facts, error })));
  return { ...facts, error: { ...error, raised } };
}

/** The first rule that recognises the run, or undefined. */
export function classify(given: RunFacts, catalogue: Catalogue): Finding | undefined {
  if (given.trap === null && given.exit_code === 0) return undefined;
  const facts = withReason(given);
  for (const rule of facts.trap === null ? RULES : limitRules) {
    const match = rule.match(facts, catalogue);
    if (match !== undefined && match !== null) return { rule, match, facts };
  }
  return undefined;
}
