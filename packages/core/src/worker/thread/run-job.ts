/**
 * Runs the program of one job in a guest and sends its output, its outcome and, in a session, the new state. Each phase returns
 * what the next one needs. The guest is reset after the result has been sent, so that the caller does not wait for it.
 */

import { captureDelta } from '../../engine/delta.ts';
import { freeDroppedMemory } from '../../engine/memory-account.ts';
import { partsOf } from '../../engine/memory-capture.ts';
import type { RunContext } from '../../engine/run-context.ts';
import { toShared } from '../../fs/shared-array-buffers.ts';
import type { FindPackages } from '../../kernel/package-finder.ts';
import { StandardInput } from '../../kernel/standard-input.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import { checkCommandLayers, resolveProgram } from '../guest-processes/process-commands.ts';
import { type ImageFinder, unmountLayers } from '../guest-processes/process-images.ts';
import { ProcessTable } from '../guest-processes/process-table.ts';
import type { HostAnswer, HostRequest, RunJob, RunOutcome } from '../protocol/messages.ts';
import { packOutcome, packSaved } from '../protocol/packed-messages.ts';
import { RunClock } from '../protocol/run-clock.ts';
import { timed } from '../protocol/startup-phases.ts';
import type { ReceivedTrees } from '../protocol/tree-updates.ts';
import { ChartRenderer } from './chart-renderer.ts';
import { DETAILED_SAMPLE_FUEL } from './fuel-profiler.ts';
import { GuestToolCalls } from './guest-tool-calls.ts';
import type { HostRequests } from './host-requests.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import type { LoadedImage } from './load-image.ts';
import { addProgramFile, type PreparedGuest, prepareGuest, type ReceivedJob } from './prepare-guest.ts';
import { ProgramObserver } from './program-observer.ts';
import { type EndedRun, endOutcome } from './run-outcome.ts';
import { RunOutput } from './run-output.ts';
import { RunResults } from './run-results.ts';
import { type ProgramOutcome, runProgram } from './run-to-outcome.ts';
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

/** More memory of dropped guests than this is freed when a call has ended. */
const MAX_DROPPED_BYTES = 128 * 1024 * 1024;
const STARTS_AGAIN = { reason: 'cancelled', message: 'starts again' } as const;

/** A guest in the state in which its program starts, and what receives what the program does. */
interface PreparedRun extends PreparedGuest {
  readonly clock: RunClock;
  readonly output: RunOutput;
  readonly results: RunResults;
  readonly observer: ProgramObserver;
}

/** A prepared run that has what the main thread provides: input, tools, packages and processes. */
interface ConnectedRun extends PreparedRun {
  readonly tools: GuestToolCalls | undefined;
  readonly processes: ProcessTable;
}

export function runJob(thread: ThreadContext, received: ReceivedJob, callbacks: JobCallbacks): void {
  const prepared = prepare(thread, received, callbacks);
  const connected = connect(thread, received, prepared);
  const ended = runToEnd(thread, received, callbacks, connected);
  const { outcome, late } = endOutcome(received.job, received.loaded.runtime.source, ended);
  callbacks.send({ type: 'done', id: received.id, outcome: packOutcome(outcome), results: late });
  saveOrRelease(thread, received, callbacks, { ...prepared, outcome });
}

// ---- prepared ----

function prepare(thread: ThreadContext, received: ReceivedJob, callbacks: JobCallbacks): PreparedRun {
  const { id, job } = received;
  const { send } = callbacks;
  /** Undefined while the guest is prepared. No program runs then. */
  let observer: ProgramObserver | undefined;
  const guest = () => observer!.guest;
  const clock = new RunClock(thread.hostBlock, job.limits.timeout_seconds * 1000);
  const output = new RunOutput(
    job,
    (stream, bytes) => send({ type: 'output', id, stream, bytes }),
    () => void thread.requests.ask(id, guest(), { type: 'drain' }),
  );
  const results = new RunResults(
    () => guest().kernel.volume,
    (result) => send({ type: 'result', id, result }),
  );
  const { onTick } = output;
  const context: RunContext = {
    fuelBudget: job.limits.fuel_budget,
    deadlineMs: Number.POSITIVE_INFINITY,
    cancel: thread.control,
    cancelValue: id,
    sliceFuel: callbacks.sliceFuel ?? (job.profile ? DETAILED_SAMPLE_FUEL : undefined),
    onLimit: (reason) => observer?.reachLimit(reason),
    isInProgram: () => observer?.isInProgram ?? true,
    result: (message) => results.receive(message),
    onSlice: (fuelConsumed) => {
      if (callbacks.isAbandoned?.()) guest().stop({ reason: 'cancelled', message: 'abandoned' });
      observer?.sample(fuelConsumed);
      callbacks.reportFuel(fuelConsumed);
      return clock.maybeYield(fuelConsumed);
    },
    deterministic: job.limits.deterministic,
    output: (stream, bytes) => output.write(stream, bytes),
    ...(onTick && { onTick }),
  };
  const prepared = prepareGuest(received, context, callbacks.guests);
  observer = new ProgramObserver(
    prepared.current.guest,
    received,
    addProgramFile(prepared.current.guest.kernel, job),
  );
  return { ...prepared, clock, output, results, observer };
}

// ---- connected ----

function connect(thread: ThreadContext, received: ReceivedJob, prepared: PreparedRun): ConnectedRun {
  const { id, job, loaded } = received;
  const { clock, results } = prepared;
  const { guest } = prepared.current;
  const { requests, loadedImages, availableAssets } = thread;
  const run: AskingRun = {
    ask: (request) => requests.ask(id, guest, request),
    usedShare: () => Math.max(guest.fuelConsumed / job.limits.fuel_budget, clock.ranMs() / clock.timeoutMs),
    restart: () => guest.stop(STARTS_AGAIN),
  };
  const tools = job.tools && new GuestToolCalls({ requests, job: id }, guest, job.tools);
  const context = {
    job,
    loaded,
    loadedImages,
    images: job.findsImages && imageFinder(run, availableAssets),
    volume: () => guest.kernel.volume,
    display: (message: Uint8Array) => results.receive(message),
  };
  const processes = new ProcessTable(guest, job.limits, (...program) => resolveProgram(context, ...program), {
    input: inputOf(run, job),
    hasResults: true,
    tools,
    findPackages: packageFinder(run),
  });
  guest.kernel.volume.takeExceededLimit();
  return { ...prepared, tools, processes };
}

// ---- ended ----

function runToEnd(
  thread: ThreadContext,
  received: ReceivedJob,
  callbacks: JobCallbacks,
  connected: ConnectedRun,
): EndedRun {
  const { clock, output, results, observer, tools, processes } = connected;
  const { guest } = connected.current;
  const { kernel } = guest;
  // Restoring a session is work of the host and does not count against the time of the program.
  clock.start(performance.now());
  guest.setDeadline(clock.deadlineMs());
  callbacks.reportStart(received.id);
  const ending = timed('first_run', () => runConnected(received, connected));
  processes.close();
  kernel.volume.removeUnlisted();
  unmountLayers(kernel);
  tools?.close();
  const exceededQuota = kernel.volume.takeExceededLimit();
  output.finish();
  received.loaded.checkDamage();
  checkCommandLayers();
  const chartFuel = drawCharts(thread, received.id, connected);
  const measured = {
    fuelConsumed: guest.fuelConsumed,
    chartFuel,
    memoryUsedBytes: processes.peakBytes,
    durationMs: clock.ranMs(),
    yieldedMs: clock.yieldedMs,
    ...(tools && { toolWaitMs: tools.waitedMs }),
    exceededQuota,
    profile: observer.profile(ending.trap !== undefined),
  };
  return { ending, kernel, output, results, measured };
}

function runConnected(
  { job, loaded }: ReceivedJob,
  { observer, tools, processes, current: { guest } }: ConnectedRun,
): ProgramOutcome {
  const { fuel_budget, timeout_seconds } = job.limits;
  const { file, call } = observer;
  const request = {
    ...job.program,
    file,
    call,
    keep: job.session !== undefined,
    fuel_budget,
    timeout_seconds,
    tools: job.tools?.hasNoTools ? undefined : tools?.names,
    ...(job.tools?.network && { network: true as const }),
  };
  const start = job.tools?.resumed === undefined ? 'run' : 'resume';
  const run = () => {
    const report = loaded.runtime[start](guest, loaded.image.header.handles, request);
    processes.finish(request.keep);
    return report;
  };
  return runProgram(guest, run, observer);
}

/** Draws the charts that the program has displayed, and returns the fuel that this took. */
function drawCharts(
  { control, loadedImages }: ThreadContext,
  id: number,
  { results, clock, tools }: ConnectedRun,
): number {
  if (!results.hasCharts) return 0;
  const cancellation = { cancel: control, cancelValue: id };
  // Yielding and waiting for tools do not count against the time limit.
  const deadlineMs = clock.deadlineMs(tools?.waitedMs);
  const charts = new ChartRenderer(cancellation, () => loadedImages.values(), deadlineMs);
  results.drawCharts((spec) => charts.draw(spec));
  return charts.fuelConsumed;
}

/** Saves the state of a session and keeps its guest. Resets guests that are no longer needed. */
function saveOrRelease(
  { workspaces }: ThreadContext,
  received: ReceivedJob,
  callbacks: JobCallbacks,
  { current, stale, outcome }: PreparedGuest & { readonly outcome: RunOutcome },
): void {
  const { state, changes, isPaused = false } = outcome;
  const { workspace } = received.job;
  if (workspace !== undefined) workspaces.recordChanges(workspace, (before) => before.apply(changes));
  const unneeded = state === 'committed' ? saveSession(received, current, isPaused, callbacks) : [current];
  for (const { pool, guest } of unneeded) pool.release(guest);
  freeDroppedMemory(MAX_DROPPED_BYTES);
  stale?.pool.release(stale.guest);
}

/** Requests for packages in one run. Later ones are answered here. */
export const MAX_PACKAGE_REQUESTS = 100;

/** The run that asks. */
interface AskingRun {
  /** Undefined if a limit of the run ends the wait. */
  ask(request: HostRequest): HostAnswer | undefined;
  /** The share of its fuel or its time that the program has used. */
  usedShare(): number;
  /** Ends the run, which starts again from the beginning. */
  restart(): never;
}

export function inputOf({ ask }: AskingRun, { stdin, hasMoreStdin }: Pick<RunJob, 'stdin' | 'hasMoreStdin'>) {
  const askForMore = () => {
    const answer = ask({ type: 'stdin' });
    return answer === undefined ? 'interrupted' : (answer.bytes ?? 'end');
  };
  return new StandardInput(stdin, hasMoreStdin ? askForMore : undefined);
}

export function packageFinder({ ask, usedShare, restart }: AskingRun): FindPackages {
  let count = 0;
  return (kind, names) => {
    if (++count > MAX_PACKAGE_REQUESTS) return names;
    const packages = ask({ type: 'packages', kind, names, used: usedShare() })?.packages;
    return packages === 'restart' ? restart() : (packages ?? names);
  };
}

export function imageFinder(
  { ask, usedShare, restart }: AskingRun,
  assets: ReadonlyMap<string, GuestAssets>,
): ImageFinder {
  return {
    ask: (question) => ask({ type: 'image', question, used: usedShare() })?.image,
    assetsOf: (id) => assets.get(id)!,
    stop: restart,
    answers: new Map(),
  };
}

/**
 * Sends what changed since the state was last saved, and its /tmp. Also caches the guest for the next call, after the message, because a guest whose state was not sent must not be found
 * again. Returns the guests that were evicted.
 */
function saveSession(
  { id, job, loaded }: ReceivedJob,
  current: SessionGuest,
  isPaused: boolean,
  { guests, send }: JobCallbacks,
): SessionGuest[] {
  const { guest } = current;
  const { volume } = guest.kernel;
  guest.saveClock();
  // The call of a paused program is not over; `resume` continues it with the same number.
  if (!isPaused) guest.kernel.calls++;
  const { removed, entries } = volume.commit('/tmp', () => guest.kernel.nodesInUse());
  const unused = loaded.runtime.unusedMemory(guest);
  const before = current.capture ? partsOf(current.capture) : [];
  const { delta, capture } = captureDelta(guest, loaded.image, unused, current.capture);
  const parts = partsOf(capture);
  const firstNew = parts.findIndex((part, i) => part !== before[i]);
  const keptParts = firstNew < 0 ? parts.length : firstNew;
  const cached = { ...current, capture };
  const evicted = guests.makeRoom(cached);
  send({
    type: 'saved',
    id,
    saved: packSaved({
      deltaHeader: toShared(delta[0]!),
      keptParts,
      newParts: parts.slice(keptParts).map(({ bytes, sha256 }) => ({ bytes, sha256 })),
      tmp: { removed, entries },
      evicted: [...evicted.keys()],
    }),
  });
  const { id: key, version } = job.session!;
  guests.put(key, version + 1, cached);
  return [...evicted.values()];
}
