/** Files, folders and links as the service `filesystem.Filesystem` of E2B describes them. */
import type { Entry } from '../fs/flat-entries.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import { E2bError } from './e2b-error.ts';
import { homePath, nameOf } from './file-paths.ts';

/** The home folder, which is not an entry of the tree. */
const ROOT: Entry = { path: '', kind: 'dir', mode: 0o755, mtimeMs: 0 };

const TYPES = { file: 'FILE_TYPE_FILE', dir: 'FILE_TYPE_DIRECTORY', symlink: 'FILE_TYPE_SYMLINK' } as const;
const KIND_LETTERS = { file: '-', dir: 'd', symlink: 'l' } as const;

export const entryAt = (tree: FileTree, path: string) => (path === '' ? ROOT : tree.get(path));

/** Throws 404. */
export function existingEntry(tree: FileTree, path: string): Entry {
  const entry = entryAt(tree, path);
  if (entry !== undefined) return entry;
  throw new E2bError(404, `There is no file or folder ${homePath(path)}`);
}

/** Throws 404, or 400 if the entry is not a folder. */
export function checkFolder(tree: FileTree, path: string): void {
  if (existingEntry(tree, path).kind !== 'dir') throw new E2bError(400, `${homePath(path)} is not a folder`);
}

export function entryInfo({ path, kind, mode, mtimeMs, data, target }: Entry) {
  const letters = [...'rwxrwxrwx'].map((letter, i) => (mode & (1 << (8 - i)) ? letter : '-')).join('');
  return {
    name: nameOf(path),
    type: TYPES[kind],
    path: homePath(path),
    // 64-bit numbers are texts in the JSON of Protocol Buffers.
    size: String(data?.length ?? 0),
    mode: mode & 0o777,
    permissions: KIND_LETTERS[kind] + letters,
    owner: 'user',
    group: 'user',
    modifiedTime: new Date(mtimeMs).toISOString(),
    ...(target !== undefined && { symlinkTarget: target }),
  };
}

/** The entries below a folder, down to a depth. */
export function* entriesBelow(tree: FileTree, folder: string, depth: number): Generator<Entry> {
  const skipped = folder === '' ? 0 : folder.length + 1;
  for (const entry of folder === '' ? tree.values() : tree.below(folder)) {
    let levels = 1;
    for (
      let i = entry.path.indexOf('/', skipped);
      i >= 0 && levels <= depth;
      i = entry.path.indexOf('/', i + 1)
    )
      levels++;
    if (levels <= depth) yield entry;
  }
}
