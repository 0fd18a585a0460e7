/**
 * The contents of a session by their SHA-256, shared by its state, its undo and its checkpoints.
 * Invariant: an object is complete and on the disk before anything refers to it, never changes, and is taken for what
 * it claims to be only after its digest has been computed.
 *
 *   objects/<sha256>.memory         the interpreter's difference to its boot image
 *   objects/<sha256>.data           contents of a file
 *   objects/<sha256>.tree.json      a tree of files: paths, modes, times, digests
 *   objects/<sha256>.changes.json   what a commit changes in workspace/
 */
import { readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../format/digest.ts';
import {
  damaged,
  ensureFolder,
  inParallel,
  isAbsent,
  readFileSafely,
  type Staging,
  stageFile,
  syncFolder,
} from './safe-files.ts';

const SUFFIXES = { memory: '.memory', data: '.data', tree: '.tree.json', changes: '.changes.json' } as const;
export type ObjectKind = keyof typeof SUFFIXES;

export interface ObjectRef {
  readonly sha256: string;
  readonly bytes: number;
}

export function refTo(bytes: Uint8Array): ObjectRef {
  return { sha256: sha256(bytes), bytes: bytes.length };
}

export function objectName(kind: ObjectKind, ref: ObjectRef): string {
  return ref.sha256 + SUFFIXES[kind];
}

/** Where objects can be had from. */
export interface ObjectSource {
  /** Named in errors. */
  readonly folder: string;
  /** The bytes of an object, verified; contents of files and memories lie in shared memory. */
  read(kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array>;
}

/** Thrown inside the store when an object is not there: a reader without the lock may have come too late. */
export class MissingObject extends Error {}

export class Objects implements ObjectSource {
  /** Objects known to be good, because this process wrote or verified them. */
  readonly #good = new Set<string>();

  constructor(
    readonly folder: string,
    readonly staging: string,
    readonly how: Staging,
  ) {}

  /** The bytes of an object, verified. */
  async read(kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array> {
    const name = objectName(kind, ref);
    const path = join(this.folder, name);
    const shared = kind === 'memory' || kind === 'data';
    const bytes = await readFileSafely(path, { maxBytes: ref.bytes, exactBytes: ref.bytes, shared });
    if (bytes === undefined) throw new MissingObject(path);
    if (sha256(bytes) !== ref.sha256) throw damaged(path, 'does not have the contents its name promises');
    this.#good.add(name);
    return bytes;
  }

  /** Writes what is not there yet. */
  async write(objects: ReadonlyMap<string, Uint8Array>): Promise<void> {
    await ensureFolder(this.folder);
    const missing = [...objects].filter(([name]) => !this.#good.has(name));
    await inParallel(missing, async ([name, bytes]) => {
      const staged = await stageFile(this.staging, bytes, this.how);
      await rename(staged, join(this.folder, name));
    });
    if (missing.length > 0) await syncFolder(this.folder, this.how);
    for (const [name] of missing) this.#good.add(name);
  }

  /** Removes all others. */
  async keepOnly(names: ReadonlySet<string> | ReadonlyMap<string, unknown>): Promise<void> {
    for (const name of await this.#list()) {
      if (names.has(name)) continue;
      this.#good.delete(name);
      await rm(join(this.folder, name), { force: true, recursive: true });
    }
  }

  /** Takes no object for granted any more. */
  forget(): void {
    this.#good.clear();
  }

  async #list(): Promise<string[]> {
    try {
      return await readdir(this.folder);
    } catch (error) {
      if (isAbsent(error)) return [];
      throw error;
    }
  }
}
