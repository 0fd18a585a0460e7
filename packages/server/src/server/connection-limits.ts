/**
 * Limits the connections of an HTTP server: their number, those of each tenant, the requests in progress on each, and how
 * long a client may leave a response unread. An event stream or a WebSocket is a connection that is in use until it ends.
 * Some connections are kept for clients that have not said yet who they are, so that every client can do so. If the others
 * do not suffice, the tenant that holds most of them loses one.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface ConnectionLimits {
  readonly maxConnections: number;
  readonly writeTimeoutMs: number;
}

/** Requests that one connection may have in progress. Clients that pipeline more are disconnected. */
const MAX_PIPELINED = 8;
const MAX_SWEEP_MS = 1000;
/** The share of all connections that tenants cannot hold. */
const UNKNOWN_SHARE = 1 / 8;

interface TrackedConnection {
  readonly socket: Socket;
  readonly address: string;
  /** The tenant of its latest request that was admitted. */
  tenant: string | undefined;
  /** Requests in progress; a WebSocket counts as one. */
  requests: number;
  /** When the first of these requests began or, if there are none, the last one ended. */
  since: number;
  /** Bytes that the client has not read, as of its last read; undefined if there are none. */
  unread: UnreadBytes | undefined;
}

interface UnreadBytes {
  readonly since: number;
  /** Bytes of the response, and how many of them were passed to the system. */
  readonly total: number;
  readonly passed: number;
}

function unreadBytes(socket: Socket): UnreadBytes | undefined {
  const total = socket.writableLength;
  if (total === 0) return undefined;
  // Node.js has no public API for the progress of a large write. It uses this field for its own timeouts.
  const { _handle: handle } = socket as unknown as { _handle?: { writeQueueSize?: number } | null };
  return { since: performance.now(), total, passed: handle?.writeQueueSize ?? 0 };
}

/** Counts a request of a connection; returns how many are in progress. */
function begin(connection: TrackedConnection): number {
  if (connection.requests === 0) connection.since = performance.now();
  return ++connection.requests;
}

const IN_USE = 3;

/** Connections of a lower rank are closed first. */
function rank({ tenant, requests }: TrackedConnection): number {
  return (tenant === undefined ? 0 : 2) + Math.min(requests, 1);
}

function countBy(all: readonly TrackedConnection[], keyOf: (one: TrackedConnection) => string) {
  const counts = new Map<string, number>();
  for (const one of all) counts.set(keyOf(one), (counts.get(keyOf(one)) ?? 0) + 1);
  return counts;
}

export class ConnectionLimiter {
  readonly #connections = new Map<Socket, TrackedConnection>();
  readonly #sweep: NodeJS.Timeout;
  /** Connections that tenants can hold. */
  readonly #capacity: number;

  constructor(
    server: Server,
    readonly limits: ConnectionLimits,
  ) {
    this.#capacity = Math.max(1, Math.floor(limits.maxConnections * (1 - UNKNOWN_SHARE)));
    server.on('connection', (socket) => this.#admit(socket));
    server.prependListener('request', (request, response) => this.#track(request, response));
    this.#sweep = setInterval(() => this.#checkWriters(), Math.min(MAX_SWEEP_MS, limits.writeTimeoutMs / 2));
    this.#sweep.unref();
    server.once('close', () => clearInterval(this.#sweep));
  }

  #admit(socket: Socket): void {
    if (this.#connections.size >= this.limits.maxConnections && !this.#close(this.#leastKnown())) {
      socket.destroy();
      return;
    }
    this.#connections.set(socket, {
      socket,
      address: socket.remoteAddress ?? '',
      tenant: undefined,
      requests: 0,
      since: performance.now(),
      unread: undefined,
    });
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** Counts a connection as in use until it ends, because it has become a WebSocket. */
  holdOpen(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) begin(connection);
  }

  /**
   * Counts a connection among those of a tenant. If tenants hold too many, the one with the most loses one. False if that is
   * this tenant and all of its connections are in use.
   */
  assign(socket: Socket, tenant: string): boolean {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return true;
    connection.tenant = tenant;
    if (this.#connections.size <= this.#capacity) return true;
    const held = [...this.#connections.values()].filter((one) => one.tenant !== undefined);
    if (held.length <= this.#capacity) return true;
    const counts = countBy(held, (one) => one.tenant!);
    const most = Math.max(...counts.values());
    const isOwn = counts.get(tenant) === most;
    const [victim] = held
      .filter((one) =>
        isOwn ? one.tenant === tenant && one.requests === 0 : counts.get(one.tenant!) === most,
      )
      .sort((a, b) => Math.min(a.requests, 1) - Math.min(b.requests, 1) || a.since - b.since);
    if (this.#close(victim)) return true;
    connection.tenant = undefined;
    return false;
  }

  /**
   * The connection that is closed for a new one: one that no tenant uses, if possible idle, of the address with the most of
   * these, and for longest; otherwise an idle one of a tenant.
   */
  #leastKnown(): TrackedConnection | undefined {
    const candidates = [...this.#connections.values()].filter((one) => rank(one) < IN_USE);
    const counts = countBy(candidates, (one) => one.address);
    return candidates.sort(
      (a, b) => rank(a) - rank(b) || counts.get(b.address)! - counts.get(a.address)! || a.since - b.since,
    )[0];
  }

  #close(connection: TrackedConnection | undefined): boolean {
    if (connection === undefined) return false;
    this.#connections.delete(connection.socket);
    connection.socket.destroy();
    return true;
  }

  #track({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    if (begin(connection) > MAX_PIPELINED) socket.destroy();
    response.once('close', () => {
      if (--connection.requests === 0) connection.since = performance.now();
    });
  }

  /**
   * Closes the connections of clients that have read nothing for too long. The timeout of a socket is not suitable,
   * because a client that sends something restarts it.
   */
  #checkWriters(): void {
    for (const connection of this.#connections.values()) {
      const { socket, unread: before } = connection;
      const now = unreadBytes(socket);
      const hasRead = now === undefined || before === undefined || now.total < before.total;
      if (hasRead || now.passed !== before.passed) connection.unread = now;
      else if (now.since - before.since >= this.limits.writeTimeoutMs) socket.destroy();
    }
  }
}
