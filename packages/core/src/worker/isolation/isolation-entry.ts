/**
 * Entry point of a process that runs workers: starts the threads that its parent process asks for and passes messages
 * on. No guest code runs in its main thread, so that it can always receive a cancellation. It ends with its parent
 * process.
 */
import { Socket } from 'node:net';
import { deserialize } from 'node:v8';
import { optimizeOnHalfOfCores } from '../../host/v8-flags.ts';
import { findAssets, type GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { RuntimeName } from '../../schema.ts';
import { extendAssets } from '../pool/extended-image-cache.ts';
import { isAnswer, ThreadHost } from '../pool/thread-host.ts';
import type { WorkerThread } from '../pool/worker-host.ts';
import type { FromWorker } from '../protocol/messages.ts';
import { encodeUntrusted, MessageFrames } from './isolation-channel.ts';
import {
  type FromIsolated,
  fromPortableExtension,
  type PortableImage,
  shareJob,
  shareLibraries,
  type ToIsolated,
  toPortableExtension,
} from './isolation-protocol.ts';
import { assertRestricted } from './permissions.ts';

type ForThread = Extract<ToIsolated, { readonly type: 'load' | 'send' | 'cancel' | 'terminate' }>;

/** How often the start and the fuel of running jobs are reported. */
const REPORT_INTERVAL_MS = 25;

assertRestricted('process');
optimizeOnHalfOfCores();

interface HostedThread {
  readonly thread: WorkerThread;
  /** The last run, until its start is reported. */
  unreportedRun: number | undefined;
  reportedFuel: number;
}

/** The arguments are the permission flags of its threads. */
const host = new ThreadHost(process.argv.slice(2));
const threads = new Map<number, HostedThread>();
const images = new Map<string, GuestAssets>();
const bootImages = new Map<RuntimeName, GuestAssets>();

/** The socket is the fourth stream that the parent process has opened. */
const socket = new Socket({ fd: 3 });
const send = (message: FromIsolated) => socket.write(encodeUntrusted(message));

// ---- images ----

function bootImage(runtime: RuntimeName): GuestAssets {
  let assets = bootImages.get(runtime);
  if (assets === undefined) {
    assets = findAssets(runtime);
    bootImages.set(runtime, assets);
  }
  return assets;
}

function toAssets({ id, runtime, extension }: PortableImage): GuestAssets {
  const base = bootImage(runtime);
  if (extension === undefined) return base;
  const libraries = shareLibraries(extension.libraries);
  return extendAssets(base, fromPortableExtension(base, extension)!, libraries, id);
}

// ---- threads ----

function start(id: number): void {
  const thread = host.start({
    message: (message) => forward(id, message),
    exit: () => {
      threads.delete(id);
      busy.delete(id);
      send({ type: 'exit', thread: id });
    },
  });
  threads.set(id, { thread, unreportedRun: undefined, reportedFuel: 0 });
}

function forward(id: number, message: FromWorker): void {
  if (isAnswer(message)) busy.delete(id);
  if (message.type !== 'extended') send({ type: 'message', thread: id, message });
  else
    send({ type: 'extended', thread: id, id: message.id, extension: toPortableExtension(message.extended) });
}

/** Threads with a job whose answer has not been sent. */
const busy = new Set<number>();
let reportTimer: NodeJS.Timeout | undefined;

function reportJobs(): void {
  for (const id of busy) {
    const hosted = threads.get(id)!;
    const job = hosted.unreportedRun;
    if (job !== undefined && hosted.thread.runningMs(job) !== undefined) {
      hosted.unreportedRun = undefined;
      send({ type: 'started', thread: id, job });
    }
    const spent = hosted.thread.fuelSpent;
    if (spent === hosted.reportedFuel) continue;
    hosted.reportedFuel = spent;
    send({ type: 'fuel', thread: id, spent });
  }
  if (busy.size > 0) return;
  clearInterval(reportTimer);
  reportTimer = undefined;
}

function receiveForThread(id: number, message: ForThread): void {
  const hosted = threads.get(id);
  if (hosted === undefined) return;
  const { thread } = hosted;
  if (message.type === 'cancel') thread.cancel(message.job);
  else if (message.type === 'terminate') void thread.terminate();
  else if (message.type === 'load') thread.send({ type: 'load', assets: images.get(message.image)! });
  else if (message.message.type !== 'job') thread.send(message.message);
  else {
    hosted.reportedFuel = 0;
    hosted.unreportedRun = message.message.job.type === 'run' ? message.message.id : undefined;
    thread.send({ ...message.message, job: shareJob(message.message.job) });
    busy.add(id);
    reportTimer ??= setInterval(reportJobs, REPORT_INTERVAL_MS);
  }
}

function receive(message: ToIsolated): void {
  if (message.type === 'yield') host.setYield(message.isWanted);
  else if (message.type === 'image') images.set(message.image.id, toAssets(message.image));
  else if (message.type === 'forget') images.delete(message.image);
  else if (message.type === 'start') start(message.thread);
  else receiveForThread(message.thread, message);
}

const frames = new MessageFrames(
  () => Number.POSITIVE_INFINITY,
  (body) => receive(deserialize(body)),
);
socket.on('data', (chunk: Buffer) => frames.push(chunk));
for (const event of ['end', 'error']) socket.on(event, () => process.exit());
