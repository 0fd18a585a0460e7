/** The runtimes there are, by name. Adding one is a file of its own and a line here. */
import type { RuntimeName } from '../schema.ts';

import { javascript } from './javascript/index.ts';
import { python } from './python/index.ts';
import type { Runtime } from './runtime.ts';

export const RUNTIMES: Readonly<Record<RuntimeName, Runtime>> = { python, javascript };
