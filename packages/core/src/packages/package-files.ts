/** The files of packages, as they are read from archives and folders and as they are stored in read-only layers. */
import { setImmediate as yieldToEvents } from 'node:timers/promises';
import { sha256, sha256Hex } from '../framing/digest.ts';
import { decodeJsonHeader, encodeJsonHeader } from '../framing/json-header.ts';
import { byCodeUnit } from '../fs/file-names.ts';
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

/** Files sorted by path, so that what is made from them does not depend on where they come from. */
export const sortedFiles = (files: readonly PackageFile[]): PackageFile[] =>
  [...files].sort((a, b) => byCodeUnit(a.path, b.path));

/** Files as bytes for a cache: a header with their paths and sizes, and their contents. */
export const packFiles = (files: readonly PackageFile[]): Uint8Array =>
  Buffer.concat([
    encodeJsonHeader(files.map(({ path, data }) => [path, data.length])),
    ...files.map(({ data }) => data),
  ]);

/** The files in bytes that `packFiles` returned. Their contents are views of the bytes. */
export function unpackFiles(bytes: Uint8Array): PackageFile[] {
  const { header, data } = decodeJsonHeader(bytes);
  let end = 0;
  return (header as [path: string, size: number][]).map(([path, size]) => {
    end += size;
    return { path, data: data.subarray(end - size, end) };
  });
}

const digests = new WeakMap<Uint8Array, Buffer>();
/** Hashing this much takes some milliseconds. */
const PART_BYTES = 4 * 1024 * 1024;

/** The SHA-256 of the contents of a file, which do not change. It is computed once. */
export function packageFileDigest({ data }: Pick<PackageFile, 'data'>): Buffer {
  let digest = digests.get(data);
  if (digest === undefined) {
    digest = sha256(data);
    digests.set(data, digest);
  }
  return digest;
}

/** Records a digest that another thread computed. */
export function rememberDigest(data: Uint8Array, sha256: string): void {
  digests.set(data, Buffer.from(sha256, 'hex'));
}

/** Computes the digests of files in advance, so that other work of the thread runs in between. */
export async function computeDigests(files: readonly PackageFile[]): Promise<void> {
  let bytes = 0;
  for (const file of files) {
    packageFileDigest(file);
    bytes += file.data.length;
    if (bytes < PART_BYTES) continue;
    bytes = 0;
    await yieldToEvents();
  }
}

/** A digest of the paths and contents that does not depend on the order of the files. */
export function filesDigest(files: readonly PackageFile[]): string {
  const sorted = [...files].sort((a, b) => (a.path < b.path ? -1 : 1));
  return sha256Hex(
    sorted.map((file) => `${file.path}\0${packageFileDigest(file).toString('hex')}\n`).join(''),
  );
}
