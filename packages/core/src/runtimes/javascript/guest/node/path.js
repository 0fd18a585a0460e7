/** The module `path`: POSIX paths. The functions of `path.win32` throw. */
import { host } from '../host-calls.js';
import { load } from '../node-modules.js';
import { invalidArgType, unavailable, validateString } from './internal/errors.js';

/** Resolves `.` and `..`, without a slash at the start or end. */
function normalizeParts(path, isAbsolute) {
  const parts = [];
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!isAbsolute) parts.push('..');
  }
  return parts.join('/');
}

export function normalize(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  const isAbsolute = path.startsWith('/');
  let result = normalizeParts(path, isAbsolute);
  if (result === '') {
    if (isAbsolute) return '/';
    return path.endsWith('/') ? './' : '.';
  }
  if (path.endsWith('/')) result += '/';
  return isAbsolute ? `/${result}` : result;
}

export function join(...paths) {
  for (const path of paths) validateString(path, 'path');
  const joined = paths.filter((path) => path !== '').join('/');
  return joined === '' ? '.' : normalize(joined);
}

export function resolve(...paths) {
  let resolved = '';
  for (let i = paths.length - 1; i >= -1 && !resolved.startsWith('/'); i--) {
    const path = i >= 0 ? paths[i] : host.getcwd();
    validateString(path, `paths[${i}]`);
    if (path !== '') resolved = resolved === '' ? path : `${path}/${resolved}`;
  }
  return `/${normalizeParts(resolved, true)}`;
}

export function isAbsolute(path) {
  validateString(path, 'path');
  return path.startsWith('/');
}

export function relative(from, to) {
  validateString(from, 'from');
  validateString(to, 'to');
  if (from === to) return '';
  const a = resolve(from).split('/').filter(Boolean);
  const b = resolve(to).split('/').filter(Boolean);
  let common = 0;
  while (common < a.length && common < b.length && a[common] === b[common]) common++;
  return [...a.slice(common).map(() => '..'), ...b.slice(common)].join('/');
}

export const toNamespacedPath = (path) => path;

export function dirname(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end--;
  const slash = path.lastIndexOf('/', end - 1);
  if (slash < 0) return '.';
  let start = slash;
  while (start > 0 && path[start - 1] === '/') start--;
  if (start === 0) return slash === 1 && path[0] === '/' && path[1] === '/' ? '//' : '/';
  return path.slice(0, start);
}

export function basename(path, suffix = undefined) {
  if (suffix !== undefined) validateString(suffix, 'suffix');
  validateString(path, 'path');
  const trimmed = path.replace(/\/+$/, '');
  const name = trimmed.slice(trimmed.lastIndexOf('/') + 1);
  if (!suffix || !name.endsWith(suffix)) return name;
  return name === suffix ? (path === suffix ? '' : name) : name.slice(0, -suffix.length);
}

export function extname(path) {
  validateString(path, 'path');
  const name = basename(path);
  const dot = name.lastIndexOf('.');
  return dot <= 0 || name === '..' ? '' : name.slice(dot);
}

export function parse(path) {
  validateString(path, 'path');
  const root = path.startsWith('/') ? '/' : '';
  const base = basename(path);
  const ext = base === '' ? '' : extname(base);
  const trimmed = path.replace(/\/+$/, '');
  const slash = trimmed.lastIndexOf('/');
  const dir = slash > 0 ? trimmed.slice(0, slash) : slash === 0 ? '/' : root;
  return { root, dir, base, ext, name: ext === '' ? base : base.slice(0, -ext.length) };
}

export function format(pathObject) {
  if (pathObject === null || typeof pathObject !== 'object')
    throw invalidArgType('pathObject', 'Object', pathObject);
  const { root, dir: folder, base, name, ext } = pathObject;
  const dir = folder || root;
  const extension = ext ? `${ext[0] === '.' ? '' : '.'}${ext}` : '';
  const file = base || `${name || ''}${extension}`;
  if (!dir) return file;
  return dir === root ? `${dir}${file}` : `${dir}/${file}`;
}

export function matchesGlob(path, pattern) {
  validateString(path, 'path');
  validateString(pattern, 'pattern');
  return load('node:internal/glob').matches(path, pattern);
}

export const sep = '/';
export const delimiter = ':';

const path = {
  resolve,
  normalize,
  isAbsolute,
  join,
  relative,
  toNamespacedPath,
  dirname,
  basename,
  extname,
  format,
  parse,
  matchesGlob,
  sep,
  delimiter,
  win32: null,
  posix: null,
};

/** The functions of `path.win32`, which throw. */
const refused = Object.entries(path)
  .filter(([, value]) => typeof value === 'function')
  .map(([name]) => [
    name,
    () => {
      throw unavailable(
        `path.win32.${name} is not available in the sandbox. Replace each backslash by a slash and use path.posix.`,
      );
    },
  ]);
export const win32 = { ...Object.fromEntries(refused), sep: '\\', delimiter: ';' };
for (const one of [path, win32]) Object.assign(one, { win32, posix: path });

export default path;
