/** The file names of each language, for the command line before it loads the languages themselves (languages.ts). */
import { extname } from 'node:path';
import {
  LANGUAGE_NAMES,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  type RuntimeName,
} from '../schema/runtime-names.ts';
import { javascriptSource, TYPESCRIPT_EXTENSIONS } from './javascript/source.ts';
import { pythonSource } from './python/source.ts';

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

/** The runtime of a program whose language is not given. */
export const DEFAULT_RUNTIME: RuntimeName = 'python';

/** The runtime whose programs can import added packages. */
export const PACKAGE_RUNTIME: RuntimeName = 'python';

/** The runtime of a program in this language. */
export const runtimeOf = (language: LanguageName | undefined): RuntimeName =>
  language === undefined ? DEFAULT_RUNTIME : LANGUAGE_RUNTIMES[language];
