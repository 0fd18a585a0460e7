/**
 * The folder workspace/: the files of a session as files of the host that users can read and edit. It mirrors the
 * committed tree. Sessions are never loaded from it, so nothing in it can damage a session.
 * Invariant: no path is accessed through a symbolic link, and files are replaced atomically.
 */
import {
  type BigIntStats,
  lstatSync,
  mkdirSync,
  opendirSync,
  renameSync,
  rmdirSync,
  rmSync,
  unlinkSync,
} from 'node:fs';
import { forEachConcurrently } from '../../concurrency/for-each-concurrently.ts';
import { Slices } from '../../concurrency/slices.ts';
import { SandboxError } from '../../errors.ts';
import { isWorkspacePath } from '../../fs/file-names.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { formatCount } from '../../quantities.ts';
import { parentOf } from '../format/parent-path.ts';
import { codeOf, isNotFound } from './file-errors.ts';
import { type Durability, FOLDER_MODE, syncFolder } from './safe-files.ts';

/** A file or folder found in workspace/. */
export interface MirrorEntry {
  readonly path: string;
  readonly kind: 'file' | 'dir';
  /** Changes whenever the file changes; empty for folders. */
  readonly fingerprint: string;
  readonly bytes: number;
  readonly mtimeMs: number;
  /** When contents or metadata last changed. */
  readonly changedMs: number;
}

/** On file systems with coarse timestamps, a younger file can change again and keep its fingerprint. */
const UNSETTLED_MS = 3_000;
/** The file system does not support the name; the file stays in the session only. */
const UNSUPPORTED_NAME_CODES = ['ENAMETOOLONG', 'EILSEQ', 'EINVAL'];

function fingerprintOf({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return `${size}:${mtimeNs}:${ctimeNs}:${ino}`;
}

function toMirrorEntry(path: string, stat: BigIntStats): MirrorEntry | undefined {
  const mtimeMs = Number(stat.mtimeNs / 1_000_000n);
  const changedMs = Math.max(mtimeMs, Number(stat.ctimeNs / 1_000_000n));
  if (stat.isDirectory()) return { path, kind: 'dir', fingerprint: '', bytes: 0, mtimeMs, changedMs };
  if (!stat.isFile()) return undefined;
  return {
    path,
    kind: 'file',
    fingerprint: fingerprintOf(stat),
    bytes: Number(stat.size),
    mtimeMs,
    changedMs,
  };
}

/** The fingerprint to record for an externally edited file; empty, which matches no file, if it may change again. */
export function settledFingerprint({ fingerprint, changedMs }: MirrorEntry): string {
  return Math.abs(Date.now() - changedMs) > UNSETTLED_MS ? fingerprint : '';
}

export class WorkspaceMirror {
  constructor(
    readonly root: string,
    readonly durability: Durability,
  ) {}

  hostPath(path: string): string {
    return path === '' ? this.root : `${this.root}/${path}`;
  }

  /** Returns the entry at a workspace path; undefined if a parent is not a real folder. */
  find(path: string): MirrorEntry | undefined {
    if (!this.#isReachable(path)) return undefined;
    const stat = lstatOrUndefined(this.hostPath(path));
    return stat && toMirrorEntry(path, stat);
  }

  /** Whether anything exists at a workspace path, including symbolic links. */
  has(path: string): boolean {
    return lstatOrUndefined(this.hostPath(path)) !== undefined;
  }

  #isReachable(path: string): boolean {
    for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) {
      if (!lstatOrUndefined(this.hostPath(folder))?.isDirectory()) return false;
    }
    return this.exists();
  }

  /** Whether workspace/ exists and is not a symbolic link. */
  exists(): boolean {
    return lstatOrUndefined(this.root)?.isDirectory() ?? false;
  }

  /**
   * Returns all regular files and folders by path, parents first. Skips links, devices and names that a guest cannot
   * use. Throws `quota_exceeded` if there are more than `maxEntries`.
   */
  async scan(maxEntries: number): Promise<ReadonlyMap<string, MirrorEntry>> {
    const found = new Map<string, MirrorEntry>();
    const folders = [''];
    const slices = new Slices();
    for (let prefix = folders.pop(); prefix !== undefined; prefix = folders.pop()) {
      for (const name of this.#namesIn(prefix, maxEntries)) {
        const path = prefix + name;
        if (!isWorkspacePath(path)) continue;
        const stat = lstatOrUndefined(this.hostPath(path));
        const entry = stat && toMirrorEntry(path, stat);
        if (entry === undefined) continue;
        found.set(path, entry);
        if (entry.kind === 'dir') folders.push(`${path}/`);
        if (found.size > maxEntries) throw tooManyEntries(this.root, maxEntries);
        await slices.pause();
      }
    }
    return found;
  }

  /**
   * Whether workspace/ contains the given files, with their fingerprints, and folders, with the number of their entries, and
   * nothing else. Faster than a scan, because it compares without building a list. `folders` has parents first. If it
   * returns false, a scan finds out what is different, or what cannot be read.
   */
  async matches(
    files: Iterable<readonly [path: string, fingerprint: string]>,
    folders: ReadonlyMap<string, number>,
  ): Promise<boolean> {
    const slices = new Slices();
    try {
      for (const [path, count] of folders) {
        const folder = this.hostPath(path);
        if (!lstatOrUndefined(folder)?.isDirectory() || !hasEntries(folder, count)) return false;
        await slices.pause();
      }
      for (const [path, fingerprint] of files) {
        const stat = lstatOrUndefined(this.hostPath(path));
        if (stat === undefined || fingerprintOf(stat) !== fingerprint || !stat.isFile()) return false;
        await slices.pause();
      }
      return true;
    } catch {
      return false;
    }
  }

  #namesIn(prefix: string, max: number): string[] {
    const names: string[] = [];
    try {
      for (const name of namesOf(this.hostPath(prefix.slice(0, -1)))) {
        names.push(name);
        if (names.length > max) throw tooManyEntries(this.root, max);
      }
    } catch (error) {
      // The folder was removed or made inaccessible after it was found.
      if (!isNotFound(error) && codeOf(error) !== 'EACCES') throw error;
    }
    return names;
  }

  /**
   * Updates `paths` to match `target`, moving staged files into place, and returns the fingerprints of what it wrote.
   * Calls `onFailure` for each path that fails, and continues with the others.
   */
  async apply(
    paths: Iterable<string>,
    target: ReadonlyMap<string, Entry>,
    staged: ReadonlyMap<string, string>,
    onFailure: (path: string, error: unknown) => void,
  ): Promise<Map<string, string>> {
    const sorted = [...paths].sort();
    const fingerprints = new Map<string, string>();
    const changedFolders = new Set<string>();
    const slices = new Slices();
    const attempt = async (path: string, change: () => void) => {
      try {
        change();
        changedFolders.add(parentOf(path));
      } catch (error) {
        if (!UNSUPPORTED_NAME_CODES.includes(codeOf(error) ?? '')) onFailure(path, error);
      }
      await slices.pause();
    };
    const checkedFolders = new Set<string>();
    this.ensureRoot();
    for (const path of sorted.toReversed()) {
      if (!target.has(path)) await attempt(path, () => this.#remove(path));
    }
    for (const path of sorted) {
      const entry = target.get(path);
      if (entry === undefined) continue;
      await attempt(path, () => {
        fingerprints.set(path, this.#put(path, entry, staged.get(path), checkedFolders));
      });
    }
    await forEachConcurrently(changedFolders, async (folder) => {
      await syncFolder(this.hostPath(folder), this.durability).catch((error) => {
        if (!isNotFound(error)) throw error;
      });
    });
    return fingerprints;
  }

  /** Creates workspace/, even for a session without files, so that users find the folder. */
  ensureRoot(): void {
    replaceWithFolder(this.root);
  }

  #remove(path: string): void {
    const stat = this.#isReachable(path) ? lstatOrUndefined(this.hostPath(path)) : undefined;
    if (stat === undefined) return;
    try {
      if (stat.isDirectory()) rmdirSync(this.hostPath(path));
      else unlinkSync(this.hostPath(path));
    } catch (error) {
      // A user added a file to the folder in the meantime: the folder stays, and the file is an external edit.
      if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    }
  }

  /** Writes one entry and returns its fingerprint. `checkedFolders` contains folders known to be real ones. */
  #put(path: string, { kind }: Entry, staged: string | undefined, checkedFolders: Set<string>): string {
    this.#ensureFolder(parentOf(path), checkedFolders);
    if (kind === 'dir') {
      this.#ensureFolder(path, checkedFolders);
      return '';
    }
    const to = this.hostPath(path);
    if (lstatOrUndefined(to)?.isDirectory()) rmSync(to, { recursive: true });
    renameSync(staged!, to);
    return fingerprintOf(lstatOrUndefined(to)!);
  }

  #ensureFolder(folder: string, checkedFolders: Set<string>): void {
    if (folder === '' || checkedFolders.has(folder)) return;
    this.#ensureFolder(parentOf(folder), checkedFolders);
    replaceWithFolder(this.hostPath(folder));
    checkedFolders.add(folder);
  }
}

/** Reads a folder in small batches, so that a caller can reject a huge folder before it fills the memory. */
function* namesOf(folder: string): Generator<string> {
  const opened = opendirSync(folder, { bufferSize: 1024 });
  try {
    for (let entry = opened.readSync(); entry !== null; entry = opened.readSync()) yield entry.name;
  } finally {
    opened.closeSync();
  }
}

/** Whether a folder has exactly `count` entries. */
function hasEntries(folder: string, count: number): boolean {
  let found = 0;
  for (const _ of namesOf(folder)) {
    if (++found > count) return false;
  }
  return found === count;
}

/** Creates a folder; removes a file or symbolic link in its place. */
function replaceWithFolder(path: string): void {
  const stat = lstatOrUndefined(path);
  if (stat?.isDirectory()) return;
  if (stat !== undefined) unlinkSync(path);
  mkdirSync(path, { mode: FOLDER_MODE });
}

function lstatOrUndefined(path: string): BigIntStats | undefined {
  try {
    return lstatSync(path, { bigint: true, throwIfNoEntry: false });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

function tooManyEntries(root: string, max: number): SandboxError {
  return new SandboxError(
    'quota_exceeded',
    `${root} contains more than ${formatCount(max)} entries. Remove some of them.`,
  );
}
