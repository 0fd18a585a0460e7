/**
 * The server process of a soak run. It reports its resources once per second and the stalls of its main thread at the end, and
 * terminates a worker thread on request. The load runs in another process, so that it does not stall this one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';
import type { Worker } from 'node:worker_threads';
import { type ServerSettingsInput, serveHttp } from 'llm-wasm-sandbox/mcp';

export interface Sample {
  /** Time since the process started. */
  readonly seconds: number;
  readonly rssBytes: number;
  /** Open file descriptors and threads; 0 on systems without /proc. */
  readonly descriptors: number;
  readonly threads: number;
}

/** How long the main thread was busy at a stretch, in milliseconds. */
export interface Stalls {
  readonly measured: number;
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** Share of the measurements up to each limit. */
  readonly buckets: readonly { readonly upToMs: number; readonly share: number }[];
}

export type ServerMessage =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'sample'; readonly sample: Sample }
  | { readonly type: 'stopped'; readonly stalls: Stalls; readonly killed: number };

export type LoadMessage =
  | { readonly type: 'start'; readonly settings: ServerSettingsInput }
  /** Resets the histogram of stalls, after the warm-up. */
  | { readonly type: 'measure' }
  | { readonly type: 'kill-worker' }
  | { readonly type: 'stop' };

const SAMPLE_MS = 1000;
const BUCKETS_MS = [1, 5, 10, 20, 50, 100, 200, 500, 1000];
/** Interval of the measurements. The histogram includes it, so it is subtracted. */
const RESOLUTION_MS = 5;

const NS_PER_MS = 1e6;
const send = (message: ServerMessage) => process.send!(message);

function sample(): Sample {
  let descriptors = 0;
  let threads = 0;
  try {
    descriptors = readdirSync('/proc/self/fd').length;
    threads = Number(/^Threads:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  } catch {
    // There is no /proc.
  }
  return { seconds: process.uptime(), rssBytes: process.memoryUsage.rss(), descriptors, threads };
}

const stallAt = (delays: IntervalHistogram, percentile: number) =>
  Math.max(0, delays.percentile(percentile) / NS_PER_MS - RESOLUTION_MS);

/** The largest percentile whose stall is at most `limitMs`, found by bisection. */
function shareUpTo(delays: IntervalHistogram, limitMs: number): number {
  let low = 0;
  let high = 100;
  for (let i = 0; i < 30; i++) {
    const middle = (low + high) / 2;
    if (stallAt(delays, Math.max(middle, 1e-6)) <= limitMs) low = middle;
    else high = middle;
  }
  return low > 99.9999 ? 1 : low / 100;
}

function summary(delays: IntervalHistogram): Stalls {
  return {
    measured: delays.count,
    p50: stallAt(delays, 50),
    p99: stallAt(delays, 99),
    p999: stallAt(delays, 99.9),
    max: Math.max(0, delays.max / NS_PER_MS - RESOLUTION_MS),
    buckets: BUCKETS_MS.map((upToMs) => ({ upToMs, share: shareUpTo(delays, upToMs) })),
  };
}

const workers = new Set<Worker>();
process.on('worker', (worker) => {
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});

const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
delays.enable();
let killed = 0;

const settings = await new Promise<ServerSettingsInput>((resolve) => {
  process.once('message', (message: LoadMessage) => {
    if (message.type === 'start') resolve(message.settings);
  });
});
const server = await serveHttp(settings);
const timer = setInterval(() => send({ type: 'sample', sample: sample() }), SAMPLE_MS);

process.on('message', async (message: LoadMessage) => {
  if (message.type === 'measure') delays.reset();
  if (message.type === 'kill-worker') {
    const [worker] = workers;
    if (worker === undefined) return;
    killed++;
    await worker.terminate();
  }
  if (message.type === 'stop') {
    delays.disable();
    clearInterval(timer);
    await server.close();
    send({ type: 'stopped', stalls: summary(delays), killed });
    process.disconnect();
  }
});
process.on('disconnect', () => process.exit());
send({ type: 'ready', url: server.url });
