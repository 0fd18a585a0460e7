/** The file name extensions of JavaScript programs, and the names that a program declares. */
import { MAX_VARIABLES, type SourceLanguage } from '../language.ts';
import { declaredNames } from './module-to-script.ts';

export const TYPESCRIPT_EXTENSIONS: readonly string[] = ['.ts', '.mts', '.cts'];

export const javascriptSource: SourceLanguage = {
  extensions: ['.js', '.mjs', '.cjs'],
  // Programs cannot list the `let`, `const` and `class` bindings of their own scope.
  declaredNames: (code) => declaredNames(code, MAX_VARIABLES),
};
