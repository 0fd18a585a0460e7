/** The wheels in the folders of PIP_FIND_LINKS, and an index of wheels that is the only source of packages. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const paths = (process.env['PIP_FIND_LINKS'] ?? '')
  .split(/\s+/)
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)));

/** The wheel for guests whose name begins like this; undefined if there is none. */
export const availableWheel = (name: string): string | undefined =>
  paths.find((path) => basename(path).startsWith(`${name}-`) && /(_wasm32|-none-any)\.whl$/.test(path));

/** The environment in which packages come from the folder `index` only and are added to `folder`. */
export const onlyPackagesFrom = (index: string, folder: string) => ({
  LLM_WASM_SANDBOX_PACKAGES_DIR: join(folder, 'packages'),
  LLM_WASM_SANDBOX_PYODIDE_URL: join(folder, 'no-distribution'),
  PIP_CONFIG_FILE: '/dev/null',
  PIP_NO_INDEX: '1',
  PIP_FIND_LINKS: index,
});
