/** One program that breaks limits; see corpus.mjs. */
export interface CorpusProgram {
  readonly runtime: 'python' | 'javascript';
  readonly name: string;
  readonly breaks: readonly ('fuel' | 'time' | 'memory' | 'output')[];
  readonly code: string;
  /** It comes to its own end, whatever limit it breaks. */
  readonly ends?: boolean;
  /** It uses what only this package offers. */
  readonly ownOnly?: boolean;
}
export const CORPUS: readonly CorpusProgram[];
