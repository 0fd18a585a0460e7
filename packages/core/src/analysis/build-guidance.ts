/** Builds the `error_guidance` block of a result. Every text in it is one line of bounded length. */
import type { ErrorGuidance } from '../schema.ts';
import type { AnalysedLanguage } from './analysed-language.ts';
import type { Classification } from './find-rule.ts';
import { errorText, oneLine } from './quote-guest-text.ts';
import { type AdviceLine, renderable, renderLines } from './reader.ts';
import type { Rule } from './rule.ts';

const MESSAGE_MAX = 400;
const LINE_MAX = 600;

/** The documents that a rule refers to for a run in this language. */
export function relatedDocs({ docs, type }: Rule, { documentation }: AnalysedLanguage): string[] {
  if (docs.length === 0) return [`docs/ERROR_GUIDANCE.md#${type.toLowerCase()}`];
  return docs.map((doc) => (doc.startsWith('#') ? `${documentation}${doc}` : doc));
}

/** `more`: lines after those of the rule. */
export function buildGuidance(
  { rule, match, input }: Classification,
  more: readonly AdviceLine[] = [],
): ErrorGuidance {
  const { message, guidance, examples } = rule.advise(match, input);
  const text = message ?? (input.error ? errorText(input.error) : `Exit code ${input.exitCode}`);
  return renderable((reader) => ({
    error_type: rule.type,
    error_message: oneLine(text, MESSAGE_MAX),
    actionable_guidance: renderLines([...guidance, ...more], reader).map((line) => oneLine(line, LINE_MAX)),
    related_docs: relatedDocs(rule, input.language),
    ...(examples && { code_examples: examples.map((line) => oneLine(line, LINE_MAX)) }),
  }));
}
