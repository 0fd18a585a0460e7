/**
 * Delivers output to the caller while the program runs: as text to callbacks and streams, or as bytes to one callback. An
 * exception that a callback throws is rethrown by `execute`, not in the event loop. What a stream holds is bounded by the
 * output limits. A callback that receives bytes gets all output, and the program waits for it. If a program starts again, what
 * it repeats is not delivered a second time.
 */
import type { CancelSignal } from '../concurrency/cancellation.ts';
import { SerialQueue } from '../concurrency/serial-queue.ts';
import type { StreamedOutput } from '../worker/protocol/messages.ts';

export type StreamName = 'stdout' | 'stderr';
type Receiver = (text: string) => void;
type ByteReceiver = (stream: StreamName, bytes: Uint8Array) => void | Promise<void>;

/** The callbacks of a call that receive output. */
interface OutputCallbacks {
  readonly onStdout?: Receiver | undefined;
  readonly onStderr?: Receiver | undefined;
  readonly onOutput?: ByteReceiver | undefined;
}

/** A byte order mark is part of the output. */
const newDecoder = () => new TextDecoder('utf-8', { ignoreBOM: true });

const NAMES = { 1: 'stdout', 2: 'stderr' } as const;

/** Delivered bytes that are kept, to recognise them if the program starts again. */
const MAX_KEPT_BYTES = 64 * 1024;
const NO_BYTES = new Uint8Array();

export class OutputDelivery {
  /** Created for the first output of a stream. */
  readonly #decoders: Partial<Record<StreamName, TextDecoder>> = {};
  readonly #receivers: Record<StreamName, Receiver[]> = { stdout: [], stderr: [] };
  readonly #buffers: ChunkBuffer[] = [];
  #onOutput: ByteReceiver | undefined;
  /** Calls the callback. Idle when the callback has received everything so far. */
  readonly #calls = new SerialQueue();
  #undeliveredBytes = 0;
  /** When the callback was last called, or last returned. */
  #progressMs = 0;
  #hasStarted = false;
  /** What was delivered; undefined if it is not kept. */
  #kept: Record<StreamName, Uint8Array> | undefined;
  #isTooLong = false;
  /** What the program has to repeat. */
  #expected: Record<StreamName, Uint8Array> = { stdout: NO_BYTES, stderr: NO_BYTES };
  #thrown: { readonly cause: unknown } | undefined;

  /** Adds the callbacks of a call. */
  subscribe({ onStdout, onStderr, onOutput }: OutputCallbacks): void {
    if (onStdout !== undefined) this.#receivers.stdout.push(onStdout);
    if (onStderr !== undefined) this.#receivers.stderr.push(onStderr);
    this.#onOutput = onOutput;
  }

  /** The chunks of a stream; undefined if the run has already started, or if a callback receives bytes. */
  stream(name: StreamName): AsyncIterable<string> | undefined {
    if (this.#hasStarted || this.#onOutput !== undefined) return undefined;
    const buffer = new ChunkBuffer();
    this.#buffers.push(buffer);
    this.#receivers[name].push((text) => buffer.push(text));
    return buffer;
  }

  /** Marks the start of the run; returns what the worker has to send while it runs. */
  start(): StreamedOutput {
    this.#hasStarted = true;
    if (this.#onOutput !== undefined) return 'all';
    return this.#receivers.stdout.length > 0 || this.#receivers.stderr.length > 0 ? 'capped' : 'none';
  }

  /** Keeps what is delivered, so that the program can start again. */
  keepForRepetition(): void {
    this.#kept = { stdout: NO_BYTES, stderr: NO_BYTES };
  }

  /** Whether the program can start again. */
  get canRepeat(): boolean {
    return !this.#isTooLong;
  }

  /** The program starts again from the beginning. */
  repeat(): void {
    if (this.#kept !== undefined) this.#expected = { ...this.#kept };
  }

  output(stream: 1 | 2, bytes: Uint8Array): void {
    const name = NAMES[stream];
    const fresh = this.#withoutRepetition(name, bytes);
    if (fresh.length > 0) this.#receive(name, fresh);
  }

  /** The part of the output that was not delivered. If the program prints something else this time, all of it is new. */
  #withoutRepetition(name: StreamName, bytes: Uint8Array): Uint8Array {
    const expected = this.#expected[name];
    if (expected.length === 0) return bytes;
    const length = Math.min(expected.length, bytes.length);
    if (Buffer.compare(expected.subarray(0, length), bytes.subarray(0, length)) === 0) {
      this.#expected[name] = expected.subarray(length);
      return bytes.subarray(length);
    }
    const kept = this.#kept?.[name] ?? NO_BYTES;
    this.#expected[name] = NO_BYTES;
    delete this.#decoders[name];
    if (this.#kept !== undefined) this.#kept[name] = NO_BYTES;
    return Buffer.concat([kept.subarray(0, kept.length - expected.length), bytes]);
  }

  #keep(name: StreamName, bytes: Uint8Array): void {
    if (this.#kept === undefined || this.#isTooLong) return;
    const { stdout, stderr } = this.#kept;
    this.#isTooLong = stdout.length + stderr.length + bytes.length > MAX_KEPT_BYTES;
    this.#kept[name] = this.#isTooLong ? NO_BYTES : Buffer.concat([this.#kept[name], bytes]);
  }

  #receive(name: StreamName, bytes: Uint8Array): void {
    this.#keep(name, bytes);
    const receive = this.#onOutput;
    if (receive === undefined) {
      this.#decoders[name] ??= newDecoder();
      this.#deliver(name, this.#decoders[name].decode(bytes, { stream: true }));
    } else {
      this.#undeliveredBytes += bytes.length;
      void this.#calls.run(async () => {
        this.#progressMs = performance.now();
        await this.#guardAsync(() => receive(name, bytes));
        this.#progressMs = performance.now();
        this.#undeliveredBytes -= bytes.length;
      });
    }
  }

  /** Resolves when the callback has received all output so far. */
  drained(): Promise<void> {
    return this.#calls.idle();
  }

  /**
   * Delivers what is left and ends the streams. Throws what a callback threw. Stops waiting for a callback when the
   * signal is aborted, or when a single call to it takes longer than `limitMs`. Returns the number of bytes that the
   * callback has not received by then; it receives them when that call has returned.
   */
  async end(signal: CancelSignal, limitMs: number): Promise<number> {
    await this.#wait(signal, limitMs);
    for (const name of Object.values(NAMES)) this.#deliver(name, this.#decoders[name]?.decode() ?? '');
    this.abandon();
    if (this.#thrown !== undefined) throw this.#thrown.cause;
    return this.#undeliveredBytes;
  }

  /** Waits until the callback has received everything. */
  async #wait(signal: CancelSignal, limitMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const check = () => {
      const leftMs = this.#progressMs + limitMs - performance.now();
      if (leftMs <= 0) stop();
      else timer = setTimeout(check, leftMs);
    };
    if (signal.aborted || this.#undeliveredBytes === 0) return;
    signal.addEventListener('abort', stop, { once: true });
    check();
    await Promise.race([this.#calls.idle(), stopped]);
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
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

  async #guardAsync(call: () => void | Promise<void>): Promise<void> {
    if (this.#thrown !== undefined) return;
    try {
      await call();
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
