/** The languages by runtime name: the registry for the main thread. runtime-registry.ts is its counterpart for workers. */
import { RUNTIME_NAMES, type RuntimeName } from '../schema/runtime-names.ts';
import { javascriptLanguage } from './javascript/language.ts';
import type { Language } from './language.ts';
import { pythonLanguage } from './python/language.ts';

export const LANGUAGES: Readonly<Record<RuntimeName, Language>> = {
  python: pythonLanguage,
  javascript: javascriptLanguage,
};

/** The titles of all languages, e.g. `Python or JavaScript`. */
export const languageTitles = (conjunction: 'and' | 'or') =>
  RUNTIME_NAMES.map((name) => LANGUAGES[name].title).join(` ${conjunction} `);
