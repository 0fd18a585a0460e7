/**
 * The folder workspace/: the files of a session as real files that a person can look at and change. It mirrors the
 * committed tree and is never what a session is read from, so nothing found in it can harm one.
 * Invariant: no path is reached through a link, and a file is replaced as a whole or not at all.
 */
import type { BigIntStats } from 'node:fs';
import { lstatSync, mkdirSync, opendirSync, renameSync, rmdirSync, rmSync, unlinkSync } from 'node:fs';
import { setImmediate as pause } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import type { TreeEntry } from '../format/manifest.ts';
import { isUsablePath, parentOf } from './paths.ts';
import { codeOf, FOLDER_MODE, inParallel, isAbsent, type Staging, syncFolder } from './safe-files.ts';

/** Something found in the folder at `path`. `look` changes whenever the file does; empty when it cannot be relied on. */
export interface Found {
  readonly path: string;
  readonly kind: 'file' | 'dir';
  readonly look: string;
  readonly bytes: number;
  readonly mtimeMs: number;
  /** When contents or name last changed. */
  readonly touchedMs: number;
}

/** Files younger than this may change once more without looking different, on file systems with coarse clocks. */
const UNSETTLED_MS = 3_000;
/** Calls are synchronous because each takes microseconds; others get a turn after so many. */
const CALLS_PER_TURN = 500;
/** The file system has no such name, whatever we do: the file stays in the session only. */
const UNLAYABLE = ['ENAMETOOLONG', 'EILSEQ', 'EINVAL'];

export function lookOf({ size, mtimeNs, ctimeNs, ino }: BigIntStats): string {
  return `${size}:${mtimeNs}:${ctimeNs}:${ino}`;
}

function toFound(path: string, stat: BigIntStats): Found | undefined {
  const mtimeMs = Number(stat.mtimeNs / 1_000_000n);
  const touchedMs = Math.max(mtimeMs, Number(stat.ctimeNs / 1_000_000n));
  if (stat.isDirectory()) return { path, kind: 'dir', look: '', bytes: 0, mtimeMs, touchedMs };
  if (!stat.isFile()) return undefined;
  return { path, kind: 'file', look: lookOf(stat), bytes: Number(stat.size), mtimeMs, touchedMs };
}

/** The look to remember of a file that somebody else wrote. */
export function settledLook({ look, touchedMs }: Found): string {
  return Math.abs(Date.now() - touchedMs) > UNSETTLED_MS ? look : '';
}

export class Mirror {
  constructor(
    readonly root: string,
    readonly how: Staging = {},
  ) {}

  path(relative: string): string {
    return relative === '' ? this.root : `${this.root}/${relative}`;
  }

  /** What is there itself, be it a link. */
  stat(path: string): BigIntStats | undefined {
    try {
      return lstatSync(path, { bigint: true, throwIfNoEntry: false });
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  /** A file or folder of the workspace, reached through real folders only. */
  look(path: string): Found | undefined {
    if (!this.#isReachable(path)) return undefined;
    const stat = this.stat(this.path(path));
    return stat && toFound(path, stat);
  }

  #isReachable(path: string): boolean {
    for (let folder = parentOf(path); folder !== ''; folder = parentOf(folder)) {
      if (!this.stat(this.path(folder))?.isDirectory()) return false;
    }
    return this.exists();
  }

  /** Whether the folder is there and a real one. */
  exists(): boolean {
    return this.stat(this.root)?.isDirectory() ?? false;
  }

  /**
   * Regular files and folders by path, parents first. Links, devices and names that a guest could not use are left out.
   * Throws `quota_exceeded` beyond `maxEntries`.
   */
  async scan(maxEntries: number): Promise<ReadonlyMap<string, Found>> {
    const found = new Map<string, Found>();
    const folders = [''];
    for (let prefix = folders.pop(); prefix !== undefined; prefix = folders.pop()) {
      for (const name of this.#names(prefix, maxEntries)) {
        const path = prefix + name;
        if (!isUsablePath(path)) continue;
        const stat = this.stat(this.path(path));
        const entry = stat && toFound(path, stat);
        if (entry === undefined) continue;
        found.set(path, entry);
        if (entry.kind === 'dir') folders.push(`${path}/`);
        if (found.size > maxEntries) throw tooMany(this.root, maxEntries);
        if (found.size % CALLS_PER_TURN === 0) await pause();
      }
    }
    return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** Names in a folder, read a few at a time so that no number of them takes more memory than allowed. */
  #names(prefix: string, max: number): string[] {
    const names: string[] = [];
    try {
      const folder = opendirSync(this.path(prefix.slice(0, -1)), { bufferSize: 1024 });
      try {
        for (let entry = folder.readSync(); entry !== null; entry = folder.readSync()) {
          names.push(entry.name);
          if (names.length > max) throw tooMany(this.root, max);
        }
      } finally {
        folder.closeSync();
      }
    } catch (error) {
      // Gone or closed to us since we saw it.
      if (!isAbsent(error) && codeOf(error) !== 'EACCES') throw error;
    }
    return names;
  }

  /**
   * Brings `paths` to what `target` says, with contents from staged files, and returns the looks of what was laid. What
   * cannot be done is passed to `onFailure` with its path; the rest is done nevertheless.
   */
  async apply(
    paths: Iterable<string>,
    target: ReadonlyMap<string, TreeEntry>,
    staged: ReadonlyMap<string, string>,
    onFailure: (path: string, error: unknown) => void,
  ): Promise<Map<string, string>> {
    const sorted = [...paths].sort();
    const laid = new Map<string, string>();
    const touched = new Set<string>();
    let calls = 0;
    const each = async (path: string, work: () => void) => {
      try {
        work();
        touched.add(parentOf(path));
      } catch (error) {
        if (!UNLAYABLE.includes(codeOf(error) ?? '')) onFailure(path, error);
      }
      if (++calls % CALLS_PER_TURN === 0) await pause();
    };
    const real = new Set<string>();
    this.ensureRoot();
    for (const path of sorted.toReversed()) {
      if (!target.has(path)) await each(path, () => this.#remove(path));
    }
    for (const path of sorted) {
      const entry = target.get(path);
      if (entry !== undefined) {
        await each(path, () => laid.set(path, this.#lay(path, entry, staged.get(path), real)));
      }
    }
    await inParallel(touched, async (folder) => {
      await syncFolder(this.path(folder), this.how).catch((error) => {
        if (!isAbsent(error)) throw error;
      });
    });
    return laid;
  }

  /** Makes the folder, so that a person finds it even where there are no files yet. */
  ensureRoot(): void {
    const stat = this.stat(this.root);
    if (stat?.isDirectory()) return;
    if (stat !== undefined) unlinkSync(this.root);
    mkdirSync(this.root, { mode: FOLDER_MODE });
  }

  #remove(path: string): void {
    const stat = this.#isReachable(path) ? this.stat(this.path(path)) : undefined;
    if (stat === undefined) return;
    try {
      if (stat.isDirectory()) rmdirSync(this.path(path));
      else unlinkSync(this.path(path));
    } catch (error) {
      // Somebody put a file there in the meantime: it stays, and is an edit.
      if (codeOf(error) !== 'ENOTEMPTY' && codeOf(error) !== 'EEXIST') throw error;
    }
  }

  /** `real` has folders that were seen to be real ones. */
  #lay(path: string, { kind }: TreeEntry, staged: string | undefined, real: Set<string>): string {
    this.#ensureFolders(parentOf(path), real);
    if (kind === 'dir') {
      this.#ensureFolders(path, real);
      return '';
    }
    const to = this.path(path);
    if (this.stat(to)?.isDirectory()) rmSync(to, { recursive: true });
    renameSync(staged!, to);
    return lookOf(this.stat(to)!);
  }

  #ensureFolders(folder: string, real: Set<string>): void {
    if (folder === '' || real.has(folder)) return;
    this.#ensureFolders(parentOf(folder), real);
    const path = this.path(folder);
    const stat = this.stat(path);
    if (!stat?.isDirectory()) {
      if (stat !== undefined) unlinkSync(path);
      mkdirSync(path, { mode: FOLDER_MODE });
    }
    real.add(folder);
  }
}

function tooMany(root: string, max: number): SandboxError {
  return new SandboxError('quota_exceeded', `${root} holds more than ${max} entries. Take some out of it.`);
}
