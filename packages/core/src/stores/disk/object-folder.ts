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
  /** Whether the folder has no other objects than those that were referenced at the last removal, or written since. */
  #isClean = false;

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
    const isClean = this.#isClean;
    // If a write fails, some of the files exist.
    this.#isClean = false;
    await forEachConcurrently(missing, async ([name, bytes]) => {
      await replaceFile(this.staging, join(this.location, name), bytes, this.durability);
    });
    await syncFolder(this.location, this.durability);
    for (const [name] of missing) this.#verified.add(name);
    this.#isClean = isClean;
  }

  /** Lets the next removal examine all objects: some that are not referenced may stay until then. */
  keepUnreferenced(): void {
    this.#isClean = false;
  }

  /** Removes every object that is not referenced. `dropped` are those that were until now. */
  async removeUnreferenced(
    referenced: { has(name: string): boolean },
    dropped: readonly string[],
  ): Promise<void> {
    const names = this.#isClean ? dropped : await this.#list();
    this.#isClean = false;
    for (const name of names) {
      if (referenced.has(name)) continue;
      this.#verified.delete(name);
      await rm(join(this.location, name), { force: true, recursive: true });
    }
    this.#isClean = true;
  }

  /** Makes later reads and writes assume nothing about the folder. */
  clearCache(): void {
    this.#verified.clear();
    this.#isClean = false;
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
