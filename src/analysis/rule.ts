/**
 * The shape of a rule: how a kind of failure is recognised from the facts of a run, and what is said about it. A new
 * kind of failure is one more row in rules/ and its programs in test/corpus/.
 */
import type { Catalogue, RunFacts } from './input.ts';

export interface Advice {
  /** Instead of the exception's or the trap's own words. */
  readonly message?: string | undefined;
  /** What to know and do, most important first; what does not apply may be undefined. */
  readonly guidance: readonly (string | undefined)[];
  readonly examples?: readonly string[] | undefined;
  /** Instead of the rule's. */
  readonly docs?: readonly string[] | undefined;
}

export interface Rule<Match = unknown> {
  readonly type: string;
  /** What in the run it goes by, as a sentence for docs/ERROR_GUIDANCE.md. */
  readonly seen: string;
  /** Every document the rule can point to. */
  readonly docs: readonly string[];
  /** A run of this kind, for docs/ERROR_GUIDANCE.md; the test of the table checks that it gets this type. */
  readonly example: Partial<RunFacts>;
  match(facts: RunFacts, catalogue: Catalogue): Match | undefined;
  advise(match: Match, facts: RunFacts, catalogue: Catalogue): Advice;
}

/** Keeps the type of the match between the two functions of a row, and forgets it for the table. */
export function rule<Match>(row: Rule<Match>): Rule {
  return row as Rule;
}

export const DOCS = {
  pythonFuel: 'docs/PYTHON_CAPABILITIES.md#fuel-budget-guidelines',
  pythonPackages: 'docs/PYTHON_CAPABILITIES.md#using-vendored-packages',
  pythonLimits: 'docs/PYTHON_CAPABILITIES.md#what-does-not-work',
  pythonFiles: 'docs/PYTHON_CAPABILITIES.md#files',
  javascriptFuel: 'docs/JAVASCRIPT_CAPABILITIES.md#fuel-budget-guidelines',
  javascriptApi: 'docs/JAVASCRIPT_CAPABILITIES.md#quickjs-api-patterns',
  javascriptVendor: 'docs/JAVASCRIPT_CAPABILITIES.md#using-vendored-packages',
  javascriptLimits: 'docs/JAVASCRIPT_CAPABILITIES.md#what-does-not-work',
  javascriptFiles: 'docs/JAVASCRIPT_CAPABILITIES.md#files',
  security: 'docs/MCP_INTEGRATION.md#security-considerations',
  limits: 'docs/ERROR_GUIDANCE.md#limits',
} as const;

/** The section about files, fuel or missing features of the language that ran. */
export function docOf(facts: RunFacts, topic: 'Fuel' | 'Files' | 'Limits'): string {
  return DOCS[`${facts.runtime}${topic}`];
}
