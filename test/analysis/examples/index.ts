/** One failed run for each type of guidance, by language. */
import type { RuntimeName } from '../../../packages/core/src/schema.ts';
import { bashExamples } from './bash.ts';
import type { GuidanceExample } from './example-failure.ts';
import { javascriptExamples } from './javascript.ts';
import { pythonExamples } from './python.ts';

export const EXAMPLE_FAILURES: Readonly<Record<RuntimeName, readonly GuidanceExample[]>> = {
  python: pythonExamples,
  javascript: javascriptExamples,
  bash: bashExamples,
};
