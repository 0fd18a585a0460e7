/**
 * The checkpoints of a session that are only in its folder. A write keeps their states and the objects they reference,
 * without reading them into memory.
 */
import type { ObjectSource } from '../format/object-ref.ts';
import { referencedObjects, type StateManifest, storedStates } from '../format/session-codec.ts';
import type { StoredSession } from '../store.ts';
import { readDiskManifest } from './disk-manifest.ts';

interface FoundCheckpoints {
  /** The states, by name of the checkpoint. */
  readonly states: ReadonlyMap<string, StateManifest>;
  /** The objects that the states reference, with their sizes. */
  readonly groups: readonly ReadonlyMap<string, number>[];
  /** Whether `groups` lists all of them. */
  readonly isComplete: boolean;
}

export class RetainedCheckpoints {
  /** The objects of states that were looked up, by state; they never change. */
  readonly #objectsByState = new Map<string, ReadonlyMap<string, number>>();

  constructor(
    readonly folder: string,
    readonly id: string,
    readonly objects: ObjectSource,
  ) {}

  /** Finds the checkpoints whose states the session object does not contain. */
  async find(session: StoredSession): Promise<FoundCheckpoints> {
    const isWanted = session.checkpoints.some(({ state }) => state === undefined);
    const manifest = isWanted ? await readDiskManifest(this.folder, this.id) : undefined;
    const states = storedStates(manifest?.checkpoints, session);
    const groups: ReadonlyMap<string, number>[] = [];
    let isComplete = true;
    for (const state of states.values()) {
      const referenced = await this.#objectsOf(state);
      if (referenced === undefined) isComplete = false;
      else groups.push(referenced);
    }
    const keys = new Set([...states.values()].map(keyOf));
    for (const key of this.#objectsByState.keys()) if (!keys.has(key)) this.#objectsByState.delete(key);
    return { states, groups, isComplete };
  }

  /** Undefined if a tree cannot be read. Reading the checkpoint reports the damage; the session can still be used. */
  async #objectsOf(state: StateManifest): Promise<ReadonlyMap<string, number> | undefined> {
    const known = this.#objectsByState.get(keyOf(state));
    if (known !== undefined) return known;
    const found = await referencedObjects(state, this.objects).catch(() => undefined);
    if (found !== undefined) this.#objectsByState.set(keyOf(state), found);
    return found;
  }
}

const keyOf = (state: StateManifest) => JSON.stringify(state);
