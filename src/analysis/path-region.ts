/** Which part of the guest's file system a path is in. */
import type { AnalysisInput } from './input.ts';

/** Longest path that is resolved: PATH_MAX of Linux. */
const PATH_MAX = 4096;

/** An absolute path without "." and "..". */
export function absolutePath(path: string, cwd = '/app'): string {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).slice(0, PATH_MAX).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

const isBelow = (path: string, root: string) => path === root || path.startsWith(`${root}/`);
const WINDOWS_PATH = /^[A-Za-z]:[\\/]/;

/** `outside`: neither /app, nor /tmp, nor a mount. */
type PathRegion = 'app' | 'tmp' | 'mount' | 'outside';

export function pathRegion(path: string, { error, mounts }: AnalysisInput): PathRegion {
  if (WINDOWS_PATH.test(path)) return 'outside';
  const full = absolutePath(path, error?.cwd);
  if (isBelow(full, '/app')) return 'app';
  if (isBelow(full, '/tmp')) return 'tmp';
  return mounts.some((mount) => isBelow(full, mount)) ? 'mount' : 'outside';
}
