/** Rules for failed file operations. They rely on the error number and the path of the failed system call. */
import { formatBytes, formatCount, formatLiteral } from '../../quantities.ts';
import type { GuestError } from '../../schema.ts';
import { errorText, failedAt, oneLine } from '../excerpt.ts';
import { type ErrnoName, failedSystemCall } from '../failed-system-call.ts';
import type { AnalysisInput } from '../input.ts';
import { absolutePath, pathRegion } from '../path-region.ts';
import { type Advice, DOCS, type Rule, rule } from '../rule.ts';
import { similarNames } from '../similar-names.ts';
import { suggestedBytes } from '../suggested-limits.ts';

type Errors = readonly (ErrnoName | undefined)[];

const MISSING: Errors = ['ENOENT', 'ENOTDIR'];
const REFUSED: Errors = ['EROFS', 'EACCES', 'EPERM', 'EXDEV'];
const FULL: Errors = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const CONFLICTS: Partial<Record<ErrnoName, string>> = {
  EEXIST: 'it exists already',
  EISDIR: 'it is a folder, and the operation is one for files',
  ENOTDIR: 'a part of it is a file, and the operation needs a folder',
  ENOTEMPTY: 'the folder is not empty',
};
const LISTED_MAX = 10;

const OPERATION = 'The operation was on';

const pathsOf = ({ error }: AnalysisInput) =>
  [error?.path, error?.path2].filter((path) => typeof path === 'string');

/** The path of a failed operation that the guest has no access to. */
function restrictedPath(input: AnalysisInput): { path: string; isMounted: boolean } | undefined {
  const code = failedSystemCall(input);
  for (const path of pathsOf(input)) {
    const region = pathRegion(path, input);
    if (region === 'outside' && (MISSING.includes(code) || REFUSED.includes(code)))
      return { path, isMounted: false };
    if (region === 'mount' && REFUSED.includes(code)) return { path, isMounted: true };
  }
  return undefined;
}

/** The lines of the specification about a path outside /app. */
export const pathRestrictionLines = (path: string) => [
  `Security error: Cannot access '${path}' - all file operations restricted to /app directory`,
  "Use absolute paths like '/app/data.txt' or relative paths 'data.txt' (auto-prefixed with /app)",
  'WASI capability isolation prevents access outside preopened directories',
];

/** The files in /app, the first of them. */
export function workspaceListing(input: AnalysisInput): string {
  const files = input.files();
  if (files.length === 0) return '/app is empty: write the file first, or pass it with the call';
  const shown = files.slice(0, LISTED_MAX).map((name) => oneLine(name, 60));
  const more = files.length > LISTED_MAX ? ` and ${files.length - LISTED_MAX} more` : '';
  return `/app has: ${shown.join(', ')}${more}`;
}

/** The folder of a path in /app, if it does not exist. */
function missingFolder(path: string, input: AnalysisInput): string | undefined {
  const relative = absolutePath(path, input.error?.cwd).replace(/^\/app\/?/, '');
  const slash = relative.lastIndexOf('/');
  if (slash < 0 || relative.startsWith('/')) return undefined;
  const folder = relative.slice(0, slash);
  return input.files().some((name) => name === folder || name.startsWith(`${folder}/`)) ? undefined : folder;
}

/** Advice for a file that was used after it was closed, in the wrong mode or without permission. */
export const fileModeAdvice = (error: GuestError, input: AnalysisInput): Advice => ({
  guidance: [
    `The file cannot be used like this: ${errorText(error)}`,
    "Open it in the mode the operation needs ('r' to read, 'w' or 'a' to write, 'r+' for both) and use it before it is closed",
    failedAt(input, OPERATION),
  ],
});

export const fileRules: readonly Rule[] = [
  rule({
    type: 'PathRestriction',
    evidence:
      'A file operation failed, and the path it was about lies outside /app, /tmp and the mounts (or in a read-only mount).',
    docs: [DOCS.security],
    match: restrictedPath,
    advise: ({ path, isMounted }, input) => {
      const shown = oneLine(path);
      return {
        message: `${oneLine(input.error!.type)}: ${shown}`,
        guidance: [
          ...pathRestrictionLines(shown),
          isMounted ? `'${shown}' lies in a read-only mount: it can be read, but not changed` : undefined,
          failedAt(input, OPERATION),
        ],
      };
    },
  }),
  rule({
    type: 'WorkspaceQuota',
    evidence:
      'A write was refused because the workspace would have held more than `workspace_max_bytes` or `workspace_max_files`.',
    docs: [DOCS.limits],
    match: (input) => (FULL.includes(failedSystemCall(input)) ? input.error : undefined),
    advise: (_, input) => {
      const { workspace_max_bytes: bytes, workspace_max_files: files } = input.limits;
      return {
        guidance: [
          `The workspace is full: /app and /tmp together may hold ${formatBytes(bytes)} in ${formatCount(files)} files`,
          failedAt(input, 'The write that did not fit was on'),
          'Delete files that are no longer needed, or write less',
          `Or make a sandbox with a larger quota: policy workspace_max_bytes=${formatLiteral(suggestedBytes(bytes))}`,
        ],
      };
    },
  }),
  rule({
    type: 'FileNotFoundInWorkspace',
    evidence: 'A file operation failed because a path in /app, /tmp or a mount does not exist.',
    docs: [DOCS.files],
    match: (input) => (failedSystemCall(input) === 'ENOENT' ? pathsOf(input)[0] : undefined),
    advise: (path, input) => {
      const similar = similarNames(path, input.files()).map((name) => `'${oneLine(name, 80)}'`);
      const folder = missingFolder(path, input);
      return {
        guidance: [
          `There is no '${oneLine(path)}' in the sandbox`,
          similar.length > 0 ? `Closest names that exist: ${similar.join(', ')}` : undefined,
          workspaceListing(input),
          folder && `The folder '${oneLine(folder, 80)}' does not exist: make it before writing into it`,
          'Relative paths start at /app; letter case counts',
          failedAt(input, OPERATION),
        ],
        examples:
          folder === undefined ? undefined : [input.language.guidance.createFolder(oneLine(folder, 80))],
      };
    },
  }),
  rule({
    type: 'FileConflict',
    evidence:
      'A file operation failed because of what is at the path: something exists already, is a folder, or is not one.',
    docs: [DOCS.files],
    match: (input) => {
      const code = failedSystemCall(input);
      return code === undefined ? undefined : CONFLICTS[code];
    },
    advise: (why, input) => {
      const path = pathsOf(input)[0];
      return {
        guidance: [
          `The operation on ${path === undefined ? 'the file' : `'${oneLine(path)}'`} failed: ${why}`,
          'Check what is there first, or use another name',
          failedAt(input, OPERATION),
        ],
      };
    },
  }),
  rule({
    type: 'FileMode',
    evidence: 'An operation on a file in /app, /tmp or a mount was refused for lack of permission.',
    docs: [DOCS.files],
    match: (input) =>
      pathsOf(input).length > 0 && REFUSED.includes(failedSystemCall(input)) ? input.error : undefined,
    advise: fileModeAdvice,
  }),
];
