/**
 * The folder objects/ of a session: one file per object, named `<sha256>.<kind>`.
 * Invariant: an object is completely on disk before a manifest references it, never changes, and is used only after its
 * digest has been verified.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachConcurrently } from '../../concurrency/for-each-concurrently.ts';
import { digestInSlices } from '../format/content-digest.ts';
import {
  MissingObjectError,
  type ObjectKind,
  type ObjectRef,
  type ObjectSource,
  objectName,
} from '../format/object-ref.ts';
import { damaged } from '../format/stored-json.ts';
import { isNotFound } from './file-errors.ts';
import { type Durability, ensureFolder, readFileSafely, replaceFile, syncFolder } from './safe-files.ts';

export class ObjectFolder implements ObjectSource {
  /** Names of the objects that this process has written or verified. */
  readonly #verified = new Set<string>();
  /** Names in the folder; undefined if they are unknown. Only the holder of the lease writes, so they stay correct. */
  #present: Set<string> | undefined;

  constructor(
    readonly location: string,
    readonly staging: string,
    readonly durability: Durability,
  ) {}

  async read(kind: ObjectKind, ref: ObjectRef): Promise<Uint8Array> {
    const name = objectName(kind, ref);
    const path = join(this.location, name);
    const shared = kind === 'memory' || kind === 'data';
    const bytes = await readFileSafely(path, { maxBytes: ref.bytes, exactBytes: ref.bytes, shared });
    if (bytes === undefined) throw new MissingObjectError(path);
    if ((await digestInSlices(bytes)) !== ref.sha256) throw damaged(path, 'does not match its digest');
    this.#verified.add(name);
    return bytes;
  }

  /** Writes the objects that are not known to be on disk. */
  async write(objects: ReadonlyMap<string, Uint8Array>): Promise<void> {
    await ensureFolder(this.location);
    const missing: [name: string, bytes: Uint8Array][] = [];
    for (const [name, bytes] of objects) if (!this.#verified.has(name)) missing.push([name, bytes]);
    if (missing.length === 0) return;
    const present = this.#present;
    // If a write fails, some of the files exist.
    this.#present = undefined;
    await forEachConcurrently(missing, async ([name, bytes]) => {
      await replaceFile(this.staging, join(this.location, name), bytes, this.durability);
    });
    await syncFolder(this.location, this.durability);
    for (const [name] of missing) {
      this.#verified.add(name);
      present?.add(name);
    }
    this.#present = present;
  }

  /** Removes every object whose name is not a key of `referenced`. */
  async removeUnreferenced(referenced: ReadonlyMap<string, unknown>): Promise<void> {
    const present = this.#present ?? new Set(await this.#list());
    this.#present = present;
    for (const name of present) {
      if (referenced.has(name)) continue;
      this.#verified.delete(name);
      await rm(join(this.location, name), { force: true, recursive: true });
      present.delete(name);
    }
  }

  /** Makes later reads and writes assume nothing about the folder. */
  clearCache(): void {
    this.#verified.clear();
    this.#present = undefined;
  }

  async #list(): Promise<string[]> {
    try {
      return await readdir(this.location);
    } catch (error) {
      if (isNotFound(error)) return [];
      throw error;
    }
  }
}
