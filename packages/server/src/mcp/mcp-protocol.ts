/** MCP over HTTP: one endpoint for both protocol eras. */
import type { IncomingMessage } from 'node:http';
import { type NodeIncomingMessageLike, toNodeHandler } from '@modelcontextprotocol/node';
import {
  createMcpHandler,
  isJsonContentType,
  isLegacyRequest,
  type McpServerOptions,
} from '@modelcontextprotocol/server';
import { HttpError } from '../server/http-error.ts';
import type { Protocol, ProtocolRequest } from '../server/protocol.ts';
import { InvalidJson } from '../server/request-body.ts';
import { bearerToken } from '../server/request-guards.ts';
import type { ServerState } from '../server/server-state.ts';
import type { Identity } from '../server/tokens.ts';
import { type AuthenticatedRequest, LegacyConnections } from './legacy-connections.ts';
import { McpState } from './mcp-state.ts';
import { type ServerFactory, serverFactory } from './server.ts';

/** Path of the endpoint. */
export const MCP_PATH = '/mcp';

/** Options of MCP over HTTP that are not settings. */
export interface McpOptions {
  /** Wraps the factory of server objects, for example to register additional tools. */
  readonly extend?: (factory: ServerFactory) => ServerFactory;
  /** Options of the server of the MCP SDK. Options that this package sets take precedence. */
  readonly serverOptions?: McpServerOptions;
}

/** Keeps the SDK's adapter from serialising a body that is already parsed. */
class ParsedBody {
  constructor(readonly value: unknown) {}

  toJSON(): object {
    return {};
  }
}

export class McpProtocol implements Protocol {
  readonly corsHeaders = {
    sent: ['mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name', 'last-event-id'],
    read: ['mcp-session-id', 'mcp-protocol-version'],
  };
  readonly #mcp: McpState;
  readonly #legacy: LegacyConnections;
  readonly #modern: ReturnType<typeof createMcpHandler>;
  readonly #serveModern: ReturnType<typeof toNodeHandler>;

  constructor(
    readonly server: ServerState,
    { extend = (factory) => factory, serverOptions = {} }: McpOptions,
  ) {
    this.#mcp = new McpState(server);
    const factory = extend(serverFactory(this.#mcp, serverOptions));
    const onerror = (cause: Error) => server.logTransportError(cause);
    const { max_body_bytes: maxBodyBytes } = server.settings;
    const { maxClients, clientIdleMs } = server.limits;
    this.#modern = createMcpHandler(factory, { legacy: 'reject', maxRequestBodySize: maxBodyBytes, onerror });
    const unwrapBody: ReturnType<typeof createMcpHandler>['fetch'] = (request, given) => {
      const { value } = given!.parsedBody as ParsedBody;
      return this.#modern.fetch(request, { ...given, parsedBody: value });
    };
    this.#serveModern = toNodeHandler({ fetch: unwrapBody }, { maxRequestBodySize: maxBodyBytes, onerror });
    this.#legacy = new LegacyConnections(factory, { maxClients, idleMs: clientIdleMs, maxBodyBytes });
  }

  matches(path: string): boolean {
    return path === MCP_PATH;
  }

  async authenticate(request: IncomingMessage): Promise<Identity> {
    return this.server.tokens.identify(bearerToken(request));
  }

  /** A JSON-RPC error, which clients can display. */
  errorBody(error: HttpError): object {
    const code = error instanceof InvalidJson ? -32_700 : -32_000;
    return { jsonrpc: '2.0', error: { code, message: error.message }, id: null };
  }

  async handle({ request, response, caller, readJson }: ProtocolRequest): Promise<void> {
    const authenticated: AuthenticatedRequest = request;
    authenticated.auth = { token: '', clientId: caller.tenant, scopes: [] };
    if (request.method !== 'POST') return this.#legacy.handle(authenticated, response, undefined);
    if (!isJsonContentType(request.headers['content-type'] ?? null))
      throw new HttpError(415, 'Unsupported Media Type: send application/json.');
    const body = await readJson();
    if (await isLegacyRequest(asWebRequest(request), body))
      await this.#legacy.handle(authenticated, response, body);
    else await this.#serveModern(request as NodeIncomingMessageLike, response, new ParsedBody(body));
  }

  async close(): Promise<void> {
    await this.#legacy.close();
    await this.#modern.close();
    this.#mcp.close();
  }
}

/** The headers of a request as a web `Request`, which `isLegacyRequest` expects; the body is passed separately. */
function asWebRequest(request: IncomingMessage): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  return new Request('http://localhost/', { method: 'POST', headers, body: '{}' });
}
