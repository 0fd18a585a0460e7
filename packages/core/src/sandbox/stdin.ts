/**
 * Standard input of a call. Text and bytes are sent with the call. A stream is read when the program asks for more, so a
 * program that reads nothing does not wait for it.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { invalidArgument } from '../errors.ts';

/** Bytes of standard input that are sent with a call. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Largest part of a stream that is sent at once. */
const MAX_CHUNK_BYTES = 1024 * 1024;

const encoder = new TextEncoder();
const NO_BYTES = new Uint8Array();

type StdinSource = string | Uint8Array | AsyncIterable<string | Uint8Array>;

export class Stdin {
  /** The beginning, which is sent with the call. Copied, because the caller may reuse its buffer while the call is queued. */
  readonly bytes: Uint8Array;
  /** The rest of a chunk that was longer than the maximum. */
  #rest: Uint8Array = NO_BYTES;
  readonly #iterator: AsyncIterator<string | Uint8Array> | undefined;
  #hasEnded = false;
  #wasRead = false;

  constructor(source: StdinSource = '') {
    if (source === '') this.bytes = NO_BYTES;
    else if (typeof source === 'string') this.bytes = checkSize(encoder.encode(source));
    else if (source instanceof Uint8Array) this.bytes = new Uint8Array(checkSize(source));
    else {
      this.bytes = NO_BYTES;
      this.#iterator = source[Symbol.asyncIterator]();
    }
  }

  /** Whether there may be more than `bytes`. */
  get isStream(): boolean {
    return this.#iterator !== undefined;
  }

  /** Whether a part of the stream is gone. */
  get wasRead(): boolean {
    return this.#wasRead;
  }

  /** The next bytes of a stream; undefined at its end. Rejects with the error of the stream. */
  async read(): Promise<Uint8Array | undefined> {
    this.#wasRead = true;
    while (this.#rest.length === 0) {
      if (this.#hasEnded || this.#iterator === undefined) return undefined;
      const { done, value } = await this.#iterator.next();
      if (done) this.#hasEnded = true;
      else this.#rest = toBytes(value);
      // A stream of empty chunks must not block the event loop.
      if (this.#rest.length === 0) await nextTurn();
    }
    // A copy: a slice would share the memory of the whole Buffer, which would be sent with it.
    const chunk = new Uint8Array(this.#rest.subarray(0, MAX_CHUNK_BYTES));
    this.#rest = this.#rest.subarray(chunk.length);
    return chunk;
  }

  /** Ends a stream that was not read to its end. Does not wait for it. */
  close(): void {
    if (this.#hasEnded || this.#iterator === undefined) return;
    this.#hasEnded = true;
    (async () => this.#iterator?.return?.())().catch(() => {});
  }
}

function toBytes(chunk: unknown): Uint8Array {
  if (typeof chunk === 'string') return encoder.encode(chunk);
  if (chunk instanceof Uint8Array) return chunk;
  throw invalidArgument('options.stdin: the stream must yield strings or bytes.');
}

function checkSize(bytes: Uint8Array): Uint8Array {
  if (bytes.length <= MAX_BYTES) return bytes;
  const advice = 'Pass a stream, write the input to a file with the files option, or mount it';
  throw invalidArgument(`options.stdin: longer than the maximum of ${MAX_BYTES} bytes. ${advice}.`);
}
