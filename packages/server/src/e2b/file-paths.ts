/**
 * Paths of files as clients of E2B write them. The workspace is the home folder, /home/user, and also has the name /app. No path
 * leads out of it.
 */

import { type FileTree, followLinks, parentOf, pathInside } from '@llm-wasm-sandbox/core/internal';
import { HttpError, quoted } from '../server/http-error.ts';

export const HOME = '/home/user';
const ROOTS = [HOME, '/app'];

/** The path relative to the workspace; empty for the workspace itself. Undefined for other paths. */
const pathInHome = (given: string): string | undefined =>
  pathInside(given === '~' || given.startsWith('~/') ? `${HOME}${given.slice(1)}` : given, ROOTS);

/** The path relative to the workspace. `status` is that of the error for other paths. */
export function relativePath(given: string, status: 400 | 404): string {
  const inside = pathInHome(given);
  if (inside !== undefined) return inside;
  throw new HttpError(
    status,
    `${quoted(given, 200)} is not a path in ${HOME}, which has all files of a sandbox`,
  );
}

export const homePath = (path: string) => (path === '' ? HOME : `${HOME}/${path}`);

/** What a path leads to. A link out of the workspace is not followed. */
export const behindLinks = (tree: FileTree, path: string) => followLinks(tree, path, HOME);

/** The entry that a path names, which can be a link in a folder behind links. */
export function namedEntry(tree: FileTree, path: string): string {
  const folder = behindLinks(tree, parentOf(path));
  const name = path.slice(path.lastIndexOf('/') + 1);
  return folder === '' ? name : `${folder}/${name}`;
}

export const nameOf = (path: string) => (path === '' ? 'user' : path.slice(path.lastIndexOf('/') + 1));

/** There is one user. SDKs name it, or nobody. */
export function checkUser(name: string | null | undefined): void {
  if (name === null || name === undefined || name === '' || name === 'user') return;
  throw new HttpError(400, `There is no user ${quoted(name)}: a sandbox has one user, "user"`);
}
