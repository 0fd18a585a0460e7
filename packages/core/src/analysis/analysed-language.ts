/**
 * A guest language as the analysis sees it: how it reports failures and how its programs are written. Each folder of
 * `runtimes/` implements it as data and pure functions; the analysis itself does not depend on any language.
 */

import type { GuestError, RuntimeName } from '../schema.ts';

export interface AnalysedLanguage {
  readonly name: RuntimeName;
  /** The language's name in prose, e.g. `JavaScript`. */
  readonly title: string;
  /** The document about the runtime, relative to the repository. */
  readonly documentation: string;
  /** Error numbers as programs of the language see them. */
  readonly errno: Readonly<Record<string, number>>;
  readonly guidance: LanguageGuidance;
  /** The statement that imports a module. */
  importStatement(module: string): string;
}

/** What error guidance and fuel analysis need to know about a language. */
export interface LanguageGuidance {
  /** Source text that only this language has, for programs submitted under another language. */
  readonly typicalSource: RegExp;
  /** What programs of the language use to memoise a function. */
  readonly memoization: string;
  /** Advice for a program that never ends because of a timer that it does not stop; undefined for other programs. */
  endlessTimer?(source: string): string | undefined;
  /** A call that matches a regular expression. */
  readonly regexCall: RegExp;
  /** Constructs that usually make the interpreter abort. */
  readonly abortCauses?: string;
  /** The error number of this exception is that of a failed system call. */
  isSystemError(error: GuestError): boolean;
  isOutOfMemory(error: GuestError): boolean;
  isStackOverflow(error: GuestError): boolean;
  /** Adds to or corrects an error that the runtime reported, with the help of the source. */
  refineError?(program: { readonly source: string; readonly error: GuestError }): GuestError;
  /** The uncaught exception that standard error ends with. The text has at most `STDERR_SCAN_CHARS` characters. */
  parseTraceback(stderr: string): GuestError | undefined;
  /** Modules that a line of source text imports. */
  importedModules(line: string): readonly string[];
  /** The import name of the package that a module is part of. */
  packageOfModule(module: string): string;
  /** Matches a top-level line that assigns, declares or imports a name. `name` is an identifier, escaped for patterns. */
  definitionOf(name: string): RegExp;
  /** Whether a program to be started does not exist; the missing path is then no file of the workspace. */
  isMissingProgram?(failure: { readonly source: string; readonly error: GuestError | undefined }): boolean;
  /** The statement that creates a folder, in the style of the program. */
  createFolder(path: string, source: string): string;
}
