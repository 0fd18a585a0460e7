import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { nextTurn } from '../../packages/core/src/concurrency/slices.ts';
import { SandboxError } from '../../packages/core/src/errors.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { JupyterKernel } from '../../packages/server/src/jupyter/kernel.ts';
import { V1_PROTOCOL } from '../../packages/server/src/jupyter/kernel-message.ts';
import { KernelSocket } from '../../packages/server/src/jupyter/kernel-socket.ts';
import type { Tenant } from '../../packages/server/src/server/tenant.ts';

const CLIENTS = 16;
const noSession = () => Promise.reject(new SandboxError('session_not_found', 'There is no session.'));

let slices = 0;
const kernel = new JupyterKernel({
  // The messages of these tests need no interpreter.
  tenant: { session: noSession } as unknown as Tenant,
  session_id: 'none',
  language: { ...LANGUAGES.python, runtime: 'python' },
  version: '1',
  files: noSession,
  shutDown: async () => kernel.close(),
  onError: (cause) => {
    throw cause;
  },
});
const http = createServer();
const sockets = new WebSocketServer({ server: http, handleProtocols: ([protocol]) => protocol ?? false });
sockets.on('connection', (socket) => {
  const options = {
    bytes: { take: () => true, give: () => {} },
    refuse: async () => undefined,
    nextSlice: () => {
      slices++;
      return nextTurn();
    },
  };
  kernel.sockets.add(new KernelSocket(socket, kernel, options));
});

interface Client {
  readonly socket: WebSocket;
  /** Type and content of each message. */
  readonly received: [type: string, content: Record<string, unknown>][];
}

const word = (data: Buffer, i: number) => Number(data.readBigUInt64LE(8 * i));

/** The type and the content of a message in the framing of a connection. */
function decoded(data: Buffer, protocol: string): Client['received'][number] {
  if (protocol === '') {
    const { header, content } = JSON.parse(String(data));
    return [header.msg_type, content];
  }
  const part = (i: number) => JSON.parse(data.toString('utf8', word(data, i + 1), word(data, i + 2)));
  return [part(1).msg_type, part(4)];
}

async function open(protocol?: string): Promise<Client> {
  const url = `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const socket = new WebSocket(url, protocol === undefined ? [] : [protocol]);
  const received: Client['received'] = [];
  socket.on('message', (data: Buffer, isBinary) => {
    expect(isBinary).toBe(protocol !== undefined);
    received.push(decoded(data, socket.protocol));
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  return { socket, received };
}

const request = (msg_type: string, content: object) =>
  JSON.stringify({
    channel: 'shell',
    header: { msg_id: randomUUID(), msg_type, session: 'x' },
    parent_header: {},
    metadata: {},
    content,
  });

let clients: Client[];
beforeAll(async () => {
  await new Promise<void>((resolve) => void http.listen(0, '127.0.0.1', resolve));
  clients = await Promise.all(
    Array.from({ length: CLIENTS }, (_, i) => open(i % 2 === 0 ? undefined : V1_PROTOCOL)),
  );
});
beforeEach(() => {
  for (const { received } of clients) received.length = 0;
  slices = 0;
});
afterAll(() => {
  for (const { socket } of clients) socket.terminate();
  http.close();
});

describe('messages of a kernel', () => {
  test('a large message is read in slices, and encoded once for each framing', async () => {
    const code = '# é"\n'.repeat(400_000);
    clients[0]!.socket.send(request('execute_request', { code }));
    const isIdle = ({ received }: Client) => received.at(-1)?.[1]['execution_state'] === 'idle';
    await vi.waitFor(() => expect(clients.every(isIdle)).toBe(true), 20_000);
    for (const { received } of clients)
      expect(received.find(([type]) => type === 'execute_input')?.[1]['code']).toBe(code);
    const forOne = code.length / (64 * 1024);
    expect(slices).toBeGreaterThan(2 * forOne);
    expect(slices).toBeLessThan((CLIENTS / 2) * forOne);
  });

  test('each message of a client has a turn of the event loop, and all clients receive the answers in order', async () => {
    const ids = Array.from({ length: 300 }, (_, i) => `comm-${i}`);
    for (const comm_id of ids) clients[0]!.socket.send(request('comm_open', { comm_id }));
    const closed = ({ received }: Client) =>
      received.filter(([type]) => type === 'comm_close').map(([, content]) => content['comm_id']);
    await vi.waitFor(
      () => expect(clients.every((one) => closed(one).length === ids.length)).toBe(true),
      20_000,
    );
    for (const client of clients) expect(closed(client)).toEqual(ids);
    expect(slices).toBeGreaterThanOrEqual(ids.length);
  });

  test('a kernel that is shut down answers before it closes its connections', async () => {
    const [first] = clients;
    const closed = Promise.all(
      clients.map(({ socket }) => new Promise((resolve) => socket.once('close', resolve))),
    );
    first!.socket.send(request('shutdown_request', {}));
    await closed;
    expect(first!.received.map(([type]) => type)).toContain('shutdown_reply');
  });
});
