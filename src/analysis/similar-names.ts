/** Names that look like another one: for a misspelt file, package or key. Bounded, whatever the lists hold. */

const LENGTH_MAX = 48;
const CANDIDATES_MAX = 200;
/** Names with more than this part of them different are not alike. */
const FARNESS_MAX = 0.45;

let row = new Uint8Array(LENGTH_MAX + 1);
let next = new Uint8Array(LENGTH_MAX + 1);

/** Edits between two short words; anything above `most` once it is clear that there are more. */
function distance(a: string, b: string, most: number): number {
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
    if (least > most) return least;
    [row, next] = [next, row];
  }
  return row[b.length]!;
}

const plain = (path: string) =>
  path
    .slice(path.lastIndexOf('/') + 1)
    .slice(0, LENGTH_MAX)
    .toLowerCase()
    .slice(0, LENGTH_MAX);

/** How far apart two names are: 0 for the same but for letter case and folder, up to 1 for nothing in common. */
function farness(a: string, candidate: string): number {
  const b = plain(candidate);
  if (a === b) return 0;
  const longest = Math.max(a.length, b.length);
  const most = Math.floor(longest * FARNESS_MAX);
  if (Math.abs(a.length - b.length) > most) return 1;
  return distance(a, b, most) / longest;
}

/** The candidates closest to a name, best first; none that have little in common with it. */
export function closest(wanted: string, candidates: Iterable<string>, count = 3): string[] {
  const found: { name: string; far: number }[] = [];
  const short = plain(wanted);
  let seen = 0;
  for (const name of candidates) {
    if (++seen > CANDIDATES_MAX) break;
    const far = farness(short, name);
    if (far <= FARNESS_MAX) found.push({ name, far });
  }
  return found
    .sort((a, b) => a.far - b.far)
    .slice(0, count)
    .map(({ name }) => name);
}
