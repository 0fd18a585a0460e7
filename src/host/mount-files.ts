/**
 * Copies files of the host that a caller named into entries for a read-only mount. Only regular files and folders are
 * taken; links, sockets and devices are left out, so nothing outside the named path comes along.
 */
import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SandboxError } from '../errors.ts';
import type { Entry } from '../fs/entries.ts';

/** A mount lives in memory; more than this is not what it is for. */
const MAX_MOUNT_BYTES = 1024 * 1024 * 1024;
const MAX_MOUNT_FILES = 100_000;

export interface HostTree {
  readonly entries: Entry[];
  /** The named path was a file; the tree holds just that. */
  readonly isFile: boolean;
}

/** Reads a file or folder. `option` is what the caller named it in, for the error that says it is not there. */
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
    if (bytes > MAX_MOUNT_BYTES || entries.length >= MAX_MOUNT_FILES) {
      const limit = `${MAX_MOUNT_BYTES} bytes or ${MAX_MOUNT_FILES} files`;
      throw new SandboxError('quota_exceeded', `${hostPath} holds more than ${limit}.`);
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
    throw new SandboxError('invalid_argument', `${option}: the host has no ${JSON.stringify(hostPath)}.`);
  }
}
