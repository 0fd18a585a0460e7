/**
 * Sends output to the main thread while a program runs. Small writes are combined: a guest that writes one byte at a
 * time causes at most a few hundred messages per second. The output cap bounds the bytes that wait for a busy main thread;
 * without a cap, the guest waits until the main thread has received them. Output is held for about `HOLD_MS` while the guest computes, and not at all while it sleeps.
 */

export type Stream = 1 | 2;
type Send = (stream: Stream, bytes: Uint8Array) => void;

/** Maximum time that output is held. */
const HOLD_MS = 5;
/** Maximum size of the held output, per stream. */
const HOLD_BYTES = 32_768;
/** Output that may be on its way to a receiver for which the guest waits. */
const MAX_UNDRAINED_BYTES = 1_048_576;

export class OutputSender {
  readonly #held: Record<Stream, { bytes: Uint8Array; length: number }> = {
    1: { bytes: new Uint8Array(HOLD_BYTES), length: 0 },
    2: { bytes: new Uint8Array(HOLD_BYTES), length: 0 },
  };
  #sentMs = Number.NEGATIVE_INFINITY;
  #undrained = 0;
  #hasFinished = false;

  /** `drain` waits until what was sent has been received; without it, nothing waits. */
  constructor(
    readonly send: Send,
    readonly drain?: () => void,
  ) {}

  push(stream: Stream, bytes: Uint8Array, nowMs: number): void {
    const held = this.#held[stream];
    if (held.length + bytes.length > HOLD_BYTES) this.flush(nowMs);
    if (bytes.length > HOLD_BYTES) this.#send(stream, bytes.slice());
    else {
      held.bytes.set(bytes, held.length);
      held.length += bytes.length;
    }
    this.tick(nowMs);
  }

  /** Sends output that has been held long enough. Called periodically while the guest runs. */
  tick(nowMs: number): void {
    if (nowMs - this.#sentMs >= HOLD_MS) this.flush(nowMs);
  }

  flush(nowMs: number): void {
    for (const stream of [1, 2] as const) {
      const held = this.#held[stream];
      if (held.length === 0) continue;
      const bytes = held.bytes.slice(0, held.length);
      // First, because `drain` may call this method again.
      held.length = 0;
      this.#send(stream, bytes);
      this.#sentMs = nowMs;
    }
  }

  /** Sends the remaining output when the program has ended, without waiting. */
  finish(nowMs: number): void {
    this.#hasFinished = true;
    this.flush(nowMs);
  }

  #send(stream: Stream, bytes: Uint8Array): void {
    this.send(stream, bytes);
    this.#undrained += bytes.length;
    if (this.drain === undefined || this.#hasFinished || this.#undrained < MAX_UNDRAINED_BYTES) return;
    this.#undrained = 0;
    this.drain();
  }
}
