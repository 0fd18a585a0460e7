/** Examples of failed runs, for docs/ERROR_GUIDANCE.md and the tests of the rules. */

import type { AnalysedLanguage } from '../../../packages/core/src/analysis/analysed-language.ts';
import { type AnalysisInput, NO_EARLIER_CALLS } from '../../../packages/core/src/analysis/input.ts';
import { NO_ABILITIES, withPolicy } from '../../../packages/core/src/schema/capabilities.ts';
import { policy } from '../../../packages/core/src/schema.ts';

/** A run that gets guidance of this type; `run` holds the differences from `exampleInput`. */
export interface GuidanceExample {
  readonly type: string;
  readonly run: Omit<Partial<AnalysisInput>, 'language'>;
}

/** A run under the default policy that ended with an exception. */
export function exampleInput(
  language: AnalysedLanguage,
  run: GuidanceExample['run'],
  otherLanguages: readonly AnalysedLanguage[] = [],
): AnalysisInput {
  return {
    language,
    otherLanguages,
    source: '',
    program: undefined,
    exitCode: 1,
    ending: 'exception',
    trap: null,
    error: undefined,
    exitCause: undefined,
    stderr: '',
    stdoutDroppedBytes: 0,
    stderrDroppedBytes: 0,
    fuelConsumed: 1_000_000,
    files: () => [],
    imports: [],
    packages: [],
    addablePackage: () => undefined,
    earlier: NO_EARLIER_CALLS,
    profile: undefined,
    capabilities: withPolicy(NO_ABILITIES, policy.parse({})),
    requests: undefined,
    pending: undefined,
    stoppedAt: undefined,
    isImportInterrupted: false,
    exceededQuota: undefined,
    ...run,
  };
}
