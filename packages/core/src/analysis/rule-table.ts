/** The order in which rules are tried: limits, tool calls, requests, failed system calls, the language's rules, the program's own exits. */
import type { Rule } from './rule.ts';
import { exitRules } from './rules/ended-by-program.ts';
import { fileRules } from './rules/file-rules.ts';
import { limitRules } from './rules/limit-rules.ts';
import { requestRules } from './rules/request-rules.ts';
import { toolRules } from './rules/tool-rules.ts';

/** All rules for a language. `languageRules` do not match an exception that the program raised, unless they say so. */
export function ruleTable(languageRules: readonly Rule[]): readonly Rule[] {
  return [...limitRules, ...toolRules, ...requestRules, ...fileRules, ...languageRules, ...exitRules];
}
