import type { FileExtensions } from '../language.ts';

export const javascriptExtensions: FileExtensions = {
  extensions: ['.js', '.mjs', '.cjs'],
  variants: { typescript: ['.ts', '.mts', '.cts'] },
};
