/**
 * A guest language as the code above `runtimes/` sees it: data and text functions, nothing that runs a guest. Importable
 * on the main thread. The part that only workers load is `Runtime`, in runtime.ts.
 */
import type { AnalysedLanguage } from '../analysis/analysed-language.ts';
import type { SourceFacts } from '../analysis/program-facts.ts';
import type { Rule } from '../analysis/rule.ts';
import type { Abilities } from '../schema/capabilities.ts';
import type { SandboxResult } from '../schema/result.ts';
import type { GuestError, LanguageName } from '../schema.ts';

/** Maximum number of variables that are listed per session. */
export const MAX_VARIABLES = 200;

/** Maximum number of names that complete an identifier. */
export const MAX_COMPLETIONS = 200;

/** The file names of a language. */
export interface FileExtensions {
  /** File name extensions with their dot, the usual one first. */
  readonly extensions: readonly string[];
  /** The extensions of other languages that the runtime runs, by name. */
  readonly variants?: Readonly<Record<string, readonly string[]>>;
}

/** How workers read the source of programs. */
export interface SourceReader {
  /**
   * Names that a program may have declared at its top level, for languages whose programs cannot list their own
   * variables. A name that does not exist in the interpreter does no harm.
   */
  declaredNames(code: string): string[];
  /** What the source of a run shows, if the analysis of the run needs it. It takes up to a second and runs in workers. */
  examine(code: string, run: ExaminedRun): SourceFacts | undefined;
}

export interface ExaminedRun {
  readonly language: LanguageName;
  /** A limit on fuel or time ended the run. */
  readonly isStopped: boolean;
  readonly error: GuestError | undefined;
}

export interface Language extends AnalysedLanguage, FileExtensions {
  /** The interpreter's name, e.g. `CPython`. */
  readonly engine: string;
  /** Version of the language, e.g. `3.14` or `ES2023`. */
  readonly version: string;
  /** The supported part of the language, in one line. */
  readonly level: string;
  /** Files that start the program in a folder, in order of preference. */
  readonly entryFiles: readonly string[];
  /** Differences from other installations of the language that models should know. */
  apiNotes(abilities: Abilities): readonly string[];
  /** Functions and modules available to every program beyond the language's own. */
  readonly helpers: readonly string[];
  /** Frequent mistakes and how to avoid them, one line each, for tool descriptions. */
  readonly pitfalls: readonly string[];
  /** Well-known packages that are often missing, and what to use instead, for tool descriptions. */
  readonly unavailable: { readonly packages: readonly string[]; readonly instead: string } | undefined;
  /** The best-known packages by purpose, most used first, for descriptions that cannot list all packages. */
  readonly packagesByPurpose: Readonly<Record<string, readonly string[]>>;
  /** A program that computes until a limit stops it, with a mix of common operations. Its speed is measured. */
  readonly speedProgram: string;
  /** A program that prints 42. */
  readonly checkProgram: string;
  /** All rules of the error guidance for programs of this language, in the order in which they are tried. */
  readonly rules: readonly Rule[];
  /** The language in one line for tool descriptions; `packages` describes the available packages. */
  summary(packages: string): string;
  /**
   * Files that a source may import, relative to the folder of the program. `path` is that of the source. A file that does
   * not exist does no harm.
   */
  localImports(code: string, path: string): string[];
  /** The modules that the import statements of a source may name, e.g. `matplotlib.pyplot`, for packages on demand. */
  importedModules(code: string): string[];
  /**
   * A program whose result is a list of `Variable`. `declared` holds the names that `declaredNames` found in earlier
   * programs of the session.
   */
  variablesProgram(declared: readonly string[]): string;
  /** The names of the language in notebooks. */
  readonly notebook: { readonly kernel: string; readonly mimeType: string };
  /**
   * A program whose result is a list of names that start with `prefix`: the members of an object or, if `object` is empty, all
   * names. The object is a chain of identifiers and dots.
   */
  completionProgram?(object: string, prefix: string, declared: readonly string[]): string;
  /** A program whose result describes an object in a text. The object is a chain of identifiers and dots. */
  descriptionProgram?(object: string): string;
  /** A statement that removes an environment variable. Its name is an identifier. */
  unsetVariable(name: string): string;
  /** A program with which the interpreter parses `code` without running it. `isIncomplete` evaluates its result. */
  parseProgram(code: string): string;
  /** Whether the parser found that `code` ends too early, so that further lines can complete it. */
  isIncomplete(parsed: SandboxResult, code: string): boolean;
}
