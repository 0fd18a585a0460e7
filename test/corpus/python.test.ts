import { describe } from 'vitest';
import { PYTHON } from './python.ts';
import { runCorpus } from './run-corpus.ts';

describe('failing Python programs', () => runCorpus('python', PYTHON));
