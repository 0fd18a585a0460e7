import type { FileExtensions } from '../language.ts';

export const pythonExtensions: FileExtensions = { extensions: ['.py'] };
