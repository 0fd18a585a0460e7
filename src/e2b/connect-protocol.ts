/**
 * The Connect protocol with JSON, as far as the SDKs of E2B use it: unary calls, and calls whose response is a stream. A
 * message of a stream has a header of five bytes: flags and length. The last one ends the stream and reports its error.
 */
import type { ServerResponse } from 'node:http';
import type { z } from 'zod';
import { HttpError } from '../http/http-error.ts';
import { checkedBody, sendJson } from '../http/rest-call.ts';
import { parse } from '../schema.ts';
import type { E2bCall, E2bRoute } from './e2b-call.ts';
import { connectError, toE2bError } from './e2b-error.ts';

const HEADER_BYTES = 5;
const END_FLAG = 2;
/** Bytes of the message that starts a stream, such as a command. */
const MAX_MESSAGE_BYTES = 1024 * 1024;
const MAX_PING_SECONDS = 50;

/** A call that answers with one message. */
export function unary<S extends z.ZodType>(
  path: string,
  schema: S,
  answer: (call: E2bCall, message: z.output<S>) => Promise<object>,
): E2bRoute {
  return {
    method: 'POST',
    path,
    handle: async (call) => sendJson(call.response, 200, await answer(call, await checkedBody(call, schema))),
  };
}

/** A call that answers with a stream, which lasts until `run` returns, the client leaves or the time is over. */
export function serverStream<S extends z.ZodType>(
  path: string,
  schema: S,
  run: (call: E2bCall, message: z.output<S>, stream: ConnectStream) => Promise<void>,
): E2bRoute {
  return {
    method: 'POST',
    path,
    handle: async (call) => {
      const stream = new ConnectStream(call);
      try {
        const message = parse(schema, firstMessage(await call.readBytes()), 'message');
        await run(call, message, stream);
        stream.end();
      } catch (cause) {
        const { error, isHostError } = toE2bError(cause);
        stream.end(error);
        if (isHostError) throw cause;
      }
    },
  };
}

/** The message of a request, which has only one. */
function firstMessage(bytes: Uint8Array): unknown {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  if (bytes.length < HEADER_BYTES || view.getUint32(1) !== bytes.length - HEADER_BYTES)
    throw new HttpError(400, 'The message is incomplete');
  if (bytes[0] !== 0)
    throw new HttpError(400, 'The message is compressed, which this server does not support');
  if (bytes.length > MAX_MESSAGE_BYTES)
    throw new HttpError(400, `The message is larger than ${MAX_MESSAGE_BYTES} bytes`);
  try {
    return JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_BYTES)));
  } catch {
    throw new HttpError(400, 'The message is not JSON');
  }
}

/** The time that a client gives a stream; undefined if it has no limit. */
export function deadlineMs({ request }: Pick<E2bCall, 'request'>): number | undefined {
  const given = Number(request.headers['connect-timeout-ms']);
  return Number.isFinite(given) && given > 0 ? Math.min(given, 2_147_483_647) : undefined;
}

export class ConnectStream {
  readonly response: ServerResponse;
  readonly #pingMs: number;
  #ping: NodeJS.Timeout | undefined;
  #hasEnded = false;
  #drained: Promise<void> | undefined;

  constructor({ request, response, signal }: Pick<E2bCall, 'request' | 'response' | 'signal'>) {
    this.response = response;
    const seconds = Number(request.headers['keepalive-ping-interval']) || MAX_PING_SECONDS;
    this.#pingMs = Math.min(Math.max(1, seconds), MAX_PING_SECONDS) * 1000;
    signal.addEventListener('abort', () => clearInterval(this.#ping), { once: true });
  }

  /** Sends a message repeatedly, so that the connection is not taken for dead. */
  keepAlive(message: object): void {
    this.#ping = setInterval(() => void this.send(message), this.#pingMs).unref();
  }

  /** Sends a message. Resolves when the client has room for more. */
  async send(message: object): Promise<void> {
    const { response } = this;
    if (this.#hasEnded || response.destroyed) return;
    this.#start();
    if (response.write(frame(0, message))) return;
    this.#drained ??= new Promise<void>((resolve) => {
      const done = () => {
        response.off('drain', done);
        response.off('close', done);
        this.#drained = undefined;
        resolve();
      };
      response.on('drain', done);
      response.on('close', done);
    });
    await this.#drained;
  }

  end(error?: HttpError): void {
    clearInterval(this.#ping);
    if (this.#hasEnded || this.response.destroyed) return;
    this.#hasEnded = true;
    this.#start();
    this.response.end(
      frame(END_FLAG, error === undefined ? {} : { error: connectError(error.status, error.message) }),
    );
  }

  #start(): void {
    if (!this.response.headersSent)
      this.response.writeHead(200, { 'content-type': 'application/connect+json' });
  }
}

function frame(flags: number, message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const header = Buffer.alloc(HEADER_BYTES);
  header[0] = flags;
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}
