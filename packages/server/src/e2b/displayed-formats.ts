/** What a program displayed, in the formats and field names of `@e2b/code-interpreter`. */

import type { DisplayResult, Session } from '@llm-wasm-sandbox/core/internal';
import { displayedForms } from '../server/program-outcome.ts';

const FORMATS = ['text', 'html', 'markdown', 'svg', 'png', 'jpeg', 'latex', 'json', 'data', 'chart'] as const;

/** The forms of a displayed value, by format. */
export async function formsByFormat(
  result: DisplayResult,
  session: Session,
): Promise<Partial<Record<(typeof FORMATS)[number], unknown>>> {
  const { text, ...forms } = await displayedForms(result, session);
  const shown = { ...forms, ...(text !== undefined && { text: withoutQuotes(text) }) };
  return Object.fromEntries(FORMATS.flatMap((one) => (shown[one] === undefined ? [] : [[one, shown[one]]])));
}

/** The text of a value. E2B shows strings without the quotes of their representation. */
const withoutQuotes = (text: string) =>
  /^(['"]).*\1$/s.test(text) && text.length > 1 ? text.slice(1, -1) : text;
