/** Rules for failed file operations. They go by errno and the path the operation was about, as the runtime saw them. */
import { formatBytes, formatCount, formatLiteral } from '../../quantities.ts';
import { absolute, builtin, errnoOf, fromModule, messageOf, placeOfPath } from '../exception.ts';
import type { RunFacts } from '../input.ts';
import type { ErrnoName } from '../known.ts';
import { cut, placeOf } from '../quote.ts';
import { DOCS, docOf, type Rule, rule } from '../rule.ts';
import { closest } from '../similar-names.ts';

const MISSING: readonly (ErrnoName | undefined)[] = ['ENOENT', 'ENOTDIR'];
const REFUSED: readonly (ErrnoName | undefined)[] = ['EROFS', 'EACCES', 'EPERM', 'EXDEV'];
const FULL: readonly (ErrnoName | undefined)[] = ['ENOSPC', 'EDQUOT', 'EFBIG'];
const CONFLICTS: Partial<Record<ErrnoName, string>> = {
  EEXIST: 'it exists already',
  EISDIR: 'it is a folder, and the operation is one for files',
  ENOTDIR: 'a part of it is a file, and the operation needs a folder',
  ENOTEMPTY: 'the folder is not empty',
};
const LISTED_MAX = 10;

const pathsOf = ({ error }: RunFacts) =>
  [error?.path, error?.path2].filter((path) => typeof path === 'string');

/** The path of a failed operation that lies outside of what the guest may touch that way. */
function restricted(facts: RunFacts): { path: string; mounted: boolean } | undefined {
  const code = errnoOf(facts);
  for (const path of pathsOf(facts)) {
    const place = placeOfPath(path, facts);
    if (place === 'outside' && (MISSING.includes(code) || REFUSED.includes(code)))
      return { path, mounted: false };
    if (place === 'mount' && REFUSED.includes(code)) return { path, mounted: true };
  }
  return undefined;
}

function listing(facts: RunFacts): string {
  const files = facts.files();
  if (files.length === 0) return '/app is empty: write the file first, or pass it with the call';
  const shown = files.slice(0, LISTED_MAX).map((name) => cut(name, 60));
  const more = files.length > LISTED_MAX ? ` and ${files.length - LISTED_MAX} more` : '';
  return `/app has: ${shown.join(', ')}${more}`;
}

/** The folder of a path in /app that does not exist, if that is what is missing. */
function missingFolder(path: string, facts: RunFacts): string | undefined {
  const full = absolute(path, facts.error?.cwd).replace(/^\/app\/?/, '');
  const slash = full.lastIndexOf('/');
  if (slash < 0 || full.startsWith('/')) return undefined;
  const folder = full.slice(0, slash);
  return facts.files().some((name) => name === folder || name.startsWith(`${folder}/`)) ? undefined : folder;
}

const makeFolder = (facts: RunFacts, folder: string) =>
  facts.runtime === 'python'
    ? `import os; os.makedirs('${cut(folder, 80)}', exist_ok=True)`
    : `os.mkdir('${cut(folder, 80)}')`;

export const fileRules: readonly Rule[] = [
  rule({
    type: 'PathRestriction',
    seen: 'A file operation failed, and the path it was about lies outside /app, /tmp and the mounts (or in a read-only mount).',
    docs: [DOCS.security],
    example: {
      source: "open('/etc/passwd')",
      error: {
        type: 'FileNotFoundError',
        module: 'builtins',
        kind: 'FileNotFoundError',
        message: "[Errno 44] No such file or directory: '/etc/passwd'",
        line: 1,
        errno: 44,
        path: '/etc/passwd',
      },
    },
    match: restricted,
    advise: ({ path, mounted }, facts) => {
      const shown = cut(path);
      const place = placeOf(facts);
      return {
        message: `${cut(facts.error!.type)}: ${shown}`,
        guidance: [
          `Security error: Cannot access '${shown}' - all file operations restricted to /app directory`,
          "Use absolute paths like '/app/data.txt' or relative paths 'data.txt' (auto-prefixed with /app)",
          'WASI capability isolation prevents access outside preopened directories',
          mounted ? `'${shown}' lies in a read-only mount: it can be read, but not changed` : undefined,
          place && `The operation was on ${place}`,
        ],
      };
    },
  }),
  rule({
    type: 'WorkspaceQuota',
    seen: 'A write was refused because the workspace would have held more than `workspace_max_bytes` or `workspace_max_files`.',
    docs: [DOCS.limits],
    example: {
      source: "open('big.bin', 'wb').write(bytes(70_000_000))",
      error: {
        type: 'OSError',
        module: 'builtins',
        kind: 'OSError',
        message: '[Errno 51] No space left on device',
        line: 1,
        errno: 51,
      },
    },
    match: (facts) => (FULL.includes(errnoOf(facts)) ? facts.error : undefined),
    advise: (_, facts) => {
      const place = placeOf(facts);
      const { workspace_max_bytes: bytes, workspace_max_files: files } = facts.limits;
      return {
        guidance: [
          `The workspace is full: /app and /tmp together may hold ${formatBytes(bytes)} in ${formatCount(files)} files`,
          place && `The write that did not fit was on ${place}`,
          'Delete files that are no longer needed, or write less',
          `Or make a sandbox with a larger quota: policy workspace_max_bytes=${formatLiteral(Math.min(bytes * 2, 2 ** 32))}`,
        ],
      };
    },
  }),
  rule({
    type: 'FileNotFoundInWorkspace',
    seen: 'A file operation failed because a path in /app, /tmp or a mount does not exist.',
    docs: [DOCS.pythonFiles, DOCS.javascriptFiles],
    example: {
      source: "open('date.csv')",
      files: () => ['data.csv', 'notes.txt'],
      error: {
        type: 'FileNotFoundError',
        module: 'builtins',
        kind: 'FileNotFoundError',
        message: "[Errno 44] No such file or directory: 'date.csv'",
        line: 1,
        errno: 44,
        path: 'date.csv',
      },
    },
    match: (facts) => (errnoOf(facts) === 'ENOENT' ? pathsOf(facts)[0] : undefined),
    advise: (path, facts) => {
      const near = closest(path, facts.files()).map((name) => `'${cut(name, 80)}'`);
      const folder = missingFolder(path, facts);
      const place = placeOf(facts);
      return {
        guidance: [
          `There is no '${cut(path)}' in the sandbox`,
          near.length > 0 ? `Closest names that exist: ${near.join(', ')}` : undefined,
          listing(facts),
          folder && `The folder '${cut(folder, 80)}' does not exist: make it before writing into it`,
          'Relative paths start at /app; letter case counts',
          place && `The operation was on ${place}`,
        ],
        examples: folder === undefined ? undefined : [makeFolder(facts, folder)],
        docs: [docOf(facts, 'Files')],
      };
    },
  }),
  rule({
    type: 'FileConflict',
    seen: 'A file operation failed because of what is at the path: something exists already, is a folder, or is not one.',
    docs: [DOCS.pythonFiles, DOCS.javascriptFiles],
    example: {
      source: "open('/app')",
      error: {
        type: 'IsADirectoryError',
        module: 'builtins',
        kind: 'IsADirectoryError',
        message: "[Errno 31] Is a directory: '/app'",
        line: 1,
        errno: 31,
        path: '/app',
      },
    },
    match: (facts) => {
      const code = errnoOf(facts);
      return code === undefined ? undefined : CONFLICTS[code];
    },
    advise: (why, facts) => {
      const path = pathsOf(facts)[0];
      const place = placeOf(facts);
      return {
        guidance: [
          `The operation on ${path === undefined ? 'the file' : `'${cut(path)}'`} failed: ${why}`,
          'Check what is there first, or use another name',
          place && `The operation was on ${place}`,
        ],
        docs: [docOf(facts, 'Files')],
      };
    },
  }),
  rule({
    type: 'FileMode',
    seen: 'A file was used in a way it was not opened for, after it was closed, or without permission.',
    docs: [DOCS.pythonFiles, DOCS.javascriptFiles],
    example: {
      source: "f = open('a.txt', 'w')\nf.read()",
      error: {
        type: 'UnsupportedOperation',
        module: 'io',
        kind: 'OSError',
        message: 'not readable',
        line: 2,
      },
    },
    match: (facts) =>
      fromModule(facts, 'io') ??
      (builtin(facts, 'ValueError')?.message.startsWith('I/O operation on closed file') ||
      (pathsOf(facts).length > 0 && REFUSED.includes(errnoOf(facts)))
        ? facts.error
        : undefined),
    advise: (error, facts) => {
      const place = placeOf(facts);
      return {
        guidance: [
          `The file cannot be used like this: ${messageOf(error)}`,
          "Open it in the mode the operation needs ('r' to read, 'w' or 'a' to write, 'r+' for both) and use it before it is closed",
          place && `The operation was on ${place}`,
        ],
        docs: [docOf(facts, 'Files')],
      };
    },
  }),
];
