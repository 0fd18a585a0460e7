/**
 * What the analysis knows about a run: plain data, gathered by the host. Everything that came from the guest (the
 * exception, standard error) may be a lie and is only ever quoted, shortened.
 */
import type { GuestError, ImportFacts, RuntimeName, TrapReason } from '../schema.ts';

/** How a run without a trap came to its end. `unknown`: the boot script's report could not be believed. */
export type Ending = 'returned' | 'exited' | 'exception' | 'unknown';

export interface LimitFacts {
  readonly fuel_budget: number;
  readonly timeout_seconds: number;
  readonly memory_bytes: number;
  readonly stdout_max_bytes: number;
  readonly stderr_max_bytes: number;
  readonly workspace_max_bytes: number;
  readonly workspace_max_files: number;
}

export interface SessionFacts {
  /** Globals and imports survive from call to call. */
  readonly persistent: boolean;
  /** The program ran in a session at all. */
  readonly in_session: boolean;
  /** Programs of earlier calls, the last of them. */
  readonly earlier_sources: readonly string[];
  /** Earlier calls in which a heavy package was imported and paid for, by package. */
  readonly earlier_heavy_imports: ReadonlyMap<string, number>;
}

export interface RunFacts {
  readonly runtime: RuntimeName;
  readonly source: string;
  readonly exit_code: number;
  readonly ending: Ending;
  readonly trap: { readonly reason: TrapReason; readonly message: string } | null;
  /** The uncaught exception; with a trap, the one the limit raised on the line that met it. */
  readonly error: GuestError | undefined;
  /** The exception that was being handled when the program exited. */
  readonly exit_cause: GuestError | undefined;
  /** Standard error; at most its beginning is looked at. */
  readonly stderr: string;
  readonly stdout_dropped_bytes: number;
  readonly stderr_dropped_bytes: number;
  readonly fuel_consumed: number;
  readonly limits: LimitFacts;
  /** Paths in the workspace, relative to /app, not necessarily all. A function, because most runs do not need them. */
  readonly files: () => readonly string[];
  /** Where read-only mounts lie in the guest. */
  readonly mounts: readonly string[];
  /** Vendored packages this run imported; undefined when nothing could report them. */
  readonly imports: readonly ImportFacts[] | undefined;
  readonly session: SessionFacts;
}

/** A vendored package with its measured costs. */
export interface CataloguePackage {
  readonly name: string;
  readonly language: RuntimeName;
  /** What `import` or `requireVendor` take. */
  readonly import_names: readonly string[];
  /** Costs enough fuel on a first import to be worth a word. */
  readonly heavy: boolean;
  readonly fuel_first_import: number;
  readonly fuel_cached_import: number;
  /** What it is used for, in a few words. */
  readonly use: string;
}

export interface Catalogue {
  readonly packages: readonly CataloguePackage[];
}

export const NO_SESSION: SessionFacts = {
  persistent: false,
  in_session: false,
  earlier_sources: [],
  earlier_heavy_imports: new Map(),
};

const LINE_MAX = 200;
const OCCURRENCES_MAX = 100;

/** Lines of a text that have a word in them; long ones and those after many others are left out. */
function* linesWith(text: string, word: string): Generator<string> {
  let at = text.indexOf(word);
  for (let i = 0; i < OCCURRENCES_MAX && at >= 0; i++) {
    const start = text.lastIndexOf('\n', at) + 1;
    const next = text.indexOf('\n', at);
    const end = next < 0 ? text.length : next;
    if (end - start <= LINE_MAX) yield text.slice(start, end);
    at = text.indexOf(word, end);
  }
}

/** Whether the program of an earlier call gave a value to this name at its top level. */
export function definedEarlier({ runtime, session }: RunFacts, name: string): boolean {
  if (!/^[\p{L}\p{Nl}_$][\p{L}\p{N}_$]{0,100}$/u.test(name)) return false;
  const word = name.replaceAll('$', '\\$');
  const forms =
    runtime === 'python'
      ? `^(?:(?:async )?def |class )${word}\\b|^(?:[\\w, ]+, ?)?${word}(?: ?,[\\w, ]+)? ?(?::[^=]+)?=[^=]|^(?:from .* )?import .*\\b${word}\\b`
      : `^(?:export )?(?:const|let|var|(?:async )?function\\*?|class)\\s+(?:[[{][^=]*)?${word}(?![\\w$])`;
  const pattern = new RegExp(forms);
  return session.earlier_sources.some((source) => {
    for (const line of linesWith(source, name)) if (pattern.test(line)) return true;
    return false;
  });
}

/** The package of an import name such as `openpyxl.styles`; letter case counts, as it does for the guest. */
export function packageOf(
  catalogue: Catalogue,
  language: RuntimeName,
  importName: string,
): CataloguePackage | undefined {
  const top = language === 'python' ? importName.split('.')[0]! : importName;
  return catalogue.packages.find((entry) => entry.language === language && entry.import_names.includes(top));
}
