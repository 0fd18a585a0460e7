/** File-system errors: their codes, and their translation into errors that say what to do. */
import { SandboxError } from '../../errors.ts';

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

export const isNotFound = (error: unknown) => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

const NO_PERMISSION = 'This process lacks permission: make the folder writable by it, or use another folder';
const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: free some space, for example by deleting sessions or checkpoints, and try again',
  EDQUOT: 'The disk quota is exhausted: free some space and try again',
  EFBIG:
    'The file would exceed the file size limit of this process: raise the limit or delete large files from the session',
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  EROFS: 'The disk is mounted read-only: use a folder on another disk',
  EMFILE: 'This process has too many open files: raise its limit or use fewer sessions at a time',
  ENFILE: 'The system has too many open files: try again later',
};

/** Returns a SandboxError unchanged and converts any other error; `operation` completes the text "Could not …". */
export function toStoreError(error: unknown, operation: string): SandboxError {
  if (error instanceof SandboxError) return error;
  const code = codeOf(error);
  if (code === undefined) {
    return new SandboxError('internal', `Could not ${operation}: ${String(error)}`, { cause: error });
  }
  const advice = ADVICE[code] ?? 'Check that the folder of the store is accessible, and try again';
  const reason = (error as Error).message;
  return new SandboxError('store_failed', `Could not ${operation}: ${reason}. ${advice}.`, { cause: error });
}
