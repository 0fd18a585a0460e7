/** A program that breaks limits; see corpus.mjs. */
export interface CorpusProgram {
  readonly runtime: 'python' | 'javascript';
  readonly name: string;
  readonly breaks: readonly ('fuel' | 'time' | 'memory' | 'output')[];
  readonly code: string;
  /** The program ends normally although it exceeds a limit. */
  readonly ends?: boolean;
  /** The program uses functions that other sandboxes do not have. */
  readonly sandboxOnly?: boolean;
}
export const CORPUS: readonly CorpusProgram[];
