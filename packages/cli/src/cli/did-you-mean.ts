/** Suggestions for misspelt words of the command line, in the form that commander uses for commands and options. */
import { similarNames } from '@llm-wasm-sandbox/core/basics';

/** A line with the most similar name; empty if none is similar. */
export function didYouMean(wanted: string, names: readonly string[]): string {
  const [similar] = similarNames(wanted, names, 1);
  return similar === undefined ? '' : `\n(Did you mean ${similar}?)`;
}
