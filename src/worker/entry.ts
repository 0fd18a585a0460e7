/**
 * The worker thread: the only place where guest code runs. One job at a time. A run gets a guest that was laid out from
 * the boot image before the job came; after the answer has gone out the guest is brought back to the image, so that the
 * next caller does not wait for it.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { applyDelta, captureDelta } from '../engine/delta.ts';
import type { Guest } from '../engine/guest.ts';
import { readImage } from '../engine/image.ts';
import { PAGE_BYTES } from '../engine/image-format.ts';
import type { RunContext } from '../engine/run-context.ts';
import { SandboxError } from '../errors.ts';
import { applyHostEdit } from '../fs/apply-host-edits.ts';
import type { Entry } from '../fs/entries.ts';
import type { DirNode, Node } from '../fs/tree.ts';
import type { TreeChanges } from '../fs/tree-changes.ts';
import { readOnlyTree, unpackTreeLazily } from '../fs/tree-codec.ts';
import { Volume, WRITABLE_ROOTS } from '../fs/volume.ts';
import { CappedOutput } from '../kernel/capped-output.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import { RUNTIMES } from '../runtimes/registry.ts';
import { buildGuest } from './build-guest.ts';
import { CooperativeYield } from './cooperative-yield.ts';
import { extendImage } from './extend-image.ts';
import { GuestPool } from './guest-pool.ts';
import type { GuestTemplate } from './instantiate.ts';
import { runProgram } from './outcome.ts';
import { OutputSender } from './output-sender.ts';
import {
  CONTROL,
  type FromWorker,
  FUEL_UNIT,
  type MountSet,
  type RunJob,
  type RunOutcome,
  type SessionInput,
  type ToWorker,
  toShared,
} from './protocol.ts';
import { type SessionGuest, SessionGuests } from './session-guests.ts';

const port = parentPort!;
const control = new Int32Array(workerData.control as SharedArrayBuffer);
const yieldFlag = new Int32Array(workerData.yieldFlag as SharedArrayBuffer);
const tell = (message: FromWorker) => port.postMessage(message);

interface Loaded extends GuestTemplate {
  readonly layers: readonly { readonly at: string; readonly tree: DirNode }[];
  readonly pool: GuestPool;
}

const loaded = new Map<string, Loaded>();
const lives = new SessionGuests();

function load(assets: GuestAssets): void {
  const layers = assets.layers.map(({ at, bytes }, i) => ({ at, tree: unpackTreeLazily(bytes, i + 1) }));
  const image = readImage(assets.image, assets.origin);
  const layable = { runtime: RUNTIMES[assets.runtime], assets, image };
  loaded.set(assets.id, { ...layable, layers, pool: new GuestPool(layable) });
}

// ---- guests ----

const pagesIn = (memoryBytes: number) => Math.floor(memoryBytes / PAGE_BYTES);

/** How long nothing must have been asked before a guest is made that nobody has asked for. */
const IDLE_MS = 20;

let idle: NodeJS.Timeout | undefined;

/** Sees to it that the next runs find guests: used ones are restored after what has been asked already, new ones later. */
function restock({ pool }: Pick<Loaded, 'pool'>, maxPages: number, sparing: boolean): void {
  const step = () => {
    pool.refill(maxPages, sparing);
    restock({ pool }, maxPages, sparing);
  };
  if (pool.hasUsed) setImmediate(step);
  else if (!pool.isFull) idle = setTimeout(step, IDLE_MS);
}

// ---- file systems ----

/** Trees of the mounts seen last; sandboxes call again and again with the same. */
const mountTrees = new Map<string, { at: string; tree: Node }[]>();
const MOUNT_SETS_KEPT = 8;
/** Layers number their nodes apart; mounts come after those of the runtime. */
const FIRST_MOUNT_LAYER = 32;

function treesOf({ id, mounts }: MountSet): { at: string; tree: Node }[] {
  let trees = mountTrees.get(id);
  if (trees === undefined) {
    trees = mounts.map(({ at, entries, isFile }, i) => {
      const root = readOnlyTree(entries, FIRST_MOUNT_LAYER + i);
      return { at, tree: isFile ? [...root.entries.values()][0]! : root };
    });
    mountTrees.set(id, trees);
    if (mountTrees.size > MOUNT_SETS_KEPT) mountTrees.delete(mountTrees.keys().next().value!);
  }
  return trees;
}

function volumeFor(of: Loaded, job: RunJob, guest: Guest): Volume {
  const { workspaceMaxBytes, workspaceMaxFiles } = job.limits;
  const volume = new Volume({ maxBytes: workspaceMaxBytes, maxFiles: workspaceMaxFiles }, () => guest.now());
  for (const { at, tree } of of.layers) volume.mount(at, tree);
  for (const { at, tree } of treesOf(job.mountSet)) volume.mount(at, tree);
  volume.fill('/app', job.workspace);
  return volume;
}

// ---- runs ----

interface Found {
  readonly alive: SessionGuest;
  /** A guest of the same session that is of no more use to it. */
  readonly stale?: SessionGuest | undefined;
}

/** The guest for a job: new from the image, or the one its session was left with. Its clock runs before its files are laid. */
function guestFor(of: Loaded, job: RunJob, maxPages: number, limits: RunContext): Found {
  const { session } = job;
  const { live, stale } = session && !session.discardState ? lives.take(session.id, session.version) : {};
  if (session && live) {
    live.guest.beginRun(limits);
    applyHostEdit(live.guest.kernel.volume, '/app', session.edits);
    return { alive: live };
  }
  const { pool } = of;
  const guest = pool.acquire(maxPages);
  guest.beginRun(limits);
  guest.kernel.volume = volumeFor(of, job, guest);
  if (session?.delta === undefined) return { alive: { guest, capture: undefined, pool }, stale };
  guest.kernel.volume.fill('/tmp', session.tmp);
  return { alive: { guest, capture: applyDelta(guest, of.image, session.delta), pool }, stale };
}

function run(id: number, job: RunJob): void {
  const of = loaded.get(job.image)!;
  const maxPages = pagesIn(job.limits.memoryBytes);
  const started = performance.now();
  const stdout = new CappedOutput(job.limits.stdoutMaxBytes);
  const stderr = new CappedOutput(job.limits.stderrMaxBytes);
  const live = job.streamOutput
    ? new OutputSender((stream, bytes) => tell({ type: 'output', id, stream, bytes }))
    : undefined;
  const cooperativeYield = new CooperativeYield(yieldFlag, started);
  const limits = limitsOf(id, job, cooperativeYield, { 1: stdout, 2: stderr }, live);
  const { alive, stale } = guestFor(of, job, maxPages, limits);
  const { guest } = alive;
  guest.kernel.stdin = job.stdin;
  const { session } = job;
  const end = runProgram(guest, of.runtime, of.image.header.handles, {
    code: job.code,
    env: job.env,
    call: session?.call ?? 1,
    keep: session !== undefined,
    fuel_budget: job.limits.fuelBudget,
    timeout_seconds: job.limits.timeoutMs / 1000,
    inject_setup: job.injectSetup,
  });
  live?.flush(performance.now());
  const isKept = session !== undefined && !session.discardState;
  const state = !isKept ? 'fresh' : end.isConsistent ? 'committed' : 'rolled_back';
  const outcome: RunOutcome = {
    trap: end.trap,
    report: end.report,
    state,
    fuelConsumed: guest.fuelConsumed,
    memoryUsedBytes: guest.memory.buffer.byteLength,
    durationMs: performance.now() - started - cooperativeYield.yieldedMs,
    yieldedMs: cooperativeYield.yieldedMs,
    stdout: stdout.text(),
    stderr: stderr.text(),
    stdoutDroppedBytes: stdout.dropped,
    stderrDroppedBytes: stderr.dropped,
    // What is rolled back leaves no files behind either: memory and workspace belong together.
    changes: state === 'rolled_back' ? NO_CHANGES : sharedChanges(guest.kernel.volume),
    imports: guest.kernel.imports.close(guest.fuelConsumed),
  };
  tell({ type: 'done', id, outcome });
  const unneeded = [state === 'committed' ? save(id, of, alive, session!) : alive, stale];
  // Of the guests of sessions there are many at a time, of others one.
  for (const one of unneeded) one?.pool.release(one.guest, isKept);
  restock(of, maxPages, isKept);
}

/** Saves what a committed call left, and keeps the guest for the next one; returns one that had to make room. */
function save(id: number, of: Loaded, alive: SessionGuest, session: SessionInput): SessionGuest | undefined {
  const { guest } = alive;
  const { volume } = guest.kernel;
  guest.saveClock();
  for (const area of WRITABLE_ROOTS) volume.setBaseline(area);
  const { delta, capture } = captureDelta(guest, of.image, of.runtime.unusedMemory(guest), alive.capture);
  const tmp = shareEntries(volume.entries('/tmp'));
  tell({ type: 'saved', id, saved: { delta: toShared(delta), tmp } });
  return lives.put(session.id, session.version + 1, { ...alive, capture });
}

const NO_CHANGES = { created: [], modified: [], deleted: [], removed: [], entries: [] };

function sharedChanges(volume: Volume): TreeChanges {
  const changes = volume.changes('/app');
  return { ...changes, entries: shareEntries(changes.entries) };
}

function shareEntries(entries: readonly Entry[]): Entry[] {
  return entries.map((entry) =>
    entry.data === undefined ? entry : { ...entry, data: toShared(entry.data) },
  );
}

function limitsOf(
  id: number,
  job: RunJob,
  cooperativeYield: CooperativeYield,
  outputs: Record<1 | 2, CappedOutput>,
  live: OutputSender | undefined,
): RunContext {
  const { limits } = job;
  return {
    fuelBudget: limits.fuelBudget,
    deadlineMs: cooperativeYield.startedMs + limits.timeoutMs,
    cancel: control,
    cancelValue: id,
    onSlice: (fuel) => {
      Atomics.store(control, CONTROL.fuelMillions, Math.floor(fuel / FUEL_UNIT));
      return cooperativeYield.maybeYield(fuel);
    },
    deterministic: limits.deterministic,
    output: (stream, bytes) => {
      const kept = outputs[stream].push(bytes);
      live?.push(stream, kept, performance.now());
    },
    ...(live && { onTick: (nowMs, isPause) => (isPause ? live.flush(nowMs) : live.tick(nowMs)) }),
  };
}

async function handle(message: ToWorker): Promise<void> {
  if (message.type === 'load') return load(message.assets);
  if (message.type === 'unload') return void loaded.delete(message.image);
  if (message.type === 'warm')
    return loaded.get(message.image)?.pool.refill(pagesIn(message.memoryBytes), true);
  const { id, job } = message;
  if (job.type === 'run') return run(id, job);
  if (job.type === 'extend') {
    const cancel = { cancel: control, cancelValue: id };
    return tell({ type: 'extended', id, extended: extendImage(loaded.get(job.image)!, job, cancel) });
  }
  const guest = await buildGuest(RUNTIMES[job.runtime], (step) => tell({ type: 'progress', id, step }));
  tell({ type: 'built', id, guest });
}

let current = 0;

port.on('message', (message: ToWorker) => {
  clearTimeout(idle);
  if (message.type === 'job') current = message.id;
  handle(message).catch((cause: unknown) => {
    const { code, message: text } =
      cause instanceof SandboxError ? cause : { code: 'internal', message: String(cause) };
    tell({ type: 'failed', id: current, code, message: text });
  });
});
