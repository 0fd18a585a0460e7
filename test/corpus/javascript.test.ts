import { describe } from 'vitest';
import { JAVASCRIPT } from './javascript.ts';
import { runCorpus } from './run-corpus.ts';

describe('failing JavaScript programs', () => runCorpus('javascript', JAVASCRIPT));
