/** The file names of each language, for workers, and for the command line before it loads the languages themselves. */
import { extname } from 'node:path';
import {
  LANGUAGE_NAMES,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  type RuntimeName,
} from '../schema/runtime-names.ts';
import { javascriptSource, TYPESCRIPT_EXTENSIONS } from './javascript/file-extensions.ts';
import { pythonSource } from './python/file-extensions.ts';

/** File name extensions of each language. */
const EXTENSIONS: Readonly<Record<LanguageName, readonly string[]>> = {
  python: pythonSource.extensions,
  javascript: javascriptSource.extensions,
  typescript: TYPESCRIPT_EXTENSIONS,
};

/** The language of a file, from its extension. */
export function languageOfFile(path: string): LanguageName | undefined {
  const extension = extname(path).toLowerCase();
  return LANGUAGE_NAMES.find((name) => EXTENSIONS[name].includes(extension));
}

/**
 * The path under which the program of a call is compiled, which appears in stack traces. Calls of an interpreter are
 * numbered from 1. Only the first may have a name of its own, so that stack traces find the sources of earlier calls.
 */
export function programFile(language: LanguageName, call: number, name?: string): string {
  const extension = EXTENSIONS[language][0];
  return `/app/${call === 1 ? (name ?? `main${extension}`) : `call-${call}${extension}`}`;
}

/** The runtime of a program whose language is not given. */
export const DEFAULT_RUNTIME: RuntimeName = 'python';

/** The runtime whose programs can import added packages. */
export const PACKAGE_RUNTIME: RuntimeName = 'python';

/** The runtime of a program in this language. */
export const runtimeOf = (language: LanguageName | undefined): RuntimeName =>
  language === undefined ? DEFAULT_RUNTIME : LANGUAGE_RUNTIMES[language];
