import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { ConnectionLimiter } from '../../packages/server/src/server/connection-limits.ts';

/** Connections of the server, of which tenants can hold 14. */
const MAX = 16;
const CAPACITY = 14;

/** A client with one connection. */
class TestClient {
  readonly #socket: Socket;
  #received = '';
  isClosed = false;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.on('error', () => {});
    this.#socket.on('data', (chunk) => {
      this.#received += String(chunk);
    });
    this.#socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /** Sends a request; the path is the name of a tenant, or / without one. */
  async ask(path: string): Promise<number> {
    this.#received = '';
    this.#socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await expect.poll(() => this.#received !== '' || this.isClosed, { timeout: 5000 }).toBe(true);
    return Number(this.#received.slice(9, 12));
  }
}

/** A server whose answers to /NAME end at once, and to /NAME/stream never. */
async function startServer() {
  const server = createServer();
  const limiter = new ConnectionLimiter(server, { maxConnections: MAX, writeTimeoutMs: 30_000 });
  server.on('request', ({ url = '', socket }, response) => {
    const [, tenant, stream] = url.split('/');
    if (tenant !== '' && !limiter.assign(socket, tenant!)) return void response.writeHead(429).end();
    response.writeHead(200).write('.');
    if (stream === undefined) response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    newClient: () => new TestClient(port),
    openConnections: () =>
      new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count))),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Started = Awaited<ReturnType<typeof startServer>>;

async function openStreams({ newClient }: Started, tenant: string, count: number): Promise<TestClient[]> {
  const clients: TestClient[] = [];
  for (let i = 0; i < count; i++) {
    const client = newClient();
    expect(await client.ask(`/${tenant}/stream`)).toBe(200);
    clients.push(client);
  }
  return clients;
}

const closedOf = (clients: readonly TestClient[]) => clients.filter(({ isClosed }) => isClosed).length;

describe('streams that never end', () => {
  // guarantee: request-limits
  // proves: A tenant that holds all connections with endless streams loses one for each request of another tenant.
  test('of one tenant make room for each request of another', async () => {
    await using server = await startServer();
    const endless = await openStreams(server, 'hog', CAPACITY);
    expect(await server.newClient().ask('/hog/stream')).toBe(429);
    const [honest] = await openStreams(server, 'honest', 1);
    for (let i = 0; i < 10; i++) expect(await server.newClient().ask('/honest')).toBe(200);
    await expect.poll(() => closedOf(endless)).toBeGreaterThan(0);
    for (let i = 0; i < CAPACITY; i++) await server.newClient().ask('/hog/stream');
    expect(honest!.isClosed).toBe(false);
  });

  test('are shared by tenants equally', async () => {
    await using server = await startServer();
    const hog = await openStreams(server, 'hog', CAPACITY);
    const other = await openStreams(server, 'other', CAPACITY / 2);
    expect(await server.newClient().ask('/other/stream')).toBe(429);
    await expect.poll(() => closedOf(hog)).toBe(CAPACITY / 2);
    expect(closedOf(other)).toBe(0);
  });

  test('end the idle connections of their tenant first', async () => {
    await using server = await startServer();
    const idle = server.newClient();
    expect(await idle.ask('/hog')).toBe(200);
    const streams = await openStreams(server, 'hog', CAPACITY);
    await expect.poll(() => idle.isClosed).toBe(true);
    expect(closedOf(streams)).toBe(0);
  });
});

describe('clients without a tenant', () => {
  // guarantee: request-limits
  // proves: Clients without a valid token displace only each other, also if they wait for an answer.
  test.each(['idle', 'waiting'])('displace only each other (%s)', async (kind) => {
    await using server = await startServer();
    const kept = server.newClient();
    expect(await kept.ask('/honest')).toBe(200);
    const unknown = Array.from({ length: 4 * MAX }, () => server.newClient());
    if (kind === 'waiting') await Promise.all(unknown.map((client) => client.ask('//stream')));
    await expect.poll(() => closedOf(unknown)).toBe(3 * MAX + 1);
    expect(await kept.ask('/honest')).toBe(200);
    expect(await server.newClient().ask('/honest')).toBe(200);
    expect(await server.openConnections()).toBeLessThanOrEqual(MAX);
  });
});
