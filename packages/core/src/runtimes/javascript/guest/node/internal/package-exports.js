/** Resolves the fields `exports` and `imports` of package.json. */
import { codedError } from './errors.js';

function pick(target, conditions, match) {
  if (typeof target === 'string') return match === undefined ? target : target.replaceAll('*', match);
  if (Array.isArray(target)) {
    for (const one of target) {
      const found = pick(one, conditions, match);
      if (found !== undefined && found !== null) return found;
    }
    return undefined;
  }
  if (typeof target !== 'object' || target === null) return target === null ? null : undefined;
  for (const [condition, one] of Object.entries(target)) {
    if (condition !== 'default' && !conditions.includes(condition)) continue;
    const found = pick(one, conditions, match);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The pattern with the longest prefix that matches, and the text that `*` stands for. */
function matchPattern(table, name) {
  let best;
  for (const key of Object.keys(table)) {
    const star = key.indexOf('*');
    if (star < 0 || !name.startsWith(key.slice(0, star)) || !name.endsWith(key.slice(star + 1))) continue;
    if (name.length < key.length) continue;
    if (best === undefined || star > best.indexOf('*')) best = key;
  }
  if (best === undefined) return undefined;
  const star = best.indexOf('*');
  return [best, name.slice(star, name.length - (best.length - star - 1))];
}

/** The target of `name` (`.`, `./sub` or `#name`) as a path relative to the package. */
export function resolvePackageExports(field, name, conditions, folder) {
  const isTable =
    typeof field === 'object' && !Array.isArray(field) && Object.keys(field).some((key) => /^[.#]/.test(key));
  const table = isTable ? field : { '.': field };
  const pattern = Object.hasOwn(table, name) ? [name, undefined] : matchPattern(table, name);
  const target = pattern === undefined ? undefined : pick(table[pattern[0]], conditions, pattern[1]);
  if (typeof target === 'string') return target;
  if (name.startsWith('#')) {
    throw codedError(
      TypeError,
      'ERR_PACKAGE_IMPORT_NOT_DEFINED',
      `Package import specifier "${name}" is not defined in package ${folder}/package.json`,
    );
  }
  const what =
    name === '.'
      ? `No "exports" main defined in`
      : `Package subpath '${name}' is not defined by "exports" in`;
  throw codedError(Error, 'ERR_PACKAGE_PATH_NOT_EXPORTED', `${what} ${folder}/package.json`);
}
