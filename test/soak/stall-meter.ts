/**
 * Measures how long the main thread is unresponsive: a timer that is due every few milliseconds records its delay, how long
 * the thread was running meanwhile, and how long it waited for a core. The rest is time in which it was blocked.
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

/** Milliseconds between two timers: the delay of the second, and the CPU time and waiting time of the thread. */
export interface Stall {
  /** When the second timer ran, in milliseconds since 1970. */
  readonly at: number;
  readonly delay: number;
  readonly work: number;
  readonly wait: number;
}

export interface Stalls {
  readonly measured: number;
  /** Delays of the timer. */
  readonly delay: StallFigures;
  /** CPU time of the main thread between two timers; undefined on systems without /proc. */
  readonly work: StallFigures | undefined;
  /** CPU time per time. */
  readonly load: number;
  /** The intervals with the most CPU time, longest first; empty on systems without /proc. */
  readonly longest: readonly Stall[];
}

const INTERVAL_MS = 5;
const BUCKETS_MS = [1, 5, 10, 20, 30, 50, 100, 200, 500, 1000];
const NS_PER_MS = 1e6;
const LONGEST = 12;

/** CPU time of the main thread, and the time that it has waited for a core. */
function threadTimes(): { readonly cpuMs: number; readonly waitMs: number } | undefined {
  try {
    const fields = readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'latin1').split(' ');
    return { cpuMs: Number(fields[0]) / NS_PER_MS, waitMs: Number(fields[1]) / NS_PER_MS };
  } catch {
    return undefined;
  }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

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
  #stalls: Stall[] = [];
  #lastMs = performance.now();
  #lastTimes = threadTimes();
  #timer: NodeJS.Timeout | undefined;

  constructor() {
    this.#plan();
  }

  #plan(): void {
    this.#timer = setTimeout(() => this.#measure(), INTERVAL_MS);
  }

  #measure(): void {
    const now = performance.now();
    const times = threadTimes();
    this.#stalls.push({
      at: Date.now(),
      delay: Math.max(0, now - this.#lastMs - INTERVAL_MS),
      work: (times?.cpuMs ?? 0) - (this.#lastTimes?.cpuMs ?? 0),
      wait: (times?.waitMs ?? 0) - (this.#lastTimes?.waitMs ?? 0),
    });
    this.#lastMs = now;
    this.#lastTimes = times;
    this.#plan();
  }

  /** The figures since the last call. */
  take(): Stalls {
    const stalls = this.#stalls;
    this.#stalls = [];
    const hasTimes = this.#lastTimes !== undefined;
    const taken = {
      measured: stalls.length,
      delay: stallFigures(stalls.map(({ delay }) => delay)),
      work: hasTimes ? stallFigures(stalls.map(({ work }) => work)) : undefined,
      load: sum(stalls.map(({ work }) => work)) / sum(stalls.map(({ delay }) => delay + INTERVAL_MS)),
      longest: hasTimes ? stalls.toSorted((a, b) => b.work - a.work).slice(0, LONGEST) : [],
    };
    // Computing the figures is not part of the next interval.
    this.#lastMs = performance.now();
    this.#lastTimes = threadTimes();
    return taken;
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}
