/**
 * Limits the connections of an HTTP server: their number, the requests in progress on each, and how long a client may
 * leave a response unread. When the limit is reached, an idle connection is closed, so that idle clients do not
 * displace active ones.
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

interface TrackedConnection {
  readonly socket: Socket;
  readonly address: string;
  requests: number;
  idleSince: number;
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

export class ConnectionLimiter {
  readonly #connections = new Map<Socket, TrackedConnection>();
  readonly #sweep: NodeJS.Timeout;

  constructor(
    server: Server,
    readonly limits: ConnectionLimits,
  ) {
    server.on('connection', (socket) => this.#admit(socket));
    server.prependListener('request', (request, response) => this.#track(request, response));
    this.#sweep = setInterval(() => this.#checkWriters(), Math.min(MAX_SWEEP_MS, limits.writeTimeoutMs / 2));
    this.#sweep.unref();
    server.once('close', () => clearInterval(this.#sweep));
  }

  get size(): number {
    return this.#connections.size;
  }

  #admit(socket: Socket): void {
    if (this.#connections.size >= this.limits.maxConnections && !this.#closeIdle()) {
      socket.destroy();
      return;
    }
    const address = socket.remoteAddress ?? '';
    this.#connections.set(socket, {
      socket,
      address,
      requests: 0,
      idleSince: performance.now(),
      unread: undefined,
    });
    socket.once('close', () => this.#connections.delete(socket));
  }

  /** Counts a connection as active until it ends, because it has become a WebSocket. */
  holdOpen(socket: Socket): void {
    const connection = this.#connections.get(socket);
    if (connection !== undefined) connection.requests++;
  }

  /** Closes the connection that has been idle longest, among those of the address with the most connections. */
  #closeIdle(): boolean {
    const all = [...this.#connections.values()];
    const counts = new Map<string, number>();
    for (const { address } of all) counts.set(address, (counts.get(address) ?? 0) + 1);
    const [victim] = all
      .filter(({ requests }) => requests === 0)
      .sort((a, b) => counts.get(b.address)! - counts.get(a.address)! || a.idleSince - b.idleSince);
    if (victim === undefined) return false;
    this.#connections.delete(victim.socket);
    victim.socket.destroy();
    return true;
  }

  #track({ socket }: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(socket);
    if (connection === undefined) return;
    if (++connection.requests > MAX_PIPELINED) socket.destroy();
    response.once('close', () => {
      connection.requests--;
      connection.idleSince = performance.now();
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
