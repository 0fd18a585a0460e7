/**
 * The body of a response on its way to a program: decompressed if the program wants that, limited in size, and delivered in
 * pieces. Compressed data is decompressed only as far as the program reads it.
 */
import { pipeline, Readable, type Transform } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { formatBytes } from '../quantities.ts';
import { NetworkError } from './network-error.ts';
import type { HeaderList } from './wire-request.ts';

/** Maximum size of a piece. */
const PIECE_BYTES = 256 * 1024;
/** Servers use one. More would multiply the work of a small response. */
const MAX_CODINGS = 2;

/** Data that ends early is decoded as far as it goes, as in Node.js. */
const ZLIB = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH };
const BROTLI = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH };

type Bytes = AsyncIterable<Uint8Array>;

const through = (body: Bytes, decoder: Transform): Bytes => pipeline(Readable.from(body), decoder, () => {});

/** Servers use `deflate` for data with a header and without one. The first byte tells. */
async function* inflate(body: Bytes): Bytes {
  const iterator = body[Symbol.asyncIterator]();
  let first = await iterator.next();
  while (!first.done && first.value.length === 0) first = await iterator.next();
  if (first.done) return;
  const { value } = first;
  async function* whole() {
    yield value;
    yield* { [Symbol.asyncIterator]: () => iterator };
  }
  yield* through(whole(), (value[0]! & 0x0f) === 0x08 ? createInflate(ZLIB) : createInflateRaw(ZLIB));
}

const gunzip = (body: Bytes) => through(body, createGunzip(ZLIB));

const DECODERS: Readonly<Record<string, (body: Bytes) => Bytes>> = {
  gzip: gunzip,
  'x-gzip': gunzip,
  deflate: inflate,
  br: (body) => through(body, createBrotliDecompress(BROTLI)),
};

async function* counted(body: Bytes, count: (bytes: number) => void): Bytes {
  for await (const part of body) {
    count(part.length);
    yield part;
  }
}

const valuesOf = (headers: HeaderList, name: string) =>
  headers.filter(([one]) => one.toLowerCase() === name).map(([, value]) => value);

function codingsOf(headers: HeaderList): string[] {
  const codings = valuesOf(headers, 'content-encoding').flatMap((value) => value.toLowerCase().split(','));
  return codings.map((coding) => coding.trim()).filter((coding) => coding !== '' && coding !== 'identity');
}

/** How a body is decoded. */
interface Decoding {
  /** Whether a body that cannot be decoded is an error. */
  readonly isRequired: boolean;
  /** Is called with the number of compressed bytes. They could decode to nothing without an end. */
  readonly count: (bytes: number) => void;
}

/** The body without its compression, and the headers that then apply. */
export function decodeBody(
  { headers, body }: { readonly headers: HeaderList; readonly body: Bytes },
  { isRequired, count }: Decoding,
): { readonly headers: HeaderList; readonly body: Bytes } {
  const codings = codingsOf(headers);
  const isKnown = codings.every((coding) => Object.hasOwn(DECODERS, coding));
  if (codings.length === 0 || (!isKnown && !isRequired)) return { headers, body };
  if (!isKnown || codings.length > MAX_CODINGS)
    throw new NetworkError(
      'protocol',
      `the response has the content encoding ${codings.join(', ').slice(0, 100)}, which is not supported`,
    );
  const decoded = codings.reduceRight((bytes, coding) => DECODERS[coding]!(bytes), counted(body, count));
  const described = ['content-encoding', 'content-length'];
  return { headers: headers.filter(([name]) => !described.includes(name.toLowerCase())), body: decoded };
}

/** The length that a response announces; undefined if it announces none. */
export function announcedLength(headers: HeaderList): number | undefined {
  const [value] = valuesOf(headers, 'content-length');
  return value !== undefined && /^\d{1,15}$/.test(value) ? Number(value) : undefined;
}

export interface BodyPiece {
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

export class ResponseBody {
  readonly #iterator: AsyncIterator<Uint8Array>;
  /** A read that has begun. */
  #next: Promise<IteratorResult<Uint8Array>> | undefined;
  /** What was read beyond the last piece. */
  #rest: Uint8Array | undefined;
  #isEnded = false;

  /** `count` is called with every number of bytes and throws if that is too many. */
  constructor(
    body: AsyncIterable<Uint8Array>,
    readonly count: (bytes: number) => void,
  ) {
    this.#iterator = body[Symbol.asyncIterator]();
  }

  async #read(): Promise<Uint8Array | undefined> {
    if (this.#rest !== undefined) {
      const rest = this.#rest;
      this.#rest = undefined;
      return rest;
    }
    this.#next ??= this.#iterator.next();
    const { value, done } = await this.#next;
    this.#next = undefined;
    if (done) {
      this.#isEnded = true;
      return undefined;
    }
    this.count(value.length);
    return value;
  }

  /** Whether the next read returns without waiting for the network. */
  async #isReady(): Promise<boolean> {
    if (this.#rest !== undefined) return true;
    this.#next ??= this.#iterator.next();
    const waiting = nextTurn(false);
    return Promise.race([
      this.#next.then(
        () => true,
        () => true,
      ),
      waiting,
    ]);
  }

  /**
   * The next piece. `fill` waits until the piece is full or is the last one, so that the pieces do not depend on the network;
   * `some` waits for the first bytes, and `ready` does not wait.
   */
  async take(mode: 'fill' | 'some' | 'ready'): Promise<BodyPiece> {
    const parts: Uint8Array[] = [];
    let size = 0;
    while (!this.#isEnded && size < PIECE_BYTES) {
      const mustWait = mode === 'fill' || (mode === 'some' && size === 0);
      if (!mustWait && !(await this.#isReady())) break;
      const bytes = await this.#read();
      if (bytes === undefined) break;
      const fitting = bytes.subarray(0, PIECE_BYTES - size);
      if (fitting.length < bytes.length) this.#rest = bytes.subarray(fitting.length);
      parts.push(fitting);
      size += fitting.length;
    }
    return { bytes: Buffer.concat(parts), isLast: this.#isEnded && this.#rest === undefined };
  }

  /** Ends the body. The transport stops receiving it. */
  cancel(): void {
    this.#isEnded = true;
    this.#next?.catch(() => {});
    void this.#iterator.return?.()?.catch(() => {});
  }
}

/** Returns a function that counts bytes up to a limit. */
export function byteLimit(max: number, what: string): (bytes: number) => void {
  let total = 0;
  return (bytes) => {
    total += bytes;
    if (total > max)
      throw new NetworkError('limit', `${what} more than ${formatBytes(max)}, which is the limit`);
  };
}
