/** Written by scripts/registries.mjs. */
import type { RuntimeName } from '../../schema/runtime-names.ts';
import { bashExtensions } from '../bash/file-extensions.ts';
import { javascriptExtensions } from '../javascript/file-extensions.ts';
import type { FileExtensions } from '../language.ts';
import { pythonExtensions } from '../python/file-extensions.ts';

export const FILE_EXTENSIONS: Readonly<Record<RuntimeName, FileExtensions>> = {
  python: pythonExtensions,
  javascript: javascriptExtensions,
  bash: bashExtensions,
};
