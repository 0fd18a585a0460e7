/** How workers read the source of Python programs. */
import type { SourceReader } from '../language.ts';
import { readPython } from './syntax/program-facts.ts';

export const pythonSource: SourceReader = {
  declaredNames: () => [],
  examine: (code, { isStopped }) => (isStopped ? readPython(code) : undefined),
};
