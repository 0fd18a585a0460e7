/**
 * The Connect protocol with JSON, as far as the SDKs of E2B use it: unary calls, and calls whose response is a stream. A
 * message of a stream has a header of five bytes: flags and length. The last one ends the stream and reports its error.
 */

import { type NextSlice, parse } from '@llm-wasm-sandbox/core/internal';
import type { z } from 'zod';
import { HttpError, toHttpError } from '../server/http-error.ts';
import { shortJson } from '../server/json-steps.ts';
import { parseMessageBytes } from '../server/request-body.ts';
import { ResponseStream } from '../server/response-stream.ts';
import { checkedBody, encodedJson, respond } from '../server/rest-call.ts';
import type { E2bCall, E2bRoutes } from './e2b-call.ts';
import { connectError, toE2bError } from './e2b-error.ts';

const HEADER_BYTES = 5;
const END_FLAG = 2;
/** Bytes of the message that starts a stream, such as a command. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
/** Short messages that are sent at once. */
const BATCH_BYTES = 64 * 1024;
const MAX_PING_SECONDS = 50;

/** A call that answers with one message. */
export function unary<S extends z.ZodType>(
  path: string,
  schema: S,
  answer: (call: E2bCall, message: z.output<S>) => Promise<object>,
): E2bRoutes {
  return {
    [`POST ${path}`]: async (call) => respond(call, 200, await answer(call, await checkedBody(call, schema))),
  };
}

/** A call that answers with a stream, which lasts until `run` returns, the client leaves or the time is over. */
export function serverStream<S extends z.ZodType>(
  path: string,
  schema: S,
  run: (call: E2bCall, message: z.output<S>, stream: ConnectStream) => Promise<void>,
): E2bRoutes {
  return {
    [`POST ${path}`]: async (call) => {
      const stream = new ConnectStream(call);
      try {
        const message = parse(schema, await firstMessage(call), 'message');
        await run(call, message, stream);
        await stream.end();
      } catch (cause) {
        const { error, isHostError } = toHttpError(toE2bError(cause));
        await stream.end(error);
        if (isHostError) throw cause;
      }
    },
  };
}

/** The message of a request, which has only one. */
async function firstMessage({ readBytes, nextSlice }: E2bCall): Promise<unknown> {
  const bytes = await readBytes();
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < HEADER_BYTES || view.getUint32(1) !== bytes.length - HEADER_BYTES)
    throw new HttpError(400, 'The message is incomplete');
  if (bytes[0] !== 0)
    throw new HttpError(400, 'The message is compressed, which this server does not support');
  if (bytes.length > MAX_MESSAGE_BYTES)
    throw new HttpError(400, `The message is larger than ${MAX_MESSAGE_BYTES} bytes`);
  return parseMessageBytes(bytes.subarray(HEADER_BYTES), nextSlice);
}

/** The time that a client gives a stream; undefined if it has no limit. */
export function deadlineMs({ request }: Pick<E2bCall, 'request'>): number | undefined {
  const given = Number(request.headers['connect-timeout-ms']);
  return Number.isFinite(given) && given > 0 ? Math.min(given, 2_147_483_647) : undefined;
}

export class ConnectStream {
  readonly #stream: ResponseStream;
  readonly #nextSlice: NextSlice;
  readonly #pingMs: number;
  #ping: NodeJS.Timeout | undefined;

  constructor({ request, response, signal, nextSlice }: E2bCall) {
    this.#stream = new ResponseStream(response, 'application/connect+json');
    this.#nextSlice = nextSlice;
    const seconds = Number(request.headers['keepalive-ping-interval']) || MAX_PING_SECONDS;
    this.#pingMs = Math.min(Math.max(1, seconds), MAX_PING_SECONDS) * 1000;
    signal.addEventListener('abort', () => clearInterval(this.#ping), { once: true });
  }

  /** Sends a message repeatedly, so that the connection is not taken for dead. */
  keepAlive(message: object): void {
    const ping = () => {
      if (this.#stream.isIdle) void this.send(message);
    };
    this.#ping = setInterval(ping, this.#pingMs).unref();
  }

  /** Sends a message. Resolves when the client has room for more. */
  send(message: object): Promise<void> {
    return this.sendFrames(() => frame(0, message, this.#nextSlice));
  }

  /** Sends messages that `frame` has encoded, which several streams can share. */
  sendFrames(encode: () => Promise<Uint8Array>): Promise<void> {
    return this.#stream.send(encode);
  }

  /** Sends short messages, of which each slice encodes many. */
  async sendAll(messages: Iterable<object>): Promise<void> {
    await this.#nextSlice();
    for (const batch of batches(messages)) {
      await this.sendFrames(async () => batch);
      await this.#nextSlice();
    }
  }

  async end(error?: HttpError): Promise<void> {
    clearInterval(this.#ping);
    const message = error === undefined ? {} : { error: connectError(error.status, error.message) };
    await this.sendFrames(() => frame(END_FLAG, message, this.#nextSlice));
    await this.#stream.end();
  }
}

async function frame(flags: number, message: object, nextSlice: NextSlice): Promise<Buffer> {
  const body = await encodedJson(message, nextSlice);
  return Buffer.concat([header(flags, body), body]);
}

function header(flags: number, body: Buffer): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES);
  bytes[0] = flags;
  bytes.writeUInt32BE(body.length, 1);
  return bytes;
}

/** The frames of short messages, many of them in each part. */
function* batches(messages: Iterable<object>): Generator<Buffer> {
  let parts: Buffer[] = [];
  let bytes = 0;
  for (const message of messages) {
    const body = shortJson(message);
    parts.push(header(0, body), body);
    bytes += body.length;
    if (bytes < BATCH_BYTES) continue;
    yield Buffer.concat(parts);
    parts = [];
    bytes = 0;
  }
  if (bytes > 0) yield Buffer.concat(parts);
}

/** A message of a stream as bytes. */
export const messageFrame = (message: object, nextSlice: NextSlice) => frame(0, message, nextSlice);
