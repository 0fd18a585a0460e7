/** Short texts of values from guest memory. The size of a value is at the end of its text and is never cut off. */
import { nounFor } from '../../quantities.ts';

/** Characters of a text that shows a container or a string. Below the limit of `stopped_at`, which would cut off the end. */
const MAX_CHARS = 160;
const MAX_ITEMS = 6;

/** Items of a container that are described. */
export const DESCRIBED_ITEMS = MAX_ITEMS;
/** Characters of a string that are read: for a variable, and for an item in a container. */
export const stringChars = (depth: number) => (depth === 0 ? 120 : 30);

export const countItems = (items: number, noun = 'item') => `${items} ${nounFor(items, noun)}`;

/** As many of the first items of a container as fit, and its size if some are left out. */
export function describeItems(
  [open, close]: readonly [string, string],
  items: Iterable<string>,
  size: number,
): string {
  const shown: string[] = [];
  let room = MAX_CHARS - open.length;
  for (const item of items) {
    room -= item.length + 2;
    if (room < 0) break;
    if (shown.push(item) === MAX_ITEMS) break;
  }
  if (size > shown.length) shown.push(`… ${countItems(size)}`);
  return `${open}${shown.join(', ')}${close}`;
}

/** A quoted string, of which `read` characters were read. For a variable, its length is shown if some are left out. */
export function describeString(quoted: string, read: number, length: number, depth: number): string {
  if (length <= read && quoted.length <= MAX_CHARS) return quoted;
  return `${quoted.slice(0, MAX_CHARS)}…${depth === 0 ? ` (${length} characters)` : ''}`;
}
