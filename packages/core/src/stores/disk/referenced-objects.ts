/**
 * The objects that the committed states of a session reference. States consist of groups of objects that most of them share, so
 * a commit counts only the groups that come and go.
 */
import type { ObjectGroup } from '../format/encode-tree.ts';

/** The objects of a group by name, or only their sizes. */
export type ReferencedGroup = ObjectGroup | ReadonlyMap<string, number>;

/** What a change of the references means for the objects. */
interface ReferenceChange {
  /** The groups that were referenced before. */
  readonly before: ReadonlySet<ReferencedGroup>;
  /** The objects of new groups whose contents are known. */
  readonly added: ReadonlyMap<string, Uint8Array>;
  /** Names of objects that no group references now. */
  readonly dropped: readonly string[];
}

const sizeOf = (object: Uint8Array | number) => (typeof object === 'number' ? object : object.length);

export class ReferencedObjects {
  #groups: ReadonlySet<ReferencedGroup> = new Set();
  /** How many groups reference an object, by name. */
  readonly #counts = new Map<string, number>();
  #bytes = 0;

  /** Total size of the objects. */
  get bytes(): number {
    return this.#bytes;
  }

  has(name: string): boolean {
    return this.#counts.has(name);
  }

  /** Replaces the groups. Passing `before` of the result undoes the change. */
  replace(groups: ReadonlySet<ReferencedGroup>): ReferenceChange {
    const before = this.#groups;
    const added = new Map<string, Uint8Array>();
    for (const group of groups) {
      if (before.has(group)) continue;
      for (const [name, object] of group) {
        const count = this.#counts.get(name) ?? 0;
        this.#counts.set(name, count + 1);
        if (count === 0) this.#bytes += sizeOf(object);
        if (typeof object !== 'number') added.set(name, object);
      }
    }
    const dropped: string[] = [];
    for (const group of before) {
      if (groups.has(group)) continue;
      for (const [name, object] of group) {
        const count = this.#counts.get(name)! - 1;
        this.#counts.set(name, count);
        if (count > 0) continue;
        this.#counts.delete(name);
        this.#bytes -= sizeOf(object);
        dropped.push(name);
      }
    }
    this.#groups = groups;
    return { before, added, dropped };
  }
}
