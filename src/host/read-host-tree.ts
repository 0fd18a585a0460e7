/**
 * Reads a file or folder of the host into entries for a read-only layer. Only regular files and folders are read: links,
 * sockets and devices are skipped, so that nothing outside the given path is included.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SandboxError } from '../errors.ts';
import type { Entry } from '../fs/flat-entries.ts';
import { formatBytes, formatCount } from '../quantities.ts';

/** Limits, because the tree is held in memory. */
const MAX_TREE_BYTES = 1024 * 1024 * 1024;
const MAX_TREE_FILES = 100_000;

export interface HostTree {
  readonly entries: Entry[];
  /** The path is a file; it is the only entry. */
  readonly isFile: boolean;
}

/** `share` converts the contents of each file; `option` is the option that holds the path, for error messages. */
export function readHostTree(
  hostPath: string,
  share: (bytes: Uint8Array) => Uint8Array,
  option = 'policy.mounts',
): HostTree {
  const root = resolve(hostPath, option);
  const entries: Entry[] = [];
  let bytes = 0;
  const add = (path: string, from: string) => {
    const { mtimeMs, size } = lstatSync(from);
    bytes += size;
    if (bytes > MAX_TREE_BYTES || entries.length >= MAX_TREE_FILES) {
      const limit = `${formatBytes(MAX_TREE_BYTES)} or ${formatCount(MAX_TREE_FILES)} files`;
      throw new SandboxError('quota_exceeded', `${option}: ${hostPath} exceeds ${limit}.`, {
        publicMessage: `${option}: a folder of the host exceeds ${limit}.`,
      });
    }
    entries.push({ path, kind: 'file', mode: 0o444, mtimeMs, data: share(readFileSync(from)) });
  };
  const walk = (dir: string, prefix: string) => {
    for (const found of readdirSync(dir, { withFileTypes: true }) as Dirent[]) {
      const path = prefix + found.name;
      const from = join(dir, found.name);
      if (found.isFile()) add(path, from);
      if (!found.isDirectory()) continue;
      entries.push({ path, kind: 'dir', mode: 0o555, mtimeMs: lstatSync(from).mtimeMs });
      walk(from, `${path}/`);
    }
  };
  const isFile = lstatSync(root).isFile();
  if (isFile) add(basename(root), root);
  else walk(root, '');
  return { entries, isFile };
}

function resolve(hostPath: string, option: string): string {
  try {
    return realpathSync(hostPath);
  } catch {
    throw new SandboxError(
      'invalid_argument',
      `${option}: ${JSON.stringify(hostPath)} does not exist on the host.`,
      { publicMessage: `${option}: a path does not exist on the host.` },
    );
  }
}
