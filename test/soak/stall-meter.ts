/**
 * Measures how long the main thread is unresponsive: a timer that is due every few milliseconds records its delay, and how
 * much of it the thread was running. The rest is time in which the operating system gave the cores to other threads.
 */
import { readFileSync } from 'node:fs';

/** Milliseconds. */
export interface StallFigures {
  readonly p50: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
  /** Share of the measurements up to each limit. */
  readonly buckets: readonly { readonly upToMs: number; readonly share: number }[];
}

export interface Stalls {
  readonly measured: number;
  /** Delays of the timer. */
  readonly delay: StallFigures;
  /** CPU time of the main thread between two timers; undefined on systems without /proc. */
  readonly work: StallFigures | undefined;
}

const INTERVAL_MS = 5;
const BUCKETS_MS = [1, 5, 10, 20, 50, 100, 200, 500, 1000];
const NS_PER_MS = 1e6;

function threadCpuMs(): number | undefined {
  try {
    return (
      Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ', 1)[0]) / NS_PER_MS
    );
  } catch {
    return undefined;
  }
}

export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

export function stallFigures(values: readonly number[]): StallFigures {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    p999: percentile(sorted, 0.999),
    max: percentile(sorted, 1),
    buckets: BUCKETS_MS.map((upToMs) => ({
      upToMs,
      share: sorted.filter((value) => value <= upToMs).length / Math.max(1, sorted.length),
    })),
  };
}

export class StallMeter {
  #delays: number[] = [];
  #work: number[] = [];
  #lastMs = performance.now();
  #lastCpuMs = threadCpuMs();
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#plan();
  }

  #plan(): void {
    this.#timer = setTimeout(() => this.#measure(), INTERVAL_MS);
  }

  #measure(): void {
    const now = performance.now();
    const cpu = threadCpuMs();
    this.#delays.push(Math.max(0, now - this.#lastMs - INTERVAL_MS));
    if (cpu !== undefined && this.#lastCpuMs !== undefined) this.#work.push(cpu - this.#lastCpuMs);
    this.#lastMs = now;
    this.#lastCpuMs = cpu;
    this.#plan();
  }

  /** Discards what was measured so far. */
  reset(): void {
    this.#delays = [];
    this.#work = [];
  }

  finish(): Stalls {
    clearTimeout(this.#timer);
    return {
      measured: this.#delays.length,
      delay: stallFigures(this.#delays),
      work: this.#work.length === 0 ? undefined : stallFigures(this.#work),
    };
  }
}
