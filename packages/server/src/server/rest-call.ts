/** A request that has passed the guards of the server, as the handlers of a protocol receive it, and the ways to answer it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { JsonLimits } from '@llm-wasm-sandbox/core/internal';
import { matchPath, type NextSlice, parse, SLICE_BYTES } from '@llm-wasm-sandbox/core/internal';
import type { z } from 'zod';
import { jsonParts } from './json-steps.ts';
import type { Tenant } from './tenant.ts';

export interface RestRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly tenant: Tenant;
  /** Reads the body as JSON, within the limits of the server or others. Throws an error with a status. */
  readJson(limits?: JsonLimits): Promise<unknown>;
  /** Reads the body as bytes, within the limits of the server. A compressed body may expand to `maxDecodedBytes`. */
  readBytes(maxDecodedBytes?: number): Promise<Uint8Array>;
  /** Waits until the tenant may continue its work on the main thread with another slice. */
  readonly nextSlice: NextSlice;
}

/** Handlers of requests by method and path, as in `GET files/:`, where `:` stands for any segment. */
export type Routes<Call, Answer = void> = Readonly<Record<string, (call: Call) => Promise<Answer>>>;

/** The value of a header that occurs once. */
export function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
}

export function splitUrl({ url = '/' }: IncomingMessage) {
  const [path = '/', search = ''] = url.split('?', 2);
  return { segments: path.slice(1).split('/'), query: new URLSearchParams(search) };
}

/** The handler of a request, and the parts of its path that match the `:` segments. */
export function findRoute<Call, Answer>(
  routes: Routes<Call, Answer>,
  method: string | undefined,
  segments: readonly string[],
): { readonly handle: (call: Call) => Promise<Answer>; readonly params: readonly string[] } | undefined {
  for (const [route, handle] of Object.entries(routes)) {
    const [verb, path = ''] = route.split(' ');
    const params = matchPath(path, segments);
    if (params !== undefined && verb === method) return { handle, params };
  }
  return undefined;
}

type Answered = Pick<RestRequest, 'response' | 'nextSlice'>;

/** Sends a value as JSON, which is encoded in slices. What the client has not received counts as bytes of its tenant. */
export async function respond(
  call: Answered,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<void> {
  call.response.writeHead(status, { 'content-type': 'application/json', ...headers });
  await endWith(call, jsonParts(value));
}

/** Sends the parts of a body, one in each slice. */
async function endWith(
  { response, nextSlice }: Answered,
  parts: Iterable<string | Uint8Array>,
): Promise<void> {
  let last: Buffer | undefined;
  for (const part of parts) {
    if (last !== undefined) {
      response.write(last);
      await nextSlice();
      if (response.destroyed) return;
    }
    last = Buffer.from(part as string);
  }
  response.end(last);
}

interface JsonLayout {
  readonly indent?: number;
  /** Text after the value. */
  readonly end?: string;
  /** Whether other characters than those of ASCII are escaped. */
  readonly isAscii?: boolean;
}

/** The JSON text of a value in UTF-8, encoded in slices. */
export async function encodedJson(
  value: unknown,
  nextSlice: NextSlice,
  { indent, end = '', isAscii = false }: JsonLayout = {},
): Promise<Buffer> {
  const parts: Buffer[] = [];
  for (const part of jsonParts(value, indent)) {
    if (parts.length > 0) await nextSlice();
    parts.push(Buffer.from(isAscii ? escapedToAscii(part) : part));
  }
  if (end !== '') parts.push(Buffer.from(end));
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

const escapedToAscii = (json: string) =>
  json.replace(/[\u0080-\uffff]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The JSON text of a value, encoded in slices. */
export async function jsonText(value: unknown, nextSlice: NextSlice): Promise<string> {
  let text = '';
  for (const part of jsonParts(value)) {
    if (text !== '') await nextSlice();
    text += part;
  }
  return text;
}

/** Sends a file of a workspace as a download. */
export async function sendFile(call: Answered, data: Uint8Array): Promise<void> {
  call.response.writeHead(200, {
    'content-type': 'application/octet-stream',
    'content-length': data.length,
    // A page must not show what a program wrote.
    'content-disposition': 'attachment',
    'x-content-type-options': 'nosniff',
  });
  await endWith(call, copiedParts(data));
}

/** Copies, because sockets do not accept shared memory. */
function* copiedParts(data: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; start < data.length; start += SLICE_BYTES) yield data.slice(start, start + SLICE_BYTES);
}

/** Reads and checks the body; an empty one is an empty object. */
export async function checkedBody<S extends z.ZodType>(call: RestRequest, schema: S): Promise<z.output<S>> {
  const { request } = call;
  const isEmpty =
    request.headers['content-length'] === '0' ||
    (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined);
  return parse(schema, isEmpty ? {} : await call.readJson(), 'body');
}
