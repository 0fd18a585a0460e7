/**
 * Runs the optimisation programs of a runtime while no job runs, so that V8 optimises the interpreter and the code that runs
 * programs and saves sessions. A program that is already running when its interpreter is optimised does not benefit
 * from it, because V8 does not replace WebAssembly code that is being executed. This changes nothing that a program can
 * observe: its guest is reset to the image afterwards. It stops as soon as a job arrives.
 */
import type { Delta } from '../../engine/delta.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import {
  type FromWorker,
  NO_JOB,
  type RunJob,
  type RunLimits,
  type SavedState,
} from '../protocol/messages.ts';
import type { TreeUpdate } from '../protocol/tree-updates.ts';
import type { JobCallbacks } from './job-callbacks.ts';

/** Fuel between two checks for a job, so that a job waits less than a millisecond until the program stops. */
const FUEL_BETWEEN_JOB_CHECKS = 100_000;
const EMPTY_WORKSPACE: TreeUpdate = {
  id: 'optimization',
  base: null,
  version: 0,
  edit: { removed: [], entries: [] },
  size: 0,
  bytes: 0,
  pathBytes: 0,
  isKept: false,
  discarded: [],
};
/** Limits of each program. The programs need less. */
const LIMITS: Omit<RunLimits, 'memory_bytes'> = {
  fuel_budget: 100_000_000,
  timeout_seconds: 2,
  max_processes: 0,
  max_process_depth: 0,
  stdout_max_bytes: 64 * 1024,
  stderr_max_bytes: 64 * 1024,
  workspace_max_bytes: 1024 * 1024,
  workspace_max_files: 16,
  deterministic: undefined,
};
/**
 * Limit on the number of starts, as a multiple of the number of programs. A program that a job interrupts is started
 * again.
 */
const MAX_ATTEMPTS = 3;

export class IdleOptimization {
  #next = 0;
  #attempts = 0;
  /** The state that the last program left. The next one continues from it, like the next call of a session. */
  #state: Delta = [];

  constructor(
    readonly image: string,
    readonly runtime: Pick<Runtime, 'name' | 'optimizationPrograms'>,
  ) {}

  get #programs(): readonly string[] {
    return this.runtime.optimizationPrograms;
  }

  get isDone(): boolean {
    const { length } = this.#programs;
    return this.#next >= length || this.#attempts >= length * MAX_ATTEMPTS;
  }

  /** The message for the main thread, with the number of programs that have run to their end. */
  report(): FromWorker {
    return { type: 'optimized', id: NO_JOB, image: this.image, programs: this.#next };
  }

  /** Runs the next program in a guest that is released afterwards. */
  runNext(
    run: (id: number, job: RunJob, callbacks: JobCallbacks) => void,
    memoryBytes: number,
    isAbandoned: () => boolean,
  ): void {
    this.#attempts++;
    run(NO_JOB, this.#job(this.#programs[this.#next]!, memoryBytes), {
      // No guest is cached.
      guests: { take: () => ({}), makeRoom: (added) => new Map([['', added]]), put: () => {} },
      send: (message) => {
        if (message.type === 'saved') this.#continueFrom(message.saved);
      },
      reportStart: () => {},
      reportFuel: () => {},
      isAbandoned,
      sliceFuel: FUEL_BETWEEN_JOB_CHECKS,
    });
  }

  #continueFrom({ deltaHeader, keptParts, newParts }: Omit<SavedState, 'tmp'>): void {
    const kept = this.#state.slice(1, 1 + keptParts);
    this.#state = [deltaHeader, ...kept, ...newParts.map(({ bytes }) => bytes)];
    this.#next++;
  }

  #job(code: string, memoryBytes: number): RunJob {
    return {
      type: 'run',
      image: this.image,
      program: { code, language: this.runtime.name, env: {}, args: [], inject_setup: true },
      stdin: new Uint8Array(),
      hasMoreStdin: false,
      limits: { ...LIMITS, memory_bytes: memoryBytes },
      workspace: EMPTY_WORKSPACE,
      mountSet: { id: 'optimization', mounts: [] },
      streamOutput: 'none',
      profile: false,
      session: {
        id: 'optimization',
        version: this.#next,
        delta: this.#state.length === 0 ? undefined : this.#state,
        tmp: [],
        edits: { removed: [], entries: [] },
        discardState: false,
      },
    };
  }
}
