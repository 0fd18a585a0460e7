/** The files of this package that are read at run time: the page of the playground and the app that shows results. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFolder } from '@llm-wasm-sandbox/core/internal';

/** Sources, compiled modules and bundles lie equally deep. */
const OWN = fileURLToPath(new URL('../', import.meta.url));

/** Reads a file, relative to the folder of the compiled code. If an application has bundled the code, that of the package is used. */
export function readServerFile(path: string): Buffer {
  const own = join(OWN, path);
  return readFileSync(
    existsSync(own) ? own : join(packageFolder('@llm-wasm-sandbox/server') ?? OWN, 'dist', path),
  );
}
