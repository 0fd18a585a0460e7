/**
 * Runs the program of one job in a guest and sends its output, its outcome and, in a session, the new state. The guest is
 * reset after the result has been sent, so that the caller does not wait for it.
 */
import type { ProgramState } from '../../analysis/run-profile-schema.ts';
import type { Guest } from '../../engine/guest.ts';
import { freeDroppedMemory } from '../../engine/memory-account.ts';
import type { RunContext } from '../../engine/run-context.ts';
import type { TreeChanges } from '../../fs/tree-changes.ts';
import { CappedOutput } from '../../kernel/capped-output.ts';
import type { FindPackages } from '../../kernel/package-finder.ts';
import { StandardInput } from '../../kernel/standard-input.ts';
import type { Kernel } from '../../kernel/syscalls.ts';
import type { GuestAssets } from '../../runtimes/guest-artifacts.ts';
import { programFile } from '../../runtimes/program-files.ts';
import { checkCommandLayers, resolveProgram } from '../guest-processes/process-commands.ts';
import { type ImageFinder, unmountLayers } from '../guest-processes/process-images.ts';
import { ProcessTable } from '../guest-processes/process-table.ts';
import { CooperativeYield } from '../protocol/cooperative-yield.ts';
import { limitChangedFiles } from '../protocol/limit-changed-files.ts';
import type { HostAnswer, HostRequest, RunOutcome } from '../protocol/messages.ts';
import { packOutcome } from '../protocol/packed-messages.ts';
import { timed } from '../protocol/startup-phases.ts';
import type { ReceivedTrees } from '../protocol/tree-updates.ts';
import { ChartRenderer } from './chart-renderer.ts';
import { DETAILED_SAMPLE_FUEL, FuelProfiler } from './fuel-profiler.ts';
import { GuestToolCalls } from './guest-tool-calls.ts';
import type { HostRequests } from './host-requests.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import type { LoadedImage } from './load-image.ts';
import { OutputSender } from './output-sender.ts';
import { prepareGuest, type ReceivedJob } from './prepare-guest.ts';
import { ProgramStateSampler } from './program-state-sampler.ts';
import { RunResults } from './run-results.ts';
import { type ProgramOutcome, runProgram } from './run-to-outcome.ts';
import { saveSession } from './save-session.ts';
import type { SessionGuest } from './session-guests.ts';

/** What all runs of a thread share. */
interface ThreadContext {
  /** Shared with the main thread (see control-block.ts). */
  readonly control: Int32Array;
  /** Shared with all threads of the host. */
  readonly hostBlock: Int32Array;
  readonly requests: HostRequests;
  readonly workspaces: ReceivedTrees;
  /** The images that the thread has loaded, by id. */
  readonly loadedImages: ReadonlyMap<string, LoadedImage>;
  /** The assets of the images that it can load, by id. */
  readonly availableAssets: ReadonlyMap<string, GuestAssets>;
}

export function runJob(thread: ThreadContext, received: ReceivedJob, callbacks: JobCallbacks): void {
  const run = new JobRun(thread, received, callbacks);
  const stale = run.prepareGuest();
  run.connectGuest();
  run.startClock();
  const ended = run.runProgram();
  run.disconnectGuest();
  run.finishOutput();
  run.drawCharts();
  const outcome = run.sendOutcome(ended);
  run.saveOrRelease(outcome);
  stale?.pool.release(stale.guest);
}

/** The steps of a run, in their order. */
class JobRun {
  readonly #stdout: CappedOutput;
  readonly #stderr: CappedOutput;
  /** Absent if nobody reads the output while the program runs. */
  readonly #sender: OutputSender | undefined;
  readonly #results: RunResults;
  readonly #yield: CooperativeYield;
  #current!: SessionGuest;
  #tools: GuestToolCalls | undefined;
  #processes!: ProcessTable;
  #recordedProfile: FuelProfiler | undefined;
  #stateAtLimit: ProgramState | undefined;
  #exceededQuota: RunOutcome['exceededQuota'];
  #startedMs = 0;
  #chartFuel = 0;

  constructor(
    readonly thread: ThreadContext,
    readonly received: ReceivedJob,
    readonly callbacks: JobCallbacks,
  ) {
    const { id, job } = received;
    const { send } = callbacks;
    this.#stdout = new CappedOutput(job.limits.stdout_max_bytes);
    this.#stderr = new CappedOutput(job.limits.stderr_max_bytes);
    if (job.streamOutput !== 'none')
      this.#sender = new OutputSender(
        (stream, bytes) => send({ type: 'output', id, stream, bytes }),
        job.streamOutput === 'all' ? () => void this.#ask({ type: 'drain' }) : undefined,
      );
    this.#results = new RunResults(
      () => this.#guest.kernel.volume,
      (result) => send({ type: 'result', id, result }),
    );
    this.#yield = new CooperativeYield(thread.hostBlock);
  }

  get #guest(): Guest {
    return this.#current.guest;
  }

  /** The file under which the program is compiled. */
  get #file(): string {
    const { language, file_name } = this.received.job.program;
    return programFile(language, this.#call, file_name);
  }

  get #call(): number {
    return this.#guest.kernel.calls + 1;
  }

  /** Created when it is first needed. Most runs use less than one slice of fuel and need none. */
  get #profiler(): FuelProfiler {
    if (this.#recordedProfile === undefined) {
      const { job, loaded } = this.received;
      const guest = this.#guest;
      const reader = loaded.runtime.stackReader(guest, loaded.image.header.handles);
      const program = { file: this.#file, code: job.program.code };
      const states = new ProgramStateSampler(
        reader,
        program,
        job.limits,
        () => guest.memory.buffer.byteLength,
      );
      this.#recordedProfile = new FuelProfiler(states, job.profile);
    }
    return this.#recordedProfile;
  }

  #ask(request: HostRequest): HostAnswer | undefined {
    return this.thread.requests.ask(this.received.id, this.#guest, request);
  }

  /** Returns an outdated guest of the same session, to be released. */
  prepareGuest(): SessionGuest | undefined {
    const { current, stale } = prepareGuest(this.received, this.#context(), this.callbacks.guests);
    this.#current = current;
    return stale;
  }

  #context(): RunContext {
    const { id, job } = this.received;
    const { limits, streamOutput, profile } = job;
    const sender = this.#sender;
    const outputs = { 1: this.#stdout, 2: this.#stderr };
    return {
      fuelBudget: limits.fuel_budget,
      deadlineMs: Number.POSITIVE_INFINITY,
      cancel: this.thread.control,
      cancelValue: id,
      sliceFuel: this.callbacks.sliceFuel ?? (profile ? DETAILED_SAMPLE_FUEL : undefined),
      onLimit: (reason) => {
        // While the guest is prepared, no program runs.
        if (this.#current === undefined) return;
        this.#stateAtLimit = this.#profiler.state(this.#guest.fuelConsumed);
        // The interpreter works for the program between two of its functions, for example in its event loop.
        if (reason === 'out_of_fuel') this.#stateAtLimit ??= this.#profiler.lastState;
      },
      result: (message) => this.#results.receive(message),
      onSlice: (fuelConsumed) => {
        if (this.callbacks.isAbandoned?.()) this.#guest.stop({ reason: 'cancelled', message: 'abandoned' });
        this.#profiler.sample(fuelConsumed);
        this.callbacks.reportFuel(fuelConsumed);
        return this.#yield.maybeYield(fuelConsumed);
      },
      deterministic: limits.deterministic,
      output: (stream, bytes) => {
        const accepted = outputs[stream].push(bytes);
        sender?.push(stream, streamOutput === 'all' ? bytes : accepted, performance.now());
      },
      ...(sender && {
        onTick: (nowMs, isSleeping) => (isSleeping ? sender.flush(nowMs) : sender.tick(nowMs)),
      }),
    };
  }

  /** Connects the kernel with what the main thread provides: input, tools and packages. */
  connectGuest(): void {
    const { id, job, loaded } = this.received;
    const { kernel } = this.#guest;
    const askForMore = () => {
      const answer = this.#ask({ type: 'stdin' });
      return answer === undefined ? 'interrupted' : (answer.bytes ?? 'end');
    };
    const run = { requests: this.thread.requests, job: id };
    this.#tools = job.tools && new GuestToolCalls(run, this.#guest, job.tools);
    const context = {
      job,
      loaded,
      loadedImages: this.thread.loadedImages,
      images: job.findsImages && this.#imageFinder(),
      volume: () => kernel.volume,
      display: (message: Uint8Array) => this.#results.receive(message),
    };
    this.#processes = new ProcessTable(
      this.#guest,
      job.limits.memory_bytes,
      (...program) => resolveProgram(context, ...program),
      {
        input: new StandardInput(job.stdin, job.hasMoreStdin ? askForMore : undefined),
        hasResults: true,
        tools: this.#tools,
        findPackages: this.#packageFinder(),
      },
    );
    kernel.volume.takeExceededLimit();
  }

  #packageFinder(): FindPackages {
    const guest: Guest = this.#guest;
    let count = 0;
    return (kind, names) => {
      if (++count > MAX_PACKAGE_REQUESTS) return names;
      const answer = this.#ask({ type: 'packages', kind, names, used: this.#usedShare });
      if (answer?.packages === 'restart') guest.stop(STARTS_AGAIN);
      return answer?.packages ?? names;
    };
  }

  #imageFinder(): ImageFinder {
    const guest: Guest = this.#guest;
    return {
      ask: (question) => this.#ask({ type: 'image', question, used: this.#usedShare })?.image,
      assetsOf: (id) => this.thread.availableAssets.get(id)!,
      stop: () => guest.stop(STARTS_AGAIN),
      answers: new Map(),
    };
  }

  /** Restoring a session is work of the host and does not count against the time of the program. */
  startClock(): void {
    this.#startedMs = performance.now();
    this.#yield.start(this.#startedMs);
    this.#guest.setDeadline(this.#startedMs + this.#timeoutMs);
    this.callbacks.reportStart(this.received.id);
  }

  get #durationMs(): number {
    return performance.now() - this.#startedMs - this.#yield.yieldedMs;
  }

  /** The share of its fuel or its time that the program has used. */
  get #usedShare(): number {
    const { fuel_budget } = this.received.job.limits;
    return Math.max(this.#guest.fuelConsumed / fuel_budget, this.#durationMs / this.#timeoutMs);
  }

  get #timeoutMs(): number {
    return this.received.job.limits.timeout_seconds * 1000;
  }

  runProgram(): ProgramOutcome {
    const { job, loaded } = this.received;
    const { fuel_budget, timeout_seconds } = job.limits;
    const file = this.#file;
    const request = {
      ...job.program,
      file,
      call: this.#call,
      keep: job.session !== undefined,
      fuel_budget,
      timeout_seconds,
      tools: job.tools?.hasNoTools ? undefined : this.#tools?.names,
      ...(job.tools?.network && { network: true as const }),
    };
    const isResumed = job.tools?.resumed !== undefined;
    return timed('first_run', () =>
      runProgram(
        this.#guest,
        () => {
          const report = loaded.runtime[isResumed ? 'resume' : 'run'](
            this.#guest,
            loaded.image.header.handles,
            request,
          );
          this.#processes.finish(request.keep);
          return report;
        },
        {
          file,
          limits: job.limits,
          stateAtLimit: () => this.#stateAtLimit,
          stateNow: () => this.#profiler.state(this.#guest.fuelConsumed),
          placeOf: (place) => this.#profiler.placeOf(place),
        },
      ),
    );
  }

  disconnectGuest(): void {
    this.#processes.close();
    unmountLayers(this.#guest.kernel);
    this.#tools?.close();
    this.#exceededQuota = this.#guest.kernel.volume.takeExceededLimit();
  }

  finishOutput(): void {
    const rest = { 1: this.#stdout.finish(), 2: this.#stderr.finish() };
    if (this.received.job.streamOutput !== 'all')
      for (const stream of [1, 2] as const) this.#sender?.push(stream, rest[stream], performance.now());
    this.#sender?.finish(performance.now());
    this.received.loaded.checkDamage();
    checkCommandLayers();
  }

  drawCharts(): void {
    if (!this.#results.hasCharts) return;
    const { control, loadedImages } = this.thread;
    const cancellation = { cancel: control, cancelValue: this.received.id };
    // Yielding and waiting for tools do not count against the time limit.
    const waitedMs = this.#yield.yieldedMs + (this.#tools?.waitedMs ?? 0);
    const deadlineMs = this.#startedMs + this.#timeoutMs + waitedMs;
    const charts = new ChartRenderer(cancellation, () => loadedImages.values(), deadlineMs);
    this.#results.drawCharts((spec) => charts.draw(spec));
    this.#chartFuel = charts.fuelConsumed;
  }

  sendOutcome(ended: ProgramOutcome): RunOutcome {
    const { id, job, loaded } = this.received;
    const guest = this.#guest;
    const { kernel } = guest;
    const durationMs = this.#durationMs;
    const { isConsistent, report, ...ending } = ended;
    const keepsState = job.session !== undefined && !job.session.discardState;
    const state = !keepsState ? 'fresh' : isConsistent ? 'committed' : 'rolled_back';
    const taken = takeChanges(kernel, state);
    const isImportInterrupted = kernel.imports.isInterrupted && report?.exit_code !== 0;
    const results = this.#results.finish(report, taken);
    const { changes, omitted } = limitChangedFiles(taken);
    const outcome: RunOutcome = {
      ...ending,
      report,
      state,
      ...(isImportInterrupted && { isImportInterrupted }),
      ...(this.#tools && { toolWaitMs: this.#tools.waitedMs }),
      fuelConsumed: guest.fuelConsumed,
      chartFuel: this.#chartFuel,
      memoryUsedBytes: this.#processes.peakBytes,
      durationMs,
      yieldedMs: this.#yield.yieldedMs,
      stdout: this.#stdout.text(),
      stderr: this.#stderr.text(),
      stdoutDroppedBytes: this.#stdout.dropped,
      stderrDroppedBytes: this.#stderr.dropped,
      changes,
      filesOmitted: omitted,
      otherUsage: state === 'committed' ? kernel.volume.usageOutside('/app') : { bytes: 0, files: 0 },
      exceededQuota: this.#exceededQuota,
      imports: kernel.imports.close(guest.fuelConsumed, isConsistent),
      profile: this.#recordedProfile?.finish(ending.trap !== undefined),
      program: loaded.runtime.source.examine(job.program.code, {
        language: job.program.language,
        isStopped: ending.trap?.reason === 'out_of_fuel' || ending.trap?.reason === 'timeout',
        error: report?.error,
      }),
      resultsOmitted: this.#results.omitted,
      declared: keepsState ? loaded.runtime.source.declaredNames(job.program.code) : [],
    };
    this.callbacks.send({ type: 'done', id, outcome: packOutcome(outcome), results });
    return outcome;
  }

  /** Saves the state of a session and keeps its guest. Resets guests that are no longer needed. */
  saveOrRelease({ state, changes, isPaused = false }: RunOutcome): void {
    const { workspace } = this.received.job;
    if (workspace !== undefined)
      this.thread.workspaces.recordChanges(workspace, (before) => before.apply(changes));
    const unneeded =
      state === 'committed'
        ? saveSession(this.received, this.#current, isPaused, this.callbacks)
        : [this.#current];
    for (const { pool, guest } of unneeded) pool.release(guest);
    freeDroppedMemory(MAX_DROPPED_BYTES);
  }
}

/** More memory of dropped guests than this is freed when a call has ended. */
const MAX_DROPPED_BYTES = 128 * 1024 * 1024;
const STARTS_AGAIN = { reason: 'cancelled', message: 'starts again' } as const;
/** Requests for packages in one run. Later ones are answered here. */
const MAX_PACKAGE_REQUESTS = 100;

/** The changes in the workspace. Memory and workspace are rolled back together. */
function takeChanges(kernel: Kernel, state: RunOutcome['state']): TreeChanges {
  if (state === 'rolled_back') return NO_CHANGES;
  return state === 'committed'
    ? kernel.volume.commit('/app', () => kernel.nodesInUse())
    : kernel.volume.changes('/app');
}

const NO_CHANGES = { created: [], modified: [], deleted: [], removed: [], entries: [] };
