/** Whether a program of an earlier call defined a name. */
import type { AnalysisInput } from './input.ts';

const IDENTIFIER = /^[\p{L}\p{Nl}_$][\p{L}\p{N}_$]{0,100}$/u;
const LINE_MAX = 200;
const OCCURRENCES_MAX = 100;

/** Lines that contain a word. Skips long lines and stops after a bounded number of occurrences. */
function* linesWith(text: string, word: string): Generator<string> {
  let at = text.indexOf(word);
  for (let i = 0; i < OCCURRENCES_MAX && at >= 0; i++) {
    const start = text.lastIndexOf('\n', at) + 1;
    const next = text.indexOf('\n', at);
    const end = next < 0 ? text.length : next;
    if (end - start <= LINE_MAX) yield text.slice(start, end);
    at = text.indexOf(word, end);
  }
}

/** Whether an earlier program defined the name at its top level. */
export function isDefinedEarlier({ language, earlier }: AnalysisInput, name: string): boolean {
  if (!IDENTIFIER.test(name)) return false;
  const definition = language.guidance.definitionOf(name.replaceAll('$', '\\$'));
  return earlier.sources.some((source) => {
    for (const line of linesWith(source, name)) if (definition.test(line)) return true;
    return false;
  });
}
