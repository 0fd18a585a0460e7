/** Waits for a condition that no event announces. */
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 20;

/** Resolves when `isDone` returns true, or after `timeoutMs`. */
export async function pollUntil(isDone: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!isDone() && Date.now() < deadline) await delay(POLL_MS);
}
