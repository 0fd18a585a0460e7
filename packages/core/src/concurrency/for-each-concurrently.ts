/** Bounded concurrency for many small asynchronous tasks. */
import { Slices } from './slices.ts';

const MAX_CONCURRENT_TASKS = 8;

/**
 * Runs `task` for every item, a few at a time. After a failure it starts no further task, waits for those already
 * running, and throws the first error.
 */
export async function forEachConcurrently<T>(
  items: Iterable<T>,
  task: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  const slices = new Slices();
  const runTasks = async () => {
    for (let next = iterator.next(); !next.done && failure === undefined; next = iterator.next()) {
      await task(next.value).catch((error) => {
        failure ??= { error };
      });
      // Tasks that never wait for I/O would block the event loop.
      await slices.pause();
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_TASKS }, runTasks));
  if (failure !== undefined) throw failure.error;
}
