/**
 * A sandbox without an interpreter of its own that uses the files of a session. Programs start from the newest files and run
 * at the same time; the changes of each program are applied to the files as the others have left them.
 */
import type { FileTree } from '../fs/immutable-file-tree.ts';
import type { Call } from '../sandbox/call-options.ts';
import type { SandboxParts } from '../sandbox/create-parts.ts';
import type { FinishedCall } from '../sandbox/observe-run.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import type { Workspace } from '../sandbox/workspace.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';

/** The session that stores the files. */
interface FilesOwner {
  /** Keeps the newest files in memory while `work` uses them. */
  withFiles<T>(work: (files: Workspace) => Promise<T>, access: 'read' | 'write'): Promise<T>;
  /** Saves the files. */
  workspaceChanged(): Promise<void>;
  /** Whether the session has an interpreter that must learn of the changes. */
  readonly hasInterpreter: boolean;
}

export class SharedFilesSandbox extends Sandbox {
  readonly #owner: FilesOwner;

  constructor(parts: SandboxParts, workspace: Workspace, owner: FilesOwner) {
    super(parts, workspace);
    this.#owner = owner;
  }

  protected override run(call: Call): Promise<FinishedCall> {
    return this.untilComplete(call, () =>
      this.#owner.withFiles((files) => this.runIn(call, files.snapshot()), 'read'),
    );
  }

  protected override applyFiles(outcome: RunOutcome): void {
    if (this.#owner.hasInterpreter) this.workspace.merge(outcome.changes);
    else super.applyFiles(outcome);
  }

  protected override changeFiles(change: () => void): Promise<FileTree> {
    return this.#owner.withFiles(async (files) => {
      change();
      const changed = files.snapshot();
      await this.#owner.workspaceChanged();
      return changed;
    }, 'write');
  }
}
