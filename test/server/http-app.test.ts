/** Turns are counted, not times: the counter of the event loop says what ran together. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { performance } from 'node:perf_hooks';
import { describe, expect, test } from 'vitest';
import type { Protocol } from '../../packages/server/src/server/protocol.ts';

/** Programs run from the built files, so the server must too. */
const built = (name: string) =>
  import(new URL(`../../packages/server/dist/server/${name}.js`, import.meta.url).href);
const { startHttpServer } = (await built(
  'http-server',
)) as typeof import('../../packages/server/src/server/http-server.ts');
const { resolveSettings } = (await built(
  'resolve-settings',
)) as typeof import('../../packages/server/src/server/resolve-settings.ts');
const { ServerState } = (await built(
  'server-state',
)) as typeof import('../../packages/server/src/server/server-state.ts');

interface Handled {
  readonly tenant: string;
  readonly turn: number;
}

const WAIT = { timeout: 60_000 };

const turn = () => performance.nodeTiming.uvMetricsInfo.loopCount;

/** A protocol whose requests say which tenant sends them. It records in which turns they are admitted and handled. */
class Recorder implements Protocol {
  admitted: number[] = [];
  handled: Handled[] = [];
  /** Parts of what open connections send. */
  readonly received: { readonly bytes: number; readonly turn: number }[] = [];

  readonly #sockets: Socket[] = [];

  constructor(readonly read: (request: Parameters<Protocol['handle']>[0]) => Promise<unknown>) {}

  clear(): void {
    this.admitted = [];
    this.handled = [];
  }

  matches(): boolean {
    return true;
  }

  async authenticate({ headers }: Parameters<Protocol['authenticate']>[0]) {
    this.admitted.push(turn());
    return { caller: { tenant: headers.authorization! } };
  }

  async handle(request: Parameters<Protocol['handle']>[0]): Promise<void> {
    await this.read(request);
    this.handled.push({ tenant: request.caller.tenant, turn: turn() });
    request.response.end();
  }

  async upgrade({ takeSocket }: Parameters<NonNullable<Protocol['upgrade']>>[0]): Promise<void> {
    const socket = takeSocket();
    this.#sockets.push(socket);
    socket.on('data', (chunk) => this.received.push({ bytes: chunk.length, turn: turn() }));
    socket.write('connected');
  }

  errorBody({ message }: Error): object {
    return { message };
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
  }
}

async function started(read: Recorder['read'] = async () => {}) {
  const recorder = new Recorder(read);
  const state = new ServerState(
    resolveSettings({ port: 0, optimization: 'demand', rate_per_minute: 100_000 }),
  );
  const server = await startHttpServer(state, '/', async () => [recorder]);
  const port = Number(new URL(server.url).port);
  return { recorder, port, [Symbol.asyncDispose]: () => server.close() };
}

/** Connections that the server has accepted, because each has had an answer. */
async function connected(port: number, tenant: string, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.write(request(tenant));
  await Promise.all(sockets.map((socket) => once(socket, 'data')));
  return sockets;
}

const request = (tenant: string, body = '') =>
  `POST / HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: ${tenant}\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

const UPGRADE =
  'GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: eve\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';

const distinct = (turns: readonly number[]) => new Set(turns).size;
const most = (turns: readonly number[]) =>
  Math.max(...turns.map((one) => turns.filter((other) => other === one).length));

describe('requests that arrive at once', () => {
  test.each([
    ['without a body', '', undefined],
    ['with JSON', '{"a":1}', 'readJson'],
    ['with bytes', 'bytes', 'readBytes'],
  ] as const)('are handled in turns of their own: %s', async (_, body, method) => {
    await using server = await started(async (given) => {
      if (given.request.headers['content-length'] !== '0' && method !== undefined) await given[method]();
    });
    const { recorder } = server;
    const sockets = await connected(server.port, 'eve', 100);
    recorder.clear();
    for (const socket of sockets) socket.write(request('eve', body));
    await expect.poll(() => recorder.handled.length, WAIT).toBe(100);
    const { admitted, handled } = recorder;
    // They did arrive at once, and were admitted a few at a time.
    expect(distinct(admitted)).toBeLessThan(20);
    expect(most(admitted)).toBeLessThanOrEqual(32);
    expect(distinct(handled.map((one) => one.turn))).toBe(100);
    for (const socket of sockets) socket.destroy();
  });

  test('give other tenants turns in between', async () => {
    await using server = await started();
    const { recorder } = server;
    const eve = await connected(server.port, 'eve', 100);
    const ann = await connected(server.port, 'ann', 5);
    recorder.clear();
    for (const socket of eve) socket.write(request('eve'));
    for (const socket of ann) socket.write(request('ann'));
    await expect.poll(() => recorder.handled.length, WAIT).toBe(105);
    const before = recorder.handled.slice(
      0,
      recorder.handled.findLastIndex(({ tenant }) => tenant === 'ann'),
    );
    // The hundred were admitted in three or four turns, in each of which one of them was handled.
    expect(before.filter(({ tenant }) => tenant === 'eve').length).toBeLessThan(20);
    for (const socket of [...eve, ...ann]) socket.destroy();
  });

  test('are not handled if their clients have left', async () => {
    await using server = await started();
    const { recorder } = server;
    const left = await connected(server.port, 'eve', 60);
    const [last] = await connected(server.port, 'ann', 1);
    recorder.clear();
    for (const socket of left) socket.write(request('eve'), () => socket.destroy());
    last!.write(request('ann'));
    await expect.poll(() => recorder.handled.at(-1)?.tenant, WAIT).toBe('ann');
    expect(recorder.handled.length).toBeLessThan(60);
    last!.destroy();
  });
});

test('what open connections send at once is received in turns', async () => {
  await using server = await started();
  const { recorder } = server;
  const sockets = Array.from({ length: 20 }, () => connect(server.port, '127.0.0.1'));
  for (const socket of sockets) socket.write(UPGRADE);
  await Promise.all(sockets.map((socket) => once(socket, 'data')));
  const data = Buffer.alloc(2 * 1024 * 1024);
  for (const socket of sockets) socket.write(data);
  const sum = () => recorder.received.reduce((total, { bytes }) => total + bytes, 0);
  await expect.poll(sum, { timeout: 30_000 }).toBe(sockets.length * data.length);
  const turns = recorder.received.map((one) => one.turn);
  // Only the first parts of the connections can have arrived in the same turn.
  expect(distinct(turns)).toBeGreaterThan(turns.length - 3 * sockets.length);
});
