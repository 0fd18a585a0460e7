/** The paths of the documents. */
export const DOCUMENTS: readonly string[];
/** The words of each document, by path. */
export function wordCounts(): Map<string, number>;
