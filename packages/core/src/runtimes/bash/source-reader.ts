/** How workers read the source of shell programs: the analysis needs nothing from it. */
import type { SourceReader } from '../language.ts';

export const bashSource: SourceReader = {
  declaredNames: () => [],
  examine: () => undefined,
};
