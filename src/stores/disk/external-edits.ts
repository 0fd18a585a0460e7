/**
 * The folder workspace/ compared with what session and store agreed on: what somebody else did to it while the session
 * was idle, and what has to be done to it for the next commit. How a file looks (size, times, number) only says whether to read it; its contents say whether it is an edit.
 */
import { SandboxError } from '../../errors.ts';
import type { Entry } from '../../fs/entries.ts';
import type { TreeEdit } from '../../fs/tree-changes.ts';
import { sha256 } from '../format/digest.ts';
import { describeEntry, type TreeEntry } from '../format/manifest.ts';
import { foldName } from './host-names.ts';
import { parentOf } from './paths.ts';
import { codeOf, isAbsent, readFileSafely } from './safe-files.ts';
import { type Found, type Mirror, settledLook } from './workspace-mirror.ts';

/** How many entries may come from outside at once, and how large they may be together. */
const MAX_NEW_ENTRIES = 100_000;
const MAX_NEW_BYTES = 1024 * 1024 * 1024;

const NEW_FILE_MODE = 0o644;
const NEW_FOLDER_MODE = 0o755;

/** A workspace as session and store agree on it. */
export interface AgreedWorkspace {
  readonly tree: ReadonlyMap<string, TreeEntry>;
  /** What of it is in the folder, and how it looked there. */
  readonly laid: ReadonlyMap<string, string>;
}

export interface Comparison {
  readonly edits: TreeEdit;
  /** The agreement once the session has the edits. */
  readonly next: AgreedWorkspace;
}

/** Compares the folder with what was agreed; throws `quota_exceeded` when too much has come. */
export async function compareOutside(
  mirror: Mirror,
  agreed: AgreedWorkspace,
  foldsCase: boolean,
): Promise<Comparison> {
  const found = asNamed(await mirror.scan(agreed.laid.size + MAX_NEW_ENTRIES), agreed, foldsCase);
  const laid = new Map<string, string>();
  const entries: Entry[] = [];
  let freeBytes = MAX_NEW_BYTES;
  for (const [path, item] of found) {
    const old = agreed.tree.get(path);
    const look = agreed.laid.get(path);
    if (look !== undefined) laid.set(path, look);
    if (item.kind === 'dir') {
      laid.set(path, '');
      const { mtimeMs } = item;
      if (old?.kind !== 'dir') entries.push({ path, kind: 'dir', mode: NEW_FOLDER_MODE, mtimeMs });
      continue;
    }
    if (item.look === look) continue;
    if (item.bytes > freeBytes) throw tooLarge(mirror.path(path));
    const data = await readEdited(mirror.path(item.path), freeBytes);
    if (data === undefined) continue;
    laid.set(path, settledLook(item));
    if (old?.kind === 'file' && old.sha256 === sha256(data)) continue;
    freeBytes -= data.length;
    const mode = old?.kind === 'file' ? old.mode : NEW_FILE_MODE;
    entries.push({ path, kind: 'file', mode, mtimeMs: item.mtimeMs, data });
  }
  const { removed, tree } = merge(agreed, found, entries);
  return { edits: { removed, entries }, next: { tree, laid } };
}

/** Where the file system confuses names, what it shows under a similar name is the file that was laid. */
function asNamed(
  found: ReadonlyMap<string, Found>,
  { laid }: AgreedWorkspace,
  foldsCase: boolean,
): ReadonlyMap<string, Found> {
  if (!foldsCase) return found;
  const folded = new Map([...laid.keys()].map((path) => [foldName(path), path]));
  const nameOf = (path: string) => (laid.has(path) ? path : (folded.get(foldName(path)) ?? path));
  return new Map([...found].map(([path, item]) => [nameOf(path), item]));
}

/** Undefined for a file that cannot be read just now; it is looked at again next time. */
async function readEdited(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
  try {
    return await readFileSafely(path, { maxBytes, shared: true });
  } catch (error) {
    const isClosed = ['EACCES', 'EPERM', 'EBUSY'].includes(codeOf(error) ?? '');
    if (error instanceof SandboxError || isAbsent(error) || isClosed) return undefined;
    throw error;
  }
}

/** The tree with the edits, and what is no longer in it: files that were laid and are gone, and all below them. */
function merge(
  { tree, laid }: AgreedWorkspace,
  found: ReadonlyMap<string, Found>,
  entries: readonly Entry[],
): { removed: string[]; tree: ReadonlyMap<string, TreeEntry> } {
  if (entries.length === 0 && [...laid.keys()].every((path) => found.has(path))) return { removed: [], tree };
  const next = new Map(tree);
  for (const entry of entries) next.set(entry.path, describeEntry(entry));
  const removed: string[] = [];
  for (const path of tree.keys()) {
    const parent = parentOf(path);
    const isHomeless = parent !== '' && next.get(parent)?.kind !== 'dir';
    if (!isHomeless && (!laid.has(path) || found.has(path))) continue;
    next.delete(path);
    removed.push(path);
  }
  return { removed, tree: new Map([...next].sort(([a], [b]) => (a < b ? -1 : 1))) };
}

function tooLarge(path: string): SandboxError {
  const limit = `more than the ${MAX_NEW_BYTES} bytes that may be added to a workspace at once`;
  return new SandboxError('quota_exceeded', `With ${path} there are ${limit}. Take it out of the folder.`);
}

/** Paths where workspace/ is not what it is to be, with the digests of the files that are there. */
export function* difference(
  agreed: AgreedWorkspace | undefined,
  target: ReadonlyMap<string, TreeEntry>,
): Generator<[path: string, before: string | null]> {
  const before = (path: string) => {
    const entry = agreed?.laid.has(path) ? agreed.tree.get(path) : undefined;
    return entry?.kind === 'file' ? entry.sha256 : null;
  };
  for (const [path, entry] of target) {
    if (!agreed?.laid.has(path) || !isSame(agreed.tree.get(path), entry)) yield [path, before(path)];
  }
  for (const path of agreed?.laid.keys() ?? []) {
    if (!target.has(path)) yield [path, before(path)];
  }
}

function isSame(a: TreeEntry | undefined, b: TreeEntry): boolean {
  return a?.kind === 'file' && b.kind === 'file' ? a.sha256 === b.sha256 : a?.kind === b.kind;
}
