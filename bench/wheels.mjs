/** The wheels in the folders that PIP_FIND_LINKS names. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const folders = (process.env.PIP_FIND_LINKS ?? '').split(/\s+/).filter((folder) => existsSync(folder));
const available = folders.flatMap((folder) => readdirSync(folder).map((file) => join(folder, file)));

/** The path of a wheel of this package; undefined if there is none. */
export const findWheel = (name) => available.find((path) => basename(path).startsWith(`${name}-`));

export function wheel(name) {
  const found = findWheel(name);
  if (found === undefined) throw new Error(`PIP_FIND_LINKS names no folder with a wheel of ${name}.`);
  return found;
}
