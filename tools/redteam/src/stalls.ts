/** The longest time for which the main thread does not turn to anything else. */
import { setTimeout as delay } from 'node:timers/promises';

const DEFAULT_MAX_STALL_MS = 1_000;
/** A stall is noticed one sample later. */
const SAMPLE_MS = 10;

/**
 * Runs something, and adds a problem if the event loop stood still for longer. Time in which this process did not compute is that
 * of other programs of the machine, and does not count.
 */
export async function withStalls(
  maxStallMs = DEFAULT_MAX_STALL_MS,
  run: () => Promise<readonly string[]>,
): Promise<string[]> {
  let [longest, last] = [0, used()];
  const timer = setInterval(() => {
    const now = used();
    longest = Math.max(longest, Math.min(now.elapsed - last.elapsed, now.computed - last.computed));
    last = now;
  }, SAMPLE_MS);
  try {
    const problems = await run();
    await delay(2 * SAMPLE_MS);
    const stalledMs = Math.round(longest);
    if (stalledMs <= maxStallMs) return [...problems];
    return [...problems, `the server did not answer for ${stalledMs} ms; the limit is ${maxStallMs} ms`];
  } finally {
    clearInterval(timer);
  }
}

/** Milliseconds. */
function used() {
  const { user, system } = process.cpuUsage();
  return { elapsed: performance.now(), computed: (user + system) / 1000 };
}
