/** Handles EPIPE on standard output and standard error, as when the output is piped into `head`. */

let handler: () => void = () => process.exit(0);

/** Calls the handler instead of failing when a reader closes its end of the pipe. By default, the process exits with 0. */
export function handleBrokenPipes(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EPIPE') throw cause;
      handler();
    });
  }
}

/** Replaces the default handler. */
export function onBrokenPipe(replacement: () => void): void {
  handler = replacement;
}
