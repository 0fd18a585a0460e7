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

const versionOf = (path) =>
  basename(path)
    .split('-')[1]
    .split('.')
    .map((part) => Number.parseInt(part, 10) || 0);

/** Negative if the first version is older. */
function compareVersions(a, b) {
  const [left, right] = [versionOf(a), versionOf(b)];
  const index = left.findIndex((part, at) => part !== right[at]);
  return index === -1 ? left.length - right.length : left[index] - (right[index] ?? 0);
}

/** One wheel per package, with the newest version. */
export function newestWheels() {
  const newest = new Map();
  for (const path of available.filter((one) => one.endsWith('.whl')).sort(compareVersions))
    newest.set(basename(path).split('-')[0].toLowerCase(), path);
  return [...newest.values()];
}
