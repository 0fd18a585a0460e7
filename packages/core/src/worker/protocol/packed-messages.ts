/**
 * Jobs and outcomes as they are sent: lists of files are packed (fs/packed-edit.ts). The main thread packs and unpacks in
 * slices, so that a program with many files does not delay other clients.
 */

import { atOnce } from '../../concurrency/slices.ts';
import { SandboxError } from '../../errors.ts';
import { validTrees } from '../../fs/check-tree-edit.ts';
import { checkNewEntries } from '../../fs/flat-entries.ts';
import type { FileTree } from '../../fs/immutable-file-tree.ts';
import type { Entry, TreeEdit } from '../../fs/nodes.ts';
import { type PackedEdit, packEdit, unpackEdit, unpackWholeEdit } from '../../fs/packed-edit.ts';
import { countShared, sharedBuffers } from '../../fs/shared-array-buffers.ts';
import type { PackedOutcome, PackedRunJob, PackedSaved, RunJob, RunOutcome, SavedState } from './messages.ts';

export function* packJob(job: RunJob): Generator<undefined, PackedRunJob> {
  const { workspace, session } = job;
  return {
    ...job,
    workspace: workspace && { ...workspace, edit: yield* packEdit(workspace.edit) },
    session: session && {
      ...session,
      tmp: yield* packEdit({ removed: [], entries: session.tmp }),
      edits: yield* packEdit(session.edits),
    },
  };
}

export function unpackJob(job: PackedRunJob): RunJob {
  const { workspace, session } = job;
  return {
    ...job,
    workspace: workspace && { ...workspace, edit: unpackWholeEdit(workspace.edit) },
    session: session && {
      ...session,
      tmp: unpackWholeEdit(session.tmp).entries,
      edits: unpackWholeEdit(session.edits),
    },
  };
}

export function packOutcome({ files: _, changes, ...outcome }: RunOutcome): PackedOutcome {
  const { removed, entries, ...lists } = changes;
  return { ...outcome, changes: { ...lists, edit: atOnce(packEdit({ removed, entries })) } };
}

export const packSaved = (saved: SavedState): PackedSaved => ({ ...saved, tmp: atOnce(packEdit(saved.tmp)) });

/** `before` are the files that the program started from. Throws if the changes do not lead to a valid tree. */
export function* unpackOutcome(
  { changes, ...outcome }: PackedOutcome,
  before: FileTree,
): Generator<unknown, RunOutcome> {
  const { edit, ...lists } = changes;
  const unpacked = { removed: [] as string[], entries: [] as Entry[] };
  const replacedFolders: string[] = [];
  let after = before;
  for (const part of receivedParts(edit)) {
    const { removed, entries } = part;
    for (const { path, kind } of entries)
      if (kind !== 'dir' && after.get(path)?.kind === 'dir') replacedFolders.push(path);
    for (const path of removed) if (after.get(path)?.kind === 'dir') replacedFolders.push(path);
    after = after.apply(part);
    const applied = after;
    checkNewEntries(entries, (path) => applied.get(path)?.kind, 'internal');
    for (const path of removed) unpacked.removed.push(path);
    for (const entry of entries) unpacked.entries.push(entry);
    yield;
  }
  for (const path of replacedFolders)
    if (after.get(path)?.kind !== 'dir' && after.hasChildren(path))
      throw new SandboxError('internal', 'A worker removed a folder but not the files in it.');
  if (before.size === 0 || validTrees.has(before)) validTrees.add(after);
  return { ...outcome, changes: { ...lists, ...unpacked }, files: { before, after } };
}

export function* unpackSaved({ tmp, ...saved }: PackedSaved): Generator<unknown, SavedState> {
  countShared(sharedBuffers([saved.deltaHeader, ...saved.newParts.map(({ bytes }) => bytes)]));
  const unpacked = { removed: [] as string[], entries: [] as Entry[] };
  for (const { removed, entries } of receivedParts(tmp)) {
    for (const path of removed) unpacked.removed.push(path);
    for (const entry of entries) unpacked.entries.push(entry);
    yield;
  }
  return { ...saved, tmp: unpacked };
}

/** Received buffers are freed only after they were garbage collected in this thread as well. */
function* receivedParts(packed: PackedEdit): Generator<TreeEdit> {
  for (const { small, large } of packed) countShared(sharedBuffers([small, ...large]));
  yield* unpackEdit(packed);
}

/** The buffers of a job. */
export const buffersOf = ({ workspace, session }: PackedRunJob): Generator<SharedArrayBuffer> =>
  sharedBuffers(
    [workspace?.edit, session?.tmp, session?.edits]
      .flatMap((edit) => edit ?? [])
      .flatMap(({ small, large }) => [small, ...large])
      .concat(session?.delta ?? []),
  );
