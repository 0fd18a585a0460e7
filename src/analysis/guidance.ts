/** Turns a finding into the guidance that goes into the result. Every text in it is one line of bounded length. */
import type { ErrorGuidance } from '../schema.ts';
import type { Finding } from './classify.ts';
import { messageOf } from './exception.ts';
import type { Catalogue } from './input.ts';
import { cut } from './quote.ts';

const MESSAGE_MAX = 400;
const LINE_MAX = 600;

/** The section of docs/ERROR_GUIDANCE.md about a type. */
export const sectionOf = (type: string) => `docs/ERROR_GUIDANCE.md#${type.toLowerCase()}`;

export function guide({ rule, match, facts }: Finding, catalogue: Catalogue): ErrorGuidance {
  const advice = rule.advise(match, facts, catalogue);
  const docs = advice.docs ?? rule.docs;
  const message = advice.message ?? (facts.error ? messageOf(facts.error) : `Exit code ${facts.exit_code}`);
  const lines = advice.guidance.filter((line) => line !== undefined && line !== '');
  return {
    error_type: rule.type,
    error_message: cut(message, MESSAGE_MAX),
    actionable_guidance: lines.map((line) => cut(line!, LINE_MAX)),
    related_docs: docs.length > 0 ? [...docs] : [sectionOf(rule.type)],
    ...(advice.examples && { code_examples: advice.examples.map((line) => cut(line, LINE_MAX)) }),
  };
}
