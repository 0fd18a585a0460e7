import type { FileExtensions } from '../language.ts';

export const bashExtensions: FileExtensions = { extensions: ['.sh', '.bash'] };
