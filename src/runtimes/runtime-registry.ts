/** The runtimes by name: the registry for workers. languages.ts is its counterpart for the main thread. */
import type { RuntimeName } from '../schema.ts';
import { javascript } from './javascript/index.ts';
import { python } from './python/index.ts';
import type { Runtime } from './runtime.ts';

export const RUNTIMES: Readonly<Record<RuntimeName, Runtime>> = { python, javascript };
