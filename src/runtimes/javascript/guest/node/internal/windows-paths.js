/** `path.win32`: paths of Windows, with drives (`C:\a`) and shares (`\\server\share\a`). */
import { validateObject, validateString } from './errors.js';

const DRIVE = /^[a-zA-Z]:/;
const SHARE = /^[\\/]{2}([^\\/]+)[\\/]+([^\\/]+)/;
const isSlash = (char) => char === '\\' || char === '/';

/** The drive or share at the start of a path, the length of the root with its slash, and whether the path is absolute. */
function rootOf(path) {
  const share = SHARE.exec(path);
  if (share !== null) {
    const { length } = share[0];
    const device = `\\\\${share[1]}\\${share[2]}`;
    return { device, length: length + (isSlash(path[length]) ? 1 : 0), isAbsolute: true, isShare: true };
  }
  const device = DRIVE.exec(path)?.[0] ?? '';
  const isAbsolute = isSlash(path[device.length]);
  return { device, length: device.length + (isAbsolute ? 1 : 0), isAbsolute, isShare: false };
}

/** As `rootOf`; `\\\\.\\` and `\\\\?\\` are devices. */
function deviceOf(path) {
  const name = SHARE.exec(path)?.[1];
  if (name !== '.' && name !== '?') return rootOf(path);
  return { device: `\\\\${name}`, length: 4, isAbsolute: true, isShare: false };
}

function normalizeParts(path, isAbsolute) {
  const parts = [];
  for (const part of path.split(/[\\/]/)) {
    if (part === '' || part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.length > 0 && parts.at(-1) !== '..') parts.pop();
    else if (!isAbsolute) parts.push('..');
  }
  return parts.join('\\');
}

function normalize(path) {
  validateString(path, 'path');
  if (path === '') return '.';
  if (path.length === 1) return path === '/' ? '\\' : path;
  const { device, length, isAbsolute, isShare } = deviceOf(path);
  if (isShare && length >= path.length) return `${device}\\`;
  let tail = normalizeParts(path.slice(length), isAbsolute);
  if (tail === '' && !isAbsolute) tail = '.';
  if (tail !== '' && isSlash(path.at(-1))) tail += '\\';
  // A file name with a colon must not become a drive or a device.
  const isAmbiguous = device === '' && !isAbsolute && (DRIVE.test(tail) || /:(?:[\\/]|$)/.test(path));
  return (isAmbiguous ? '.\\' : '') + device + (isAbsolute ? '\\' : '') + tail;
}

function isAbsolute(path) {
  validateString(path, 'path');
  return rootOf(path).isAbsolute;
}

function join(...paths) {
  for (const path of paths) validateString(path, 'path');
  const given = paths.filter((path) => path !== '');
  if (given.length === 0) return '.';
  let joined = given.join('\\');
  // Only the first part can make the result a share: others start with slashes by chance.
  if (!/^[\\/]{2}[^\\/]/.test(given[0])) joined = joined.replace(/^[\\/]{2,}/, '\\');
  return normalize(joined);
}

function resolve(...paths) {
  let [device, tail, isRooted] = ['', '', false];
  for (let i = paths.length - 1; i >= -1 && !(isRooted && device !== ''); i--) {
    let path = paths[i];
    if (i >= 0) validateString(path, `paths[${i}]`);
    else path = globalThis.process.cwd();
    if (path === '') continue;
    const root = deviceOf(path);
    if (root.device !== '') {
      if (device === '') ({ device } = root);
      else if (device.toLowerCase() !== root.device.toLowerCase()) continue;
    }
    if (isRooted) continue;
    tail = `${path.slice(root.length)}\\${tail}`;
    isRooted = root.isAbsolute;
  }
  return device + (isRooted ? '\\' : '') + normalizeParts(tail, isRooted) || '.';
}

function relative(from, to) {
  validateString(from, 'from');
  validateString(to, 'to');
  const [start, end] = [resolve(from), resolve(to)];
  if (start.toLowerCase() === end.toLowerCase()) return '';
  const split = (path) => path.replace(/^\\+|\\+$/g, '').split('\\');
  const [a, b] = [split(start), split(end)];
  let common = 0;
  while (common < a.length && common < b.length && a[common].toLowerCase() === b[common].toLowerCase())
    common++;
  if (common === 0) return end;
  return [...a.slice(common).map(() => '..'), ...b.slice(common)].join('\\');
}

function dirname(path) {
  validateString(path, 'path');
  const { length, isShare } = rootOf(path);
  if (isShare && length >= path.length) return path;
  let end = path.length;
  while (end > length && isSlash(path[end - 1])) end--;
  while (end > length && !isSlash(path[end - 1])) end--;
  if (end <= length) return length > 0 ? path.slice(0, length) : '.';
  return path.slice(0, end - 1);
}

function basename(path, suffix = undefined) {
  if (suffix !== undefined) validateString(suffix, 'suffix');
  validateString(path, 'path');
  const trimmed = path.slice(DRIVE.test(path) ? 2 : 0).replace(/[\\/]+$/, '');
  const name = trimmed.slice(Math.max(trimmed.lastIndexOf('\\'), trimmed.lastIndexOf('/')) + 1);
  if (!suffix || !name.endsWith(suffix)) return name;
  return name === suffix ? (path === suffix ? '' : name) : name.slice(0, -suffix.length);
}

function extensionOf(name) {
  const dot = name.lastIndexOf('.');
  return dot <= 0 || name === '..' ? '' : name.slice(dot);
}
const extname = (path) => extensionOf(basename(path));

function parse(path) {
  validateString(path, 'path');
  const { length } = rootOf(path);
  const root = path.slice(0, length);
  const rest = path.slice(length);
  const trimmed = rest.replace(/[\\/]+$/, '');
  const base = trimmed.slice(Math.max(trimmed.lastIndexOf('\\'), trimmed.lastIndexOf('/')) + 1);
  const ext = extensionOf(base);
  const folder = trimmed.slice(0, trimmed.length - base.length);
  return {
    root,
    dir: folder === '' ? root : root + folder.slice(0, -1),
    base,
    ext,
    name: ext === '' ? base : base.slice(0, -ext.length),
  };
}

function format(pathObject) {
  validateObject(pathObject, 'pathObject');
  const { root, dir: folder, base, name, ext } = pathObject;
  const dir = folder || root;
  const extension = ext ? `${ext[0] === '.' ? '' : '.'}${ext}` : '';
  const file = base || `${name || ''}${extension}`;
  if (!dir) return file;
  return dir === root ? `${dir}${file}` : `${dir}\\${file}`;
}

function toNamespacedPath(path) {
  if (typeof path !== 'string' || path.length === 0) return path;
  const resolved = resolve(path);
  if (resolved.length <= 2) return path;
  if (/^\\\\[^?.]/.test(resolved)) return `\\\\?\\UNC\\${resolved.slice(2)}`;
  return /^[a-zA-Z]:\\/.test(resolved) ? `\\\\?\\${resolved}` : resolved;
}

export const win32 = {
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
  sep: '\\',
  delimiter: ';',
};
