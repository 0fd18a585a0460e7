/** Ends a process as soon as its remaining output is written. */
import type { Writable } from 'node:stream';

/** How long an interrupted process waits for the readers of its output. */
const INTERRUPTED_MS = 500;

let stop!: () => void;
const stopped = new Promise<void>((resolve) => {
  stop = resolve;
});

/** Makes `exitWhenWritten` give up soon: the user or the system wants the process to end, even if its output is not read. */
function stopWaitingForReaders(): void {
  setTimeout(stop, INTERRUPTED_MS).unref();
}

/** Aborted when the user or the system asks the process to end. The process then does not wait for readers. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(name, () => {
      controller.abort();
      stopWaitingForReaders();
    });
  return controller.signal;
}

/**
 * Exits with `process.exitCode` when standard output and standard error have been written, however slowly they are read.
 * Without it, the process would free the memory of its threads one by one first.
 */
export async function exitWhenWritten(): Promise<never> {
  await Promise.race([stopped, Promise.all([process.stdout, process.stderr].map(written))]);
  process.exit();
}

/** A failed write ends the wait as well; the handler of its error has been called. */
const written = (stream: Writable) =>
  new Promise<void>((resolve) => {
    if (stream.writableLength === 0) resolve();
    else stream.write('', () => resolve());
  });
