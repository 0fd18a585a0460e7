import { describe } from 'vitest';
import { PYTHON } from './python.ts';
import { walkCorpus } from './walk.ts';

describe('failing Python programs', () => walkCorpus('python', PYTHON));
