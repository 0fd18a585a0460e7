/** Limits the lists of changed files in a result. The changes themselves are applied completely. */
import type { TreeChanges } from '../fs/tree-changes.ts';

/** Total length of the listed paths, in characters. Ten thousand files with paths of 100 characters fit. */
const MAX_LISTED_CHARS = 1 << 20;

/** Returns the changes. If all paths together are too long, the lists end early. */
export function limitChangedFiles(changes: TreeChanges): { changes: TreeChanges; isTruncated: boolean } {
  let room = MAX_LISTED_CHARS;
  const limited = (paths: string[]) => {
    let count = 0;
    for (const path of paths) {
      room -= path.length;
      if (room < 0) break;
      count++;
    }
    return count === paths.length ? paths : paths.slice(0, count);
  };
  const [created, modified, deleted] = [changes.created, changes.modified, changes.deleted].map(limited);
  return {
    changes: { ...changes, created: created!, modified: modified!, deleted: deleted! },
    isTruncated: room < 0,
  };
}
