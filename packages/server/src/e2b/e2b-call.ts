/** A request of E2B's SDKs, as the handlers receive it. */
import type { ProtocolRequest } from '../server/protocol.ts';
import type { Routes } from '../server/rest-call.ts';
import type { Caller } from '../server/tokens.ts';
import type { AccessTokens } from './access-tokens.ts';
import type { Sandboxes } from './sandboxes.ts';

/** Who sends a request, and to which sandbox; the sandbox is undefined for requests with an API key. */
export interface E2bCaller extends Caller {
  readonly sandbox_id?: string;
}

export type E2bRequest = ProtocolRequest<E2bCaller>;

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

export type E2bRoutes = Routes<E2bCall>;
