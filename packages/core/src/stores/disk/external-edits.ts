/**
 * Compares workspace/ with the state that session and store last agreed on, to find external edits and to find the
 * paths that the next commit has to update. A changed fingerprint only causes a file to be read; its contents decide
 * whether it was edited.
 */
import { Slices } from '../../concurrency/slices.ts';
import { SandboxError } from '../../errors.ts';
import { isWorkspacePath } from '../../fs/file-names.ts';
import type { Entry, TreeEdit } from '../../fs/flat-entries.ts';
import type { FileTree } from '../../fs/immutable-file-tree.ts';
import { formatBytes } from '../../quantities.ts';
import { digestInSlices } from '../format/content-digest.ts';
import { parentOf } from '../format/parent-path.ts';
import { type TreeEntry, toTreeEntry } from '../format/stored-tree.ts';
import { codeOf, isNotFound } from './file-errors.ts';
import { foldPath } from './host-path-rules.ts';
import { readFileSafely } from './safe-files.ts';
import { type MirrorEntry, settledFingerprint, type WorkspaceMirror } from './workspace-mirror.ts';

/** Limits on what one comparison can import. */
const MAX_NEW_ENTRIES = 100_000;
const MAX_NEW_BYTES = 1024 * 1024 * 1024;

const NEW_FILE_MODE = 0o644;
const NEW_FOLDER_MODE = 0o755;

/** The workspace that session and store last agreed on. */
interface SyncedWorkspace {
  readonly tree: FileTree;
  /** The paths that are in workspace/, with their fingerprints. */
  readonly mirrored: ReadonlyMap<string, string>;
}

export interface ExternalEdits {
  readonly edits: TreeEdit;
  /** New fingerprints, for the next comparison. */
  readonly fingerprints: ReadonlyMap<string, string>;
  /** Paths that are no longer in workspace/. */
  readonly gone: readonly string[];
}

const NO_EDITS: ExternalEdits = { edits: { removed: [], entries: [] }, fingerprints: new Map(), gone: [] };

/** Finds external edits. Throws `quota_exceeded` if they are too large to import. */
export async function findExternalEdits(
  mirror: WorkspaceMirror,
  synced: SyncedWorkspace,
  foldsCase: boolean,
): Promise<ExternalEdits> {
  if (await isUnchanged(mirror, synced)) return NO_EDITS;
  const scanned = await mirror.scan(synced.mirrored.size + MAX_NEW_ENTRIES);
  const sorted = new Map([...scanned].sort(([a], [b]) => (a < b ? -1 : 1)));
  const found = foldsCase ? withMirroredNames(sorted, synced) : sorted;
  const gone = [...synced.mirrored.keys()].filter((path) => !found.has(path));
  return importEdits(mirror, synced, found, gone);
}

/**
 * Finds the external edits among some paths. Returns undefined if a folder was added, removed or replaced: then other paths have
 * changed as well.
 */
export async function findEditsAmong(
  mirror: WorkspaceMirror,
  synced: SyncedWorkspace,
  paths: Iterable<string>,
): Promise<ExternalEdits | undefined> {
  const { tree, mirrored } = synced;
  const isFolder = (path: string) => mirrored.has(path) && tree.get(path)?.kind === 'dir';
  const found = new Map<string, MirrorEntry>();
  const gone: string[] = [];
  for (const path of [...new Set(paths)].filter(isWorkspacePath).sort()) {
    const parent = parentOf(path);
    const entry = mirror.find(path);
    if (entry?.kind === 'dir' && isFolder(path)) continue;
    if (entry?.kind === 'dir' || isFolder(path) || (parent !== '' && !isFolder(parent))) return undefined;
    if (entry === undefined) {
      if (mirrored.has(path)) gone.push(path);
    } else if (entry.fingerprint !== mirrored.get(path)) found.set(path, entry);
  }
  return found.size + gone.length > 0 ? importEdits(mirror, synced, found, gone) : NO_EDITS;
}

/** Reads the files among `found`, sorted by path, that have changed. */
async function importEdits(
  mirror: WorkspaceMirror,
  synced: SyncedWorkspace,
  found: ReadonlyMap<string, MirrorEntry>,
  gone: readonly string[],
): Promise<ExternalEdits> {
  const fingerprints = new Map<string, string>();
  const entries: Entry[] = [];
  let freeBytes = MAX_NEW_BYTES;
  for (const [path, item] of found) {
    const old = synced.tree.get(path);
    if (item.kind === 'dir') {
      if (synced.mirrored.get(path) !== '') fingerprints.set(path, '');
      const { mtimeMs } = item;
      if (old?.kind !== 'dir') entries.push({ path, kind: 'dir', mode: NEW_FOLDER_MODE, mtimeMs });
      continue;
    }
    if (item.fingerprint === synced.mirrored.get(path)) continue;
    if (item.bytes > freeBytes) throw editsTooLarge(mirror.hostPath(path));
    const data = await readIfPossible(mirror.hostPath(item.path), freeBytes);
    if (data === undefined) continue;
    fingerprints.set(path, settledFingerprint(item));
    if (old?.kind === 'file' && digestOf(old) === (await digestInSlices(data))) continue;
    freeBytes -= data.length;
    const mode = old?.kind === 'file' ? old.mode : NEW_FILE_MODE;
    entries.push({ path, kind: 'file', mode, mtimeMs: item.mtimeMs, data });
  }
  return { edits: { removed: removedPaths(synced.tree, entries, gone), entries }, fingerprints, gone };
}

/** The paths that a tree loses: those that are gone, and all below them and below folders that are files now. */
function removedPaths(tree: FileTree, entries: readonly Entry[], gone: readonly string[]): string[] {
  const removed = new Set(gone.filter((path) => tree.has(path)));
  const replaced = entries.filter(({ path, kind }) => kind === 'file' && tree.get(path)?.kind === 'dir');
  for (const path of [...gone, ...replaced.map((entry) => entry.path)]) {
    if (tree.get(path)?.kind !== 'dir') continue;
    for (const below of tree.below(path)) removed.add(below.path);
  }
  return [...removed].sort();
}

/** Whether workspace/ contains what was mirrored, and nothing else. This is the case before most calls. */
async function isUnchanged(mirror: WorkspaceMirror, { tree, mirrored }: SyncedWorkspace): Promise<boolean> {
  const files: [path: string, fingerprint: string][] = [];
  const folders = [''];
  const entriesIn = new Map<string, number>();
  const slices = new Slices();
  for (const [path, fingerprint] of mirrored) {
    const kind = tree.get(path)?.kind;
    if (kind === 'dir' && fingerprint === '') folders.push(path);
    else if (kind === 'file' && fingerprint !== '') files.push([path, fingerprint]);
    else return false;
    const parent = parentOf(path);
    entriesIn.set(parent, (entriesIn.get(parent) ?? 0) + 1);
    if (slices.isOver) await slices.pause();
  }
  const counts = new Map(folders.sort().map((folder) => [folder, entriesIn.get(folder) ?? 0]));
  return mirror.matches(files, counts);
}

/** On a case-insensitive file system, a file found under a similar name is the mirrored file. */
function withMirroredNames(
  found: ReadonlyMap<string, MirrorEntry>,
  { mirrored }: SyncedWorkspace,
): ReadonlyMap<string, MirrorEntry> {
  const byFoldedPath = new Map([...mirrored.keys()].map((path) => [foldPath(path), path]));
  const nameOf = (path: string) => (mirrored.has(path) ? path : (byFoldedPath.get(foldPath(path)) ?? path));
  return new Map([...found].map(([path, item]) => [nameOf(path), item]));
}

/** Returns undefined if the file cannot be read at the moment; the next comparison tries again. */
async function readIfPossible(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    return await readFileSafely(path, { maxBytes, shared: true });
  } catch (error) {
    const isInaccessible = ['EACCES', 'EPERM', 'EBUSY'].includes(codeOf(error) ?? '');
    if (error instanceof SandboxError || isNotFound(error) || isInaccessible) return undefined;
    throw error;
  }
}

function editsTooLarge(path: string): SandboxError {
  return new SandboxError(
    'quota_exceeded',
    `${path} cannot be imported: together with the other new files it exceeds ${formatBytes(MAX_NEW_BYTES)}, the most that can be added to a workspace at once. Remove it from the folder.`,
  );
}

/**
 * Adds each path where workspace/ differs from `target` to `outdated`, with the digest of the file that is there now. Each path
 * is a step.
 */
export function* outdatedPaths(
  synced: SyncedWorkspace | undefined,
  target: ReadonlyMap<string, Entry>,
  outdated: Map<string, string | null>,
): Generator<undefined, void> {
  for (const [path, entry] of target) {
    if (!isMirrored(synced, entry)) outdated.set(path, mirroredDigest(synced, path));
    yield;
  }
  for (const path of synced?.mirrored.keys() ?? []) {
    if (!target.has(path)) outdated.set(path, mirroredDigest(synced, path));
    yield;
  }
}

/** Whether workspace/ has the entry. */
export function isMirrored(synced: SyncedWorkspace | undefined, entry: Entry): boolean {
  if (!synced?.mirrored.has(entry.path)) return false;
  const old = synced.tree.get(entry.path);
  if (old === entry) return true;
  return old?.kind === 'file' && entry.kind === 'file'
    ? digestOf(old) === digestOf(entry)
    : old?.kind === entry.kind;
}

/** The digest of the file that workspace/ has at a path. */
export function mirroredDigest(synced: SyncedWorkspace | undefined, path: string): string | null {
  const entry = synced?.mirrored.has(path) ? synced.tree.get(path) : undefined;
  return entry?.kind === 'file' ? digestOf(entry) : null;
}

/** The digest of the contents of a file. */
export function digestOf(file: Entry): string {
  return (toTreeEntry(file) as TreeEntry & { kind: 'file' }).sha256;
}
