/**
 * Reads the bodies of requests. Bytes, nesting depth and members are limited while the body arrives, and texts that
 * the server echoes are limited before any schema sees them, so that no body stalls the server.
 */
import type { IncomingMessage } from 'node:http';
import { createGunzip } from 'node:zlib';
import {
  decodeChunks,
  JsonLimitScanner,
  type JsonLimits,
  type NextSlice,
  SLICE_BYTES,
  Slices,
} from '@llm-wasm-sandbox/core/internal';
import { HttpError, retryLater } from './http-error.ts';
import { LongNameError, parseJsonSteps } from './json-steps.ts';
import type { ByteBudget } from './request-byte-budget.ts';

export const JSON_LIMITS = {
  /** Nesting depth of arrays and objects. */
  depth: 64,
  /** Elements of arrays and members of objects. */
  members: 2000,
  /** Characters of a number or literal. */
  literalChars: 512,
  /** Characters of the name of a member. */
  nameChars: 4096,
  /** Messages of a batch. */
  messages: 50,
  /** Characters of an id, a method, a progress token, or the name of a tool or prompt. */
  identifierChars: 256,
  /** Characters of a URI: a path of 4096 characters, each of them encoded. */
  uriChars: 65_536,
} as const;

/** A body that is not JSON. */
export class InvalidJson extends HttpError {
  constructor() {
    super(400, 'Parse error: the request body is not valid JSON.');
  }
}

interface BodyLimits {
  /** Bytes of the body as it is sent. */
  readonly maxBytes: number;
  /** Bytes of a compressed body after decompression; `maxBytes` by default. */
  readonly maxDecodedBytes?: number;
  /** Limits the bytes of all bodies of the tenant. The caller returns them when the request has ended. */
  readonly budget: ByteBudget;
  /** Waits between two slices of the work on a large body. */
  readonly nextSlice: NextSlice;
}

/** The part of the bytes of a request that its body can have. The rest is for the response. */
const BODY_SHARE = 15 / 16;

/** Bytes of a decompressed chunk: as many as a chunk of a body that is not compressed. */
const UNZIPPED_BYTES = 64 * 1024;

/** How long the rest of a rejected body is discarded before the response is sent. */
const LINGER_MS = 1000;

/** Reads and parses a JSON-RPC message. Throws `HttpError`; the rest of a rejected body is discarded. */
export async function readJsonBody(request: IncomingMessage, limits: BodyLimits): Promise<unknown> {
  const body = await readLimitedJson(request, limits, JSON_LIMITS);
  checkTexts(body);
  return body;
}

/** Parses a message that has the limits of a body. Throws `HttpError`. */
export async function parseMessageBytes(bytes: Uint8Array, nextSlice: NextSlice): Promise<unknown> {
  const message = await parseJsonBytes(bytes, JSON_LIMITS, nextSlice);
  checkTexts(message);
  return message;
}

/** Reads and parses a JSON body within limits. Throws `HttpError`; the rest of a rejected body is discarded. */
export async function readLimitedJson(
  request: IncomingMessage,
  limits: BodyLimits,
  jsonLimits: JsonLimits,
): Promise<unknown> {
  const scanner = new JsonLimitScanner(jsonLimits);
  const chunks: Buffer[] = [];
  await receive(request, limits, (chunk) => {
    const problem = scanner.scan(chunk);
    if (problem !== undefined) return new HttpError(400, `Bad Request: ${problem}.`);
    chunks.push(chunk);
    return undefined;
  });
  return parseChunks(chunks, limits.nextSlice);
}

/** Parses JSON that a client has sent as a part of a body or as a message. Throws `HttpError`. */
export async function parseJsonBytes(
  bytes: Uint8Array,
  jsonLimits: JsonLimits,
  nextSlice: NextSlice,
): Promise<unknown> {
  const scanner = new JsonLimitScanner(jsonLimits);
  for (let start = 0; start < bytes.length; start += SLICE_BYTES) {
    if (start > 0) await nextSlice();
    const problem = scanner.scan(bytes.subarray(start, start + SLICE_BYTES));
    if (problem !== undefined) throw new HttpError(400, `Bad Request: ${problem}.`);
  }
  return parseChunks([bytes], nextSlice);
}

/** One turn of the event loop can receive many chunks, so they are decoded and parsed later, in slices. */
async function parseChunks(chunks: readonly Uint8Array[], nextSlice: NextSlice): Promise<unknown> {
  const text = await decodeChunks(chunks, nextSlice);
  if (text.length > SLICE_BYTES) await nextSlice();
  const steps = parseJsonSteps(text);
  try {
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
      await nextSlice();
    }
  } catch (cause) {
    if (cause instanceof LongNameError) throw new HttpError(400, `Bad Request: ${cause.message}.`);
    if (cause instanceof SyntaxError) throw new InvalidJson();
    throw cause;
  }
}

/** Reads a body that is not JSON. Throws `HttpError`; the rest of a rejected body is discarded. */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Uint8Array> {
  const chunks: Buffer[] = [];
  await receive(request, limits, (chunk) => {
    chunks.push(chunk);
    return undefined;
  });
  return joined(chunks, limits.nextSlice);
}

async function joined(chunks: readonly Buffer[], nextSlice: NextSlice): Promise<Uint8Array> {
  const [first = Buffer.alloc(0)] = chunks;
  if (chunks.length <= 1) return first;
  const whole = Buffer.allocUnsafeSlow(chunks.reduce((sum, { length }) => sum + length, 0));
  const slices = new Slices();
  let at = 0;
  for (const chunk of chunks) {
    at += chunk.copy(whole, at);
    await slices.pause(nextSlice);
  }
  return whole;
}

type Accept = (chunk: Buffer) => HttpError | undefined;

/**
 * Passes the chunks of a body to `accept` until the body ends or `accept` returns an error. The bytes of a rejected body return to
 * the budget, which then has room for the response.
 */
async function receive(request: IncomingMessage, limits: BodyLimits, accept: Accept): Promise<void> {
  let taken = 0;
  const take: Accept = (chunk) => {
    if (!limits.budget.take(chunk.length)) return retryLater(503, BUSY_MESSAGE);
    taken += chunk.length;
    return accept(chunk);
  };
  try {
    await receiveDecoded(request, limits, take);
  } catch (cause) {
    limits.budget.give(taken);
    throw cause;
  }
}

async function receiveDecoded(request: IncomingMessage, limits: BodyLimits, accept: Accept): Promise<void> {
  const { 'content-encoding': encoding = 'identity' } = request.headers;
  if (encoding === 'identity') return receivePlain(request, limits, accept);
  if (encoding === 'gzip') return receiveGzip(request, limits, accept);
  request.resume();
  throw new HttpError(415, 'Unsupported Media Type: a body may have the content-encoding gzip, or none.');
}

function receivePlain(
  request: IncomingMessage,
  { maxBytes, nextSlice }: BodyLimits,
  accept: Accept,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let size = 0;
    let failure: HttpError | undefined;
    let handled: Promise<void> = Promise.resolve();
    const fail = (cause: HttpError) => {
      failure = cause;
      // Many clients read the response only after they have sent the body, so the rest is discarded for a while.
      setTimeout(() => reject(cause), LINGER_MS).unref();
    };
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) fail(tooLarge(maxBytes));
    request.on('data', (chunk: Buffer) => {
      if (failure !== undefined) return;
      size += chunk.length;
      if (size > maxBytes) return fail(tooLarge(maxBytes));
      // One turn of the event loop can receive chunks of many bodies. Each is handled in its own.
      request.pause();
      handled = nextSlice().then(() => {
        const rejected = accept(chunk);
        if (rejected !== undefined) fail(rejected);
        request.resume();
      });
    });
    request.once('end', async () => {
      await handled;
      if (failure === undefined) resolve();
      else reject(failure);
    });
    request.once('error', reject);
    request.once('close', () => {
      if (!request.complete) reject(incomplete());
    });
  });
}

/**
 * Decompresses the chunks of a body while it arrives. What they expand to is counted like any body, and the request is read
 * no faster than it is decompressed.
 */
async function receiveGzip(request: IncomingMessage, limits: BodyLimits, accept: Accept): Promise<void> {
  const { maxBytes, budget, nextSlice } = limits;
  const room = Math.floor(budget.maxBytes * BODY_SHARE);
  const maxDecodedBytes = Math.min(limits.maxDecodedBytes ?? maxBytes, room);
  let sent = 0;
  request.on('data', (chunk: Buffer) => {
    sent += chunk.length;
    if (sent > maxBytes) unzip.destroy(tooLarge(maxBytes));
  });
  request.once('close', () => {
    if (!request.complete) unzip.destroy(incomplete());
  });
  const unzip = createGunzip({ chunkSize: UNZIPPED_BYTES });
  let size = 0;
  try {
    for await (const chunk of request.pipe(unzip) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxDecodedBytes) throw tooLarge(maxDecodedBytes);
      await nextSlice();
      const rejected = accept(chunk);
      if (rejected !== undefined) throw rejected;
    }
  } catch (cause) {
    request.unpipe(unzip);
    request.resume();
    if (cause instanceof HttpError) throw cause;
    throw new HttpError(400, 'Bad Request: the body is not valid gzip data.');
  }
}

const BUSY_MESSAGE =
  'The pending requests and responses of this client are too large in total. Read the pending responses and retry, with fewer requests at a time.';

function tooLarge(maxBytes: number): HttpError {
  return new HttpError(413, `Payload Too Large: the limit is ${maxBytes} bytes.`);
}

const incomplete = () => new HttpError(400, 'Bad Request: the body is incomplete.');

/** Parses a message of the standard input, which has one client. Throws `HttpError`. */
export function parseJsonLine(text: string): unknown {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw new InvalidJson();
  }
  checkTexts(body);
  return body;
}

/** Texts that the server repeats in responses and notifications, and their limits. */
const ECHOED: readonly (readonly [path: readonly string[], maxChars: number])[] = [
  [['id'], JSON_LIMITS.identifierChars],
  [['method'], JSON_LIMITS.identifierChars],
  [['params', 'name'], JSON_LIMITS.identifierChars],
  [['params', 'uri'], JSON_LIMITS.uriChars],
  [['params', 'ref', 'uri'], JSON_LIMITS.uriChars],
  [['params', 'requestId'], JSON_LIMITS.identifierChars],
  [['params', '_meta', 'progressToken'], JSON_LIMITS.identifierChars],
];

function checkTexts(body: unknown): void {
  const messages = Array.isArray(body) ? body : [body];
  if (messages.length > JSON_LIMITS.messages)
    throw new HttpError(400, `Bad Request: the batch has more than ${JSON_LIMITS.messages} messages.`);
  for (const message of messages) {
    for (const [path, maxChars] of ECHOED) {
      const value = valueAt(message, path);
      if (typeof value === 'string' && value.length > maxChars)
        throw new HttpError(400, `Bad Request: ${path.join('.')} has more than ${maxChars} characters.`);
    }
  }
  checkNames(body);
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  let at = value;
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Record<string, unknown>)[name];
  }
  return at;
}

/** Errors of schemas repeat the names of unknown members. The depth of `value` is already limited. */
function checkNames(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (name.length > JSON_LIMITS.nameChars)
      throw new HttpError(
        400,
        `Bad Request: the name of a member has more than ${JSON_LIMITS.nameChars} characters.`,
      );
    checkNames(member);
  }
}
