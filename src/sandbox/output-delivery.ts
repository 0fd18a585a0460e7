/**
 * Delivers output to the caller as text while the program runs, to callbacks and to streams. An exception that a
 * callback throws is rethrown by `execute`, not in the event loop. What a stream holds is bounded by the output limits.
 */
import type { JobObserver } from '../worker/job-handle.ts';

type StreamName = 'stdout' | 'stderr';
type Receiver = (text: string) => void;

/** A byte order mark is part of the output. */
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

const NAMES = { 1: 'stdout', 2: 'stderr' } as const;

export class OutputDelivery implements JobObserver {
  readonly #decoders = { stdout: newDecoder(), stderr: newDecoder() };
  readonly #receivers: Record<StreamName, Receiver[]> = { stdout: [], stderr: [] };
  readonly #buffers: ChunkBuffer[] = [];
  #hasStarted = false;
  #thrown: { readonly cause: unknown } | undefined;

  /** Adds the callbacks of a call. */
  subscribe(onStdout: Receiver | undefined, onStderr: Receiver | undefined): void {
    if (onStdout !== undefined) this.#receivers.stdout.push(onStdout);
    if (onStderr !== undefined) this.#receivers.stderr.push(onStderr);
  }

  /** The chunks of a stream; undefined if the run has already started and nothing receives its output. */
  stream(name: StreamName): AsyncIterable<string> | undefined {
    if (this.#hasStarted) return undefined;
    const buffer = new ChunkBuffer();
    this.#buffers.push(buffer);
    this.#receivers[name].push((text) => buffer.push(text));
    return buffer;
  }

  /** Marks the start of the run; returns whether the worker has to send output while it runs. */
  start(): boolean {
    this.#hasStarted = true;
    return this.#receivers.stdout.length > 0 || this.#receivers.stderr.length > 0;
  }

  output(stream: 1 | 2, bytes: Uint8Array): void {
    this.#deliver(NAMES[stream], this.#decoders[NAMES[stream]].decode(bytes, { stream: true }));
  }

  /** Delivers what is left and ends the streams. Throws what a callback threw. */
  end(): void {
    for (const name of Object.values(NAMES)) this.#deliver(name, this.#decoders[name].decode());
    this.abandon();
    if (this.#thrown !== undefined) throw this.#thrown.cause;
  }

  /** Ends the streams without delivering anything. */
  abandon(): void {
    this.#hasStarted = true;
    for (const buffer of this.#buffers) buffer.end();
  }

  #deliver(name: StreamName, text: string): void {
    if (text === '') return;
    for (const receiver of this.#receivers[name]) this.guard(() => receiver(text));
  }

  /** Calls a function of the caller. After one has thrown, none is called again. */
  guard(call: () => void): void {
    if (this.#thrown !== undefined) return;
    try {
      call();
    } catch (cause) {
      this.#thrown = { cause };
    }
  }
}

/** The chunks of a stream. Every iteration yields all of them, from the first. */
class ChunkBuffer implements AsyncIterable<string> {
  readonly #chunks: string[] = [];
  #hasEnded = false;
  #waiting: (() => void)[] = [];

  push(text: string): void {
    this.#chunks.push(text);
    this.#wake();
  }

  end(): void {
    this.#hasEnded = true;
    this.#wake();
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (let next = 0; ; ) {
      while (next < this.#chunks.length) yield this.#chunks[next++]!;
      if (this.#hasEnded) return;
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }
}
