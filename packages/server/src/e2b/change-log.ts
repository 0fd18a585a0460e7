/**
 * The changes of the files of one sandbox, for all of its watchers. The difference between two trees is computed once, in
 * slices, whatever the number of watchers. The log has no contents of files, and drops the oldest changes when it is full.
 */

import { type Entry, type FileTree, finishInSlices, type NextSlice } from '@llm-wasm-sandbox/core/internal';
import { type EntryFacts, entryFacts } from './entry-info.ts';

/** Changes that the log keeps, and those of the last difference. */
const MAX_CHANGES = 20_000;
const STEP_CHANGES = 200;

export interface TreeChange {
  readonly path: string;
  readonly type: 'CREATE' | 'WRITE' | 'CHMOD' | 'RENAME' | 'REMOVE';
  /** Undefined if the path does not exist any more. */
  readonly entry?: EntryFacts;
}

export class ChangeLog {
  /** The position of the oldest change. */
  #first = 0;
  #changes: TreeChange[] = [];
  #updating: Promise<void> = Promise.resolve();
  /** The update that begins when the current one has ended. */
  #next: Promise<void> | undefined;

  constructor(
    /** The tree up to which the log has all changes. */
    public tree: FileTree,
  ) {}

  /** The position after the latest change. */
  get end(): number {
    return this.#first + this.#changes.length;
  }

  /** Adds the changes up to the tree that `read` returns. Callers that wait for the same update share it. */
  update(read: () => Promise<FileTree>, nextSlice: NextSlice): Promise<void> {
    this.#next ??= this.#updating
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        this.#updating = this.#add(read, nextSlice);
        return this.#updating;
      });
    return this.#next;
  }

  /** At most `count` changes from a position on; undefined if the log has dropped some of them. */
  from(position: number, count: number): readonly TreeChange[] | undefined {
    const start = position - this.#first;
    return start < 0 ? undefined : this.#changes.slice(start, start + count);
  }

  /** Drops the changes before a position, which no watcher needs. */
  dropBefore(position: number): void {
    const count = Math.max(0, position - this.#first);
    this.#changes.splice(0, count);
    this.#first += count;
  }

  async #add(read: () => Promise<FileTree>, nextSlice: NextSlice): Promise<void> {
    const tree = await read();
    if (tree === this.tree) return;
    const added = await finishInSlices(changesBetween(this.tree, tree), nextSlice);
    this.tree = tree;
    this.dropBefore(Math.min(this.end, this.end + added.length - MAX_CHANGES));
    this.#changes = [...this.#changes, ...added];
  }
}

function* changesBetween(before: FileTree, after: FileTree): Generator<undefined, TreeChange[]> {
  const { removed, entries } = yield* before.differenceSteps(after);
  const contents = new Set(entries.map(({ data }) => data).filter((data) => data !== undefined));
  const changes: TreeChange[] = [];
  let steps = 0;
  for (const path of removed) {
    const { data } = before.get(path)!;
    const isMoved = data !== undefined && data.length > 0 && contents.has(data);
    changes.push({ path, type: isMoved ? 'RENAME' : 'REMOVE' });
    if (++steps % STEP_CHANGES === 0) yield;
  }
  for (const now of entries) {
    const { path, kind } = now;
    const old = before.get(path);
    const entry = entryFacts(now);
    const isMode = old !== undefined && isOnlyMode(old, now);
    if (old === undefined) changes.push({ path, type: 'CREATE', entry });
    else if (isMode) changes.push({ path, type: 'CHMOD', entry });
    if (kind === 'file' && !isMode) changes.push({ path, type: 'WRITE', entry });
    if (++steps % STEP_CHANGES === 0) yield;
  }
  return changes;
}

const isOnlyMode = (old: Entry, now: Entry) => old.data === now.data && old.mode !== now.mode;
