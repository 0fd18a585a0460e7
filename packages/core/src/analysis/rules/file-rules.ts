/** Rules for failed file operations. They rely on the error number and the path of the failed system call. */
import { formatBytes, formatItems } from '../../quantities.ts';
import { similarNames } from '../../schema/similar-names.ts';
import { maxPathBytes, type QuotaLimit } from '../../schema/workspace-quota.ts';
import type { GuestError } from '../../schema.ts';
import type { AnalysisInput } from '../input.ts';
import { absolutePath, pathRegion } from '../path-region.ts';
import { errorText, failedAt, failedStatement, oneLine } from '../quote-guest-text.ts';
import { type Advice, DOCS, type Rule, rule } from '../rule.ts';
import { suggestedBytes, suggestedFiles } from '../suggested-limits.ts';
import { failedSystemCall, type KnownErrno } from '../system-error-code.ts';

type Errors = readonly (KnownErrno | undefined)[];

const MISSING: Errors = ['ENOENT', 'ENOTDIR'];
const REFUSED: Errors = ['EROFS', 'EACCES', 'EPERM', 'EXDEV'];
const FULL: Errors = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const CONFLICTS: Partial<Record<KnownErrno, string>> = {
  EEXIST: 'it already exists',
  EISDIR: 'it is a folder, and the operation requires a file',
  ENOTDIR: 'part of the path is a file, and the operation requires a folder',
  ENOTEMPTY: 'the folder is not empty',
};
/** How a program uses less of each limit of the quota. Folders and links count as files. */
const LESS: Readonly<Record<QuotaLimit, string>> = {
  bytes: 'write less data',
  files: 'create fewer files, folders and links',
  path_bytes: 'use shorter names',
};
const LISTED_MAX = 10;

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

/** A statement that creates or writes a file: an existing file of that name is not what it needs. */
const WRITES = /['"](?:[wax]\+?[bt]?|r\+)['"]|\b(?:write|append|save|dump|mkdir|makedirs|copy|touch)/i;

const fileName = (path: string) => path.slice(path.replaceAll('\\', '/').lastIndexOf('/') + 1);

/** The line about a missing file that names the file in /app with the same name, ignoring letter case and folders. */
export function existingFileLine(path: string, input: AnalysisInput): string | undefined {
  const wanted = fileName(path);
  if (wanted === '' || WRITES.test(failedStatement(input))) return undefined;
  const files = input.files();
  const found =
    files.find((name) => fileName(name) === wanted) ??
    files.find((name) => fileName(name).toLowerCase() === wanted.toLowerCase());
  if (found === undefined || `/app/${found}` === absolutePath(path, input)) return undefined;
  return `'${oneLine(path)}' does not exist, but '/app/${oneLine(found, 200)}' exists: use that path`;
}

/** Guidance for a path outside /app: the text of docs/specification.md, unless the program means a file in /app. */
export function restrictedPathLines(path: string, input: AnalysisInput): (string | undefined)[] {
  const existing = REFUSED.includes(failedSystemCall(input)) ? undefined : existingFileLine(path, input);
  const usage =
    "Use absolute paths like '/app/data.txt' or relative paths 'data.txt' (auto-prefixed with /app)";
  if (existing !== undefined) return [existing, usage];
  return [
    `Security error: Cannot access '${oneLine(path)}' - programs can use only /app, /tmp and mounted folders`,
    usage,
    'Programs see a virtual file system; the files of the host are not part of it',
    input.files().length > 0 ? workspaceListing(input) : undefined,
  ];
}

/** The first files in /app, as a line of guidance. */
export function workspaceListing(input: AnalysisInput): string {
  const files = input.files();
  if (files.length === 0) return '/app is empty: write the file first, or pass it with the files option';
  const shown = files.slice(0, LISTED_MAX).map((name) => oneLine(name, 60));
  const more = files.length > LISTED_MAX ? ` and ${files.length - LISTED_MAX} more` : '';
  return `/app contains: ${shown.join(', ')}${more}`;
}

/** The folder of a path in /app, if it does not exist. */
function missingFolder(path: string, input: AnalysisInput): string | undefined {
  const relative = absolutePath(path, input).replace(/^\/app\/?/, '');
  const slash = relative.lastIndexOf('/');
  if (slash < 0 || relative.startsWith('/')) return undefined;
  const folder = relative.slice(0, slash);
  return input.files().some((name) => name === folder || name.startsWith(`${folder}/`)) ? undefined : folder;
}

/** Advice for a file that was used after it was closed, in the wrong mode or without permission. */
export const fileModeAdvice = (error: GuestError, input: AnalysisInput): Advice => ({
  guidance: [
    `The file does not allow this operation: ${errorText(error)}`,
    "Open the file in the mode that the operation requires ('r' to read, 'w' or 'a' to write, 'r+' for both) and close it after the last use",
    failedAt(input),
  ],
});

export const fileRules: readonly Rule[] = [
  rule({
    type: 'PathRestriction',
    evidence:
      'A file operation failed on a path outside /app, /tmp and the mounts, or a write failed in a read-only mount.',
    docs: [DOCS.security],
    match: restrictedPath,
    advise: ({ path, isMounted }, input) => {
      const shown = oneLine(path);
      return {
        message: `${oneLine(input.error!.type)}: ${shown}`,
        guidance: [
          ...restrictedPathLines(path, input),
          isMounted ? `'${shown}' is in a read-only mount: it can be read but not modified` : undefined,
          failedAt(input),
        ],
      };
    },
  }),
  rule({
    type: 'WorkspaceQuota',
    evidence:
      'A write failed because the workspace would have exceeded `workspace_max_bytes` or `workspace_max_files`.',
    docs: [DOCS.limits],
    match: (input) => (FULL.includes(failedSystemCall(input)) ? input.error : undefined),
    advise: (_, input) => {
      const { workspace_max_bytes: bytes, workspace_max_files: files } = input.capabilities.limits;
      const { exceededQuota = 'bytes' } = input;
      const [policy, limit, larger] =
        exceededQuota === 'bytes'
          ? (['workspace_max_bytes', bytes, suggestedBytes(bytes)] as const)
          : (['workspace_max_files', files, suggestedFiles(files)] as const);
      const or = (how: string | undefined) => how && `Or create a sandbox with a larger quota: ${how}`;
      return {
        guidance: [
          exceededQuota === 'path_bytes'
            ? `The workspace is full: the combined length of all file paths in /app and /tmp can be at most ${formatBytes(maxPathBytes(files))}`
            : `The workspace is full: /app and /tmp together hold at most ${formatBytes(bytes)} in ${formatItems(files, 'file')}`,
          failedAt(input, 'The write failed on'),
          `Delete files that are no longer needed, or ${LESS[exceededQuota]}`,
          larger > limit ? (reader) => or(reader.raise(policy, larger, input.language.name)) : undefined,
        ],
      };
    },
  }),
  rule({
    type: 'FileNotFoundInWorkspace',
    evidence: 'A path in /app, /tmp or a mount does not exist.',
    docs: [DOCS.files],
    match: (input) => {
      const isFile = !input.language.guidance.isMissingProgram?.(input);
      return isFile && failedSystemCall(input) === 'ENOENT' ? pathsOf(input)[0] : undefined;
    },
    advise: (path, input) => {
      const existing = existingFileLine(path, input);
      const usage = 'Relative paths start at /app; names are case-sensitive';
      if (existing !== undefined) return { guidance: [existing, usage, failedAt(input)] };
      const similar = similarNames(path, input.files()).map((name) => `'${oneLine(name, 80)}'`);
      const folder = missingFolder(path, input);
      return {
        guidance: [
          `'${oneLine(path)}' does not exist`,
          similar.length > 0 ? `Files with a similar name: ${similar.join(', ')}` : undefined,
          folder && WRITES.test(failedStatement(input)) ? undefined : workspaceListing(input),
          folder && `The folder '${oneLine(folder, 80)}' does not exist: create it before writing to it`,
          usage,
          failedAt(input),
        ],
        examples:
          folder === undefined
            ? undefined
            : [input.language.guidance.createFolder(oneLine(folder, 80), input.source)],
      };
    },
  }),
  rule({
    type: 'FileConflict',
    evidence:
      'A file operation failed because the path already exists, or because it is a folder instead of a file, or a file instead of a folder.',
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
          'Check first what exists at the path, or use another name',
          failedAt(input),
        ],
      };
    },
  }),
  rule({
    type: 'FileMode',
    evidence: 'An operation on a file in /app, /tmp or a mount was not permitted.',
    docs: [DOCS.files],
    match: (input) =>
      pathsOf(input).length > 0 && REFUSED.includes(failedSystemCall(input)) ? input.error : undefined,
    advise: fileModeAdvice,
  }),
];
