/** Runs each call in a fresh interpreter with the files of a workspace. Calls of one sandbox run one after another. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { undefinedIfAborted } from '../concurrency/cancellation.ts';
import type { Call } from './call-options.ts';
import { type FinishedCall, type Interpreter, outcomeOf, untilComplete } from './interpreter.ts';
import type { SandboxCore } from './sandbox-core.ts';
import { stoppedByHost } from './to-result.ts';
import type { Workspace } from './workspace.ts';
import type { WorkspaceFiles } from './workspace-files.ts';

export class FreshInterpreter implements Interpreter {
  readonly record = undefined;
  readonly cannotPause = 'it has no session in which it could be stored';

  constructor(
    readonly core: SandboxCore,
    readonly workspace: Workspace,
  ) {}

  run(call: Call): Promise<FinishedCall> {
    const start = () => this.workspace.read((files) => this.#run(call, files));
    return untilComplete(this.core.images, call, start);
  }

  async #run(call: Call, files: WorkspaceFiles): Promise<FinishedCall> {
    const { core, workspace } = this;
    const isFile = (path: string) => files.has(path);
    const image = await undefinedIfAborted(core.images.forCall(call, isFile), call.signal);
    if (image === undefined) return { outcome: stoppedByHost('cancelled', 0), queueMs: 0 };
    const { assets } = image;
    const queuedAt = performance.now();
    const turn = await core.acquire(call.signal);
    const queueMs = performance.now() - queuedAt;
    if (turn === undefined) return { outcome: stoppedByHost('cancelled', 0), queueMs };
    try {
      let tree = files.snapshot();
      if (call.files !== undefined) {
        tree = await workspace.write(call.files);
        // Writing many files blocks the event loop, and so does sending them to a worker. Other work can run in between.
        await nextTurn();
      }
      if (!call.packages?.areOfProcesses) call.packages?.begin(image.packages?.facts);
      const outcome = await outcomeOf(core.start(turn, call, { assets, tree }), call);
      if (call.packages?.mustRestart) return { outcome, queueMs };
      await workspace.apply(outcome);
      return { outcome, queueMs, packages: image };
    } finally {
      turn.release();
    }
  }
}
