/**
 * Runs the program of one job in a guest and sends its output, its outcome and, in a session, the new state. The guest is
 * reset after the result has been sent, so that the caller does not wait for it.
 */
import type { ProgramState } from '../analysis/run-profile-schema.ts';
import type { Guest } from '../engine/guest.ts';
import type { LimitReason, RunContext } from '../engine/run-context.ts';
import type { FileTree } from '../fs/immutable-file-tree.ts';
import type { TreeChanges } from '../fs/tree-changes.ts';
import { CappedOutput } from '../kernel/capped-output.ts';
import type { FindPackages } from '../kernel/package-finder.ts';
import type { Kernel } from '../kernel/syscalls.ts';
import { programFile } from '../runtimes/program-files.ts';
import type { StoppedAt } from '../schema.ts';
import { ChartRenderer } from './chart-renderer.ts';
import { CooperativeYield } from './cooperative-yield.ts';
import { DETAILED_SAMPLE_FUEL, FuelProfiler } from './fuel-profiler.ts';
import { GuestToolCalls } from './guest-tool-calls.ts';
import type { HostRequests } from './host-requests.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import { limitChangedFiles } from './limit-changed-files.ts';
import type { LoadedImage } from './load-image.ts';
import { OutputSender } from './output-sender.ts';
import { packOutcome } from './packed-messages.ts';
import { prepareGuest } from './prepare-guest.ts';
import type { RunJob, RunOutcome } from './protocol.ts';
import { RunResults } from './run-results.ts';
import { runProgram } from './run-to-outcome.ts';
import { saveSession } from './save-session.ts';
import { timed } from './startup-phases.ts';
import type { ReceivedTrees } from './tree-updates.ts';

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
}

export function runJob(
  thread: ThreadContext,
  id: number,
  job: RunJob,
  loaded: LoadedImage,
  workspace: FileTree | undefined,
  maxPages: number,
  callbacks: JobCallbacks,
): void {
  const { requests, workspaces } = thread;
  const { guests, send, reportStart, reportFuel, isAbandoned } = callbacks;
  const { limits, session } = job;
  const stdout = new CappedOutput(limits.stdoutMaxBytes);
  const stderr = new CappedOutput(limits.stderrMaxBytes);
  const isUncapped = job.streamOutput === 'all';
  const sendOutput = (stream: 1 | 2, bytes: Uint8Array) => send({ type: 'output', id, stream, bytes });
  const drain = () => void requests.ask(id, guest, { type: 'drain' });
  const sender =
    job.streamOutput === 'none' ? undefined : new OutputSender(sendOutput, isUncapped ? drain : undefined);
  const cooperativeYield = new CooperativeYield(thread.hostBlock);
  // Created below, because it reads the guest; the program starts after that.
  let profiler: (() => FuelProfiler) | undefined;
  let stateAtLimit: ProgramState | undefined;
  const hooks: RunHooks = {
    sliceFuel: callbacks.sliceFuel,
    onSlice: (fuelConsumed) => {
      if (isAbandoned?.()) guest.stop({ reason: 'cancelled', message: 'abandoned' });
      profiler?.().sample(fuelConsumed);
      reportFuel(fuelConsumed);
    },
    onLimit: (reason) => {
      stateAtLimit = profiler?.().state(guest.fuelConsumed);
      // The interpreter works for the program between two of its functions, for example in its event loop.
      if (reason === 'out_of_fuel') stateAtLimit ??= profiler?.().lastState;
    },
    result: (message) => results.receive(message),
  };
  const results = new RunResults(
    () => guest.kernel.volume,
    (result) => send({ type: 'result', id, result }),
  );
  const context = runContext(
    thread.control,
    id,
    job,
    cooperativeYield,
    { 1: stdout, 2: stderr },
    sender,
    hooks,
  );
  const { current, stale } = prepareGuest(loaded, job, workspace, maxPages, context, guests);
  const { guest } = current;
  const { handles } = loaded.image.header;
  const call = guest.kernel.calls + 1;
  const program = { file: programFile(job.language, call, job.fileName), code: job.code };
  // Most runs use less than one slice of fuel and need none.
  let recorded: FuelProfiler | undefined;
  profiler = () => {
    recorded ??= new FuelProfiler(
      loaded.runtime.stackReader(guest, handles),
      program,
      limits,
      job.profile,
      () => guest.memory.buffer.byteLength,
    );
    return recorded;
  };
  guest.kernel.stdin = job.stdin;
  if (job.hasMoreStdin)
    guest.kernel.moreStdin = () => {
      const answer = requests.ask(id, guest, { type: 'stdin' });
      return answer === undefined ? 'interrupted' : (answer.bytes ?? 'end');
    };
  const tools = job.tools && new GuestToolCalls(requests, id, guest, job.tools);
  guest.kernel.tools = tools;
  guest.kernel.findPackages = packageFinder(requests, id, guest);
  guest.kernel.volume.takeExceededLimit();
  // Restoring a session is work of the host and does not count against the time of the program.
  const startedMs = performance.now();
  cooperativeYield.start(startedMs);
  guest.setDeadline(startedMs + limits.timeoutMs);
  reportStart(id);
  const request = {
    ...program,
    language: job.language,
    env: job.env,
    args: job.args,
    call,
    keep: session !== undefined,
    fuel_budget: limits.fuelBudget,
    timeout_seconds: limits.timeoutMs / 1000,
    inject_setup: job.injectSetup,
    tools: tools?.names,
  };
  const observer = {
    file: program.file,
    stateAtLimit: () => stateAtLimit,
    stateNow: () => profiler().state(guest.fuelConsumed),
    placeOf: (place: StoppedAt) => profiler().placeOf(place),
  };
  const isResumed = job.tools?.resumed !== undefined;
  const { trap, report, stoppedAt, isConsistent, isPaused } = timed('first_run', () =>
    runProgram(guest, loaded.runtime, handles, request, observer, isResumed),
  );
  const exceededQuota = guest.kernel.volume.takeExceededLimit();
  tools?.close();
  guest.kernel.tools = undefined;
  guest.kernel.findPackages = undefined;
  const rest = { 1: stdout.finish(), 2: stderr.finish() };
  if (!isUncapped)
    for (const stream of [1, 2] as const) sender?.push(stream, rest[stream], performance.now());
  sender?.finish(performance.now());
  loaded.checkDamage();
  let chartFuel = 0;
  if (results.hasCharts) {
    const cancellation = { cancel: thread.control, cancelValue: id };
    // Yielding and waiting for tools do not count against the time limit.
    const deadlineMs = startedMs + limits.timeoutMs + cooperativeYield.yieldedMs + (tools?.waitedMs ?? 0);
    const charts = new ChartRenderer(cancellation, () => thread.loadedImages.values(), deadlineMs);
    results.drawCharts((spec) => charts.draw(spec));
    chartFuel = charts.fuelConsumed;
  }
  const durationMs = performance.now() - startedMs - cooperativeYield.yieldedMs;
  const keepsState = session !== undefined && !session.discardState;
  const state = !keepsState ? 'fresh' : isConsistent ? 'committed' : 'rolled_back';
  const taken = takeChanges(guest.kernel, state);
  const isImportInterrupted = guest.kernel.imports.isInterrupted && report?.exit_code !== 0;
  const lateResults = results.finish(report, taken);
  const { changes, omitted } = limitChangedFiles(taken);
  const outcome: RunOutcome = {
    trap,
    report,
    state,
    ...(isPaused && { isPaused }),
    ...(isImportInterrupted && { isImportInterrupted }),
    ...(tools && { toolWaitMs: tools.waitedMs }),
    fuelConsumed: guest.fuelConsumed,
    chartFuel,
    memoryUsedBytes: guest.memory.buffer.byteLength,
    durationMs,
    yieldedMs: cooperativeYield.yieldedMs,
    stdout: stdout.text(),
    stderr: stderr.text(),
    stdoutDroppedBytes: stdout.dropped,
    stderrDroppedBytes: stderr.dropped,
    changes,
    filesOmitted: omitted,
    otherUsage: state === 'committed' ? guest.kernel.volume.usageOutside('/app') : { bytes: 0, files: 0 },
    exceededQuota,
    imports: guest.kernel.imports.close(guest.fuelConsumed, isConsistent),
    profile: recorded?.finish(trap !== undefined),
    stoppedAt,
    resultsOmitted: results.omitted,
    declared: keepsState ? loaded.runtime.source.declaredNames(job.code) : [],
  };
  send({ type: 'done', id, outcome: packOutcome(outcome), results: lateResults });
  if (job.workspace !== undefined) workspaces.recordChanges(job.workspace, (before) => before.apply(changes));
  const unneeded = [
    ...(state === 'committed'
      ? saveSession(id, loaded, current, session!, isPaused === true, callbacks)
      : [current]),
    stale,
  ];
  for (const released of unneeded) released?.pool.release(released.guest);
}

/** Requests for packages in one run. Later ones are answered here. */
const MAX_PACKAGE_REQUESTS = 100;

function packageFinder(requests: HostRequests, id: number, guest: Guest): FindPackages {
  let count = 0;
  return (kind, names) => {
    if (++count > MAX_PACKAGE_REQUESTS) return names;
    const answer = requests.ask(id, guest, { type: 'packages', kind, names });
    if (answer?.packages === 'restart') guest.stop({ reason: 'cancelled', message: 'starts again' });
    return answer?.packages ?? names;
  };
}

/** The changes in the workspace. Memory and workspace are rolled back together. */
function takeChanges(kernel: Kernel, state: RunOutcome['state']): TreeChanges {
  if (state === 'rolled_back') return NO_CHANGES;
  return state === 'committed'
    ? kernel.volume.commit('/app', () => kernel.nodesInUse())
    : kernel.volume.changes('/app');
}

const NO_CHANGES = { created: [], modified: [], deleted: [], removed: [], entries: [] };

interface RunHooks {
  readonly sliceFuel: number | undefined;
  readonly onSlice: (fuelConsumed: number) => void;
  readonly onLimit: (reason: LimitReason) => void;
  readonly result: (message: Uint8Array) => void;
}

function runContext(
  cancel: Int32Array,
  id: number,
  { limits, profile, streamOutput }: RunJob,
  cooperativeYield: CooperativeYield,
  outputs: Record<1 | 2, CappedOutput>,
  sender: OutputSender | undefined,
  { sliceFuel, ...hooks }: RunHooks,
): RunContext {
  return {
    fuelBudget: limits.fuelBudget,
    deadlineMs: Number.POSITIVE_INFINITY,
    cancel,
    cancelValue: id,
    sliceFuel: sliceFuel ?? (profile ? DETAILED_SAMPLE_FUEL : undefined),
    onLimit: hooks.onLimit,
    result: hooks.result,
    onSlice: (fuelConsumed) => {
      hooks.onSlice(fuelConsumed);
      return cooperativeYield.maybeYield(fuelConsumed);
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
