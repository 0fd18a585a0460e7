/** The parent of a workspace path. */

/** Returns the parent of a relative path; empty for a top-level path. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}
