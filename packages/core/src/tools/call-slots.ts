/** Limits how many tool calls of a run execute at the same time. Further calls wait in the order of their arrival. */

export class CallSlots {
  readonly #queue: (() => void)[] = [];
  #taken = 0;

  constructor(readonly max: number) {}

  /** Waits for a slot. Rejects with the reason of the signal if it aborts first; the call then has no slot. */
  async enter(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#taken < this.max) {
      this.#taken++;
      return;
    }
    await new Promise<void>((enter, reject) => {
      const next = () => {
        signal.removeEventListener('abort', stop);
        enter();
      };
      const stop = () => {
        this.#queue.splice(this.#queue.indexOf(next), 1);
        reject(signal.reason);
      };
      this.#queue.push(next);
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  /** Releases a slot. */
  leave(): void {
    // Passes the slot directly to the next call, so that no other call can take it.
    const next = this.#queue.shift();
    if (next !== undefined) next();
    else this.#taken--;
  }
}
