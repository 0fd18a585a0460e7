/**
 * A session as the sandbox of deepagents: its protocol `SandboxBackendProtocolV2`. The package's own class `BaseSandbox` is passed in,
 * so that this module does not depend on it. It reads, edits and searches files with the methods here. Listings need no command.
 */

import { SandboxError, type Session, Slices } from '@llm-wasm-sandbox/core/internal';
import { globMatcher } from './glob-match.ts';
import { SlotCommands } from './slot-commands.ts';
import { type SlotEntry, SlotFiles, WORKSPACE } from './slot-files.ts';

/** The errors of single files that the protocol knows. */
type FileError = 'file_not_found' | 'permission_denied' | 'is_directory' | 'invalid_path';
const FILE_ERRORS: Readonly<Record<string, FileError>> = {
  file_not_found: 'file_not_found',
  invalid_path: 'invalid_path',
  invalid_argument: 'invalid_path',
  quota_exceeded: 'permission_denied',
};

/** A file or folder in a listing. */
interface FileInfo {
  path: string;
  is_dir: boolean;
  size: number;
  modified_at: string;
}

/** What the sandbox adds to `BaseSandbox`. */
export interface DeepAgentsSandbox {
  /** The id of the session. */
  readonly id: string;
  /** Runs a command in a shell of its own. Its output is that of both streams, standard output first. */
  execute(command: string): Promise<{ output: string; exitCode: number; truncated: boolean }>;
  /** The entries of a folder. Paths of folders end with a slash. */
  ls(path: string): Promise<{ files?: FileInfo[]; error?: string }>;
  /** The files whose paths below a folder, by default the workspace, match a pattern. */
  glob(pattern: string, path?: string): Promise<{ files?: FileInfo[]; error?: string }>;
  uploadFiles(files: [string, Uint8Array][]): Promise<{ path: string; error: FileError | null }[]>;
  downloadFiles(
    paths: string[],
  ): Promise<{ path: string; content: Uint8Array | null; error: FileError | null }[]>;
}

/**
 * Returns a session as `backend` of `createDeepAgent`. Pass it `BaseSandbox` of `deepagents`. The session belongs to the caller, who
 * closes it.
 */
export function deepAgentsSandbox<B extends object>(
  BaseSandbox: abstract new () => B,
  session: Session,
): B & DeepAgentsSandbox {
  const files = new SlotFiles(session);
  const commands = new SlotCommands(session, files);
  const Base = BaseSandbox as unknown as new () => object;
  class Sandbox extends Base implements DeepAgentsSandbox {
    readonly id = session.session_id;

    async execute(command: string) {
      const { stdout, stderr, exitCode, isTruncated } = await commands.run(command);
      return { output: stdout + stderr, exitCode, truncated: isTruncated };
    }

    ls(path: string) {
      return listing(async () =>
        (await files.list(inWorkspace(path))).map((entry) =>
          fileInfo(entry, entry.kind === 'dir' ? `${entry.path}/` : entry.path),
        ),
      );
    }

    glob(pattern: string, path = ROOT) {
      return listing(async () => {
        const matches = globMatcher(pattern);
        const entries = await files.list(inWorkspace(path), Number.POSITIVE_INFINITY);
        // The folder may be a link.
        const folder = (await files.stat(inWorkspace(path)))?.path ?? WORKSPACE;
        const found: FileInfo[] = [];
        const slices = new Slices();
        for (const entry of entries) {
          const name = entry.path.slice(folder.length + 1);
          if (entry.kind !== 'dir' && matches(name)) found.push(fileInfo(entry, name));
          await slices.pause();
        }
        return found;
      });
    }

    uploadFiles(given: [string, Uint8Array][]) {
      return each(given, async ([path, content]) => {
        const error = await errorOf(async () => {
          await files.write(path, content);
          return undefined;
        });
        return { path, error };
      });
    }

    downloadFiles(paths: string[]) {
      return each(paths, async (path) => {
        let content: Uint8Array | null = null;
        const error = await errorOf(async () => {
          if ((await files.stat(path))?.kind === 'dir') return 'is_directory';
          content = await files.read(path);
          return undefined;
        });
        return { path, content, error };
      });
    }
  }
  return new Sandbox() as unknown as B & DeepAgentsSandbox;
}

/** Tools of the package begin at the root, where the workspace is the only folder with files of the agent. */
const ROOT = '/';
const inWorkspace = (path: string) => (path === ROOT ? WORKSPACE : path);

const fileInfo = ({ kind, size, modifiedAt }: SlotEntry, path: string): FileInfo => ({
  path,
  is_dir: kind === 'dir',
  size,
  modified_at: modifiedAt.toISOString(),
});

async function listing(work: () => Promise<FileInfo[]>): Promise<{ files?: FileInfo[]; error?: string }> {
  try {
    return { files: await work() };
  } catch (cause) {
    if (cause instanceof SandboxError && Object.hasOwn(FILE_ERRORS, cause.code))
      return { error: cause.message };
    throw cause;
  }
}

async function each<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

/** The error of work with a file. Errors that the protocol does not know are thrown. */
async function errorOf(work: () => Promise<FileError | undefined>): Promise<FileError | null> {
  try {
    return (await work()) ?? null;
  } catch (cause) {
    const known = cause instanceof SandboxError ? FILE_ERRORS[cause.code] : undefined;
    if (known === undefined) throw cause;
    return known;
  }
}
