/** Helpers for the tests of this folder: a volume with a counting clock, short entries, error codes. */
import { SandboxError } from '../../packages/core/src/errors.ts';
import { utf8Length } from '../../packages/core/src/fs/file-names.ts';
import type { Entry, TreeEdit } from '../../packages/core/src/fs/flat-entries.ts';
import { FsError } from '../../packages/core/src/fs/fs-error.ts';
import { type Node, visitTree } from '../../packages/core/src/fs/nodes.ts';
import { chargedBytes } from '../../packages/core/src/fs/quota.ts';
import { Volume, WRITABLE_ROOTS } from '../../packages/core/src/fs/volume.ts';

export function newVolume(limits = { maxBytes: 1000, maxFiles: 100 }): Volume {
  let time = 0;
  return new Volume(limits, () => ++time);
}

export const bytes = (text: string) => new TextEncoder().encode(text);

export const file = (path: string, text = ''): Entry => ({
  path,
  kind: 'file',
  mode: 0o644,
  mtimeMs: 5,
  data: bytes(text),
});
export const dir = (path: string): Entry => ({ path, kind: 'dir', mode: 0o755, mtimeMs: 5 });
export const link = (path: string, target: string): Entry => ({
  path,
  kind: 'symlink',
  mode: 0o777,
  mtimeMs: 5,
  target,
});

/** Applies an edit to a map of entries by path, the simplest model of a tree. */
export function applyEdit(entries: Map<string, Entry>, edit: TreeEdit): void {
  for (const path of edit.removed) entries.delete(path);
  for (const entry of edit.entries) entries.set(entry.path, entry);
}

/** The error code of a failed operation, or 'ok'. Errors other than FsError and SandboxError are rethrown. */
export function codeOf(operation: () => unknown): string {
  try {
    operation();
    return 'ok';
  } catch (error) {
    if (error instanceof FsError || error instanceof SandboxError) return error.code;
    throw error;
  }
}

export function writeText(volume: Volume, path: string, text: string): Node {
  const { node } = volume.open(path, '/', { create: true, write: true, truncate: true }, 0o644);
  volume.write(node, 0, bytes(text));
  return node;
}

export function readText(volume: Volume, path: string): string {
  const node = volume.lookup(path, '/', true);
  const into = new Uint8Array(2000);
  return new TextDecoder().decode(into.subarray(0, volume.read(node, 0, into)));
}

/** The total length of all absolute paths, counted from the tree. */
export function recountPaths(volume: Volume): number {
  let sum = 0;
  for (const root of WRITABLE_ROOTS) {
    const area = volume.lookup(root, '/', true);
    if (area.kind === 'dir')
      visitTree(area, (path) => {
        sum += utf8Length(`${root}/${path}`);
      });
  }
  return sum;
}

/** The usage counted from the tree: every name, plus each node of `orphans`. */
export function recount(volume: Volume, orphans: Iterable<Node> = []): { bytes: number; files: number } {
  const sum = { bytes: 0, files: 0 };
  const add = (node: Node) => {
    sum.bytes += chargedBytes(node);
    sum.files += 1;
  };
  for (const path of WRITABLE_ROOTS) {
    const area = volume.lookup(path, '/', true);
    if (area.kind === 'dir') visitTree(area, (_, node) => add(node));
  }
  for (const node of orphans) add(node);
  return sum;
}
