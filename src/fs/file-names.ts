/**
 * Which names and paths the file system accepts: length in UTF-8 and characters.
 */
import { ERRNO_ERRORS } from './fs-error.ts';

export const MAX_NAME_BYTES = 255;
export const MAX_PATH_BYTES = 4096;

/** Length in UTF-8; a lone surrogate counts as the three bytes it would be replaced by. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair adds one byte to its unit, which gives the pair its four.
    const paired =
      (unit & 0xfc00) === 0xd800
        ? (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
        : (unit & 0xfc00) === 0xdc00 && i > 0 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800;
    bytes += unit < 0x800 || paired ? 1 : 2;
  }
  return bytes;
}

/** Whether `text` takes more than `max` bytes in UTF-8; counts only when the number of units leaves a doubt. */
export function isLongerThan(text: string, max: number): boolean {
  return text.length * 3 > max && utf8Length(text) > max;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Text that UTF-8 and a C string can carry unchanged. */
export function isEncodable(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text);
}

/** Most names: one look decides. */
const USUAL_NAME = /^[\w+-][\w.+-]{0,84}$/;

/** Throws unless `name` may become a directory entry. */
export function checkName(name: string): void {
  if (USUAL_NAME.test(name)) return;
  if (isLongerThan(name, MAX_NAME_BYTES)) throw ERRNO_ERRORS.ENAMETOOLONG;
  if (name === '' || name === '.' || name === '..' || name.includes('/') || !isEncodable(name))
    throw ERRNO_ERRORS.EINVAL;
}
