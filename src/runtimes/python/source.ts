/** Python programs as files. */
import type { SourceLanguage } from '../language.ts';

export const pythonSource: SourceLanguage = {
  extensions: ['.py'],
  mainFile: '/app/main.py',
  declaredNames: () => [],
};
