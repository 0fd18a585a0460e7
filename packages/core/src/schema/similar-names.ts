/** Names similar to a misspelt file, package or key. Bounded for any input. */

const LENGTH_MAX = 48;
const CANDIDATES_MAX = 200;
/** Names are similar if at most this share of their characters differs. */
const DIFFERENCE_MAX = 0.45;

let row = new Uint8Array(LENGTH_MAX + 1);
let next = new Uint8Array(LENGTH_MAX + 1);

/**
 * The Levenshtein distance between two short strings. Stops early and returns a larger number once it exceeds `limit`.
 */
function editDistance(a: string, b: string, limit: number): number {
  for (let j = 0; j <= b.length; j++) row[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const letter = a.charCodeAt(i - 1);
    let least = i;
    next[0] = i;
    for (let j = 1; j <= b.length; j++) {
      const replace = row[j - 1]! + (letter === b.charCodeAt(j - 1) ? 0 : 1);
      const edits = Math.min(replace, row[j]! + 1, next[j - 1]! + 1);
      next[j] = edits;
      if (edits < least) least = edits;
    }
    if (least > limit) return least;
    [row, next] = [next, row];
  }
  return row[b.length]!;
}

/** The last component of a path in lower case. */
const normalise = (path: string) =>
  path
    .slice(path.lastIndexOf('/') + 1)
    .slice(0, LENGTH_MAX)
    .toLowerCase()
    // Lower case can be longer than the original.
    .slice(0, LENGTH_MAX);

/** The share of characters that differ, from 0 for equal names to 1. */
function difference(name: string, candidate: string): number {
  const other = normalise(candidate);
  if (name === other) return 0;
  const longest = Math.max(name.length, other.length);
  const limit = Math.floor(longest * DIFFERENCE_MAX);
  if (Math.abs(name.length - other.length) > limit) return 1;
  return editDistance(name, other, limit) / longest;
}

/** The candidates most similar to a name, best first. Ignores letter case and folders. */
export function similarNames(wanted: string, candidates: Iterable<string>, count = 3): string[] {
  const similar: { name: string; distance: number }[] = [];
  const normalised = normalise(wanted);
  let seen = 0;
  for (const name of candidates) {
    if (++seen > CANDIDATES_MAX) break;
    const distance = difference(normalised, name);
    if (distance <= DIFFERENCE_MAX) similar.push({ name, distance });
  }
  return similar
    .sort((a, b) => a.distance - b.distance)
    .slice(0, count)
    .map(({ name }) => name);
}

/** Shorter names have too many neighbours. */
const MISSPELT_MIN = 5;

/** The known name from which a name differs by one letter, or by two letters that are swapped; undefined if there is none. */
export const intendedName = (wanted: string, known: Iterable<string>): string | undefined =>
  wanted.length < MISSPELT_MIN - 1 || wanted.length > LENGTH_MAX
    ? undefined
    : [...known].find((one) => one.length >= MISSPELT_MIN && isOneEdit(wanted, one));

function isOneEdit(a: string, b: string): boolean {
  const shortest = Math.min(a.length, b.length);
  if (Math.max(a.length, b.length) - shortest > 1) return false;
  let start = 0;
  while (start < shortest && a[start] === b[start]) start++;
  let end = 0;
  while (end < shortest - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  if (left.length === 2) return left[0] === right[1] && left[1] === right[0];
  return left.length + right.length > 0 && left.length < 2 && right.length < 2;
}
