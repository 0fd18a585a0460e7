/** Quotes a text as one word of a shell program. */
export const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
