/** What a subcommand of `packages` is. */
import type { LanguageName } from '../../../schema.ts';

/** Flags of the subcommands; each uses some of them. */
export interface PackagesFlags {
  readonly json?: boolean;
  readonly language?: LanguageName;
  readonly pip: boolean;
  readonly pyodide: boolean;
  readonly lock?: string;
  readonly remove?: boolean;
}

/** A subcommand. */
export type PackagesAction = (names: readonly string[], flags: PackagesFlags) => Promise<void>;
