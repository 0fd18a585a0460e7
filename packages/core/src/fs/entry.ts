/** The entries of a file tree as plain data, and edits of a tree. */

/** A file, folder or symbolic link in a file tree. */
export interface Entry {
  /** Path relative to the root of the tree, with `/` as separator and without a leading slash. */
  path: string;
  /** Kind of the entry. */
  kind: 'file' | 'dir' | 'symlink';
  /** Permission bits, from 0 to 0o7777. */
  mode: number;
  /** Time of the last change in milliseconds since 1970-01-01 UTC. */
  mtimeMs: number;
  /** Contents. Present only for files. */
  data?: Uint8Array;
  /** Target path. Present only for symbolic links. */
  target?: string;
}

/** Changes to a file tree. Removals are applied first. */
export interface TreeEdit {
  /** Paths to remove. The paths inside a removed folder are also listed. */
  readonly removed: readonly string[];
  /** Entries to add or replace. */
  readonly entries: readonly Entry[];
}
