/**
 * Paths of files as clients of E2B write them. The home folder /home/user is the workspace, whose own name is /app. No path
 * leads out of it.
 */

import { HttpError } from '../rest/http-error.ts';
import { pathInside } from '../session/workspace-edits.ts';

export const HOME = '/home/user';
const ROOTS = [HOME, '/app'];

/** The path relative to the workspace; empty for the workspace itself. `status` is that of the error for other paths. */
export function relativePath(given: string, status: 400 | 404): string {
  const path = given === '~' || given.startsWith('~/') ? `${HOME}${given.slice(1)}` : given;
  const inside = pathInside(path, ROOTS);
  if (inside !== undefined) return inside;
  throw new HttpError(
    status,
    `${JSON.stringify(given.slice(0, 200))} is not a path in ${HOME}, which has all files of a sandbox`,
  );
}

export const homePath = (path: string) => (path === '' ? HOME : `${HOME}/${path}`);

export const nameOf = (path: string) => (path === '' ? 'user' : path.slice(path.lastIndexOf('/') + 1));

/** There is one user. SDKs name it, or nobody. */
export function checkUser(name: string | null | undefined): void {
  if (name === null || name === undefined || name === '' || name === 'user') return;
  throw new HttpError(
    400,
    `There is no user ${JSON.stringify(name.slice(0, 100))}: a sandbox has one user, "user"`,
  );
}
