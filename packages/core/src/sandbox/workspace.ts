/**
 * The workspace of a sandbox: its files, and the order in which interpreters and the host use them. Fresh interpreters of any
 * runtime start from the newest files, and their changes are applied to the files as others have left them. Live interpreters
 * have files of their own, which are those of the workspace during a call. Where the files are stored is not its business.
 */
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { nextTurn } from '../concurrency/slices.ts';
import type { TreeEdit } from '../fs/flat-entries.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import type { CallFiles, WorkspaceFile, WorkspaceFiles } from './workspace-files.ts';

/** Keeps the newest files in memory while they are used, and saves them. */
export interface WorkspaceStorage {
  read<T>(work: (files: WorkspaceFiles) => Promise<T>): Promise<T>;
  /** The same for work that changes the files. */
  write<T>(work: () => Promise<T>): Promise<T>;
  /** Saves the files after a change. */
  save(): Promise<void>;
  /** Whether an interpreter that has the files must learn of changes. */
  readonly hasInterpreter: boolean;
}

/** The files are only in memory. */
const inMemory = (files: WorkspaceFiles): WorkspaceStorage => ({
  read: async (work) => work(files),
  write: async (work) => work(),
  save: async () => {},
  hasInterpreter: false,
});

export class Workspace {
  /** Calls during which the workspace has the files of another one. */
  readonly #borrowing = new SerialQueue();

  constructor(
    readonly files: WorkspaceFiles,
    readonly tenant: string,
    readonly storage: WorkspaceStorage = inMemory(files),
  ) {}

  /** Passes the newest files, which must not be changed. */
  read<T>(work: (files: WorkspaceFiles) => T | Promise<T>): Promise<T> {
    return this.storage.read(async (files) => work(files));
  }

  /** Changes the files and saves them if they have changed. */
  change<T>(work: (files: WorkspaceFiles) => T): Promise<T> {
    const { files, storage } = this;
    return storage.write(async () => {
      const before = files.snapshot();
      const result = work(files);
      if (files.snapshot() !== before) await storage.save();
      return result;
    });
  }

  list(): Promise<WorkspaceFile[]> {
    return this.read((files) => files.list());
  }

  /** The files, folders and links. Later changes do not affect them. */
  tree(): Promise<FileTree> {
    return this.read((files) => files.snapshot());
  }

  /** Writes all of the files or none. Returns the files then. */
  write(written: CallFiles): Promise<FileTree> {
    return this.change((files) => {
      files.write(written);
      return files.snapshot();
    });
  }

  /** Changes files, folders and links. Throws `quota_exceeded` or `invalid_path`; then nothing changes. */
  async edit(change: (tree: FileTree) => TreeEdit): Promise<void> {
    // Moving a folder with many files takes time, so edits that arrive together are made in turns of their own.
    await nextTurn(this.tenant);
    return this.change((files) => {
      const edit = change(files.snapshot());
      if (edit.removed.length + edit.entries.length > 0) files.merge(edit);
    });
  }

  /** Applies the files that a program in a fresh interpreter left. */
  async apply(outcome: RunOutcome): Promise<void> {
    const { changes } = outcome;
    if (changes.removed.length + changes.entries.length === 0) return;
    const isEdit = this.storage.hasInterpreter;
    await this.change((files) => (isEdit ? files.merge(changes) : files.apply(outcome)));
  }

  /**
   * Runs calls of a live interpreter, whose own files are in this workspace, with the files of another workspace: it gets them
   * before, and what it has changed is applied to them afterwards. Only differences are copied. Such calls run one after another.
   * Throws `queue_full` if more than `maxWaiting` of them wait.
   */
  borrow<T>(
    ownerOf: () => Workspace | Promise<Workspace>,
    work: () => Promise<T>,
    maxWaiting?: number,
  ): Promise<T> {
    return this.#borrowing.run(async () => {
      const owner = await ownerOf();
      if (owner === this) return work();
      const before = await owner.tree();
      await this.edit((tree) => tree.difference(before));
      const result = await work();
      const after = await this.tree();
      await owner.edit(() => before.difference(after));
      return result;
    }, maxWaiting);
  }
}
