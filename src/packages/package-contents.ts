/** Files of packages, as they are read from archives and folders and as they are stored in read-only layers. */
import { sha256Hex } from '../framing/digest.ts';
import type { Entry } from '../fs/flat-entries.ts';

export interface PackageFile {
  /** Relative, with slashes. */
  readonly path: string;
  readonly data: Uint8Array;
}

/** Converts files to entries of a read-only layer and adds their parent directories, and `dirs` even if empty. */
export function toEntries(
  files: readonly PackageFile[],
  mtimeMs: number,
  dirs: readonly string[] = [],
): Entry[] {
  const all = new Set(dirs);
  for (const { path } of files) {
    for (let slash = path.indexOf('/'); slash >= 0; slash = path.indexOf('/', slash + 1))
      all.add(path.slice(0, slash));
  }
  return [
    ...[...all].map((path): Entry => ({ path, kind: 'dir', mode: 0o555, mtimeMs })),
    ...files.map(({ path, data }): Entry => ({ path, kind: 'file', mode: 0o444, mtimeMs, data })),
  ];
}

/** The files among the entries of a layer. */
export function toFiles(entries: readonly Entry[]): PackageFile[] {
  return entries.flatMap(({ path, data }) => (data === undefined ? [] : [{ path, data }]));
}

/** A digest of the paths and contents that does not depend on the order of the files. */
export function filesDigest(files: readonly PackageFile[]): string {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  return sha256Hex(...sorted.map(({ path, data }) => `${path}\0${sha256Hex(data)}\n`));
}
