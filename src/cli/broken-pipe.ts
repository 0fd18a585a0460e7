/** Who reads what this program writes. A reader that stops early, such as head, is no fault. */

let leave: () => void = () => process.exit(0);

/** Listens for readers that are gone; unless somebody has a better way to end, the program ends there. */
export function watchReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EPIPE') throw cause;
      leave();
    });
  }
}

/** Has something else done than to end at once. */
export function onReaderGone(work: () => void): void {
  leave = work;
}
