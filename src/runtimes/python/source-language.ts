/** Python programs as files. */
import type { SourceLanguage } from '../language.ts';

export const pythonSource: SourceLanguage = {
  extensions: ['.py'],
  declaredNames: () => [],
};
