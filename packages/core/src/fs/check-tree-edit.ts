/** Validation of a tree that was derived from a valid one. Takes time proportional to the difference. */
import { type ErrorCode, SandboxError } from '../errors.ts';
import { checkNewEntries, type TreeEdit } from './flat-entries.ts';
import { EMPTY_TREE, type FileTree } from './immutable-file-tree.ts';

/** Trees that were validated. They never change. */
export const validTrees = new WeakSet<FileTree>();

/** Throws as `checkEntries` does unless a tree is valid. Only what it does not share with `before`, if that is valid, takes time. */
export function checkTree(tree: FileTree, before: FileTree): void {
  if (validTrees.has(tree)) return;
  const known = validTrees.has(before) ? before : EMPTY_TREE;
  checkTreeEdit(known, tree, known.difference(tree));
  validTrees.add(tree);
}

/** Throws as `checkEntries` does unless `tree`, the result of applying `edit` to the valid tree `base`, is valid. */
export function checkTreeEdit(base: FileTree, tree: FileTree, edit: TreeEdit, code?: ErrorCode): void {
  checkNewEntries(edit.entries, (path) => tree.get(path)?.kind, code);
  for (const path of [...edit.removed, ...edit.entries.map((entry) => entry.path)]) {
    const wasFolder = base.get(path)?.kind === 'dir' && tree.get(path)?.kind !== 'dir';
    if (wasFolder && tree.hasChildren(path))
      throw new SandboxError(
        code ?? 'invalid_path',
        `Entry ${JSON.stringify(path.slice(0, 200))} is not a directory, but other entries are below it.`,
      );
  }
}
