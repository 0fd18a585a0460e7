/** A protocol that a server answers. The server admits requests and limits them; a protocol reads and answers them. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { NextSlice } from '@llm-wasm-sandbox/core/internal';
import type { HttpError } from './http-error.ts';
import type { ByteBudget } from './request-byte-budget.ts';
import type { RestRequest } from './rest-call.ts';
import type { Caller, Identity } from './tokens.ts';

export interface ProtocolRequest<C extends Caller = Caller> extends RestRequest {
  readonly caller: C;
}

/** The limits of what a client sends and receives over an open connection. */
export interface StreamLimits {
  readonly bytes: Pick<ByteBudget, 'take' | 'give'>;
  /** Counts a message. Returns why it is refused, or undefined. */
  readonly refuse: () => Promise<string | undefined>;
  /** Waits until the tenant may continue its work on the main thread. */
  readonly nextSlice: NextSlice;
}

/** A request for a WebSocket. */
export interface UpgradeRequest extends Pick<RestRequest, 'request' | 'tenant'> {
  readonly head: Buffer;
  /** Takes the connection from the server. Before that, errors are answered. */
  takeSocket(): Socket;
  /** The limits of a WebSocket until it closes. */
  limits(socket: NodeJS.EventEmitter): StreamLimits;
}

export interface Protocol<C extends Caller = Caller> {
  /** Headers that pages of other origins may send and read. */
  readonly corsHeaders?: { readonly sent: readonly string[]; readonly read: readonly string[] };
  /** Whether a path belongs to the protocol. */
  matches(path: string): boolean;
  /** Sends a file that needs no token. Returns false if there is none at the path. */
  sendPublic?(request: IncomingMessage, response: ServerResponse, path: string): boolean;
  /** Identifies the sender. If the source of the request is suspect, because of many wrong secrets, only at small constant cost. */
  authenticate(request: IncomingMessage, isSuspect: () => Promise<boolean>): Promise<Identity<C>>;
  /** Answers a request. Throws an error that has not been answered. */
  handle(request: ProtocolRequest<C>): Promise<void>;
  /** Accepts a WebSocket. Absent if the protocol has none. */
  upgrade?(request: UpgradeRequest): Promise<void>;
  /** The body of an error. */
  errorBody(error: HttpError, request: IncomingMessage, response: ServerResponse): object;
  close(): Promise<void>;
}
