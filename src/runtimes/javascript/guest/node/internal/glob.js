/** Matching of paths against patterns, for `path.matchesGlob`, with the options that Node.js uses. */
import { minimatch } from 'minimatch';

export const matches = (path, pattern, isWindows) =>
  minimatch(path, pattern, {
    nocase: false,
    windowsPathsNoEscape: true,
    nonegate: true,
    nocomment: true,
    optimizationLevel: 2,
    platform: isWindows ? 'win32' : 'linux',
    nocaseMagicOnly: true,
  });
