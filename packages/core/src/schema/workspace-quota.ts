/** The limits of the workspace quota. The limit on the total length of the paths follows from the number of files. */

/** Bytes of the contents, number of names, and total length of the paths. */
export const QUOTA_LIMITS = ['bytes', 'files', 'path_bytes'] as const;
export type QuotaLimit = (typeof QUOTA_LIMITS)[number];

/** Average length of a path in a tree that has as many files as allowed. */
const PATH_BYTES_PER_FILE = 512;
const MIN_PATH_BYTES = 64 * 1024;

/**
 * The total length of all paths that a workspace may have, in bytes. The host handles trees as lists of paths, so the time
 * and memory for a call depend on it.
 */
export function maxPathBytes(maxFiles: number): number {
  return Math.max(MIN_PATH_BYTES, PATH_BYTES_PER_FILE * maxFiles);
}
