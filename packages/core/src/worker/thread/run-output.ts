/** The output of a run: what its result will contain, and what the main thread receives while it runs. */
import { CappedOutput } from '../../kernel/capped-output.ts';
import type { RunJob, RunOutcome } from '../protocol/messages.ts';

export class RunOutput {
  readonly #streams: Record<Stream, CappedOutput>;
  /** Whether all output is sent, also what is beyond the limit of the result. */
  readonly #sendsAll: boolean;
  /** Absent if nobody reads the output while the program runs. */
  readonly #sender: OutputSender | undefined;

  /** `drain` waits until what was sent has been received. */
  constructor(
    {
      limits,
      streamOutput,
    }: Pick<RunJob, 'streamOutput'> & {
      readonly limits: Pick<RunJob['limits'], 'stdout_max_bytes' | 'stderr_max_bytes'>;
    },
    send: (stream: Stream, bytes: Uint8Array) => void,
    drain: () => void,
  ) {
    this.#streams = {
      1: new CappedOutput(limits.stdout_max_bytes),
      2: new CappedOutput(limits.stderr_max_bytes),
    };
    this.#sendsAll = streamOutput === 'all';
    if (streamOutput !== 'none') this.#sender = new OutputSender(send, this.#sendsAll ? drain : undefined);
  }

  write(stream: Stream, bytes: Uint8Array): void {
    const accepted = this.#streams[stream].push(bytes);
    this.#sender?.push(stream, this.#sendsAll ? bytes : accepted, performance.now());
  }

  /** To be called periodically while the guest runs, and before it sleeps; undefined if nothing is sent. */
  get onTick(): ((nowMs: number, isSleeping: boolean) => void) | undefined {
    const sender = this.#sender;
    return sender && ((nowMs, isSleeping) => (isSleeping ? sender.flush(nowMs) : sender.tick(nowMs)));
  }

  /** Sends what is left when the program has ended. */
  finish(): void {
    for (const stream of [1, 2] as const) {
      const rest = this.#streams[stream].finish();
      if (!this.#sendsAll) this.#sender?.push(stream, rest, performance.now());
    }
    this.#sender?.finish(performance.now());
  }

  outcome(): Pick<RunOutcome, 'stdout' | 'stderr' | 'stdoutDroppedBytes' | 'stderrDroppedBytes'> {
    const { 1: stdout, 2: stderr } = this.#streams;
    return {
      stdout: stdout.text(),
      stderr: stderr.text(),
      stdoutDroppedBytes: stdout.dropped,
      stderrDroppedBytes: stderr.dropped,
    };
  }
}

export type Stream = 1 | 2;
type Send = (stream: Stream, bytes: Uint8Array) => void;

/** Maximum time that output is held. */
const HOLD_MS = 5;
/** Maximum size of the held output, per stream. */
const HOLD_BYTES = 32_768;
/** Output that may be on its way to a receiver for which the guest waits. */
const MAX_UNDRAINED_BYTES = 1_048_576;

/**
 * Sends output to the main thread while a program runs. Small writes are combined: a guest that writes one byte at a time causes at
 * most a few hundred messages per second. The output cap bounds the bytes that wait for a busy main thread; without a cap, the
 * guest waits until the main thread has received them. Output is not held while the guest sleeps.
 */
class OutputSender {
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
