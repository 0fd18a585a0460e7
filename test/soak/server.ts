/**
 * The server process of a soak run. It reports its resources once per second and the stalls of its main thread on request, and
 * terminates a worker thread on request. The load runs in another process, so that it does not stall this one.
 */
import { readdirSync, readFileSync } from 'node:fs';
import type { Worker } from 'node:worker_threads';
import { type ServerSettingsInput, serveHttp } from 'llm-wasm-sandbox/mcp';
import { StallMeter, type Stalls } from './stall-meter.ts';

export interface Sample {
  /** Time since the process started. */
  readonly seconds: number;
  readonly rssBytes: number;
  /** JavaScript heap of the main thread. */
  readonly heapBytes: number;
  /** Buffers outside of the heap that the main thread refers to. */
  readonly externalBytes: number;
  readonly workers: number;
  /** Open file descriptors and threads; 0 on systems without /proc. */
  readonly descriptors: number;
  readonly threads: number;
}

export type ServerMessage =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'sample'; readonly sample: Sample }
  | { readonly type: 'stalls'; readonly stalls: Stalls }
  | { readonly type: 'stopped'; readonly killed: number };

export type LoadMessage =
  | { readonly type: 'start'; readonly settings: ServerSettingsInput }
  /** Asks for the stalls since the last such message. */
  | { readonly type: 'take-stalls' }
  | { readonly type: 'kill-worker' }
  | { readonly type: 'stop' };

const SAMPLE_MS = 1000;
const send = (message: ServerMessage) => process.send!(message);

const workers = new Set<Worker>();
process.on('worker', (worker) => {
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});

function sample(): Sample {
  let descriptors = 0;
  let threads = 0;
  try {
    descriptors = readdirSync('/proc/self/fd').length;
    threads = Number(/^Threads:\s*(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]);
  } catch {
    // There is no /proc.
  }
  const { rss: rssBytes, heapUsed: heapBytes, external: externalBytes } = process.memoryUsage();
  const memory = { rssBytes, heapBytes, externalBytes };
  return { seconds: process.uptime(), ...memory, workers: workers.size, descriptors, threads };
}

const meter = new StallMeter();
let killed = 0;

const settings = await new Promise<ServerSettingsInput>((resolve) => {
  process.once('message', (message: LoadMessage) => {
    if (message.type === 'start') resolve(message.settings);
  });
});
const server = await serveHttp(settings);
const timer = setInterval(() => send({ type: 'sample', sample: sample() }), SAMPLE_MS);

process.on('message', async (message: LoadMessage) => {
  if (message.type === 'take-stalls') send({ type: 'stalls', stalls: meter.take() });
  if (message.type === 'kill-worker') {
    const [worker] = workers;
    if (worker === undefined) return;
    killed++;
    await worker.terminate();
  }
  if (message.type === 'stop') {
    meter.stop();
    clearInterval(timer);
    await server.close();
    send({ type: 'stopped', killed });
    process.disconnect();
  }
});
process.on('disconnect', () => process.exit());
send({ type: 'ready', url: server.url });
