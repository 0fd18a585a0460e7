/** The files of a sandbox, with the methods of `sandbox.files` of E2B. Paths are relative, or start with /app or /home/user. */

import { HOME, homePath, nameOf, pathInHome } from '../../e2b/file-paths.ts';
import { SandboxError } from '../../errors.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import type { WorkspaceFile } from '../../sandbox/workspace.ts';
import type { Contexts } from './contexts.ts';
import { unsupported } from './unsupported.ts';

/** The kinds of entries. */
export const FileType = { FILE: 'file', DIR: 'dir' } as const;
/** The kind of an entry. */
export type FileType = (typeof FileType)[keyof typeof FileType];

/** A file that was written. */
export interface WriteInfo {
  /** Last part of the path. */
  name: string;
  /** Kind of the entry. */
  type: FileType;
  /** Absolute path of the entry. */
  path: string;
}

/** A file or folder. */
export interface EntryInfo extends WriteInfo {
  /** Size in bytes. 0 for folders. */
  size: number;
  /** Time of the last change. Undefined for folders. */
  modifiedTime?: Date;
}

/** Contents of a file to write. */
export type FileData = string | ArrayBuffer | Uint8Array | Blob | ReadableStream;

/** A file to write. */
export interface WriteEntry {
  path: string;
  data: FileData;
}

type ReadFormat = 'text' | 'bytes' | 'blob' | 'stream';

/** The path relative to the workspace; empty for the workspace itself. Throws `invalid_path`. */
export function clientPath(given: string): string {
  const path = pathInHome(given);
  if (path !== undefined) return path;
  throw new SandboxError(
    'invalid_path',
    `${JSON.stringify(given.slice(0, 200))} is not a path in the workspace. Use a relative path, or one below ${HOME}.`,
  );
}

function writeInfo(path: string): WriteInfo {
  return { name: nameOf(path), type: FileType.FILE, path: homePath(path) };
}

/** The prefix of paths in a folder; empty for the workspace. */
function folderPrefix(given: string): string {
  const path = clientPath(given);
  return path === '' ? '' : `${path}/`;
}

/** The entries in a folder, down to a depth. Folders exist as parts of the paths of files. */
function entriesIn(prefix: string, depth: number, files: readonly WorkspaceFile[]): EntryInfo[] {
  const entries = new Map<string, EntryInfo>();
  for (const { path, size_bytes, modified_at } of files) {
    if (!path.startsWith(prefix)) continue;
    const parts = path.slice(prefix.length).split('/');
    for (let level = 1; level <= Math.min(depth, parts.length); level++) {
      const entry = prefix + parts.slice(0, level).join('/');
      const isFile = level === parts.length;
      const kind = isFile
        ? { type: FileType.FILE, size: size_bytes, modifiedTime: new Date(modified_at) }
        : { type: FileType.DIR, size: 0 };
      entries.set(entry, { ...writeInfo(entry), ...kind });
    }
  }
  return [...entries.values()];
}

/** The files of a sandbox. */
export class Filesystem {
  readonly #contexts: Contexts;

  /** @internal */
  constructor(contexts: Contexts) {
    this.#contexts = contexts;
  }

  /** Returns the contents of a file. Default: as text. */
  read(path: string, opts?: { format?: 'text' }): Promise<string>;
  read(path: string, opts: { format: 'bytes' }): Promise<Uint8Array>;
  read(path: string, opts: { format: 'blob' }): Promise<Blob>;
  read(path: string, opts: { format: 'stream' }): Promise<ReadableStream<Uint8Array>>;
  async read(path: string, { format = 'text' }: { format?: ReadFormat } = {}): Promise<unknown> {
    const bytes = await this.#contexts.files((sandbox) => sandbox.readFile(clientPath(path)));
    if (format === 'bytes') return bytes;
    if (format === 'blob') return new Blob([bytes]);
    if (format === 'stream') return new Blob([bytes]).stream();
    return new TextDecoder().decode(bytes);
  }

  /** Writes a file and creates missing folders, or writes several files. */
  write(path: string, data: FileData, opts?: object): Promise<WriteInfo>;
  write(files: WriteEntry[], opts?: object): Promise<WriteInfo[]>;
  async write(target: string | WriteEntry[], data?: unknown): Promise<WriteInfo | WriteInfo[]> {
    if (typeof target !== 'string') return this.writeFiles(target);
    return (await this.writeFiles([{ path: target, data: data as FileData }]))[0]!;
  }

  /** Writes several files. */
  async writeFiles(files: WriteEntry[], _opts?: object): Promise<WriteInfo[]> {
    const contents: { path: string; bytes: Uint8Array }[] = [];
    for (const { path, data } of files)
      contents.push({
        path: clientPath(path),
        bytes: new Uint8Array(await new Response(data as BodyInit).arrayBuffer()),
      });
    return this.#contexts.files(async (sandbox) => {
      for (const { path, bytes } of contents) await sandbox.writeFile(path, bytes);
      return contents.map(({ path }) => writeInfo(path));
    });
  }

  /** Returns the entries of a folder. Default depth: 1, without the entries of subfolders. */
  async list(path: string, { depth = 1 }: { depth?: number } = {}): Promise<EntryInfo[]> {
    const prefix = folderPrefix(path);
    const entries = await this.#contexts.files(async (sandbox) =>
      entriesIn(prefix, depth, await sandbox.listFiles()),
    );
    if (entries.length === 0 && prefix !== '') throw notFound(path);
    return entries;
  }

  /** Returns whether a file or folder exists. */
  async exists(path: string, _opts?: object): Promise<boolean> {
    return (await this.#find(path)) !== undefined;
  }

  /** Returns information about a file or folder. Throws `file_not_found` if it does not exist. */
  async getInfo(path: string, _opts?: object): Promise<EntryInfo> {
    const found = await this.#find(path);
    if (found === undefined) throw notFound(path);
    return found;
  }

  #find(path: string): Promise<EntryInfo | undefined> {
    const wanted = homePath(clientPath(path));
    const depth = wanted.split('/').length;
    return this.#contexts.files(async (sandbox) =>
      entriesIn('', depth, await sandbox.listFiles()).find((entry) => entry.path === wanted),
    );
  }

  /** Deletes a file, or a folder with everything in it. */
  remove(path: string, _opts?: object): Promise<void> {
    const name = clientPath(path);
    return this.#contexts.files(async (sandbox) => {
      const paths = await filesAt(sandbox, name);
      if (paths.length === 0) throw notFound(path);
      for (const one of paths) await sandbox.deleteFile(one);
    });
  }

  /** Renames a file. */
  async rename(oldPath: string, newPath: string, _opts?: object): Promise<EntryInfo> {
    const [from, to] = [clientPath(oldPath), clientPath(newPath)];
    await this.#contexts.files(async (sandbox) => {
      await sandbox.writeFile(to, await sandbox.readFile(from));
      if (from !== to) await sandbox.deleteFile(from);
    });
    return this.getInfo(newPath);
  }

  /** Not available. */
  makeDir(_path: string, _opts?: object): Promise<boolean> {
    return Promise.reject(unsupported('files.makeDir'));
  }

  /** Not available. */
  watchDir(_path: string, ..._rest: unknown[]): Promise<never> {
    return Promise.reject(unsupported('files.watchDir'));
  }
}

/** The file at a path, or the files in the folder at it. */
async function filesAt(sandbox: Sandbox, name: string): Promise<string[]> {
  const paths = (await sandbox.listFiles()).map(({ path }) => path);
  return paths.filter((path) => path === name || path.startsWith(`${name}/`));
}

function notFound(path: string): SandboxError {
  return new SandboxError('file_not_found', `There is no file or folder ${path} in the workspace.`);
}
