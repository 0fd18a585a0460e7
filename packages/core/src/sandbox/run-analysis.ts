/** Adds error guidance and fuel analysis to a result. With both switched off nothing is collected or added. */
import { type Analysis, analyse } from '../analysis/analyse.ts';
import type { AnalysisInput, EarlierCalls } from '../analysis/input.ts';
import { partProblem } from '../host/parts.ts';
import { distributedModule, readPyodideLock } from '../packages/pyodide-lock.ts';
import { normalisedName } from '../packages/wheel-metadata.ts';
import { LANGUAGES } from '../runtimes/registry/languages.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import { withPolicy } from '../schema/capabilities.ts';
import type { PackageFacts, Policy, SandboxResult } from '../schema.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';

/** What the analysis needs beyond the result of a run. */
interface CompletedRun {
  readonly code: string;
  readonly policy: Policy;
  /** The limits of this call. */
  readonly limits: Pick<Policy, 'fuel_budget' | 'timeout_seconds'>;
  readonly outcome: RunOutcome;
  readonly earlier: EarlierCalls;
  /** Whether an import of the program, or `pip install`, adds packages. */
  readonly addsPackages: boolean;
  /** Paths in the workspace after the run. */
  readonly files: () => readonly string[];
}

/** Adds the blocks that the policy asks for to the metadata of a result. `packages` are those of its runtime. */
export function addAnalysis(
  result: SandboxResult,
  run: CompletedRun,
  packages: readonly PackageFacts[],
): { result: SandboxResult; unclassified: boolean } {
  const { error_guidance, fuel_analysis } = run.policy;
  if (!error_guidance && !fuel_analysis) return { result, unclassified: false };
  const { rules } = LANGUAGES[result.metadata.runtime];
  const { unclassified, ...blocks }: Analysis = analyse(inputOf(result, run, packages), rules, {
    error_guidance,
    fuel_analysis,
  });
  Object.assign(result.metadata, blocks);
  return { result, unclassified };
}

function inputOf(result: SandboxResult, run: CompletedRun, packages: readonly PackageFacts[]): AnalysisInput {
  const { metadata } = result;
  const { runtime, trap_reason: reason } = metadata;
  const { report } = run.outcome;
  const abilities = {
    addsPackages: run.addsPackages,
    network: metadata.network !== undefined,
    tools: metadata.tool_calls !== undefined,
  };
  return {
    language: LANGUAGES[runtime],
    otherLanguages: Object.values(LANGUAGES).filter(({ name }) => name !== runtime),
    source: run.code,
    exitCode: result.exit_code,
    ending: endingOf(run.outcome),
    trap: reason === null ? null : { reason, message: metadata.trap_message ?? '' },
    error: report?.error,
    exitCause: report?.exit_cause,
    stderr: result.stderr,
    stdoutDroppedBytes: metadata.stdout_dropped_bytes,
    stderrDroppedBytes: metadata.stderr_dropped_bytes,
    fuelConsumed: result.fuel_consumed,
    files: run.files,
    home: run.policy.home,
    imports: metadata.imports,
    packages,
    packagesProblem: partProblem('packages'),
    addablePackage: (module) => (runtime === PACKAGE_RUNTIME ? addablePackage(module) : undefined),
    earlier: run.earlier,
    profile: run.outcome.profile,
    program: run.outcome.program,
    capabilities: withPolicy(abilities, { ...run.policy, ...run.limits }),
    requests: metadata.network,
    pending: metadata.state === 'paused' ? metadata.pending : undefined,
    stoppedAt: run.outcome.stoppedAt,
    isImportInterrupted: run.outcome.isImportInterrupted === true,
    exceededQuota: run.outcome.exceededQuota,
  };
}

/** The package that contains a module or has this name, as "packages add" knows it. */
const addablePackage = (name: string) =>
  (distributedModule(name) ?? readPyodideLock().packages.get(normalisedName(name)))?.name.toLowerCase();

function endingOf({ trap, report }: RunOutcome): AnalysisInput['ending'] {
  if (trap === undefined && report === undefined) return 'unknown';
  if (report?.error !== undefined) return 'exception';
  return report?.exit_code === 0 ? 'returned' : 'exited';
}
