/** The languages by runtime name: the registry for the main thread. registry.ts is its counterpart for workers. */
import { LANGUAGE_NAMES, type LanguageName, RUNTIME_NAMES, type RuntimeName } from '../schema.ts';
import { javascriptLanguage, TYPESCRIPT_EXTENSIONS } from './javascript/language.ts';
import type { Language } from './language.ts';
import { pythonLanguage } from './python/language.ts';

export const LANGUAGES: Readonly<Record<RuntimeName, Language>> = {
  python: pythonLanguage,
  javascript: javascriptLanguage,
};

/** File name extensions of each language. */
const EXTENSIONS: Readonly<Record<LanguageName, readonly string[]>> = {
  python: pythonLanguage.extensions,
  javascript: javascriptLanguage.extensions,
  typescript: TYPESCRIPT_EXTENSIONS,
};

/** The language of files with this extension, which includes the dot. */
export const languageOfExtension = (extension: string): LanguageName | undefined =>
  LANGUAGE_NAMES.find((name) => EXTENSIONS[name].includes(extension));

/** The runtime of a program whose language is not given. */
export const DEFAULT_RUNTIME: RuntimeName = 'python';

/** The titles of all languages, e.g. `Python or JavaScript`. */
export const languageTitles = (conjunction: 'and' | 'or') =>
  RUNTIME_NAMES.map((name) => LANGUAGES[name].title).join(` ${conjunction} `);
