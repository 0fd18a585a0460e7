/**
 * Compares workspace/ with the state that session and store last agreed on, to find external edits and to find the
 * paths that the next commit has to update. A changed fingerprint only causes a file to be read; its contents decide
 * whether it was edited.
 */
import { Slices } from '../../concurrency/slices.ts';
import { SandboxError } from '../../errors.ts';
import type { Entry, TreeEdit } from '../../fs/flat-entries.ts';
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
  readonly tree: ReadonlyMap<string, TreeEntry>;
  /** The paths that are in workspace/, with their fingerprints. */
  readonly mirrored: ReadonlyMap<string, string>;
}

interface ExternalEdits {
  readonly edits: TreeEdit;
  /** The synced workspace once the session has applied the edits. */
  readonly next: SyncedWorkspace;
}

/** Finds external edits. Throws `quota_exceeded` if they are too large to import. */
export async function findExternalEdits(
  mirror: WorkspaceMirror,
  synced: SyncedWorkspace,
  foldsCase: boolean,
): Promise<ExternalEdits> {
  const none = { edits: { removed: [], entries: [] }, next: synced };
  if (await isUnchanged(mirror, synced)) return none;
  const scanned = await mirror.scan(synced.mirrored.size + MAX_NEW_ENTRIES);
  if (hasFoundAll(scanned, synced)) return none;
  const sorted = new Map([...scanned].sort(([a], [b]) => (a < b ? -1 : 1)));
  const found = foldsCase ? withMirroredNames(sorted, synced) : sorted;
  const mirrored = new Map<string, string>();
  const entries: Entry[] = [];
  let freeBytes = MAX_NEW_BYTES;
  for (const [path, item] of found) {
    const old = synced.tree.get(path);
    const fingerprint = synced.mirrored.get(path);
    if (fingerprint !== undefined) mirrored.set(path, fingerprint);
    if (item.kind === 'dir') {
      mirrored.set(path, '');
      const { mtimeMs } = item;
      if (old?.kind !== 'dir') entries.push({ path, kind: 'dir', mode: NEW_FOLDER_MODE, mtimeMs });
      continue;
    }
    if (item.fingerprint === fingerprint) continue;
    if (item.bytes > freeBytes) throw editsTooLarge(mirror.hostPath(path));
    const data = await readIfPossible(mirror.hostPath(item.path), freeBytes);
    if (data === undefined) continue;
    mirrored.set(path, settledFingerprint(item));
    if (old?.kind === 'file' && old.sha256 === (await digestInSlices(data))) continue;
    freeBytes -= data.length;
    const mode = old?.kind === 'file' ? old.mode : NEW_FILE_MODE;
    entries.push({ path, kind: 'file', mode, mtimeMs: item.mtimeMs, data });
  }
  const { removed, tree } = applyEdits(synced, found, entries);
  return { edits: { removed, entries }, next: { tree, mirrored } };
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

/** The same for a scan, which skips entries that a workspace cannot contain. */
function hasFoundAll(found: ReadonlyMap<string, MirrorEntry>, { tree, mirrored }: SyncedWorkspace): boolean {
  if (found.size !== mirrored.size) return false;
  for (const [path, { kind, fingerprint }] of found) {
    if (mirrored.get(path) !== fingerprint || tree.get(path)?.kind !== kind) return false;
  }
  return true;
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

/** Applies the edits to the tree; removes mirrored paths that no longer exist and everything below them. */
function applyEdits(
  { tree, mirrored }: SyncedWorkspace,
  found: ReadonlyMap<string, MirrorEntry>,
  entries: readonly Entry[],
): { removed: string[]; tree: ReadonlyMap<string, TreeEntry> } {
  if (entries.length === 0 && [...mirrored.keys()].every((path) => found.has(path)))
    return { removed: [], tree };
  const next = new Map(tree);
  for (const entry of entries) next.set(entry.path, toTreeEntry(entry));
  const removed: string[] = [];
  for (const path of tree.keys()) {
    const parent = parentOf(path);
    const isOrphan = parent !== '' && next.get(parent)?.kind !== 'dir';
    if (!isOrphan && (!mirrored.has(path) || found.has(path))) continue;
    next.delete(path);
    removed.push(path);
  }
  return { removed, tree: new Map([...next].sort(([a], [b]) => (a < b ? -1 : 1))) };
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
  target: ReadonlyMap<string, TreeEntry>,
  outdated: Map<string, string | null>,
): Generator<undefined, void> {
  const currentDigest = (path: string) => {
    const entry = synced?.mirrored.has(path) ? synced.tree.get(path) : undefined;
    return entry?.kind === 'file' ? entry.sha256 : null;
  };
  for (const [path, entry] of target) {
    if (!synced?.mirrored.has(path) || !hasSameContents(synced.tree.get(path), entry))
      outdated.set(path, currentDigest(path));
    yield;
  }
  for (const path of synced?.mirrored.keys() ?? []) {
    if (!target.has(path)) outdated.set(path, currentDigest(path));
    yield;
  }
}

function hasSameContents(a: TreeEntry | undefined, b: TreeEntry): boolean {
  if (a === b) return true;
  return a?.kind === 'file' && b.kind === 'file' ? a.sha256 === b.sha256 : a?.kind === b.kind;
}
