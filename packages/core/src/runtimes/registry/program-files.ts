/** The file names of each language, for workers, and for the command line before it loads the languages themselves. */
import { extname } from 'node:path';
import {
  LANGUAGE_NAMES,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  type RuntimeName,
} from '../../schema/runtime-names.ts';
import { FILE_EXTENSIONS } from './extension-registry.ts';

/** File name extensions of a language. */
function extensionsOf(language: LanguageName): readonly string[] {
  const { extensions, variants = {} } = FILE_EXTENSIONS[LANGUAGE_RUNTIMES[language]];
  return variants[language] ?? extensions;
}

/** The language of a file, from its extension. */
export function languageOfFile(path: string): LanguageName | undefined {
  const extension = extname(path).toLowerCase();
  return LANGUAGE_NAMES.find((name) => extensionsOf(name).includes(extension));
}

/**
 * The path under which the program of a call is compiled, which appears in stack traces. Calls of an interpreter are
 * numbered from 1. Only the first may have a name of its own, so that stack traces find the sources of earlier calls.
 */
export function programFile(language: LanguageName, call: number, name?: string | null): string {
  const extension = extensionsOf(language)[0];
  return `/app/${call === 1 ? (name ?? `main${extension}`) : `call-${call}${extension}`}`;
}

/** The runtime of a program whose language is not given. */
export const DEFAULT_RUNTIME: RuntimeName = 'python';

/** The runtime whose programs can import added packages. */
export const PACKAGE_RUNTIME: RuntimeName = 'python';

/** The runtime of the tool for shell commands, which has its name. */
export const SHELL_RUNTIME = 'bash' satisfies RuntimeName;

/** The runtime of a program in this language. */
export const runtimeOf = (language: LanguageName | undefined): RuntimeName =>
  language === undefined ? DEFAULT_RUNTIME : LANGUAGE_RUNTIMES[language];
