/**
 * Output on its way to a caller who wants it as it comes. Small pieces are sent together: a guest that writes a byte at
 * a time makes at most a few hundred messages a second, so what waits for a busy main thread is bounded by the cap on
 * the output itself. Nothing waits here while the guest sleeps, and not much longer than `HOLD_MS` while it computes.
 */

type Stream = 1 | 2;
type Send = (stream: Stream, bytes: Uint8Array) => void;

/** How long a piece may be held back while the guest goes on. */
const HOLD_MS = 5;
/** What is held back at most, per stream. */
const HOLD_BYTES = 32_768;

export class OutputSender {
  readonly #held: Record<Stream, { bytes: Uint8Array; length: number }> = {
    1: { bytes: new Uint8Array(HOLD_BYTES), length: 0 },
    2: { bytes: new Uint8Array(HOLD_BYTES), length: 0 },
  };
  #sentMs = Number.NEGATIVE_INFINITY;

  constructor(readonly send: Send) {}

  push(stream: Stream, bytes: Uint8Array, nowMs: number): void {
    const held = this.#held[stream];
    if (held.length + bytes.length > HOLD_BYTES) this.flush(nowMs);
    if (bytes.length > HOLD_BYTES) this.send(stream, bytes.slice());
    else {
      held.bytes.set(bytes, held.length);
      held.length += bytes.length;
    }
    this.tick(nowMs);
  }

  /** Called now and then while the guest runs. */
  tick(nowMs: number): void {
    if (nowMs - this.#sentMs >= HOLD_MS) this.flush(nowMs);
  }

  flush(nowMs: number): void {
    for (const stream of [1, 2] as const) {
      const held = this.#held[stream];
      if (held.length === 0) continue;
      this.send(stream, held.bytes.slice(0, held.length));
      held.length = 0;
      this.#sentMs = nowMs;
    }
  }
}
