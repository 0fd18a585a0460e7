/**
 * Output on its way to a caller's functions, as text and while the program runs. What those functions throw is kept and
 * comes out of `execute`, not of the event loop.
 */

export class LiveOutput {
  readonly #decoders = { 1: new TextDecoder(), 2: new TextDecoder() };
  readonly #receivers: { 1: ((text: string) => void) | undefined; 2: ((text: string) => void) | undefined };
  #thrown: { cause: unknown } | undefined;

  constructor(stdout: ((text: string) => void) | undefined, stderr: ((text: string) => void) | undefined) {
    this.#receivers = { 1: stdout, 2: stderr };
  }

  get wanted(): boolean {
    return this.#receivers[1] !== undefined || this.#receivers[2] !== undefined;
  }

  push(stream: 1 | 2, bytes: Uint8Array): void {
    this.#give(stream, this.#decoders[stream].decode(bytes, { stream: true }));
  }

  end(): void {
    for (const stream of [1, 2] as const) this.#give(stream, this.#decoders[stream].decode());
    if (this.#thrown !== undefined) throw this.#thrown.cause;
  }

  #give(stream: 1 | 2, text: string): void {
    if (text !== '') this.guard(() => this.#receivers[stream]?.(text));
  }

  /** Calls a function of the caller's; after one has thrown, none is called any more. */
  guard(call: () => void): void {
    if (this.#thrown !== undefined) return;
    try {
      call();
    } catch (cause) {
      this.#thrown = { cause };
    }
  }
}
