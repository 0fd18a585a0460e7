/**
 * Recordings of requests and responses in HAR 1.2, with an exchange on each line. A recording is a file of the host; when it is
 * replayed, its contents are checked like any other input. It contains what a program saw, and never a secret.
 */
import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { StringDecoder } from 'node:string_decoder';
import * as z from 'zod';
import { finishInSlices, SLICE_BYTES } from '../concurrency/slices.ts';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { hrefOf } from '../schema/url-pattern.ts';
import { NETWORK_ERROR_KINDS, NetworkError, type NetworkErrorKind } from './network-error.ts';
import type { Transport, WireResponse } from './transport.ts';
import { type HeaderList, isConnectionHeader, type WireRequest } from './wire-request.ts';

const MAX_FILE_BYTES = 64 * 1024 * 1024;
const MAX_RECORDED_BYTES = 32 * 1024 * 1024;
/** Characters of the message of a failure. */
const MAX_MESSAGE = 2000;
/** Bytes of a body that are written at once. A multiple of three, for base64. */
const STEP_BYTES = 3 * 64 * 1024;
/** What an exchange takes without its texts. */
const ENTRY_BYTES = 1024;

/** A text that cannot end the line of a header. */
const line = z.string().regex(/^[^\r\n\0]*$/);
const pair = z.object({ name: line, value: line });
const harEntry = z.object({
  startedDateTime: z.string(),
  time: z.number(),
  request: z.object({
    method: z.string(),
    url: z.string(),
    headers: z.array(pair).max(1000),
    postData: z
      .object({
        mimeType: z.string().optional(),
        text: z.string().optional(),
        _encoding: z.string().optional(),
      })
      .optional(),
  }),
  response: z.object({
    // 0: there was no response.
    status: z.union([z.literal(0), z.number().int().min(100).max(999)]),
    statusText: line,
    headers: z.array(pair).max(1000),
    content: z.object({
      size: z.number(),
      mimeType: z.string(),
      text: z.string().optional(),
      encoding: z.string().optional(),
    }),
    _error: z.object({ kind: z.enum(NETWORK_ERROR_KINDS), message: line.max(MAX_MESSAGE) }).optional(),
  }),
});
type HarEntry = z.infer<typeof harEntry>;
const harFile = z.object({
  log: z.object({
    version: z.string(),
    creator: z.object({ name: z.string() }).optional(),
    entries: z.array(z.unknown()).max(100_000),
  }),
});
const CREATOR = 'llm-wasm-sandbox';
/** What is before and after the lines of a recording. */
const BEGIN = `{"log":{"version":"1.2","creator":{"name":"${CREATOR}","version":"1"},"comment":"`;
const ENTRIES = '","entries":[';
const ID_BYTES = 8;
const HEAD_BYTES = BEGIN.length + 2 * ID_BYTES + ENTRIES.length;
const TAIL = '\n]}}\n';
/** Control characters, which JSON would write with six characters each. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is searched
const CONTROLS = /[\0-\x08\x0b\x0c\x0e-\x1f]/;
/** What describes the bytes on the wire. Other programs record bodies without their compression, as HAR has it. */
const WIRE_HEADERS = ['content-encoding', 'content-length'];

const decode = (text: string | undefined, encoding: string | undefined): Uint8Array =>
  Buffer.from(text ?? '', encoding === 'base64' ? 'base64' : 'utf8');

const keyOf = (method: string, url: string, body: Uint8Array) => `${method} ${url} ${sha256Hex(body)}`;

/** The text of a body: as it is if it is readable UTF-8, otherwise in base64. */
function encode(bytes: Uint8Array): { text: string; isBase64: boolean } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = isUtf8(buffer) ? buffer.toString('utf8') : undefined;
  return text === undefined || CONTROLS.test(text)
    ? { text: buffer.toString('base64'), isBase64: true }
    : { text, isBase64: false };
}

/** Whether a body is readable UTF-8, like in `encode`. */
function* isReadable(bytes: Buffer): Generator<string, boolean> {
  if (!isUtf8(bytes)) return false;
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (CONTROLS.test(bytes.toString('latin1', at, at + SLICE_BYTES))) return false;
    yield '';
  }
  return true;
}

/** A body as in `encode`, in parts, without quotation marks. */
function* encodedParts(bytes: Buffer, isBase64: boolean): Generator<string> {
  const decoder = new StringDecoder('utf8');
  for (let at = 0; at < bytes.length; at += STEP_BYTES) {
    const part = bytes.subarray(at, at + STEP_BYTES);
    yield isBase64 ? part.toString('base64') : JSON.stringify(decoder.write(part)).slice(1, -1);
  }
}

const lengthOf = (headers: HeaderList) =>
  headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);

const toPairs = (headers: HeaderList) => headers.map(([name, value]) => ({ name, value }));

/** An exchange while it is being recorded. */
export class RecordedExchange {
  readonly #started = new Date();
  readonly #startedMs = performance.now();
  readonly #parts: Uint8Array[] = [];
  #response: Pick<WireResponse, 'status' | 'reason' | 'headers'> | undefined;
  #error: { kind: NetworkErrorKind; message: string } | undefined;
  isEnded = false;

  /** `count` is called with the memory that the exchange takes, about; `ended` when nothing more is added. */
  constructor(
    readonly request: WireRequest,
    readonly count: (bytes: number) => void,
    readonly ended: () => void,
  ) {
    const { url, headers, body } = request;
    count(ENTRY_BYTES + hrefOf(url).length + lengthOf(headers) + (body?.length ?? 0));
  }

  respond(response: Pick<WireResponse, 'status' | 'reason' | 'headers'>): void {
    this.#response = response;
    this.count(lengthOf(response.headers));
  }

  add(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.count(bytes.length);
  }

  fail({ kind, message }: NetworkError): void {
    this.#error = { kind, message };
  }

  end(): void {
    this.isEnded = true;
    this.ended();
  }

  /** The exchange as JSON, in parts. */
  *jsonParts(): Generator<string> {
    const content = Buffer.concat(this.#parts);
    const isBase64 = !(yield* isReadable(content));
    const entry = JSON.stringify(this.#toEntry(content.length, isBase64));
    // In a string, its quotation marks would be escaped.
    const at = entry.lastIndexOf('"text":""') + '"text":"'.length;
    yield entry.slice(0, at);
    yield* encodedParts(content, isBase64);
    yield entry.slice(at);
  }

  /** Without the text of the response. */
  #toEntry(size: number, isBase64: boolean): object {
    const { method, url, headers, body } = this.request;
    const sent = body && encode(body);
    const typeOf = (list: HeaderList) =>
      list.find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
    const time = Math.round((performance.now() - this.#startedMs) * 10) / 10;
    const { status = 0, reason = '', headers: found = [] } = this.#response ?? {};
    return {
      startedDateTime: this.#started.toISOString(),
      time,
      request: {
        method,
        url: hrefOf(url),
        httpVersion: 'HTTP/1.1',
        cookies: [],
        headers: toPairs(headers),
        queryString: [...new URLSearchParams(url.query)].map(([name, value]) => ({ name, value })),
        ...(sent && {
          postData: {
            mimeType: typeOf(headers),
            text: sent.text,
            ...(sent.isBase64 && { _encoding: 'base64' }),
          },
        }),
        headersSize: -1,
        bodySize: body?.length ?? 0,
      },
      response: {
        status,
        statusText: reason,
        httpVersion: 'HTTP/1.1',
        cookies: [],
        headers: toPairs(found),
        content: {
          size,
          mimeType: typeOf(found),
          text: '',
          ...(isBase64 && { encoding: 'base64' }),
        },
        redirectURL: found.find(([name]) => name.toLowerCase() === 'location')?.[1] ?? '',
        headersSize: -1,
        bodySize: -1,
        ...(this.#error && { _error: this.#error }),
      },
      cache: {},
      timings: { send: 0, wait: time, receive: 0 },
    };
  }
}

/** The file with the exchanges of a sandbox. It is a HAR file after each exchange that was added. */
export class Recorder {
  #bytes = 0;
  /** With a random id, so that no other file is taken for this one. */
  readonly #head = Buffer.from(`${BEGIN}${randomBytes(ID_BYTES).toString('hex')}${ENTRIES}`);
  /** Where the next exchange is written. */
  #end = HEAD_BYTES;
  #size = HEAD_BYTES + TAIL.length;
  /** Resolves when all exchanges are in the file. */
  #added: Promise<void> = Promise.resolve();

  /** Writes an empty recording. Throws `invalid_argument` if that is not possible. */
  constructor(readonly file: string) {
    // A name that others cannot guess: in a shared folder, they could put a link there.
    const partial = `${file}.${randomBytes(8).toString('hex')}`;
    try {
      writeFileSync(partial, this.#head + TAIL, { mode: 0o600, flag: 'wx' });
      renameSync(partial, file);
    } catch (cause) {
      rmSync(partial, { force: true });
      throw this.#failure('cannot be written', cause);
    }
  }

  #failure(problem: string, cause?: unknown): SandboxError {
    return new SandboxError('invalid_argument', `policy.network.record: ${this.file} ${problem}.`, { cause });
  }

  /** Counts what an exchange takes. */
  begin(request: WireRequest, ended: () => void): RecordedExchange {
    if (this.#bytes > MAX_RECORDED_BYTES)
      throw new NetworkError('limit', 'the recording has reached its maximum size');
    const count = (bytes: number) => {
      this.#bytes += bytes;
    };
    return new RecordedExchange(request, count, ended);
  }

  /** Adds exchanges to the end of the file, in slices. */
  append(exchanges: readonly RecordedExchange[]): Promise<void> {
    const added = this.#added.then(() => finishInSlices(this.#add(exchanges)));
    this.#added = added.catch(() => {});
    return added;
  }

  *#add(exchanges: readonly RecordedExchange[]): Generator<void> {
    if (exchanges.length === 0) return;
    let fd: number | undefined;
    try {
      fd = openSync(this.file, constants.O_RDWR | constants.O_NOFOLLOW);
      if (!this.#isOwn(fd)) throw this.#failure('was replaced or changed: nothing is added to it');
      for (const exchange of exchanges) yield* this.#write(fd, exchange);
    } catch (cause) {
      throw cause instanceof SandboxError ? cause : this.#failure('cannot be written', cause);
    } finally {
      if (fd !== undefined) closeSync(fd);
    }
  }

  #isOwn(fd: number): boolean {
    const head = Buffer.alloc(HEAD_BYTES);
    readSync(fd, head, 0, HEAD_BYTES, 0);
    return head.equals(this.#head) && fstatSync(fd).size === this.#size;
  }

  *#write(fd: number, exchange: RecordedExchange): Generator<void> {
    let end = this.#writeAt(fd, this.#end, this.#end === HEAD_BYTES ? '\n' : ',\n');
    for (const part of exchange.jsonParts()) {
      end = this.#writeAt(fd, end, part);
      yield;
    }
    this.#size = this.#writeAt(fd, end, TAIL);
    this.#end = end;
    // What a write that failed has left.
    ftruncateSync(fd, this.#size);
  }

  /** Returns where the text ends. */
  #writeAt(fd: number, start: number, text: string): number {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; this.#size = Math.max(this.#size, start + at))
      at += writeSync(fd, bytes, at, bytes.length - at, start + at);
    return start + bytes.length;
  }
}

/** The exchanges of one program, in the order in which they began. Each is written when it and those before it have ended. */
export class ProgramRecording {
  #exchanges: RecordedExchange[] = [];
  #added: Promise<unknown> = Promise.resolve();

  constructor(readonly recorder: Recorder) {}

  begin(request: WireRequest): RecordedExchange {
    const exchange = this.recorder.begin(request, () => this.#flush());
    this.#exchanges.push(exchange);
    return exchange;
  }

  #flush(): void {
    const firstOpen = this.#exchanges.findIndex(({ isEnded }) => !isEnded);
    const ended = this.#exchanges.splice(0, firstOpen < 0 ? this.#exchanges.length : firstOpen);
    this.#added = Promise.all([this.#added, this.recorder.append(ended)]);
    this.#added.catch(() => {});
  }

  /** Resolves when all exchanges are written, and rejects if one could not be. */
  async finish(): Promise<void> {
    await this.#added;
  }
}

function withoutWireHeaders(entry: HarEntry): HarEntry {
  const headers = entry.response.headers.filter(({ name }) => !WIRE_HEADERS.includes(name.toLowerCase()));
  return { ...entry, response: { ...entry.response, headers } };
}

const replayFailure = (file: string, problem: string, cause?: unknown) =>
  new SandboxError('invalid_argument', `policy.network.replay: ${file} ${problem}.`, { cause });

/** The contents of a file, read in slices. */
function* readSlices(file: string): Generator<void, Buffer> {
  let fd: number | undefined;
  try {
    if (!statSync(file).isFile()) throw replayFailure(file, 'is not a file');
    fd = openSync(file, 'r');
    const { size } = fstatSync(fd);
    if (size > MAX_FILE_BYTES) throw replayFailure(file, 'is too large');
    const bytes = Buffer.alloc(size);
    for (let at = 0, read = 1; at < size && read > 0; at += read) {
      yield;
      read = readSync(fd, bytes, at, Math.min(SLICE_BYTES, size - at), at);
    }
    return bytes;
  } catch (cause) {
    throw cause instanceof SandboxError ? cause : replayFailure(file, 'cannot be read', cause);
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** The exchanges of an own recording, line by line. Its last line may be incomplete, because the process ended. */
function* ownEntries(file: string, bytes: Buffer): Generator<void, HarEntry[]> {
  const entries: HarEntry[] = [];
  for (let from = HEAD_BYTES + 1; from < bytes.length; ) {
    const end = bytes.indexOf('\n', from);
    if (end < 0) {
      process.emitWarning(`${file} ends in the middle of an exchange, which is ignored.`);
      break;
    }
    const text = bytes.toString('utf8', from, end);
    if (text === ']}}') break;
    yield;
    entries.push(harEntry.parse(JSON.parse(text.replace(/,$/, ''))));
    from = end + 1;
  }
  return entries;
}

/** The exchanges of any HAR file. */
function otherEntries(bytes: Buffer): HarEntry[] {
  const { creator, entries } = harFile.parse(JSON.parse(bytes.toString('utf8'))).log;
  const isOwn = creator?.name === CREATOR;
  // One by one: the first invalid entry ends it. Describing all of them could take all memory.
  return entries.map((entry) => {
    const checked = harEntry.parse(entry);
    return isOwn ? checked : withoutWireHeaders(checked);
  });
}

/** Reads a recording in steps. */
export function* readRecording(file: string): Generator<void, ReplayTransport> {
  const bytes = yield* readSlices(file);
  try {
    const head = bytes.toString('latin1', 0, HEAD_BYTES + 1);
    const isOwn = head.startsWith(BEGIN) && head.endsWith(`${ENTRIES}\n`);
    return new ReplayTransport(isOwn ? yield* ownEntries(file, bytes) : otherEntries(bytes));
  } catch (cause) {
    throw replayFailure(file, 'is not a HAR file', cause);
  }
}

/** Answers requests from a recording, each recorded exchange once and in order. */
export class ReplayTransport implements Transport {
  readonly #entries = new Map<string, HarEntry[]>();

  constructor(entries: readonly HarEntry[]) {
    for (const entry of entries) {
      const { method, url, postData } = entry.request;
      const key = keyOf(method, url, decode(postData?.text, postData?._encoding));
      const known = this.#entries.get(key);
      if (known === undefined) this.#entries.set(key, [entry]);
      else known.push(entry);
    }
  }

  async send({ method, url, body }: WireRequest): Promise<WireResponse> {
    const href = hrefOf(url);
    const entry = this.#entries.get(keyOf(method, href, body ?? new Uint8Array()))?.shift();
    if (entry === undefined)
      throw new NetworkError(
        'replay',
        `${method} ${href.slice(0, 300)} is not in the recording, or all its recorded responses were used. Nothing is sent while a recording is replayed.`,
      );
    const { status, statusText: reason, headers, content, _error } = entry.response;
    const error = _error && new NetworkError(_error.kind, _error.message);
    if (status === 0) throw error ?? new NetworkError('failed', 'the request failed when it was recorded');
    const bytes = decode(content.text, content.encoding);
    return {
      status,
      reason,
      headers: headers
        .map(({ name, value }) => [name, value] as const)
        .filter(([name]) => !isConnectionHeader(name) || name.toLowerCase() === 'content-length'),
      body: replayed(bytes, error),
    };
  }

  async close(): Promise<void> {}
}

async function* replayed(bytes: Uint8Array, error: NetworkError | undefined): AsyncGenerator<Uint8Array> {
  // In pieces, as from a network: what handles a piece does so in one turn.
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) yield bytes.subarray(at, at + SLICE_BYTES);
  if (error !== undefined) throw error;
}
