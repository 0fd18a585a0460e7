/**
 * The input of the analysis: plain data about one run, collected by the host. Everything that comes from the guest (the
 * exception, standard error) is untrusted and is only ever quoted in shortened form.
 */
import type { Capabilities } from '../schema/capabilities.ts';
import type { QuotaLimit } from '../schema/workspace-quota.ts';
import type {
  GuestError,
  ImportFacts,
  NetworkExchange,
  PackageFacts,
  PendingCall,
  StoppedAt,
  TrapReason,
} from '../schema.ts';
import type { AnalysedLanguage } from './analysed-language.ts';
import type { SourceFacts } from './program-facts.ts';
import type { RunProfile } from './run-profile-schema.ts';

/** How a run without a trap ended. `unknown`: the boot script's report is missing or invalid. */
type Ending = 'returned' | 'exited' | 'exception' | 'unknown';

/** What earlier calls of the same sandbox or session did. */
export interface EarlierCalls {
  /** Globals and imports survive from call to call. */
  readonly persistent: boolean;
  /** Programs of the most recent calls. */
  readonly sources: readonly string[];
  /** Number of earlier calls that paid for importing a heavy package, by package name. */
  readonly heavyImports: ReadonlyMap<string, number>;
}

/** A package that programs can import, vendored or added, with its measured costs. */
export type AvailablePackage = Pick<
  PackageFacts,
  'name' | 'import_names' | 'heavy' | 'fuel_first_import' | 'fuel_cached_import' | 'use'
>;

export interface AnalysisInput {
  readonly language: AnalysedLanguage;
  readonly otherLanguages: readonly AnalysedLanguage[];
  readonly source: string;
  /** What the worker found in the source of the whole program; undefined if it was not needed or could not be parsed. */
  readonly program: SourceFacts | undefined;
  readonly exitCode: number;
  readonly ending: Ending;
  readonly trap: { readonly reason: TrapReason; readonly message: string } | null;
  /** The uncaught exception; after a trap, the exception that the limit raised in the program. */
  readonly error: GuestError | undefined;
  /** The exception that was being handled when the program exited. */
  readonly exitCause: GuestError | undefined;
  readonly stderr: string;
  readonly stdoutDroppedBytes: number;
  readonly stderrDroppedBytes: number;
  readonly fuelConsumed: number;
  /** Paths in the workspace, relative to /app, possibly not all of them. A function, because most runs do not need it. */
  readonly files: () => readonly string[];
  /** The path of the workspace if it is not /app. */
  readonly home?: string | undefined;
  /** Packages that this run imported; undefined if the runtime did not report them. */
  readonly imports: readonly ImportFacts[] | undefined;
  /** Packages of the language, vendored or added. */
  readonly packages: readonly AvailablePackage[];
  /** Why programs cannot import the vendored packages, and what to do; undefined if they can. */
  readonly packagesProblem?: string | undefined;
  /** The name of the package that can be added and contains this top-level module; undefined if there is none. */
  readonly addablePackage: (module: string) => string | undefined;
  readonly earlier: EarlierCalls;
  /** Where the run used its fuel; undefined if it used less than one slice, or no profile was recorded. */
  readonly profile: RunProfile | undefined;
  /** What the program could do, with the limits of its call. */
  readonly capabilities: Capabilities;
  /** The requests of the program; undefined if it may send none. */
  readonly requests: readonly NetworkExchange[] | undefined;
  /** The calls for which the program is paused; undefined if it is not. */
  readonly pending: readonly PendingCall[] | undefined;
  /** Where a limit or an uncaught exception ended the program. */
  readonly stoppedAt: StoppedAt | undefined;
  /** A limit ended the program during an import. */
  readonly isImportInterrupted: boolean;
  /** The limit of the last write that the workspace quota refused. */
  readonly exceededQuota: QuotaLimit | undefined;
}

export const NO_EARLIER_CALLS: EarlierCalls = {
  persistent: false,
  sources: [],
  heavyImports: new Map(),
};

/** The package that a module such as `openpyxl.styles` is part of. Case-sensitive, as imports are. */
export function availablePackage(
  { language, packages }: AnalysisInput,
  module: string,
): AvailablePackage | undefined {
  const name = language.guidance.packageOfModule(module);
  return packages.find(({ import_names }) => import_names.includes(name));
}
