/**
 * Entry point of a worker thread, the only place where guest code runs, one job at a time. A run takes a guest that was
 * prepared before the job arrived. After the result has been sent, the guest is reset, so that the next run does not
 * wait for it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { ProgramState } from '../analysis/run-profile.ts';
import { applyDelta, captureDelta } from '../engine/delta.ts';
import { PAGE_BYTES } from '../engine/image-identity.ts';
import { diffsOf } from '../engine/memory-capture.ts';
import type { RunContext } from '../engine/run-context.ts';
import { SandboxError } from '../errors.ts';
import { applyHostEdit } from '../fs/apply-host-edits.ts';
import type { FileTree } from '../fs/file-tree.ts';
import type { TreeEdit } from '../fs/flat-entries.ts';
import { FsError } from '../fs/fs-error.ts';
import { countShared, toShared } from '../fs/shared-bytes.ts';
import type { TreeChanges } from '../fs/tree-changes.ts';
import { CappedOutput } from '../kernel/capped-output.ts';
import type { Kernel } from '../kernel/syscalls.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import { programFile } from '../runtimes/language.ts';
import { RUNTIMES } from '../runtimes/registry.ts';
import type { StoppedAt } from '../schema.ts';
import { CONTROL, FUEL_UNIT, HOST_BLOCK, type WorkerSettings } from './control-block.ts';
import { CooperativeYield } from './cooperative-yield.ts';
import { extendImage } from './extend-image.ts';
import { DETAILED_SAMPLE_FUEL, FuelProfiler } from './fuel-profiler.ts';
import { createVolume } from './guest-volume.ts';
import { HostRequests } from './host-requests.ts';
import { IdleTraining } from './idle-training.ts';
import { IdleWork } from './idle-work.ts';
import { limitChangedFiles } from './limit-changed-files.ts';
import { type LoadedImage, loadImage } from './load-image.ts';
import { OutputSender } from './output-sender.ts';
import { assertRestricted } from './permissions.ts';
import { prepareLibraries } from './prepare-libraries.ts';
import type { FromWorker, RunJob, RunOutcome, SessionInput, ToWorker } from './protocol.ts';
import { RunResults } from './run-results.ts';
import type { RunSite } from './run-site.ts';
import { runProgram } from './run-to-outcome.ts';
import { type SessionGuest, SessionGuests } from './session-guests.ts';
import { durations, recordStart, timed } from './startup-phases.ts';
import { ToolCalls } from './tool-calls.ts';
import { ReceivedTrees } from './tree-updates.ts';

const port = parentPort!;
const settings = workerData as WorkerSettings;
if (settings.mustBeRestricted) assertRestricted('thread');
const control = new Int32Array(settings.control);
const hostBlock = new Int32Array(settings.hostBlock);
const send = (message: FromWorker) => port.postMessage(message);
const requests = new HostRequests(port, control);
recordStart(settings.startedAt);

/** What the thread can run; an image is loaded when a job first needs it, so that a failure is that of the job. */
const availableAssets = new Map<string, GuestAssets>();
const loadedImages = new Map<string, LoadedImage>();
const workspaces = new ReceivedTrees();

function imageOf(id: string): LoadedImage {
  let loaded = loadedImages.get(id);
  if (loaded === undefined) {
    loaded = loadImage(availableAssets.get(id)!, loadedImages.values());
    loadedImages.set(id, loaded);
  }
  return loaded;
}

function unload(id: string): void {
  const loaded = loadedImages.get(id);
  if (loaded !== undefined) idleWork.remove(loaded.pool);
  availableAssets.delete(id);
  loadedImages.delete(id);
}

// ---- guests ----

const pagesIn = (memoryBytes: number) => Math.floor(memoryBytes / PAGE_BYTES);

/** Nothing trains while a job runs in any thread of the host, because it would slow that job down. */
const isAnyJobActive = () => Atomics.load(hostBlock, HOST_BLOCK.activeJobs) > 0;

const idleWork = new IdleWork(
  (training, maxPages) => training.runNext(run, maxPages * PAGE_BYTES, isAnyJobActive),
  isAnyJobActive,
  (training) => send(training.report()),
);

interface PreparedGuest {
  readonly current: SessionGuest;
  /** An outdated guest of the same session, to be released. */
  readonly stale?: SessionGuest | undefined;
}

/**
 * The guest for a job: the cached one of its session, or one in the state of the image with the saved state of the
 * session applied. `beginRun` comes before the volume is filled, because it starts the clock that dates the files.
 */
function prepareGuest(
  loaded: LoadedImage,
  job: RunJob,
  workspace: FileTree,
  maxPages: number,
  context: RunContext,
  guests: RunSite['guests'],
): PreparedGuest {
  const { session } = job;
  const { cached, stale } = session && !session.discardState ? guests.take(session.id, session.version) : {};
  if (session && cached) {
    const { kernel } = cached.guest;
    cached.guest.beginRun(context);
    if (applyEdit(kernel, session.edits)) {
      kernel.renumberNodes();
      return { current: cached };
    }
  }
  const { pool } = loaded;
  const guest = timed('instantiate', () => pool.acquire(maxPages));
  guest.beginRun(context);
  const volume = createVolume(loaded.layers, job, () => guest.now());
  guest.kernel.volume = volume;
  const capture = volume.asHost(() => {
    volume.fill('/app', workspace);
    if (session?.delta === undefined) return undefined;
    volume.fill('/tmp', session.tmp);
    return applyDelta(guest, loaded.image, session.delta);
  });
  if (session !== undefined) guest.kernel.renumberNodes();
  return { current: { guest, capture, pool }, stale: cached ?? stale };
}

/**
 * Applies an edit of the host to a live guest. Returns false if that is impossible, or if it removes a file or directory that
 * the guest has open; the guest must then be restored.
 */
function applyEdit(kernel: Kernel, edit: TreeEdit): boolean {
  const { volume } = kernel;
  try {
    return volume.asHost(() => applyHostEdit(volume, '/app', edit, kernel.nodesInUse()));
  } catch (cause) {
    if (cause instanceof FsError) return false;
    throw cause;
  }
}

// ---- runs ----

/** For the jobs of the main thread. */
const JOBS: RunSite = { guests: new SessionGuests(), send, reportFuel };

function run(id: number, job: RunJob, site: RunSite): void {
  const { guests, send, reportFuel, isAbandoned } = site;
  const workspace = workspaces.receive(job.workspace);
  const loaded = imageOf(job.image);
  const { limits, session } = job;
  const maxPages = pagesIn(limits.memoryBytes);
  const stdout = new CappedOutput(limits.stdoutMaxBytes);
  const stderr = new CappedOutput(limits.stderrMaxBytes);
  const isUncapped = job.streamOutput === 'all';
  const sendOutput = (stream: 1 | 2, bytes: Uint8Array) => send({ type: 'output', id, stream, bytes });
  const drain = () => void requests.ask(id, guest, { type: 'drain' });
  const sender =
    job.streamOutput === 'none' ? undefined : new OutputSender(sendOutput, isUncapped ? drain : undefined);
  const cooperativeYield = new CooperativeYield(hostBlock);
  // Created below, because it reads the guest; the program starts after that.
  let profiler: FuelProfiler | undefined;
  let stateAtLimit: ProgramState | undefined;
  const hooks: RunHooks = {
    sliceFuel: site.sliceFuel,
    onSlice: (fuelConsumed) => {
      if (isAbandoned?.()) guest.stop({ reason: 'cancelled', message: 'abandoned' });
      profiler?.sample(fuelConsumed);
      reportFuel(fuelConsumed);
    },
    onLimit: () => {
      stateAtLimit = profiler?.state(guest.fuelConsumed);
    },
    result: (message) => results.receive(message),
  };
  const results = new RunResults(
    () => guest.kernel.volume,
    (result) => send({ type: 'result', id, result }),
  );
  const context = runContext(id, job, cooperativeYield, { 1: stdout, 2: stderr }, sender, hooks);
  const { current, stale } = prepareGuest(loaded, job, workspace, maxPages, context, guests);
  const { guest } = current;
  const { handles } = loaded.image.header;
  const call = guest.kernel.calls + 1;
  const program = { file: programFile(loaded.runtime.source, call), code: job.code };
  profiler = new FuelProfiler(
    loaded.runtime.stackReader(guest, handles),
    program,
    limits,
    job.profile,
    () => guest.memory.buffer.byteLength,
  );
  guest.kernel.stdin = job.stdin;
  if (job.hasMoreStdin)
    guest.kernel.moreStdin = () => {
      const answer = requests.ask(id, guest, { type: 'stdin' });
      return answer === undefined ? 'interrupted' : (answer.bytes ?? 'end');
    };
  const tools = job.tools && new ToolCalls(requests, id, guest, job.tools);
  guest.kernel.tools = tools;
  // Restoring a session is work of the host and does not count against the time of the program.
  const startedMs = performance.now();
  cooperativeYield.start(startedMs);
  guest.setDeadline(startedMs + limits.timeoutMs);
  send({ type: 'started', id });
  const request = {
    code: job.code,
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
    stateNow: () => profiler.state(guest.fuelConsumed),
    placeOf: (place: StoppedAt) => profiler.placeOf(place),
  };
  const isResumed = job.tools?.resumed !== undefined;
  const { trap, report, stoppedAt, isConsistent, isPaused } = timed('first_run', () =>
    runProgram(guest, loaded.runtime, handles, request, observer, isResumed),
  );
  tools?.close();
  guest.kernel.tools = undefined;
  const rest = { 1: stdout.finish(), 2: stderr.finish() };
  if (!isUncapped)
    for (const stream of [1, 2] as const) sender?.push(stream, rest[stream], performance.now());
  sender?.finish(performance.now());
  loaded.checkDamage();
  const keepsState = session !== undefined && !session.discardState;
  const state = !keepsState ? 'fresh' : isConsistent ? 'committed' : 'rolled_back';
  const taken = takeChanges(guest.kernel, state);
  results.finish(report, taken);
  const { changes, omitted } = limitChangedFiles(taken);
  const outcome: RunOutcome = {
    trap,
    report,
    state,
    ...(isPaused && { isPaused }),
    ...(tools && { toolWaitMs: tools.waitedMs }),
    fuelConsumed: guest.fuelConsumed,
    memoryUsedBytes: guest.memory.buffer.byteLength,
    durationMs: performance.now() - startedMs - cooperativeYield.yieldedMs,
    yieldedMs: cooperativeYield.yieldedMs,
    stdout: stdout.text(),
    stderr: stderr.text(),
    stdoutDroppedBytes: stdout.dropped,
    stderrDroppedBytes: stderr.dropped,
    changes,
    filesOmitted: omitted,
    otherUsage: state === 'committed' ? guest.kernel.volume.usageOutside('/app') : { bytes: 0, files: 0 },
    imports: guest.kernel.imports.close(guest.fuelConsumed, isConsistent),
    profile: profiler.finish(trap !== undefined),
    stoppedAt,
    resultsOmitted: results.omitted,
    declared: keepsState ? loaded.runtime.source.declaredNames(job.code) : [],
  };
  send({ type: 'done', id, outcome });
  workspaces.applyChanges(job.workspace.id, changes);
  const unneeded = [
    ...(state === 'committed' ? save(id, loaded, current, session!, isPaused === true, site) : [current]),
    stale,
  ];
  for (const released of unneeded) released?.pool.release(released.guest);
  if (!settings.isOneShot) idleWork.keepFull(loaded.pool, maxPages);
}

/** Saves the state after a committed call and caches the guest for the next one. Returns the guests that were evicted. */
function save(
  id: number,
  loaded: LoadedImage,
  current: SessionGuest,
  session: SessionInput,
  isPaused: boolean,
  { guests, send }: RunSite,
): SessionGuest[] {
  const { guest } = current;
  const { volume } = guest.kernel;
  guest.saveClock();
  // The call of a paused program is not over; `resume` continues it with the same number.
  if (!isPaused) guest.kernel.calls++;
  const { removed, entries } = volume.commit('/tmp', guest.kernel.nodesInUse());
  const unused = loaded.runtime.unusedMemory(guest);
  const before = current.capture ? diffsOf(current.capture) : [];
  const { delta, capture } = captureDelta(guest, loaded.image, unused, current.capture);
  const diffs = diffsOf(capture);
  const firstNew = diffs.findIndex((diff, i) => diff !== before[i]);
  const keptDiffs = firstNew < 0 ? diffs.length : firstNew;
  send({
    type: 'saved',
    id,
    saved: {
      deltaHeader: toShared(delta[0]!),
      keptDiffs,
      newDiffs: diffs.slice(keptDiffs).map(({ bytes, sha256 }) => ({ bytes, sha256 })),
      tmp: { removed, entries },
    },
  });
  return guests.put(session.id, session.version + 1, { ...current, capture });
}

/** The changes in the workspace. Memory and workspace are rolled back together. */
function takeChanges(kernel: Kernel, state: RunOutcome['state']): TreeChanges {
  if (state === 'rolled_back') return NO_CHANGES;
  return state === 'committed'
    ? kernel.volume.commit('/app', kernel.nodesInUse())
    : kernel.volume.changes('/app');
}

const NO_CHANGES = { created: [], modified: [], deleted: [], removed: [], entries: [] };

interface RunHooks {
  readonly sliceFuel: number | undefined;
  readonly onSlice: (fuelConsumed: number) => void;
  readonly onLimit: () => void;
  readonly result: (message: Uint8Array) => void;
}

function runContext(
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
    cancel: control,
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

/** Makes the fuel of the current job visible to the main thread. */
function reportFuel(fuelConsumed: number): void {
  Atomics.store(control, CONTROL.fuelMillions, Math.floor(fuelConsumed / FUEL_UNIT));
}

// ---- messages ----

function train(image: string, memoryBytes: number): void {
  const { pool, runtime } = imageOf(image);
  idleWork.train(pool, new IdleTraining(image, runtime), pagesIn(memoryBytes));
}

async function handle(message: ToWorker): Promise<void> {
  if (message.type === 'load') return void availableAssets.set(message.assets.id, message.assets);
  if (message.type === 'unload') return unload(message.image);
  // The answer to a request that a limit has ended.
  if (message.type === 'answer') return;
  if (message.type === 'discard') return void workspaces.discard(message.workspace);
  if (message.type === 'warm') return imageOf(message.image).pool.refill(pagesIn(message.memoryBytes));
  if (message.type === 'train') return train(message.image, message.memoryBytes);
  const { id, job, newBuffers } = message;
  countShared(newBuffers ?? []);
  if (job.type === 'run') return run(id, job, JOBS);
  if (job.type === 'prepare')
    return send({ type: 'prepared', id, libraries: await prepareLibraries(job.libraries) });
  if (job.type === 'phases') return send({ type: 'phases', id, durations });
  if (job.type === 'extend') {
    const onSlice = (fuel: number) => {
      reportFuel(fuel);
      return 0;
    };
    const context = { cancel: control, cancelValue: id, onSlice };
    return send({ type: 'extended', id, extended: extendImage(imageOf(job.image), job, context) });
  }
  const { buildGuest } = await import('./build-guest-artifacts.ts');
  // Programs that the build runs inherit the environment, which is empty in this thread.
  Object.assign(process.env, job.env);
  const guest = await buildGuest(RUNTIMES[job.runtime], (step) => send({ type: 'progress', id, step }));
  send({ type: 'built', id, guest });
}

/** File-system errors are constants without a message. */
const describe = (cause: unknown) =>
  cause instanceof FsError ? `a file operation of the host failed: ${cause.code}` : String(cause);

let currentJob = 0;

function receive(message: ToWorker): void {
  idleWork.pause();
  if (message.type === 'job') currentJob = message.id;
  handle(message)
    .catch((cause: unknown) => {
      const { code, message: text } =
        cause instanceof SandboxError ? cause : { code: 'internal', message: describe(cause) };
      send({ type: 'failed', id: currentJob, code, message: text });
    })
    .then(() => idleWork.resume());
  for (const deferred of requests.takeDeferred()) receive(deferred);
}

port.on('message', receive);
