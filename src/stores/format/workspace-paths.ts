/** Workspace paths from untrusted sources: stored files and folders that other programs can write to. */
import { checkName, isLongerThan, MAX_PATH_BYTES } from '../../fs/file-names.ts';
import { FsError } from '../../fs/fs-error.ts';

/** Returns the parent of a relative path; empty for a top-level path. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Whether a path stays inside the workspace and could have been created by a guest. */
export function isWorkspacePath(path: string): boolean {
  return !isLongerThan(path, MAX_PATH_BYTES) && path.split('/').every(isValidName);
}

function isValidName(name: string): boolean {
  try {
    checkName(name);
    return true;
  } catch (error) {
    if (error instanceof FsError) return false;
    throw error;
  }
}
