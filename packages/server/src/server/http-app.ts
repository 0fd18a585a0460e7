/**
 * Passes requests through the guards to the protocols of the server. It answers /healthz, /readyz and /metrics itself. All
 * requests that use sessions pass the same guards in the same order, and all errors are answered here.
 */
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type NextSlice, SliceQueue } from '@llm-wasm-sandbox/core/internal';
import type { ConnectionLimiter } from './connection-limits.ts';
import { HttpError, retryLater, toHttpError } from './http-error.ts';
import { shortJson } from './json-steps.ts';
import type { Protocol, ProtocolRequest } from './protocol.ts';
import { readBody, readJsonBody, readLimitedJson } from './request-body.ts';
import { ByteBudget, meterResponse, RequestBytes } from './request-byte-budget.ts';
import { bearerToken, RequestGuards } from './request-guards.ts';
import type { ServerState } from './server-state.ts';
import type { Caller } from './tokens.ts';

const TOO_MANY_STREAMS =
  'Too many connections: this tenant has more of them in use than any other, and none is left. Close event streams, WebSockets or requests that wait, then retry.';

const ADMITTED_PER_TURN = 32;

interface OpenRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  /** Undefined if no protocol has the path. */
  readonly protocol: Protocol | undefined;
}

export class HttpApp {
  isClosing = false;
  /** Requests whose response has not ended, except event streams. */
  openRequests = 0;
  readonly #budgets = new Map<string, ByteBudget>();
  readonly #connectionBudgets = new WeakMap<Socket, ByteBudget>();
  readonly #guards: RequestGuards;
  /** One turn of the event loop can receive as many requests as there are connections. Admitting one takes a tenth of a millisecond. */
  readonly #arrivals = new SliceQueue(ADMITTED_PER_TURN);

  /** The first protocol whose path matches answers a request. Errors at other paths have the form of the first protocol. */
  constructor(
    readonly state: ServerState,
    readonly protocols: readonly Protocol[],
    readonly connections: ConnectionLimiter,
  ) {
    this.#guards = new RequestGuards(
      state,
      protocols.map(({ corsHeaders }) => corsHeaders),
    );
  }

  /** Answers a request for a WebSocket, which passes the same guards as any other request. */
  async upgrade(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => {});
    const response = new ServerResponse(request);
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    await this.handle(request, response, head);
  }

  /** `head` is present if the request asks for a WebSocket. */
  async handle(request: IncomingMessage, response: ServerResponse, head?: Buffer): Promise<void> {
    response.once('finish', () => this.state.metrics.recordHttpResponse(response.statusCode));
    if (request.method === 'POST') {
      this.openRequests++;
      response.once('close', () => this.openRequests--);
    }
    const path = (request.url ?? '/').split('?')[0]!;
    const protocol = isOwnPath(path) ? undefined : this.protocols.find((one) => one.matches(path));
    const opened = { request, response, path, protocol };
    try {
      await this.#arrivals.next(request.socket.remoteAddress ?? '');
      if (!request.socket.destroyed) await this.#route(opened, head);
    } catch (cause) {
      this.#fail(opened, cause);
    }
  }

  #fail({ request, response, protocol = this.protocols[0]! }: OpenRequest, cause: unknown): void {
    const { error, isHostError } = toHttpError(cause);
    if (isHostError) this.state.logRequestError(cause);
    if (response.headersSent) return void response.destroy();
    const body = shortJson(protocol.errorBody(error, request, response));
    response
      .writeHead(error.status, { 'content-type': 'application/json', ...error.options.headers })
      .end(body);
  }

  async #route(opened: OpenRequest, head: Buffer | undefined): Promise<void> {
    const { request, response, path, protocol } = opened;
    const guards = this.#guards;
    if (path === '/healthz') return sendStatus(opened, this.isClosing ? 'stopping' : 'ok');
    if (path === '/readyz') return sendStatus(opened, this.isClosing ? 'stopping' : this.state.readiness());
    guards.checkHost(request);
    const isListedPage = guards.checkOrigin(request, response);
    const isSent =
      request.method === 'GET' && this.protocols.some((one) => one.sendPublic?.(request, response, path));
    if (isSent) return;
    if (protocol === undefined && path !== '/metrics') throw new HttpError(404, 'Not found.');
    if (request.method === 'OPTIONS' && isListedPage) return guards.answerPreflight(response);
    if (this.isClosing)
      throw new HttpError(503, 'The server is shutting down.', {
        headers: { 'retry-after': '5', connection: 'close' },
      });
    if (protocol === undefined) return this.#metrics(request, response);
    const caller = await this.#admit(request, protocol);
    // Its client may have left before it had its turn.
    if (request.socket.destroyed) return;
    if (head !== undefined) return this.#upgrade(opened, caller.tenant, head);
    await protocol.handle(this.#limited(opened, caller));
  }

  /** Identifies the sender of a request, checks the limits of its tenant, and waits until that tenant has a turn. */
  async #admit(request: IncomingMessage, protocol: Protocol): Promise<Caller> {
    const guards = this.#guards;
    const { caller, token } = await protocol.authenticate(request, () => guards.isSuspect(request));
    if (caller === undefined) throw await guards.unauthorized(request, token);
    const { tenant } = caller;
    const { mainThread } = this.state;
    await guards.checkTenantRate(tenant);
    mainThread.check(tenant);
    if (!this.connections.assign(request.socket, tenant)) throw retryLater(429, TOO_MANY_STREAMS);
    await mainThread.nextSlice(tenant);
    return caller;
  }

  /** A request with readers of its body, whose bytes and those of its response are limited. */
  #limited({ request, response }: OpenRequest, caller: Caller): ProtocolRequest {
    const { mainThread, settings } = this.state;
    const { tenant } = caller;
    const nextSlice = () => mainThread.nextSlice(tenant);
    const budget = new RequestBytes(this.#budgetsOf(tenant, request.socket), response);
    meterResponse(response, budget);
    const limits = { maxBytes: settings.max_body_bytes, budget, nextSlice };
    return {
      request,
      response,
      caller,
      tenant: this.state.tenant(tenant),
      nextSlice,
      readJson: async (jsonLimits) => {
        const value = await (jsonLimits === undefined
          ? readJsonBody(request, limits)
          : readLimitedJson(request, limits, jsonLimits));
        // Many bodies may have arrived in one turn of the event loop. Each is handled in its own.
        await nextSlice();
        return value;
      },
      readBytes: (maxDecodedBytes = limits.maxBytes) => readBody(request, { ...limits, maxDecodedBytes }),
    };
  }

  async #upgrade({ request, response, protocol }: OpenRequest, id: string, head: Buffer): Promise<void> {
    if (protocol?.upgrade === undefined) throw new HttpError(400, 'There are no WebSockets at this path.');
    const { mainThread } = this.state;
    const { socket } = request;
    const nextSlice = () => mainThread.nextSlice(id);
    await protocol.upgrade({
      request,
      head,
      tenant: this.state.tenant(id),
      takeSocket: () => {
        response.detachSocket(socket);
        readInTurns(socket, nextSlice);
        return socket;
      },
      limits: (client) => ({
        bytes: new RequestBytes(this.#budgetsOf(id, socket), client),
        refuse: async () => {
          if (this.isClosing) return 'The server is shutting down.';
          mainThread.attribute(id);
          return this.#guards.refuseMessage(id);
        },
        nextSlice,
      }),
    });
  }

  /** The budgets of a tenant and of a connection. */
  #budgetsOf(tenant: string, socket: Socket): ByteBudget[] {
    const { max_body_bytes } = this.state.settings;
    const bytes = Math.max(max_body_bytes, this.state.limits.bufferedBytes);
    const own = this.#budgets.get(tenant) ?? new ByteBudget(bytes);
    this.#budgets.set(tenant, own);
    const connection =
      this.#connectionBudgets.get(socket) ?? new ByteBudget(Math.max(max_body_bytes, bytes / 2));
    this.#connectionBudgets.set(socket, connection);
    return [own, connection];
  }

  async #metrics(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const guards = this.#guards;
    if (!guards.mayReadMetrics(request)) throw await guards.unauthorized(request, bearerToken(request));
    await guards.checkMetricsRate();
    await this.state.countSessions();
    const { registry } = this.state.metrics;
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
  }

  /** Closes the protocols, then the sessions. */
  async close(): Promise<void> {
    for (const protocol of this.protocols) await protocol.close();
    await this.state.close();
  }
}

/** One turn of the event loop can receive megabytes of every connection. After a part of them, one waits for its next turn. */
function readInTurns(socket: Socket, nextSlice: NextSlice): void {
  socket.on('data', () => {
    socket.pause();
    void nextSlice().then(() => socket.resume());
  });
}

const isOwnPath = (path: string) => ['/healthz', '/readyz', '/metrics'].includes(path);

/** Answers a health check: 200 for `ok` and `ready`, otherwise 503. */
function sendStatus({ request: { method }, response }: OpenRequest, status: string): void {
  if (method !== 'GET' && method !== 'HEAD') throw new HttpError(405, 'Use GET.');
  const isGood = status === 'ok' || status === 'ready';
  response
    .writeHead(isGood ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`{"status":"${status}"}`);
}
