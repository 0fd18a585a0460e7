/** The end of a server, which several callers may ask for and await. */
export function stopOnce(work: () => Promise<void>): {
  readonly closed: Promise<void>;
  stop(): Promise<void>;
} {
  let finish: (stopped: Promise<void>) => void;
  const closed = new Promise<void>((resolve) => {
    finish = resolve;
  });
  // Both `closed` and `stop` report a failure; a caller may use only one of them.
  closed.catch(() => {});
  let isStopping = false;
  const stop = () => {
    if (!isStopping) {
      isStopping = true;
      finish(work());
    }
    return closed;
  };
  return { closed, stop };
}
