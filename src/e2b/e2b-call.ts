/** A request that has passed the guards of the server, as the handlers receive it, and the ways to answer it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { parse } from '../schema.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { E2bTenant } from './e2b-tenant.ts';
import type { Sandboxes } from './sandboxes.ts';

/** Who sends a request, and to which sandbox; the sandbox is undefined for requests with an API key. */
export interface E2bCaller {
  readonly tenant: string;
  readonly sandbox_id?: string;
}

export interface E2bRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly tenant: E2bTenant;
  readonly caller: E2bCaller;
  /** Reads the body as JSON, within the limits of the server. Throws an error with a status. */
  readJson(): Promise<unknown>;
  /** Reads the body as bytes, within the limits of the server. */
  readBytes(): Promise<Uint8Array>;
}

export interface E2bCall extends E2bRequest {
  readonly sandboxes: Sandboxes;
  readonly tokens: AccessTokens;
  /** The parts of the path that match the `:` segments of the route. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal;
}

/** Answers a request. */
export type E2bHandler = (call: E2bCall) => Promise<void>;

export interface E2bRoute {
  readonly method: string;
  /** Segments; `:` stands for any value. */
  readonly path: string;
  readonly handle: E2bHandler;
}

export function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = JSON.stringify(value);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

/** Reads and checks the body; an empty one is an empty object. */
export async function checkedBody<S extends z.ZodType>(call: E2bCall, schema: S): Promise<z.output<S>> {
  const { request } = call;
  const isEmpty =
    request.headers['content-length'] === '0' ||
    (request.headers['content-length'] === undefined && request.headers['transfer-encoding'] === undefined);
  return parse(schema, isEmpty ? {} : await call.readJson(), 'body');
}
