/** How shell programs report failures, and the rules for them. */
import type { LanguageGuidance } from '../../../analysis/analysed-language.ts';
import { ruleTable } from '../../../analysis/rule-table.ts';
import { quote } from '../quote.ts';
import { shellRules } from './shell-rules.ts';

export const bashGuidance: LanguageGuidance = {
  typicalSource: /^#!.*\b(?:ba)?sh\b|^[ \t]*(?:fi|done|esac)[ \t]*$|^[ \t]*(?:echo|export|cd) /m,
  regexCall: /=~|\b(?:grep|sed|awk)\b/,
  memoization: 'an associative array (declare -A)',
  isSystemError: () => false,
  isOutOfMemory: () => false,
  isStackOverflow: () => false,
  // Shell programs raise no exceptions.
  parseTraceback: () => undefined,
  importedModules: () => [],
  packageOfModule: (module) => module,
  definitionOf: (name) =>
    new RegExp(`^(?:export |declare |readonly |local )?(?:-\\S+ )?(?:function )?${name}(?:=|\\s*\\()`),
  createFolder: (path) => `mkdir -p ${quote(path)}`,
};

export const bashRules = ruleTable(shellRules);
