/** The rules for file names and paths: length limits in UTF-8 bytes, allowed characters, and the order of listings. */
import { ERRNO_ERRORS, FsError } from './fs-error.ts';

export const MAX_NAME_BYTES = 255;
export const MAX_PATH_BYTES = 4096;

const ASCII = /^\p{ASCII}*$/u;

/** Length in UTF-8 bytes. A lone surrogate counts as 3 bytes, the length of its replacement character. */
export function utf8Length(text: string): number {
  // Most texts are ASCII. The pattern is several times as fast as the loop, except for short ones.
  if (text.length > 100 && ASCII.test(text)) return text.length;
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair counts 2 bytes, so that the pair counts 4.
    const paired =
      (unit & 0xfc00) === 0xd800
        ? (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
        : (unit & 0xfc00) === 0xdc00 && i > 0 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800;
    bytes += unit < 0x800 || paired ? 1 : 2;
  }
  return bytes;
}

/** Whether `text` is longer than `maxBytes` in UTF-8. For short text the number of code units decides. */
export function isLongerThan(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && utf8Length(text) > maxBytes;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Whether UTF-8 and a C string can represent the text: no lone surrogates, no NUL. */
export function isEncodable(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text);
}

/** Matches most names, so that they need only one test. */
const COMMON_NAME = /^[\w+-][\w.+-]{0,84}$/;

/** Throws ENAMETOOLONG or EINVAL unless `name` is valid for a directory entry. */
export function checkName(name: string): void {
  if (COMMON_NAME.test(name)) return;
  if (isLongerThan(name, MAX_NAME_BYTES)) throw ERRNO_ERRORS.ENAMETOOLONG;
  if (name === '' || name === '.' || name === '..' || name.includes('/') || !isEncodable(name))
    throw ERRNO_ERRORS.EINVAL;
}

/** Throws ENAMETOOLONG if a canonical path is too long. */
export function checkPathLength(path: string): void {
  if (isLongerThan(path, MAX_PATH_BYTES)) throw ERRNO_ERRORS.ENAMETOOLONG;
}

/** Throws ENAMETOOLONG or EINVAL unless `target` is valid for a symbolic link. */
export function checkLinkTarget(target: string): void {
  if (isLongerThan(target, MAX_PATH_BYTES - 1)) throw ERRNO_ERRORS.ENAMETOOLONG;
  if (!isEncodable(target)) throw ERRNO_ERRORS.EINVAL;
}

/** Whether a path from an untrusted source stays inside its tree and could have been created by a guest. */
export function isWorkspacePath(path: string): boolean {
  return !isLongerThan(path, MAX_PATH_BYTES) && path.split('/').every(isValidName);
}

function isValidName(name: string): boolean {
  try {
    checkName(name);
    return true;
  } catch (error) {
    if (error instanceof FsError) return false;
    throw error;
  }
}

/** The order of all listings, by UTF-16 code unit: the same on every host, and a parent comes before its children. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
