/** Written by scripts/registries.mjs. */
import type { RuntimeName } from '../../schema/runtime-names.ts';
import { bash } from '../bash/index.ts';
import { javascript } from '../javascript/index.ts';
import { python } from '../python/index.ts';
import type { Runtime } from '../runtime.ts';

export const RUNTIMES: Readonly<Record<RuntimeName, Runtime>> = {
  python,
  javascript,
  bash,
};
