import type { SandboxResult } from '../../../packages/core/src/schema.ts';
import type { FailingProgram } from './programs.mjs';

export type Check = 'class' | 'line' | 'names' | 'fix' | 'allowed';

export interface Score {
  readonly checks: Readonly<Record<Check, boolean | null>>;
  readonly problems: readonly string[];
}

export const CHECKS: readonly Check[];
export function score(program: FailingProgram, result: SandboxResult): Score;
export function totals(
  scores: readonly Pick<Score, 'checks'>[],
): Record<Check, { passed: number; applicable: number }>;
