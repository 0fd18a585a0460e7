/** Matching of paths against patterns, for `path.matchesGlob`, with the options that Node.js uses. */
import { minimatch } from 'minimatch';

export const matches = (path, pattern) =>
  minimatch(path, pattern, {
    nocase: false,
    windowsPathsNoEscape: true,
    nonegate: true,
    nocomment: true,
    optimizationLevel: 2,
    platform: 'linux',
    nocaseMagicOnly: true,
  });
