import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { JobWatchdog, WatchdogTimer } from '../../packages/core/src/worker/pool/job-watchdog.ts';

const HOUR_MS = 3_600_000;
const SECOND_MS = 1_000;

/** A job whose start is set by the test. */
function watch(limitMs: number, timer = new WatchdogTimer()) {
  const job = {
    limitMs,
    startedMs: undefined as number | undefined,
    isTerminated: false,
    runningMs: () => (job.startedMs === undefined ? undefined : performance.now() - job.startedMs),
    terminate: () => {
      job.isTerminated = true;
    },
  };
  return { job, watchdog: new JobWatchdog(job, timer) };
}

describe('the watchdog of a job', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  const isTerminatedAfter = ({ job }: ReturnType<typeof watch>, milliseconds: number) => {
    vi.advanceTimersByTime(milliseconds);
    return job.isTerminated;
  };

  it('counts the time of a run from its start, not from the time at which the job was sent', () => {
    const watched = watch(30 * SECOND_MS);
    expect(isTerminatedAfter(watched, 100 * SECOND_MS)).toBe(false);
    watched.job.startedMs = performance.now();
    expect(isTerminatedAfter(watched, 30 * SECOND_MS)).toBe(false);
    expect(isTerminatedAfter(watched, 40 * SECOND_MS)).toBe(true);
  });

  it('terminates a thread that does not start the program', () => {
    const watched = watch(HOUR_MS);
    expect(isTerminatedAfter(watched, 119 * SECOND_MS)).toBe(false);
    expect(isTerminatedAfter(watched, 2 * SECOND_MS)).toBe(true);
  });

  it('terminates a cancelled run after a few seconds, but not the restore before it', () => {
    const watched = watch(HOUR_MS);
    watched.watchdog.cancelled();
    expect(isTerminatedAfter(watched, 60 * SECOND_MS)).toBe(false);
    watched.job.startedMs = performance.now();
    expect(isTerminatedAfter(watched, 11 * SECOND_MS)).toBe(true);
  });

  it('limits the time to save the state of a run with a long limit', () => {
    const watched = watch(HOUR_MS);
    watched.job.startedMs = performance.now();
    vi.advanceTimersByTime(HOUR_MS / 2);
    watched.watchdog.answered();
    expect(isTerminatedAfter(watched, 60 * SECOND_MS)).toBe(false);
    expect(isTerminatedAfter(watched, 61 * SECOND_MS)).toBe(true);
  });

  it('does not start the time to save the state again', () => {
    const watched = watch(SECOND_MS);
    watched.job.startedMs = performance.now();
    for (let i = 0; i < 13; i++) {
      watched.watchdog.answered();
      vi.advanceTimersByTime(10 * SECOND_MS);
    }
    expect(watched.job.isTerminated).toBe(true);
  });

  it('does not count a run from a start that is reported again and again', () => {
    const watched = watch(SECOND_MS);
    for (let i = 0; i < 13; i++) {
      watched.job.startedMs = performance.now() + HOUR_MS;
      vi.advanceTimersByTime(10 * SECOND_MS);
    }
    expect(watched.job.isTerminated).toBe(true);
  });

  it('does nothing after it was stopped', () => {
    const watched = watch(SECOND_MS);
    watched.watchdog.stop();
    expect(isTerminatedAfter(watched, HOUR_MS)).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ['shorter', HOUR_MS, SECOND_MS],
    ['longer', SECOND_MS, 100 * SECOND_MS],
  ])('uses the timer of the last job of its thread, whose limit was %s', (_, limitMs, lastLimitMs) => {
    const timer = new WatchdogTimer();
    const last = watch(lastLimitMs, timer);
    last.job.startedMs = performance.now();
    last.watchdog.answered();
    last.watchdog.stop();
    const watched = watch(limitMs, timer);
    watched.job.startedMs = performance.now();
    expect(vi.getTimerCount()).toBe(1);
    expect(isTerminatedAfter(watched, limitMs)).toBe(false);
    expect(isTerminatedAfter(watched, limitMs + 6 * SECOND_MS)).toBe(true);
    expect(last.job.isTerminated).toBe(false);
  });
});
