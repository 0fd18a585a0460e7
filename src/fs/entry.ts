/** The entries of a file tree as plain data, and edits of a tree. */

/** A file, folder or symbolic link of a tree. */
export interface Entry {
  /** Relative to the root of the tree, with `/` as separator and without a leading slash. */
  path: string;
  /** What the entry is. */
  kind: 'file' | 'dir' | 'symlink';
  /** Permission bits, 0 to 0o7777. */
  mode: number;
  /** Time of the last change, in milliseconds since 1970. */
  mtimeMs: number;
  /** Contents. Present for files only. */
  data?: Uint8Array;
  /** Target path. Present for symbolic links only. */
  target?: string;
}

/** Paths to remove from a tree and entries to add or replace, in this order. */
export interface TreeEdit {
  /** Paths to remove. The contents of a removed folder are listed as well. */
  readonly removed: readonly string[];
  /** Entries to add or replace. */
  readonly entries: readonly Entry[];
}
