/** Which part of the guest's file system a path is in. */
import type { AnalysisInput } from './input.ts';

/** Longest path that is resolved: PATH_MAX of Linux. */
const PATH_MAX = 4096;

const isBelow = (path: string, root: string) => path === root || path.startsWith(`${root}/`);

type Place = Pick<AnalysisInput, 'error' | 'home'>;

/** An absolute path without "." and "..", and with /app for the workspace. */
export function absolutePath(path: string, { error, home = '/app' }: Place): string {
  const full = withoutDots(path, error?.cwd ?? home);
  return isBelow(full, home) ? `/app${full.slice(home.length)}` : full;
}

function withoutDots(path: string, cwd: string): string {
  const parts: string[] = [];
  for (const part of (path.startsWith('/') ? path : `${cwd}/${path}`).slice(0, PATH_MAX).split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

const WINDOWS_PATH = /^[A-Za-z]:[\\/]/;

/** `outside`: neither /app, nor /tmp, nor a mount. */
type PathRegion = 'app' | 'tmp' | 'mount' | 'outside';

export function pathRegion(path: string, input: AnalysisInput): PathRegion {
  if (WINDOWS_PATH.test(path)) return 'outside';
  const full = absolutePath(path, input);
  if (isBelow(full, '/app')) return 'app';
  if (isBelow(full, '/tmp')) return 'tmp';
  return input.capabilities.mounts.some((mount) => isBelow(full, mount)) ? 'mount' : 'outside';
}
