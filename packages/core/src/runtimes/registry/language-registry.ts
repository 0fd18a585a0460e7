/** Written by scripts/registries.mjs. */
import type { RuntimeName } from '../../schema/runtime-names.ts';
import { bashLanguage } from '../bash/language.ts';
import { javascriptLanguage } from '../javascript/language.ts';
import type { Language } from '../language.ts';
import { pythonLanguage } from '../python/language.ts';

export const LANGUAGES: Readonly<Record<RuntimeName, Language>> = {
  python: pythonLanguage,
  javascript: javascriptLanguage,
  bash: bashLanguage,
};
