/**
 * MCP over HTTP: one endpoint for both protocol eras, plus /healthz, /readyz, /metrics and, if they are enabled, the
 * playground and the protocols of E2B and Jupyter. All requests that use sessions pass the same guards in the same order.
 */
import { createServer, type IncomingMessage, type Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  type McpServerOptions,
} from '@modelcontextprotocol/server';
import { pollUntil } from '../concurrency/poll-until.ts';
import type { E2bServer } from '../e2b/e2b-server.ts';
import { SandboxError } from '../errors.ts';
import type { JupyterServer } from '../jupyter/jupyter-server.ts';
import { clientError } from '../model-text/client-errors.ts';
import type { ApiDispatcher } from '../playground/api-dispatcher.ts';
import { ConnectionLimiter } from '../server/connection-limits.ts';
import { toHttpError } from '../server/http-error.ts';
import { BodyError, readBody, readJsonBody, readLimitedJson } from '../server/request-body.ts';
import { ByteBudget, meterResponse, RequestBytes } from '../server/request-byte-budget.ts';
import { RequestGuards, sendError, setErrorBody } from '../server/request-guards.ts';
import { resolveSettings } from '../server/resolve-settings.ts';
import type { RestRequest } from '../server/rest-call.ts';
import { type Readiness, type ServerOptions, ServerState } from '../server/server-state.ts';
import type { ServerSettings, ServerSettingsInput } from '../server/settings.ts';
import { type AuthenticatedRequest, LegacyConnections } from './legacy-connections.ts';
import { McpState } from './mcp-state.ts';
import { type ServerFactory, serverFactory } from './server.ts';

/** A running HTTP server. Created by `serveHttp`. */
export interface HttpServer {
  /** URL of the MCP endpoint. */
  readonly url: string;
  /** @internal */
  readonly state: ServerState;
  /** Resolves when the server has stopped. Rejects if a session could not be saved. */
  readonly closed: Promise<void>;
  /**
   * Stops the server. Waits up to `shutdown_seconds` for running calls and cancels the others. Then saves the sessions.
   * Rejects if a session could not be saved.
   */
  close(): Promise<void>;
}

/** Options of `serveHttp` that are not settings. */
export interface HttpServerOptions extends ServerOptions {
  /** Wraps the factory of server objects, for example to register additional tools. */
  readonly extend?: (factory: ServerFactory) => ServerFactory;
  /** Options of the server of the MCP SDK. Options that this package sets take precedence. */
  readonly serverOptions?: McpServerOptions;
}

/** Limit for receiving the headers and the body of a request. */
const RECEIVE_TIMEOUT_MS = 30_000;
const RECEIVE_CHECK_MS = 5_000;
/** How long the last responses may take to reach their clients. */
const RESPONSE_FLUSH_MS = 1000;

const TOO_MANY_STREAMS =
  'Too many connections: this tenant has more of them in use than any other, and none is left. Close event streams, WebSockets or requests that wait, then retry.';

/**
 * Starts an MCP server over HTTP. Resolves when it accepts connections. Throws `invalid_argument` if the settings are
 * invalid.
 */
export async function serveHttp(
  input: ServerSettingsInput = {},
  options: HttpServerOptions = {},
): Promise<HttpServer> {
  const settings = resolveSettings(input);
  checkPlayground(settings);
  const server = createServer({ connectionsCheckingInterval: RECEIVE_CHECK_MS });
  const connections = new ConnectionLimiter(server, {
    maxConnections: settings.max_connections,
    writeTimeoutMs: settings.write_timeout_seconds * 1000,
  });
  const app = new HttpApp(new ServerState(settings, options), options, connections);
  server.on('request', (request, response) => void app.handle(request, response));
  server.requestTimeout = RECEIVE_TIMEOUT_MS;
  server.headersTimeout = RECEIVE_TIMEOUT_MS;
  try {
    if (settings.playground) await app.openPlayground();
    if (settings.e2b) await app.openE2b();
    if (settings.jupyter) {
      await app.openJupyter();
      server.on('upgrade', (request, socket, head) => {
        connections.holdOpen(socket as Socket);
        void app.upgrade(request, socket as Socket, head);
      });
    }
    await listen(server, settings);
  } catch (cause) {
    await app.close().catch(() => {});
    throw cause;
  }
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const url = `http://${host}:${port}${settings.path}`;
  const { log } = app.state.telemetry;
  void app.state.prepare();
  log.info({ event: 'server.start', transport: 'http', url, version: app.state.version }, 'server started');
  let finish: (stopped: Promise<void>) => void;
  const closed = new Promise<void>((resolve) => {
    finish = resolve;
  });
  // Both `close` and `closed` report a failure; a caller may use only one of them.
  closed.catch(() => {});
  let isClosing = false;
  const close = () => {
    if (isClosing) return closed;
    isClosing = true;
    finish(shutDown(server, app).finally(() => log.info({ event: 'server.stop' }, 'server stopped')));
    return closed;
  };
  return { url, state: app.state, closed, close };
}

/** The page cannot tell users of this machine apart, so it needs a token even on the loopback interface. */
function checkPlayground({ playground, tokens }: ServerSettings): void {
  if (!playground || tokens.length > 0) return;
  throw new SandboxError(
    'invalid_argument',
    'playground: a token is required. Set one with --token or LLM_WASM_SANDBOX_TOKENS, or run the command "playground", which creates one.',
  );
}

function listen(server: Server, { host, port }: ServerSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function shutDown(server: Server, app: HttpApp): Promise<void> {
  // While running calls finish, new requests get 503, and load balancers see that the server is not ready.
  app.isClosing = true;
  await app.state.drain();
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A call ends shortly before its response is sent.
  await pollUntil(() => app.openRequests === 0, RESPONSE_FLUSH_MS);
  try {
    await app.close();
  } finally {
    server.closeAllConnections();
    await ended;
  }
}

/** Keeps the SDK's adapter from serialising a body that is already parsed. */
class ParsedBody {
  constructor(readonly value: unknown) {}

  toJSON(): object {
    return {};
  }
}

/** Readers of the body of a request. They throw `BodyError`. */
type BodyReaders = Pick<RestRequest, 'readJson' | 'readBytes' | 'nextSlice'>;

interface MountedPlayground {
  readonly app: ApiDispatcher;
  readonly apiPath: string;
  sendPageFile(request: IncomingMessage, response: ServerResponse, path: string): boolean;
}

/** Routes requests through the guards to the MCP handlers. */
class HttpApp {
  isClosing = false;
  /** Requests whose response has not ended, except event streams. */
  openRequests = 0;
  readonly #budgets = new Map<string, ByteBudget>();
  readonly #connectionBudgets = new WeakMap<Socket, ByteBudget>();
  readonly #guards: RequestGuards;
  readonly #legacy: LegacyConnections;
  readonly #mcpState: McpState;
  readonly #modern: ReturnType<typeof createMcpHandler>;
  readonly #serveModern: ReturnType<typeof toNodeHandler>;
  /** Undefined if the playground is not enabled. */
  #playground: MountedPlayground | undefined;
  /** Undefined if the protocol of E2B is not enabled. */
  #e2b: E2bServer | undefined;
  /** Undefined if the interface of Jupyter is not enabled. */
  #jupyter: JupyterServer | undefined;

  constructor(
    readonly state: ServerState,
    { extend = (factory) => factory, serverOptions = {} }: HttpServerOptions,
    readonly connections: ConnectionLimiter,
  ) {
    const { settings } = state;
    this.#mcpState = new McpState(state);
    const factory = extend(serverFactory(this.#mcpState, serverOptions));
    this.#guards = new RequestGuards(settings, state.requestLimiter);
    const onerror = (cause: Error) => state.logTransportError(cause);
    const { max_body_bytes: maxBodyBytes, max_clients: maxClients, client_idle_seconds } = settings;
    this.#modern = createMcpHandler(factory, { legacy: 'reject', maxRequestBodySize: maxBodyBytes, onerror });
    const unwrapBody: ReturnType<typeof createMcpHandler>['fetch'] = (request, given) => {
      const { value } = given!.parsedBody as ParsedBody;
      return this.#modern.fetch(request, { ...given, parsedBody: value });
    };
    this.#serveModern = toNodeHandler({ fetch: unwrapBody }, { maxRequestBodySize: maxBodyBytes, onerror });
    this.#legacy = new LegacyConnections(factory, {
      maxClients,
      idleMs: client_idle_seconds * 1000,
      maxBodyBytes,
    });
  }

  /** Loads the playground, which other servers do not need. */
  async openPlayground(): Promise<void> {
    const [{ createPlayground }, { API_PATH }, { sendPageFile }] = await Promise.all([
      import('../playground/routes.ts'),
      import('../playground/api-dispatcher.ts'),
      import('../playground/page.ts'),
    ]);
    const { version, gateway, telemetry } = this.state;
    const app = createPlayground({
      version,
      toolset: async () => gateway?.toolset(),
      clientError: (cause) => {
        const error = clientError(cause);
        if (error.isHostError) telemetry.log.error({ event: 'http.error', err: cause }, 'request failed');
        return error;
      },
    });
    this.#playground = { app, apiPath: API_PATH, sendPageFile };
  }

  /** Loads the protocol of E2B, which other servers do not need. */
  async openE2b(): Promise<void> {
    const { E2bServer } = await import('../e2b/e2b-server.ts');
    const { log } = this.state.telemetry;
    this.#e2b = new E2bServer({
      signingKey: () => this.state.coordination.signingKey(),
      tenants: this.#guards.tenants,
      tenantOf: (key) => this.#guards.tenantOf(key),
      onError: (cause) => log.error({ event: 'http.error', err: cause }, 'request failed'),
    });
  }

  /** Loads the interface of Jupyter Server, which other servers do not need. */
  async openJupyter(): Promise<void> {
    const { JupyterServer } = await import('../jupyter/jupyter-server.ts');
    const { version, settings, telemetry } = this.state;
    this.#jupyter = new JupyterServer({
      version,
      maxMessageBytes: settings.max_body_bytes,
      onError: (cause) => telemetry.log.error({ event: 'http.error', err: cause }, 'request failed'),
    });
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

  async #connectKernel(request: IncomingMessage, response: ServerResponse, head: Buffer): Promise<void> {
    const jupyter = this.#jupyter!;
    const { mainThread } = this.state;
    const tenant = this.state.tenant((request as AuthenticatedRequest).auth!.clientId);
    const kernel = await jupyter.kernelFor({ request, tenant }).catch((cause: unknown) => {
      const { error, isHostError } = toHttpError(cause);
      if (isHostError) throw cause;
      sendError(response, error.status, error.message);
    });
    if (kernel === undefined) return;
    const { socket } = request;
    response.detachSocket(socket);
    jupyter.connect({ request, socket, head, tenant }, kernel, (client) => ({
      bytes: new RequestBytes([this.#budget(tenant.id), this.#connectionBudget(socket)], client),
      refuse: async () => {
        if (this.isClosing) return 'The server is shutting down.';
        mainThread.attribute(tenant.id);
        return this.#guards.refuseMessage(tenant.id, mainThread);
      },
      nextSlice: () => mainThread.nextSlice(tenant.id),
    }));
  }

  /** `head` is present if the request asks for a WebSocket. */
  async handle(request: IncomingMessage, response: ServerResponse, head?: Buffer): Promise<void> {
    response.once('finish', () => this.state.metrics.recordHttpResponse(response.statusCode));
    if (request.method === 'POST') {
      this.openRequests++;
      response.once('close', () => this.openRequests--);
    }
    try {
      await this.#route(request, response, head);
    } catch (cause) {
      this.state.telemetry.log.error({ event: 'http.error', err: cause }, 'request failed');
      if (response.headersSent) response.destroy();
      else sendError(response, 500, 'Internal server error.');
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, head?: Buffer): Promise<void> {
    const path = (request.url ?? '/').split('?')[0]!;
    if (path === '/healthz') return void sendStatus(request, response, this.isClosing ? 'stopping' : 'ok');
    if (path === '/readyz')
      return void sendStatus(request, response, this.isClosing ? 'stopping' : this.state.readiness());
    const target = this.#targetOf(path);
    const e2b = target === 'e2b' ? this.#e2b : undefined;
    if (e2b !== undefined)
      setErrorBody(response, (status, message) => e2b.errorBody(request, status, message));
    const jupyter = target === 'jupyter' ? this.#jupyter : undefined;
    if (jupyter !== undefined)
      setErrorBody(response, (status, message) => jupyter.errorBody(status, message));
    const guards = this.#guards;
    if (!guards.checkHost(request, response) || !guards.checkOrigin(request, response)) return;
    if (request.method === 'GET' && this.#playground?.sendPageFile(request, response, path)) return;
    if (target === undefined) return void sendError(response, 404, 'Not found.');
    if (request.method === 'OPTIONS' && response.hasHeader('access-control-allow-origin'))
      return guards.answerPreflight(response);
    if (this.isClosing)
      return void sendError(response, 503, 'The server is shutting down.', {
        'retry-after': '5',
        connection: 'close',
      });
    if (target === 'metrics') return this.#metrics(request, response);
    const caller = await e2b?.authenticate(request, await guards.isSuspect(request));
    // The guards that report an unknown token read it from this header.
    if (jupyter !== undefined) request.headers.authorization = `Bearer ${jupyter.tokenOf(request) ?? ''}`;
    const tenant = e2b === undefined ? guards.authenticate(request) : caller?.tenant;
    if (!(await this.#admit(request, response, tenant)) || tenant === undefined) return;
    (request as AuthenticatedRequest).auth = { token: '', clientId: tenant, scopes: [] };
    if (head !== undefined) {
      if (jupyter !== undefined) return this.#connectKernel(request, response, head);
      return void sendError(response, 400, 'Only kernels of Jupyter have WebSockets.');
    }
    const bytes = new RequestBytes([this.#budget(tenant), this.#connectionBudget(request.socket)], response);
    meterResponse(response, bytes);
    if (target === 'mcp') return this.#mcp(request, response, tenant, bytes);
    const readers = this.#bodyReaders(request, tenant, bytes);
    const common = { request, response, tenant: this.state.tenant(tenant), ...readers };
    const handled =
      jupyter?.handle(common) ??
      e2b?.handle({ ...common, caller: caller! }) ??
      this.#playground!.app.handle(common);
    await answered(response, handled);
  }

  /** What answers the requests to a path. */
  #targetOf(path: string): 'mcp' | 'metrics' | 'playground' | 'e2b' | 'jupyter' | undefined {
    if (path === this.state.settings.path) return 'mcp';
    if (path === '/metrics') return 'metrics';
    if (this.#playground !== undefined && path.startsWith(this.#playground.apiPath)) return 'playground';
    if (this.#jupyter?.hasPath(path)) return 'jupyter';
    return this.#e2b === undefined ? undefined : 'e2b';
  }

  /** Checks the token of a request and the limits of its tenant. */
  async #admit(
    request: IncomingMessage,
    response: ServerResponse,
    tenant: string | undefined,
  ): Promise<boolean> {
    const guards = this.#guards;
    if (tenant === undefined) {
      if (await guards.checkFailureRate(request, response)) guards.sendUnauthorized(request, response);
      return false;
    }
    if (!(await guards.checkTenantRate(tenant, response))) return false;
    if (!guards.checkMainThread(tenant, this.state.mainThread, response)) return false;
    if (!this.connections.assign(request.socket, tenant))
      return sendError(response, 429, TOO_MANY_STREAMS, { 'retry-after': '1' });
    this.state.mainThread.attribute(tenant);
    return true;
  }

  #bodyReaders(request: IncomingMessage, tenant: string, budget: RequestBytes): BodyReaders {
    const nextSlice = () => this.state.mainThread.nextSlice(tenant);
    const limits = { maxBytes: this.state.settings.max_body_bytes, budget, nextSlice };
    return {
      readJson: async (jsonLimits) => {
        const value = await (jsonLimits === undefined
          ? readJsonBody(request, limits)
          : readLimitedJson(request, limits, jsonLimits));
        // Many bodies may have arrived in one turn of the event loop. Each is handled in its own.
        await nextSlice();
        return value;
      },
      readBytes: (maxDecodedBytes) =>
        readBody(request, maxDecodedBytes === undefined ? limits : { ...limits, maxDecodedBytes }),
      nextSlice,
    };
  }

  #connectionBudget(socket: Socket): ByteBudget {
    const budget =
      this.#connectionBudgets.get(socket) ?? new ByteBudget(this.state.settings.max_connection_bytes);
    this.#connectionBudgets.set(socket, budget);
    return budget;
  }

  #budget(tenant: string): ByteBudget {
    const budget = this.#budgets.get(tenant) ?? new ByteBudget(this.state.settings.max_buffered_bytes);
    this.#budgets.set(tenant, budget);
    return budget;
  }

  async #metrics(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const guards = this.#guards;
    const isAllowed = guards.mayReadMetrics(request);
    const isAdmitted = isAllowed
      ? guards.checkMetricsRate(response)
      : guards.checkFailureRate(request, response);
    if (!(await isAdmitted)) return;
    if (!isAllowed) return void guards.sendUnauthorized(request, response);
    await this.state.countSessions();
    const { registry } = this.state.metrics;
    response.writeHead(200, { 'content-type': registry.contentType }).end(await registry.metrics());
  }

  async #mcp(
    request: AuthenticatedRequest,
    response: ServerResponse,
    tenant: string,
    bytes: RequestBytes,
  ): Promise<void> {
    if (request.method !== 'POST') return this.#legacy.handle(request, response, undefined);
    if (!isJsonContentType(request.headers['content-type'] ?? null))
      return void sendError(response, 415, 'Unsupported Media Type: send application/json.');
    let body: unknown;
    // Added first, so that the time to scan a chunk counts.
    request.on('data', () => this.state.mainThread.attribute(tenant));
    try {
      body = await readJsonBody(request, {
        maxBytes: this.state.settings.max_body_bytes,
        budget: bytes,
        nextSlice: () => this.state.mainThread.nextSlice(tenant),
      });
    } catch (cause) {
      if (!(cause instanceof BodyError)) throw cause;
      const headers = cause.status === 503 ? { 'retry-after': '1' } : undefined;
      return void sendError(response, cause.status, cause.message, headers, cause.code);
    }
    if (await isLegacyRequest(asWebRequest(request), body))
      await this.#legacy.handle(request, response, body);
    else await this.#serveModern(request as NodeIncomingMessageLike, response, new ParsedBody(body));
  }

  async close(): Promise<void> {
    await this.#legacy.close();
    await this.#modern.close();
    await this.#playground?.app.close();
    this.#e2b?.close();
    this.#jupyter?.close();
    this.#mcpState.close();
    await this.state.close();
  }
}

/** Waits for a handler, and answers a body that is not accepted. */
async function answered(response: ServerResponse, handled: Promise<void>): Promise<void> {
  try {
    await handled;
  } catch (cause) {
    if (!(cause instanceof BodyError)) throw cause;
    sendError(response, cause.status, cause.message, {}, cause.code);
  }
}

/** Answers a health check: 200 for `ok` and `ready`, otherwise 503. */
function sendStatus(
  request: IncomingMessage,
  response: ServerResponse,
  status: Readiness | 'ok' | 'stopping',
): void {
  if (request.method !== 'GET' && request.method !== 'HEAD') return void sendError(response, 405, 'Use GET.');
  const isGood = status === 'ok' || status === 'ready';
  response
    .writeHead(isGood ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`{"status":"${status}"}`);
}

/** The headers of a request as a web `Request`, which `isLegacyRequest` expects; the body is passed separately. */
function asWebRequest(request: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return new Request('http://localhost/', { method: 'POST', headers, body: '{}' });
}
