import { describe } from 'vitest';
import { JAVASCRIPT } from './javascript.ts';
import { walkCorpus } from './walk.ts';

describe('failing JavaScript programs', () => walkCorpus('javascript', JAVASCRIPT));
