/**
 * Recordings of requests and responses in HAR 1.2. A recording is a file of the host; when it is replayed, its contents are checked
 * like any other input. It contains what a program saw, and never a secret.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { SLICE_BYTES } from '../concurrency/slices.ts';
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
/** What describes the bytes on the wire. Other programs record bodies without their compression, as HAR has it. */
const WIRE_HEADERS = ['content-encoding', 'content-length'];

const decode = (text: string | undefined, encoding: string | undefined): Uint8Array =>
  Buffer.from(text ?? '', encoding === 'base64' ? 'base64' : 'utf8');

const keyOf = (method: string, url: string, body: Uint8Array) => `${method} ${url} ${sha256Hex(body)}`;

/** The text of a body: as it is if it is UTF-8, otherwise in base64. */
function encode(bytes: Uint8Array): { text: string; isBase64: boolean } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  return Buffer.from(text).equals(buffer)
    ? { text, isBase64: false }
    : { text: buffer.toString('base64'), isBase64: true };
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

  /** `count` is called with the memory that the exchange takes, about. */
  constructor(
    readonly request: WireRequest,
    readonly count: (bytes: number) => void,
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

  toEntry(): object {
    const { method, url, headers, body } = this.request;
    const content = Buffer.concat(this.#parts);
    const sent = body && encode(body);
    const received = encode(content);
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
          size: content.length,
          mimeType: typeOf(found),
          text: received.text,
          ...(received.isBase64 && { encoding: 'base64' }),
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

/** The exchanges of a sandbox, which are written to a file after every call. */
export class Recorder {
  readonly #exchanges: RecordedExchange[] = [];
  #bytes = 0;

  /** Writes an empty recording. Throws `invalid_argument` if that is not possible. */
  constructor(readonly file: string) {
    this.save();
  }

  begin(request: WireRequest): RecordedExchange {
    if (this.#bytes > MAX_RECORDED_BYTES)
      throw new NetworkError('limit', 'the recording has reached its maximum size');
    const exchange = new RecordedExchange(request, (bytes) => {
      this.#bytes += bytes;
    });
    this.#exchanges.push(exchange);
    return exchange;
  }

  /** Writes the file, so that a reader never sees a part of it. */
  save(): void {
    const creator = { name: CREATOR, version: '1' };
    const entries = this.#exchanges.map((exchange) => exchange.toEntry());
    const text = `${JSON.stringify({ log: { version: '1.2', creator, entries } }, undefined, 1)}\n`;
    // A name that others cannot guess: in a shared folder, they could put a link there.
    const partial = `${this.file}.${randomBytes(8).toString('hex')}`;
    try {
      writeFileSync(partial, text, { mode: 0o600, flag: 'wx' });
      renameSync(partial, this.file);
    } catch (cause) {
      rmSync(partial, { force: true });
      throw new SandboxError('invalid_argument', `policy.network.record: ${this.file} cannot be written.`, {
        cause,
      });
    }
  }
}

function withoutWireHeaders(entry: HarEntry): HarEntry {
  const headers = entry.response.headers.filter(({ name }) => !WIRE_HEADERS.includes(name.toLowerCase()));
  return { ...entry, response: { ...entry.response, headers } };
}

function readRecording(file: string): HarEntry[] {
  const fail = (problem: string, cause?: unknown) =>
    new SandboxError('invalid_argument', `policy.network.replay: ${file} ${problem}.`, { cause });
  let text: string;
  try {
    const status = statSync(file);
    if (!status.isFile()) throw fail('is not a file');
    if (status.size > MAX_FILE_BYTES) throw fail('is too large');
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    throw cause instanceof SandboxError ? cause : fail('cannot be read', cause);
  }
  try {
    const { creator, entries } = harFile.parse(JSON.parse(text)).log;
    const isOwn = creator?.name === CREATOR;
    // One by one: the first invalid entry ends it. Describing all of them could take all memory.
    return entries.map((entry) => {
      const checked = harEntry.parse(entry);
      return isOwn ? checked : withoutWireHeaders(checked);
    });
  } catch (cause) {
    throw fail('is not a HAR file', cause);
  }
}

/** Answers requests from a recording, each recorded exchange once and in order. */
export class ReplayTransport implements Transport {
  readonly #entries = new Map<string, HarEntry[]>();

  constructor(file: string) {
    for (const entry of readRecording(file)) {
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
