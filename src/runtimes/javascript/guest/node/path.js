/** The module `path`: POSIX paths. `path.win32` works on paths of Windows. */
import { host } from '../host-calls.js';
import { load } from '../node-modules.js';
import { invalidArgType, validateString } from './internal/errors.js';

/** Resolves `.` and `..`, without a slash at the start or end. */
function normalizeParts(path, isAbsolute, isSeparator, separator) {
  const parts = [];
  for (const part of path.split(isSeparator)) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!isAbsolute) parts.push('..');
  }
  return parts.join(separator);
}

const isSlash = /\//;

export function normalize(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  const isAbsolute = path.startsWith('/');
  let result = normalizeParts(path, isAbsolute, isSlash, '/');
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
  return `/${normalizeParts(resolved, true, isSlash, '/')}`;
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

function matches(path, pattern, isWindows) {
  validateString(path, 'path');
  validateString(pattern, 'pattern');
  return load('node:internal/glob').matches(path, pattern, isWindows);
}

export function matchesGlob(path, pattern) {
  return matches(path, pattern, false);
}

export const sep = '/';
export const delimiter = ':';

const isEither = /[\\/]/;
/** Root of a Windows path: `C:\`, `\\server\share\`, `\` or nothing. */
const windowsRoot = (path) => /^(?:[a-zA-Z]:)?[\\/]?/.exec(path)[0];

const win32Join = (paths) => {
  const joined = paths.filter((path) => path !== '').join('\\');
  return joined === '' ? '.' : win32.normalize(joined);
};

export const win32 = {
  sep: '\\',
  delimiter: ';',
  normalize(path) {
    validateString(path, 'path');
    if (path === '') return '.';
    const root = windowsRoot(path).replaceAll('/', '\\');
    const isAbsolute = root.endsWith('\\');
    let tail = normalizeParts(path.slice(root.length), isAbsolute, isEither, '\\');
    if (tail === '' && !isAbsolute) tail = '.';
    if (tail !== '' && /[\\/]$/.test(path)) tail += '\\';
    return root + tail;
  },
  join(...paths) {
    for (const path of paths) validateString(path, 'path');
    return win32Join(paths);
  },
  isAbsolute(path) {
    validateString(path, 'path');
    return /[\\/]$/.test(windowsRoot(path));
  },
  resolve(...paths) {
    let resolved = '';
    for (const path of paths)
      resolved = win32.isAbsolute(path) || resolved === '' ? path : `${resolved}\\${path}`;
    return win32
      .normalize(win32.isAbsolute(resolved) ? resolved : `C:\\${resolved}`)
      .replace(/(?<=[^:])\\$/, '');
  },
  relative(from, to) {
    const a = win32.resolve(from).split('\\').filter(Boolean);
    const b = win32.resolve(to).split('\\').filter(Boolean);
    let common = 0;
    while (common < a.length && common < b.length && a[common].toLowerCase() === b[common].toLowerCase())
      common++;
    if (common === 0) return win32.resolve(to);
    return [...a.slice(common).map(() => '..'), ...b.slice(common)].join('\\');
  },
  dirname(path) {
    validateString(path, 'path');
    const root = windowsRoot(path);
    const trimmed = path.slice(root.length).replace(/[\\/]+$/, '');
    const at = Math.max(trimmed.lastIndexOf('\\'), trimmed.lastIndexOf('/'));
    if (at >= 0) return root + trimmed.slice(0, at);
    return root === '' ? '.' : root;
  },
  basename(path, suffix = undefined) {
    validateString(path, 'path');
    return basename(path.slice(windowsRoot(path).length).replaceAll('\\', '/'), suffix);
  },
  extname: (path) => extname(win32.basename(path)),
  parse(path) {
    const root = windowsRoot(path);
    const base = win32.basename(path);
    const ext = extname(base);
    const dir = win32.dirname(path);
    return {
      root,
      dir: dir === '.' && !path.startsWith('.') ? '' : dir,
      base,
      ext,
      name: ext === '' ? base : base.slice(0, -ext.length),
    };
  },
  format(pathObject) {
    const dir = pathObject.dir || pathObject.root;
    const base = pathObject.base || `${pathObject.name || ''}${pathObject.ext || ''}`;
    if (!dir) return base;
    return dir === pathObject.root ? `${dir}${base}` : `${dir}\\${base}`;
  },
  toNamespacedPath: (path) => path,
  matchesGlob: (path, pattern) => matches(path, pattern, true),
};

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
path.posix = path;
path.win32 = win32;
Object.assign(win32, { win32, posix: path });
export default path;
