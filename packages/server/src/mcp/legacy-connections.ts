/**
 * HTTP connections of 2025-era clients, which start with `initialize` and send an `Mcp-Session-Id` header. Each connection
 * has its own server object, so that `notifications/cancelled` finds the call it refers to. Clients often disconnect
 * without a DELETE request, so idle connections are closed after a timeout or when the limit is reached.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { AuthInfo, McpServer } from '@modelcontextprotocol/server';
import { HttpError } from '../server/http-error.ts';
import type { ServerFactory } from './server.ts';

interface LegacyConnection {
  readonly tenant: string;
  readonly transport: NodeStreamableHTTPServerTransport;
  readonly server: McpServer;
  /** Requests in progress. */
  requests: number;
  /** Open event streams. A client with an open stream is still connected. */
  streams: number;
  lastUsedAt: number;
}

export type AuthenticatedRequest = IncomingMessage & { auth?: AuthInfo };

const SWEEP_MS = 15_000;

export class LegacyConnections {
  readonly #connections = new Map<string, LegacyConnection>();
  readonly #sweepTimer: NodeJS.Timeout;

  constructor(
    readonly factory: ServerFactory,
    readonly limits: { readonly maxClients: number; readonly idleMs: number; readonly maxBodyBytes: number },
  ) {
    this.#sweepTimer = setInterval(() => this.#closeIdle(), Math.min(SWEEP_MS, limits.idleMs));
    this.#sweepTimer.unref();
  }

  async handle(request: AuthenticatedRequest, response: ServerResponse, body: unknown): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const connection = typeof id === 'string' ? this.#connections.get(id) : undefined;
    // A connection of another tenant gets the same answer as one that does not exist.
    if (connection !== undefined && connection.tenant === request.auth?.clientId) {
      return this.#serve(connection, request, response, body);
    }
    if (id !== undefined) throw new HttpError(404, 'Session not found. Send initialize again.');
    if (request.method !== 'POST' || !isInitialize(body)) {
      throw new HttpError(400, 'Bad Request: send initialize first, then the Mcp-Session-Id it returns.');
    }
    if (!this.#makeRoom()) throw new HttpError(503, 'Too many connections. Retry later.');
    return this.#serve(await this.#connect(request), request, response, body);
  }

  async #connect(request: AuthenticatedRequest): Promise<LegacyConnection> {
    const { auth } = request;
    const server = this.factory(auth === undefined ? {} : { authInfo: auth });
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      maxRequestBodySize: this.limits.maxBodyBytes,
      onsessioninitialized: (id) => {
        this.#connections.set(id, connection);
      },
      onsessionclosed: (id) => {
        this.#connections.delete(id);
      },
    });
    const connection = {
      tenant: auth?.clientId ?? '',
      transport,
      server,
      requests: 0,
      streams: 0,
      lastUsedAt: Date.now(),
    };
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#connections.delete(transport.sessionId);
    };
    await server.connect(transport);
    return connection;
  }

  async #serve(
    connection: LegacyConnection,
    request: AuthenticatedRequest,
    response: ServerResponse,
    body: unknown,
  ): Promise<void> {
    const kind = request.method === 'GET' ? 'streams' : 'requests';
    connection[kind]++;
    connection.lastUsedAt = Date.now();
    response.once('close', () => {
      connection[kind]--;
      connection.lastUsedAt = Date.now();
    });
    await connection.transport.handleRequest(request, response, body);
  }

  /**
   * Closes an idle connection of the tenant with the most connections, so that no tenant can displace the others. Returns
   * false if every connection is in use.
   */
  #makeRoom(): boolean {
    if (this.#connections.size < this.limits.maxClients) return true;
    const all = [...this.#connections.values()];
    const counts = new Map<string, number>();
    for (const { tenant } of all) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    const [victim] = all
      .filter(({ requests }) => requests === 0)
      .sort(
        (a, b) =>
          counts.get(b.tenant)! - counts.get(a.tenant)! ||
          Math.sign(a.streams) - Math.sign(b.streams) ||
          a.lastUsedAt - b.lastUsedAt,
      );
    if (victim === undefined) return false;
    this.#close(victim);
    return true;
  }

  #closeIdle(): void {
    const idleSince = Date.now() - this.limits.idleMs;
    for (const connection of [...this.#connections.values()]) {
      if (connection.requests + connection.streams === 0 && connection.lastUsedAt < idleSince)
        this.#close(connection);
    }
  }

  #close(connection: LegacyConnection): void {
    if (connection.transport.sessionId !== undefined)
      this.#connections.delete(connection.transport.sessionId);
    void connection.server.close().catch(() => {});
  }

  async close(): Promise<void> {
    clearInterval(this.#sweepTimer);
    const all = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.allSettled(all.map(({ server }) => server.close()));
  }
}

function isInitialize(body: unknown): boolean {
  const messages = Array.isArray(body) ? body : [body];
  return messages.some((message) => (message as { method?: unknown } | null)?.method === 'initialize');
}
