/**
 * Puts error guidance and fuel analysis into a result: gathers the facts of the run and asks the analysis once. With
 * both switched off nothing is gathered and nothing is added.
 */
import { type Analysis, analyse } from '../analysis/analyse.ts';
import type { Catalogue, LimitFacts, RunFacts, SessionFacts } from '../analysis/input.ts';
import type { ImportFacts, Policy, SandboxResult } from '../schema.ts';
import type { RunOutcome } from '../worker/protocol.ts';

/** What a sandbox remembers of its calls for the analysis of later ones; bounded in every direction. */
export class CallHistory {
  readonly #sources: string[] = [];
  readonly #heavyImports = new Map<string, number>();

  /** `record` is the session's own memory, which is longer than that of this object. */
  session(record: { auto_persist_globals: boolean; imports: readonly string[] } | undefined): SessionFacts {
    const before = (record?.imports ?? []).map((name) => [name, 1] as const);
    return {
      persistent: record?.auto_persist_globals ?? false,
      in_session: record !== undefined,
      earlier_sources: [...this.#sources],
      earlier_heavy_imports: new Map([...before, ...this.#heavyImports]),
    };
  }

  /** To be called after a call was analysed. */
  remember(code: string, imports: readonly ImportFacts[], catalogue: Catalogue): void {
    this.#sources.push(code.slice(0, SOURCE_CHARS));
    if (this.#sources.length > SOURCES) this.#sources.shift();
    for (const { name, cached } of imports) {
      const entry = catalogue.packages.find(
        ({ heavy, import_names }) => heavy && import_names.includes(name),
      );
      if (entry === undefined || cached) continue;
      this.#heavyImports.set(entry.name, (this.#heavyImports.get(entry.name) ?? 0) + 1);
    }
  }
}

const SOURCES = 16;
const SOURCE_CHARS = 32_768;

export interface Told {
  readonly code: string;
  readonly policy: Policy;
  readonly limits: Pick<LimitFacts, 'fuel_budget' | 'timeout_seconds'>;
  readonly outcome: RunOutcome;
  readonly imports: readonly ImportFacts[] | undefined;
  readonly session: SessionFacts;
  /** Paths of the workspace after the run. */
  readonly files: () => readonly string[];
}

/** The result with the two blocks the policy asks for. */
export function explain(
  result: SandboxResult,
  told: Told,
  catalogue: Catalogue,
): { result: SandboxResult; unclassified: boolean } {
  const { error_guidance, fuel_analysis } = told.policy;
  if (!error_guidance && !fuel_analysis) return { result, unclassified: false };
  const { unclassified, ...blocks }: Analysis = analyse(factsOf(result, told), catalogue, {
    error_guidance,
    fuel_analysis,
  });
  return { result: { ...result, metadata: { ...result.metadata, ...blocks } }, unclassified };
}

function factsOf(result: SandboxResult, told: Told): RunFacts {
  const { metadata } = result;
  const { report } = told.outcome;
  const reason = metadata.trap_reason;
  return {
    runtime: metadata.runtime,
    source: told.code,
    exit_code: result.exit_code,
    ending: endingOf(told.outcome),
    trap: reason === null ? null : { reason, message: metadata.trap_message ?? '' },
    error: report?.error,
    exit_cause: report?.exit_cause,
    stderr: result.stderr,
    stdout_dropped_bytes: metadata.stdout_dropped_bytes,
    stderr_dropped_bytes: metadata.stderr_dropped_bytes,
    fuel_consumed: result.fuel_consumed,
    limits: { ...told.policy, ...told.limits },
    files: told.files,
    mounts: told.policy.mounts.map(({ guest_path }) => guest_path),
    imports: told.imports,
    session: told.session,
  };
}

function endingOf({ trap, report }: RunOutcome): RunFacts['ending'] {
  if (trap === undefined && report === undefined) return 'unknown';
  if (report?.error !== undefined) return 'exception';
  return report?.exit_code === 0 ? 'returned' : 'exited';
}
