/** Entry point of the analysis: computes `error_guidance` and `fuel_analysis` of a result. Pure, and bounded for any input. */
import type { ErrorGuidance, FuelAnalysis } from '../schema.ts';
import { buildGuidance } from './build-guidance.ts';
import { classify } from './find-rule.ts';
import { analyseFuel } from './fuel-analysis.ts';
import type { AnalysisInput } from './input.ts';
import type { Rule } from './rule.ts';

export interface Analysis {
  readonly error_guidance?: ErrorGuidance;
  readonly fuel_analysis?: FuelAnalysis;
  /** The run failed, guidance was requested, and no rule recognises the failure. */
  readonly unclassified: boolean;
}

/** The blocks to compute. */
interface AnalysisOptions {
  readonly error_guidance: boolean;
  readonly fuel_analysis: boolean;
}

const SEE_FUEL_ANALYSIS = 'See fuel_analysis for the consumption and its likely causes';

export function analyse(input: AnalysisInput, rules: readonly Rule[], options: AnalysisOptions): Analysis {
  const failed = input.trap !== null || input.exitCode !== 0;
  const classification = options.error_guidance && failed ? classify(input, rules) : undefined;
  const guidance = classification && buildGuidance(classification);
  const fuel = options.fuel_analysis ? analyseFuel(input, guidance !== undefined) : undefined;
  if (guidance !== undefined && fuel?.status === 'exhausted')
    guidance.actionable_guidance.push(SEE_FUEL_ANALYSIS);
  return {
    ...(guidance && { error_guidance: guidance }),
    ...(fuel && { fuel_analysis: fuel }),
    unclassified: options.error_guidance && failed && classification === undefined,
  };
}
