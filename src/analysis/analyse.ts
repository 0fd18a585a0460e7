/** The one door of this room: facts of a run in, the two blocks of its result out. Pure, and bounded for any facts. */
import type { ErrorGuidance, FuelAnalysis } from '../schema.ts';
import { classify } from './classify.ts';
import { analyseFuel } from './fuel-report.ts';
import { guide } from './guidance.ts';
import type { Catalogue, RunFacts } from './input.ts';

export interface Analysis {
  readonly error_guidance?: ErrorGuidance;
  readonly fuel_analysis?: FuelAnalysis;
  /** The run failed, guidance was asked for, and no rule knows the failure. */
  readonly unclassified: boolean;
}

const SEE_FUEL = 'See fuel_analysis for what was consumed and why';

export function analyse(
  facts: RunFacts,
  catalogue: Catalogue,
  wanted: { readonly error_guidance: boolean; readonly fuel_analysis: boolean },
): Analysis {
  const failed = facts.trap !== null || facts.exit_code !== 0;
  const finding = wanted.error_guidance && failed ? classify(facts, catalogue) : undefined;
  const guidance = finding && guide(finding, catalogue);
  const fuel = wanted.fuel_analysis ? analyseFuel(facts, catalogue, guidance !== undefined) : undefined;
  if (guidance !== undefined && fuel?.status === 'exhausted') guidance.actionable_guidance.push(SEE_FUEL);
  return {
    ...(guidance && { error_guidance: guidance }),
    ...(fuel && { fuel_analysis: fuel }),
    unclassified: wanted.error_guidance && failed && finding === undefined,
  };
}
