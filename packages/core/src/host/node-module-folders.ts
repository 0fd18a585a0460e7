/** Finds the folders of npm packages in node_modules. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/** The folder of a package, and the path in `node_modules` at which it is found, which can be a symbolic link. */
export function nodeModuleFolders(name: string, from: string): string[] {
  const require = createRequire(join(from, 'index.js'));
  const real = dirname(require.resolve(`${name}/package.json`));
  const found = require.resolve
    .paths(name)
    ?.map((folder) => join(folder, name))
    .find((folder) => existsSync(join(folder, 'package.json')));
  return [...new Set([real, found ?? real])];
}
