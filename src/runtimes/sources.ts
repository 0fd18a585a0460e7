/** The file names of each language, for the command line before it loads the languages themselves (languages.ts). */
import { LANGUAGE_NAMES, type LanguageName, type RuntimeName } from '../schema/runtime-names.ts';
import { javascriptSource, TYPESCRIPT_EXTENSIONS } from './javascript/source.ts';
import { pythonSource } from './python/source.ts';

/** File name extensions of each language. */
const EXTENSIONS: Readonly<Record<LanguageName, readonly string[]>> = {
  python: pythonSource.extensions,
  javascript: javascriptSource.extensions,
  typescript: TYPESCRIPT_EXTENSIONS,
};

/** The language of files with this extension, which includes the dot. */
export const languageOfExtension = (extension: string): LanguageName | undefined =>
  LANGUAGE_NAMES.find((name) => EXTENSIONS[name].includes(extension));

/** The runtime of a program whose language is not given. */
export const DEFAULT_RUNTIME: RuntimeName = 'python';
