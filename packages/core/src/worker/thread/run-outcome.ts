/** The outcome of a run that has ended: its report, output, fuel and changed files. */
import type { TreeChanges } from '../../fs/tree-changes.ts';
import type { Kernel } from '../../kernel/syscalls.ts';
import type { EncodedResult } from '../../results/encoded-result.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import { limitChangedFiles } from '../protocol/limit-changed-files.ts';
import type { RunJob, RunOutcome } from '../protocol/messages.ts';
import type { RunOutput } from './run-output.ts';
import type { RunResults } from './run-results.ts';
import type { ProgramOutcome } from './run-to-outcome.ts';

/** A run whose program has ended. Its file tree has all changes, and its output is complete. */
export interface EndedRun {
  readonly ending: ProgramOutcome;
  readonly kernel: Kernel;
  readonly output: RunOutput;
  readonly results: RunResults;
  /** What was measured outside the kernel. */
  readonly measured: Pick<
    RunOutcome,
    | 'fuelConsumed'
    | 'chartFuel'
    | 'memoryUsedBytes'
    | 'durationMs'
    | 'yieldedMs'
    | 'toolWaitMs'
    | 'exceededQuota'
    | 'profile'
  >;
}

/** Commits the changes of a run that keeps its state. The results are those that are known only now. */
export function endOutcome(
  { program, session }: Pick<RunJob, 'program' | 'session'>,
  source: Runtime['source'],
  { ending: { isConsistent, ...ending }, kernel, output, results, measured }: EndedRun,
): { outcome: RunOutcome; late: EncodedResult[] } {
  const { report, trap } = ending;
  const keepsState = session !== undefined && !session.discardState;
  const state = !keepsState ? 'fresh' : isConsistent ? 'committed' : 'rolled_back';
  const taken = takeChanges(kernel, state);
  const isImportInterrupted = kernel.imports.isInterrupted && report?.exit_code !== 0;
  const late = results.finish(report, taken);
  const { changes, omitted } = limitChangedFiles(taken);
  const outcome: RunOutcome = {
    ...ending,
    ...measured,
    ...output.outcome(),
    state,
    ...(isImportInterrupted && { isImportInterrupted }),
    changes,
    filesOmitted: omitted,
    otherUsage: state === 'committed' ? kernel.volume.usageOutside('/app') : { bytes: 0, files: 0 },
    imports: kernel.imports.close(measured.fuelConsumed, isConsistent),
    program: source.examine(program.code, {
      language: program.language,
      isStopped: trap?.reason === 'out_of_fuel' || trap?.reason === 'timeout',
      error: report?.error,
    }),
    resultsOmitted: results.omitted,
    declared: keepsState ? source.declaredNames(program.code) : [],
  };
  return { outcome, late };
}

/** The changes in the workspace. Memory and workspace are rolled back together. */
function takeChanges(kernel: Kernel, state: RunOutcome['state']): TreeChanges {
  if (state === 'rolled_back') return NO_CHANGES;
  return state === 'committed'
    ? kernel.volume.commit('/app', () => kernel.nodesInUse())
    : kernel.volume.changes('/app');
}

const NO_CHANGES = { created: [], modified: [], deleted: [], removed: [], entries: [] };
