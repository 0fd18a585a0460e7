/** Entry point of the analysis: computes `error_guidance` and `fuel_analysis` of a result. Pure, and bounded for any input. */

import { formatCount } from '../quantities.ts';
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

/** What is analysed of a program. It takes a few milliseconds, whatever the program contains. */
const MAX_CHARS = 32_768;
const MAX_LINES = 2_000;
const SEE_FUEL_ANALYSIS = 'See fuel_analysis for the consumption and its likely causes';

/** The beginning of a program within the limits of the analysis. */
function analysedPart(source: string): string {
  let end = -1;
  for (let lines = 0; lines < MAX_LINES; lines++) {
    end = source.indexOf('\n', end + 1);
    if (end < 0 || end > MAX_CHARS) return source.slice(0, MAX_CHARS);
  }
  return source.slice(0, end);
}

export function analyse(run: AnalysisInput, rules: readonly Rule[], options: AnalysisOptions): Analysis {
  const source = analysedPart(run.source);
  const isShortened = source.length < run.source.length;
  const input = { ...run, source };
  const failed = input.trap !== null || input.exitCode !== 0;
  const classification = options.error_guidance && failed ? classify(input, rules) : undefined;
  const fuel = options.fuel_analysis ? analyseFuel(input, classification !== undefined) : undefined;
  const isExhausted = fuel?.status === 'exhausted';
  const guidance =
    classification &&
    buildGuidance(classification, [
      ({ hasFuelAnalysis }) => (isExhausted && hasFuelAnalysis ? SEE_FUEL_ANALYSIS : undefined),
      isShortened
        ? `The program has ${formatCount(run.source.length)} characters; only the first ${formatCount(source.length)} were analysed`
        : undefined,
    ]);
  return {
    ...(guidance && { error_guidance: guidance }),
    ...(fuel && { fuel_analysis: fuel }),
    unclassified: options.error_guidance && failed && classification === undefined,
  };
}
