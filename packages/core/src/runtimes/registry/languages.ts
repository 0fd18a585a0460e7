/** The languages by runtime name, for the main thread. */
import { installedRuntimes } from '../artifacts/guest-artifacts.ts';
import { LANGUAGES } from './language-registry.ts';

export { LANGUAGES };

/** The titles of all languages, e.g. `Python, JavaScript or bash`. */
export function languageTitles(conjunction: 'and' | 'or'): string {
  const titles = installedRuntimes().map((name) => LANGUAGES[name].title);
  return `${titles.slice(0, -1).join(', ')} ${conjunction} ${titles.at(-1)}`;
}
