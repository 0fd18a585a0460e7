/**
 * HTTP clients of the 2025 era, which open a connection with `initialize` and name it in a header. Each has a server
 * object of its own, so that `notifications/cancelled` finds the call it is about. Clients forget to say goodbye:
 * connections that are idle for long, or the longest idle ones when there are too many, are closed.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { NodeStreamableHTTPServerTransport } from '@modelcontextprotocol/node';
import type { AuthInfo, McpServer } from '@modelcontextprotocol/server';
import { sendError } from './request-guards.ts';
import type { ServerFactory } from './server.ts';

interface Connection {
  readonly tenant: string;
  readonly transport: NodeStreamableHTTPServerTransport;
  readonly server: McpServer;
  /** Requests being answered. */
  calls: number;
  /** Open streams for messages from us: a client that has one is still there. */
  streams: number;
  usedAt: number;
}

export type AuthenticatedRequest = IncomingMessage & { auth?: AuthInfo };

const SWEEP_MS = 15_000;

export class LegacyConnections {
  readonly #connections = new Map<string, Connection>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(
    readonly factory: ServerFactory,
    readonly limits: { readonly maxClients: number; readonly idleMs: number; readonly maxBodyBytes: number },
  ) {
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(SWEEP_MS, limits.idleMs));
    this.#sweeper.unref();
  }

  get size(): number {
    return this.#connections.size;
  }

  async handle(request: AuthenticatedRequest, response: ServerResponse, body: unknown): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const connection = typeof id === 'string' ? this.#connections.get(id) : undefined;
    // Somebody else's connection looks like none at all.
    if (connection !== undefined && connection.tenant === request.auth?.clientId) {
      return this.#serve(connection, request, response, body);
    }
    if (id !== undefined) return void sendError(response, 404, 'Session not found: initialize again.');
    if (request.method !== 'POST' || !isInitialize(body)) {
      return void sendError(
        response,
        400,
        'Bad Request: begin with initialize, then send its Mcp-Session-Id.',
      );
    }
    if (!this.#makeRoom()) return void sendError(response, 503, 'Too many connections: try again later.');
    return this.#serve(await this.#connect(request), request, response, body);
  }

  async #connect(request: AuthenticatedRequest): Promise<Connection> {
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
      calls: 0,
      streams: 0,
      usedAt: Date.now(),
    };
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#connections.delete(transport.sessionId);
    };
    await server.connect(transport);
    return connection;
  }

  async #serve(
    connection: Connection,
    request: AuthenticatedRequest,
    response: ServerResponse,
    body: unknown,
  ): Promise<void> {
    const kind = request.method === 'GET' ? 'streams' : 'calls';
    connection[kind]++;
    connection.usedAt = Date.now();
    response.once('close', () => {
      connection[kind]--;
      connection.usedAt = Date.now();
    });
    await connection.transport.handleRequest(request, response, body);
  }

  /** Ends an idle connection of the tenant who has most of them, so that nobody can push out everybody else. */
  #makeRoom(): boolean {
    if (this.#connections.size < this.limits.maxClients) return true;
    const all = [...this.#connections.values()];
    const counts = new Map<string, number>();
    for (const { tenant } of all) counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
    const [oldest] = all
      .filter(({ calls }) => calls === 0)
      .sort(
        (a, b) =>
          counts.get(b.tenant)! - counts.get(a.tenant)! ||
          Math.sign(a.streams) - Math.sign(b.streams) ||
          a.usedAt - b.usedAt,
      );
    if (oldest === undefined) return false;
    this.#end(oldest);
    return true;
  }

  #sweep(): void {
    const before = Date.now() - this.limits.idleMs;
    for (const connection of [...this.#connections.values()]) {
      if (connection.calls + connection.streams === 0 && connection.usedAt < before) this.#end(connection);
    }
  }

  #end(connection: Connection): void {
    if (connection.transport.sessionId !== undefined)
      this.#connections.delete(connection.transport.sessionId);
    void connection.server.close().catch(() => {});
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    const all = [...this.#connections.values()];
    this.#connections.clear();
    await Promise.allSettled(all.map(({ server }) => server.close()));
  }
}

function isInitialize(body: unknown): boolean {
  const messages = Array.isArray(body) ? body : [body];
  return messages.some((message) => (message as { method?: unknown } | null)?.method === 'initialize');
}
