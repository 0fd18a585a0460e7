/** Observes the program of a run: where it spends fuel, and its state at the first limit. Reads its guest only. */
import type { ProgramState, RunProfile } from '../../analysis/run-profile-schema.ts';
import type { Guest } from '../../engine/guest.ts';
import type { LimitReason } from '../../engine/run-context.ts';
import type { MessageLimits } from '../../runtimes/runtime.ts';
import type { StoppedAt } from '../../schema.ts';
import { FuelProfiler } from './fuel-profiler.ts';
import type { ReceivedJob } from './prepare-guest.ts';
import { ProgramStateSampler } from './program-state-sampler.ts';

export class ProgramObserver {
  /** The number of the call in its session, from 1. */
  readonly call: number;
  #recorded: FuelProfiler | undefined;
  #stateAtLimit: ProgramState | undefined;

  /** `file`: the path under which the program is compiled. */
  constructor(
    readonly guest: Guest,
    readonly received: Pick<ReceivedJob, 'job' | 'loaded'>,
    readonly file: string,
  ) {
    this.call = guest.kernel.calls + 1;
  }

  get limits(): MessageLimits {
    return this.received.job.limits;
  }

  /** Created when it is first needed. Most runs use less than one slice of fuel and need none. */
  get #profiler(): FuelProfiler {
    const { guest, file } = this;
    const { job, loaded } = this.received;
    this.#recorded ??= new FuelProfiler(
      new ProgramStateSampler(
        loaded.runtime.stackReader(guest, loaded.image.header.handles),
        { file, code: job.program.code },
        job.limits,
        () => guest.memory.buffer.byteLength,
      ),
      job.profile,
    );
    return this.#recorded;
  }

  /** Called between slices of fuel. */
  sample(fuelConsumed: number): void {
    this.#profiler.sample(fuelConsumed);
  }

  /** Whether the stack may have a frame of the program. Only the first frames are searched, because this is asked often. */
  get isInProgram(): boolean {
    return this.#profiler.states.isInProgram;
  }

  /** Called when the first limit is reached. */
  reachLimit(reason: LimitReason): void {
    this.#stateAtLimit = this.stateNow();
    // The interpreter works for the program between two of its functions, for example in its event loop.
    if (reason === 'out_of_fuel') this.#stateAtLimit ??= this.#profiler.lastState;
  }

  /** The state when the first limit was reached; undefined if none was. */
  get stateAtLimit(): ProgramState | undefined {
    return this.#stateAtLimit;
  }

  /** The state now, also of a guest that was stopped. */
  stateNow(): ProgramState | undefined {
    return this.#profiler.state(this.guest.fuelConsumed);
  }

  /** Adds variables to the place of an uncaught exception, if the report of the runtime has none. */
  placeOf(place: StoppedAt): StoppedAt {
    return this.#profiler.placeOf(place);
  }

  /** The profile, with states if they are asked for; undefined if the run used only one slice. */
  profile(withStates: boolean): RunProfile | undefined {
    return this.#recorded?.finish(withStates);
  }
}
