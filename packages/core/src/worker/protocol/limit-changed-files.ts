/** Limits the lists of changed files in a result. The changes themselves are applied completely. */
import type { TreeChanges } from '../../fs/tree-changes.ts';

/** Total length of the listed paths, in characters. Ten thousand files with paths of 100 characters fit. */
export const MAX_LISTED_CHARS = 1 << 20;

/** Returns the changes, and the number of paths that the lists omit because the paths together are too long. */
export function limitChangedFiles(changes: TreeChanges): { changes: TreeChanges; omitted: number } {
  let room = MAX_LISTED_CHARS;
  let omitted = 0;
  const limited = (paths: string[]) => {
    let count = 0;
    for (const path of paths) {
      room -= path.length;
      if (room < 0) break;
      count++;
    }
    omitted += paths.length - count;
    return count === paths.length ? paths : paths.slice(0, count);
  };
  const [created, modified, deleted] = [changes.created, changes.modified, changes.deleted].map(limited);
  return {
    changes: { ...changes, created: created!, modified: modified!, deleted: deleted! },
    omitted,
  };
}
