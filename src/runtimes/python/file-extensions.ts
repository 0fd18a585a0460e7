/** The file name extensions of Python programs, and the names that a program declares. */
import type { SourceLanguage } from '../language.ts';

export const pythonSource: SourceLanguage = {
  extensions: ['.py'],
  declaredNames: () => [],
};
