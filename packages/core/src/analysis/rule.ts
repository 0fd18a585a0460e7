/**
 * A rule of the error guidance: how one kind of failure is recognised, and the advice for it. A rule is one row of a
 * table in `analysis/rules/` or, if it depends on a language, in `runtimes/<language>/guidance/`.
 */
import type { GuestError } from '../schema.ts';
import type { AnalysisInput } from './input.ts';
import { failedAt } from './quote-guest-text.ts';
import type { AdviceLine } from './reader.ts';

export interface Advice {
  /** Replaces the message of the exception or trap. */
  readonly message?: string | undefined;
  /** Lines of guidance, most important first. */
  readonly guidance: readonly AdviceLine[];
  readonly examples?: readonly string[] | undefined;
}

export interface Rule<Match = unknown> {
  /** The `error_type` of the guidance. Rules of several languages may share one. */
  readonly type: string;
  /** The evidence that the rule requires, as a sentence for docs/ERROR_GUIDANCE.md. */
  readonly evidence: string;
  /**
   * Related documents with their section. `#section` alone refers to the document of the run's language; with an empty
   * list the guidance refers to the type's section of docs/ERROR_GUIDANCE.md.
   */
  readonly docs: readonly string[];
  match(input: AnalysisInput): Match | undefined;
  advise(match: Match, input: AnalysisInput): Advice;
}

/** Infers the type of the match that `match` passes to `advise`, and erases it for the table. */
export function rule<Match>(row: Rule<Match>): Rule {
  return row as Rule;
}

/** A rule for an exception whose advice is a list of lines followed by the line of the program that failed. */
export function exceptionRule(row: {
  readonly type: string;
  readonly evidence: string;
  readonly docs?: readonly string[];
  readonly match: (input: AnalysisInput) => GuestError | undefined;
  readonly lines: (error: GuestError, input: AnalysisInput) => readonly AdviceLine[];
}): Rule {
  const { type, evidence, docs = [], match, lines } = row;
  return rule({
    type,
    evidence,
    docs,
    match,
    advise: (error, input) => ({ guidance: [...lines(error, input), failedAt(input)] }),
  });
}

/** Sections that rules refer to. The sections of a language's document have the same names for every language. */
export const DOCS = {
  fuel: '#fuel-budget-guidelines',
  packages: '#using-vendored-packages',
  unsupported: '#what-does-not-work',
  files: '#files',
  security: 'docs/MCP_INTEGRATION.md#security-considerations',
  limits: 'docs/ERROR_GUIDANCE.md#limits',
  tools: 'docs/TOOLS.md#calling-tools',
  pausing: 'docs/TOOLS.md#pausing-and-resuming',
  network: 'docs/NETWORK.md#when-a-request-fails',
} as const;
