/** Paths of a workspace as they come from files and folders that anybody may have changed. */

import { checkName, isLongerThan, MAX_PATH_BYTES } from '../../fs/file-names.ts';
import { FsError } from '../../fs/fs-error.ts';

/** Empty for what lies at the top. */
export function parentOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

/** Whether a path of unknown origin stays inside and could be a guest's. */
export function isUsablePath(path: string): boolean {
  return !isLongerThan(path, MAX_PATH_BYTES) && path.split('/').every(isUsable);
}

function isUsable(name: string): boolean {
  try {
    checkName(name);
    return true;
  } catch (error) {
    if (error instanceof FsError) return false;
    throw error;
  }
}
