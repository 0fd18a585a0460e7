/** Files, folders and links as the service `filesystem.Filesystem` of E2B describes them. */
import type { Entry } from '@llm-wasm-sandbox/core/internal';
import { homePath, nameOf } from './file-paths.ts';

const TYPES = { file: 'FILE_TYPE_FILE', dir: 'FILE_TYPE_DIRECTORY', symlink: 'FILE_TYPE_SYMLINK' } as const;
const KIND_LETTERS = { file: '-', dir: 'd', symlink: 'l' } as const;

/** The size of a folder on common file systems, which `ls` shows in the sandbox, too. */
const FOLDER_SIZE = 4096;

/** An entry without its contents. */
export type EntryFacts = Omit<Entry, 'data'> & { readonly size: number };

export const entryFacts = ({ data, ...facts }: Entry): EntryFacts => ({ ...facts, size: data?.length ?? 0 });

/** The permissions of files, by mode. */
const PERMISSIONS = Array.from({ length: 0o1000 }, (_, mode) =>
  [...'rwxrwxrwx'].map((letter, i) => (mode & (1 << (8 - i)) ? letter : '-')).join(''),
);

/** `target`: what a link leads to. */
export function entryInfo(entry: EntryFacts, target = entry.target) {
  const { path, kind, mode, mtimeMs, size } = entry;
  return {
    name: nameOf(path),
    type: TYPES[kind],
    path: homePath(path),
    // 64-bit numbers are texts in the JSON of Protocol Buffers.
    size: String(kind === 'dir' ? FOLDER_SIZE : size),
    mode: mode & 0o777,
    permissions: KIND_LETTERS[kind] + PERMISSIONS[mode & 0o777],
    owner: 'user',
    group: 'user',
    modifiedTime: new Date(mtimeMs).toISOString(),
    ...(target !== undefined && { symlinkTarget: target }),
  };
}
