/**
 * Hostile clients of `serve --jupyter`, with requests and messages that no frontend sends.
 *
 * @module-tag full
 */
import { createHash, randomUUID } from 'node:crypto';
import { connect } from 'node:net';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import { call, httpClient, startHttp } from '../support/mcp.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';
const V1 = 'v1.kernel.websocket.jupyter.org';
const MAX_BYTES = 1024 * 1024;

let server: HttpServer;
let origin: string;
let kernel: string;
let bobKernel: string;

// biome-ignore lint/suspicious/noExplicitAny: the messages of the server have many forms
type Message = any;

const send = (path: string, init: RequestInit = {}, token = ANN) =>
  fetch(`${origin}${path}`, { ...init, headers: { authorization: `token ${token}`, ...init.headers } });
const post = (path: string, body: object = {}, token = ANN) =>
  send(path, { method: 'POST', body: JSON.stringify(body) }, token);
const put = (path: string, body: unknown) => send(path, { method: 'PUT', body: JSON.stringify(body) });

async function startKernel(token = ANN, name = 'python3'): Promise<string> {
  const response = await post('/api/kernels', { name }, token);
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

const channels = (id: string, token = ANN) =>
  `${origin.replace('http', 'ws')}/api/kernels/${id}/channels?session_id=x&token=${token}`;

interface Client {
  readonly socket: WebSocket;
  readonly received: Message[];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;
}

/** Connects to a kernel with JSON messages. */
async function open(id: string, token = ANN, headers: Record<string, string> = {}): Promise<Client> {
  const socket = new WebSocket(channels(id, token), { headers });
  const received: Message[] = [];
  socket.on('message', (data) => received.push(JSON.parse(String(data))));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }));
  });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  return { socket, received, closed };
}

/** The status with which the server refuses a WebSocket. */
const refusal = (url: string, headers: Record<string, string> = {}) =>
  new Promise<number>((resolve, reject) => {
    const socket = new WebSocket(url, { headers });
    socket.once('unexpected-response', (_, response) => {
      response.resume();
      resolve(response.statusCode!);
    });
    socket.once('open', () => {
      socket.terminate();
      resolve(101);
    });
    socket.once('error', reject);
  });

const message = (msg_type: string, content: object, fields: object = {}) => ({
  channel: 'shell',
  header: { msg_id: randomUUID(), msg_type, session: 'x', username: 'u', date: '', version: '5.3' },
  parent_header: {},
  metadata: {},
  content,
  ...fields,
});

/** Sends a request and waits until the kernel is idle again. Returns all messages that belong to it. */
async function request(client: Client, sent: ReturnType<typeof message>): Promise<Message[]> {
  client.socket.send(JSON.stringify(sent));
  const own = () =>
    client.received.filter(({ parent_header }) => parent_header.msg_id === sent.header.msg_id);
  await vi.waitFor(
    () => expect(own().some(({ content }) => content.execution_state === 'idle')).toBe(true),
    60_000,
  );
  return own();
}

const execute = (client: Client, code: string, content: object = {}) =>
  request(client, message('execute_request', { code, ...content }));

beforeAll(async () => {
  server = await startHttp(
    {
      jupyter: true,
      tokens: [`ann=${ANN}`, `bob=${BOB}`],
      rate_per_minute: 100_000,
      max_body_bytes: MAX_BYTES,
      max_sessions: 6,
    },
    { bufferedBytes: 8 * MAX_BYTES },
  );
  origin = new URL(server.url).origin;
  [kernel, bobKernel] = await Promise.all([startKernel(), startKernel(BOB)]);
});
afterAll(() => server.close());

describe('access', () => {
  test('a request needs a token of the server, in a header or in the query', async () => {
    for (const path of ['/api/kernels', '/api/contents', '/api/sessions', '/api/status', '/files/x']) {
      expect((await fetch(`${origin}${path}`)).status).toBe(401);
      expect((await send(path, {}, 'wrong-secret-0123456789')).status).toBe(401);
    }
    expect((await fetch(`${origin}/api/kernels?token=${ANN}`)).status).toBe(200);
    const bearer = { authorization: `Bearer ${ANN}` };
    expect((await fetch(`${origin}/api/kernels`, { headers: bearer })).status).toBe(200);
    expect(await refusal(channels(kernel, 'wrong-secret-0123456789'))).toBe(401);
    expect(await refusal(channels(kernel).replace(/&token.*/, ''))).toBe(401);
  });

  test('a tenant reaches no kernel, session or file of another', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/interrupt'],
      ['POST', '/restart'],
    ] as const)
      expect((await send(`/api/kernels/${bobKernel}${path}`, { method })).status).toBe(404);
    expect(await refusal(channels(bobKernel))).toBe(404);
    const chosen = { path: 'a', kernel: { id: bobKernel } };
    expect((await post('/api/sessions', chosen)).status).toBe(404);
    await put('/api/contents/secret', { content: 'of ann' });
    expect((await send('/api/contents/secret', {}, BOB)).status).toBe(404);
    const ids = (await (await send('/api/kernels')).json()) as { id: string }[];
    expect(ids.map(({ id }) => id)).not.toContain(bobKernel);
  });

  test('other sessions are not kernels', async () => {
    for (const id of ['jupyter', 'default', '..%2f..', kernel.toUpperCase(), `jupyter-${kernel}`]) {
      expect((await send(`/api/kernels/${id}`)).status).toBe(404);
      expect(await refusal(channels(id))).toBe(404);
    }
  });

  test('a web page of another origin or host cannot connect', async () => {
    const evil = { origin: 'https://evil.example' };
    expect(await refusal(channels(kernel), evil)).toBe(403);
    expect(await refusal(channels(kernel), { host: 'evil.example' })).toBe(403);
    expect((await send('/api/kernels', { headers: evil })).status).toBe(403);
    expect(await refusal(channels(kernel), { origin: 'http://localhost:3000' })).toBe(101);
  });

  test('only kernels have WebSockets', async () => {
    for (const path of [
      '/mcp',
      '/healthz',
      '/api/kernels',
      '/api/terminals/websocket/1',
      '/api/events/subscribe',
    ])
      expect(await refusal(`${origin.replace('http', 'ws')}${path}?token=${ANN}`)).not.toBe(101);
    expect((await send('/healthz')).status).toBe(200);
  });

  test('what cannot exist is refused with a sentence', async () => {
    for (const path of ['terminals', 'nbconvert', 'workspaces', 'settings']) {
      const response = await send(`/api/${path}`);
      expect(response.status).toBe(501);
      expect(((await response.json()) as { message: string }).message.length).toBeGreaterThan(20);
    }
    expect((await send('/api/unknown')).status).toBe(404);
  });
});

describe('limits', () => {
  test('the number of kernels of a tenant is that of its sessions', async () => {
    const made: string[] = [];
    let response = await post('/api/kernels', {}, BOB);
    for (; response.status === 201; response = await post('/api/kernels', {}, BOB))
      made.push(((await response.json()) as { id: string }).id);
    expect(response.status).toBe(429);
    expect(made.length).toBeLessThan(6);
    for (const id of made)
      expect((await send(`/api/kernels/${id}`, { method: 'DELETE' }, BOB)).status).toBe(204);
  });

  test('a kernel has at most 16 connections', async () => {
    const clients = await Promise.all(Array.from({ length: 16 }, () => open(kernel)));
    expect(await refusal(channels(kernel))).toBe(429);
    for (const { socket } of clients) socket.terminate();
    await Promise.all(clients.map(({ closed }) => closed));
    await vi.waitFor(async () => expect(await refusal(channels(kernel))).toBe(101));
  });

  test('a message that is too large ends its connection only', async () => {
    const [client, other] = [await open(kernel), await open(kernel)];
    client.socket.send('x'.repeat(MAX_BYTES + 1));
    expect((await client.closed).code).toBe(1009);
    expect((await execute(other, '1')).length).toBeGreaterThan(0);
    other.socket.terminate();
  });

  test('malformed messages end their connection with a reason', async () => {
    const words = (...values: number[]) => {
      const bytes = Buffer.alloc(values.length * 8);
      for (const [i, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value), i * 8);
      return bytes;
    };
    const text = [
      '',
      'null',
      '[]',
      '{',
      '{"channel":"shell"}',
      JSON.stringify(message('x', {}, { channel: 'other' })),
      JSON.stringify(message('x'.repeat(300), {})),
      JSON.stringify({ ...message('x', {}), content: [] }),
      `{"content":${'['.repeat(100)}${']'.repeat(100)}}`,
      Buffer.from('binary'),
    ];
    for (const data of text) {
      const client = await open(kernel);
      client.socket.send(data);
      expect(await client.closed).toMatchObject({ code: 1007, reason: expect.stringMatching(/\w{3}/) });
    }
    for (const data of [
      ...[Buffer.alloc(0), words(0), words(2 ** 40), words(6), words(6, 1, 2, 3, 4, 5, 6)],
      ...[
        words(6, 56, 56, 56, 56, 56, 2 ** 50),
        words(6, 56, 56, 50, 56, 56, 56),
        words(7, 64, 64, 64, 64, 64, 64, 64),
      ],
    ]) {
      const socket = new WebSocket(channels(kernel), V1);
      const closed = new Promise((resolve) => socket.once('close', resolve));
      socket.once('open', () => socket.send(data));
      expect(await closed).toBe(1007);
    }
  });

  test('frames that break the WebSocket protocol end their connection only', async () => {
    const { hostname, port } = new URL(origin);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.write(
      `GET /api/kernels/${kernel}/channels?token=${ANN} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString('base64')}\r\n\r\n`,
    );
    socket.once('data', () => socket.write(Buffer.alloc(1000, 0xff)));
    await ended;
    expect((await send('/api/status')).status).toBe(200);
  });

  test('a client that does not read is disconnected, and others are served', async () => {
    const [slow, fast] = [await open(kernel), await open(kernel)];
    slow.socket.pause();
    for (let i = 0; i < 40; i++) await execute(fast, 'print("x" * 500_000)');
    const closed = slow.closed;
    slow.socket.resume();
    expect((await closed).code).toBe(1006);
    expect((await execute(fast, '1')).length).toBeGreaterThan(0);
    fast.socket.terminate();
  });

  test('output of a cell is limited', async () => {
    const client = await open(kernel);
    const messages = await execute(client, 'for _ in range(200): print("x" * 100_000)');
    const bytes = messages.reduce((sum, { content }) => sum + (content.text?.length ?? 0), 0);
    expect(bytes).toBeLessThan(4 * MAX_BYTES);
    client.socket.terminate();
  });

  test('messages count against the rate of the tenant', async () => {
    await using limited = await startHttp({ jupyter: true, tokens: [`ann=${ANN}`], rate_per_minute: 20 });
    const at = new URL(limited.url).origin;
    const made = await fetch(`${at}/api/kernels?token=${ANN}`, { method: 'POST', body: '{}' });
    const { id } = (await made.json()) as { id: string };
    const socket = new WebSocket(
      channels(id).replace(origin.replace('http', 'ws'), at.replace('http', 'ws')),
    );
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.once('open', () => {
      for (let i = 0; i < 50; i++) socket.send(JSON.stringify(message('comm_info_request', {})));
    });
    expect(await closed).toBe(1008);
  });
});

describe('messages', () => {
  test('are framed by busy and idle, and name the request', async () => {
    const client = await open(kernel);
    const sent = message('execute_request', { code: 'print(1)' });
    const all = await request(client, sent);
    expect(all.map(({ header }) => header.msg_type)).toEqual([
      ...['status', 'execute_input', 'stream', 'execute_reply', 'status'],
    ]);
    for (const one of all) expect(one.parent_header).toEqual(sent.header);
    client.socket.terminate();
  });

  test('contain what pip prints, which is no result', async () => {
    const client = await open(kernel);
    const all = await execute(client, '!pip install requests\n%pip install numpy');
    const printed = (name: string) =>
      all
        .filter(({ content }) => content.name === name)
        .map(({ content }) => content.text)
        .join('');
    expect(printed('stdout')).toBe('Requirement already satisfied: requests\n');
    expect(printed('stderr')).toMatch(/^ERROR: cannot install numpy: /);
    expect(all.map(({ header }) => header.msg_type)).not.toContain('execute_result');
    client.socket.terminate();
  });

  test('replies go to the client that asked, output to all', async () => {
    const [one, two] = [await open(kernel), await open(kernel)];
    await execute(one, 'print("seen by both")');
    const types = (client: Client) => client.received.map(({ header }) => header.msg_type);
    await vi.waitFor(() => expect(types(two)).toContain('stream'));
    expect(types(one)).toContain('execute_reply');
    expect(types(two)).not.toContain('execute_reply');
    for (const { socket } of [one, two]) socket.terminate();
  });

  test('another client cannot answer the input request of a cell', async () => {
    const [asked, other] = [await open(kernel), await open(kernel)];
    const sent = message('execute_request', { code: 'print(input())', allow_stdin: true });
    const done = request(asked, sent);
    const find = () => asked.received.find(({ header }) => header.msg_type === 'input_request');
    await vi.waitFor(() => expect(find()).toBeDefined(), 60_000);
    const reply = (value: string, parent_header: object) =>
      JSON.stringify(message('input_reply', { value }, { channel: 'stdin', parent_header }));
    other.socket.send(reply('forged', find().header));
    asked.socket.send(reply('wrong parent', { msg_id: 'other' }));
    // Messages of one client are handled in order, so the forged ones have arrived when this is answered.
    await request(other, message('interrupt', {}, { channel: 'control' }));
    asked.socket.send(reply('true', find().header));
    const output = (await done).filter(({ content }) => content.name === 'stdout');
    expect(output.map(({ content }) => content.text).join('')).toBe('true\n');
    for (const { socket } of [asked, other]) socket.terminate();
  });

  test('an invalid answer to an input request ends its connection only', async () => {
    const client = await open(kernel);
    const sent = message('execute_request', { code: 'print(input())', allow_stdin: true });
    client.socket.send(JSON.stringify(sent));
    const isAsked = () => client.received.some(({ header }) => header.msg_type === 'input_request');
    await vi.waitFor(() => expect(isAsked()).toBe(true), 60_000);
    client.socket.send(JSON.stringify(message('input_reply', { value: 1 }, { channel: 'stdin' })));
    expect(await client.closed).toMatchObject({ code: 1007 });
    expect((await send('/api/status')).status).toBe(200);
  });

  test('forged iopub messages and unknown types have no effect', async () => {
    const [one, two] = [await open(kernel), await open(kernel)];
    const forged = message('stream', { name: 'stdout', text: 'forged' }, { channel: 'iopub' });
    one.socket.send(JSON.stringify(forged));
    const [unknown] = (await request(one, message('toString_request', {}))).filter(
      ({ header }) => header.msg_type === 'toString_reply',
    );
    expect(unknown.content).toMatchObject({ status: 'error', ename: 'NotImplementedError' });
    expect(two.received.filter(({ content }) => content.text === 'forged')).toEqual([]);
    for (const { socket } of [one, two]) socket.terminate();
  });

  test('a kernel that is shut down closes its connections', async () => {
    const id = await startKernel();
    const client = await open(id);
    const running = message('execute_request', { code: 'while True: pass' });
    client.socket.send(JSON.stringify(running));
    await vi.waitFor(() => expect(client.received.length).toBeGreaterThan(1), 60_000);
    expect((await send(`/api/kernels/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await client.closed).code).toBe(1001);
    expect((await send(`/api/kernels/${id}`)).status).toBe(404);
  });
});

describe('a kernel whose session is deleted over MCP', () => {
  test('does not exist any more, and its connections are closed', async () => {
    const id = await startKernel();
    const client = await open(id);
    const mcp = await httpClient(server, 'modern', ANN);
    onTestFinished(() => mcp.close());
    expect((await call(mcp, 'destroy_session', { session_id: `jupyter-${id}` })).isError).toBe(false);
    expect((await send(`/api/kernels/${id}`)).status).toBe(404);
    expect(await refusal(channels(id))).toBe(404);
    const kernels = (await (await send('/api/kernels')).json()) as { id: string }[];
    expect(kernels.map((one) => one.id)).not.toContain(id);
    expect((await client.closed).code).toBe(1001);
  });

  test('is forgotten even if its clients ask for nothing', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const idle = await startHttp({ jupyter: true, tokens: [`ann=${ANN}`] });
    onTestFinished(() => idle.close());
    const { id } = (await (
      await fetch(new URL('/api/kernels', idle.url), {
        method: 'POST',
        headers: { authorization: `token ${ANN}` },
      })
    ).json()) as { id: string };
    const address = new URL(`/api/kernels/${id}/channels?token=${ANN}`, idle.url);
    const socket = new WebSocket(address.href.replace('http', 'ws'));
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    await new Promise((resolve) => socket.once('open', resolve));
    await idle.state.tenant('ann').destroy(`jupyter-${id}`);
    vi.advanceTimersByTime(30_000);
    expect(await closed).toBe(1001);
  });
});

describe('contents', () => {
  test('no path leads out of the workspace', async () => {
    const paths = ['../x', '..%2fx', 'a/../../x', '%2e%2e/x', '..%2f..%2fetc%2fpasswd', 'a%00b'];
    for (const path of paths) {
      // `fetch` removes plain dots from a path, so these arrive encoded or not at all.
      const encoded = path.replaceAll('..', '%2e%2e').replaceAll('/', '%2f');
      expect((await send(`/api/contents/${encoded}`)).status).toBeGreaterThanOrEqual(400);
      expect((await put(`/api/contents/${encoded}`, { content: 'x' })).status).toBeGreaterThanOrEqual(400);
      expect((await send(`/files/${encoded}`)).status).toBeGreaterThanOrEqual(400);
    }
    await put('/api/contents/inside', { content: 'x' });
    const move = { method: 'PATCH', body: JSON.stringify({ path: '../outside' }) };
    expect((await send('/api/contents/inside', move)).status).toBe(404);
    expect((await post('/api/contents', { copy_from: '../../etc/passwd' })).status).toBe(404);
    expect((await post('/api/contents', { type: 'file', ext: '/../x' })).status).toBe(400);
  });

  test('links of a program lead nowhere outside', async () => {
    const client = await open(kernel);
    await execute(client, 'import os\nos.symlink("/etc", "etc")\nos.symlink("/proc/self/environ", "env")');
    for (const path of ['etc', 'env', 'etc/passwd'])
      expect((await send(`/files/${path}`)).status).toBeGreaterThanOrEqual(400);
    client.socket.terminate();
  });

  test('a damaged or hostile notebook is an error, and can be downloaded', async () => {
    for (const content of ['', '{', '[]', '['.repeat(1000), '{"cells":[]}']) {
      await put('/api/contents/bad.ipynb', { type: 'file', format: 'text', content });
      expect((await send('/api/contents/bad.ipynb')).status).toBe(400);
      expect(await (await send('/files/bad.ipynb')).text()).toBe(content);
    }
  });

  test('downloads are never shown as a page', async () => {
    await put('/api/contents/page.html', { content: '<script>1</script>' });
    const { headers } = await send('/files/page.html');
    expect(headers.get('content-type')).toBe('application/octet-stream');
    expect(headers.get('content-disposition')).toBe('attachment');
  });

  test('files of many slices are opened as they are, as text or base64, with their digest', async () => {
    const client = await open(kernel);
    await execute(
      client,
      "open('t', 'w').write('é\\0x' * 200_000); open('b', 'wb').write(bytes(range(256)) * 4000)",
    );
    client.socket.terminate();
    const text = await (await send('/api/contents/t?hash=1')).json();
    const expected = 'é\0x'.repeat(200_000);
    expect(text.content).toBe(expected);
    expect(text).toMatchObject({ format: 'text', hash: createHash('sha256').update(expected).digest('hex') });
    const binary = await (await send('/api/contents/b')).json();
    expect(binary).toMatchObject({ format: 'base64' });
    expect(
      Buffer.from(binary.content, 'base64').equals(
        Buffer.from(Array.from({ length: 1_024_000 }, (_, i) => i % 256)),
      ),
    ).toBe(true);
    expect((await send('/api/contents/b?format=text')).status).toBe(400);
    const notebook = { cells: [{ source: 'x'.repeat(300_000) }], metadata: {}, nbformat: 4 };
    expect((await put('/api/contents/n.ipynb', { type: 'notebook', content: notebook })).status).toBe(201);
    expect(await (await send('/files/n.ipynb')).text()).toBe(`${JSON.stringify(notebook, null, 1)}\n`);
    expect((await (await send('/api/contents/n.ipynb')).json()).content).toEqual(notebook);
  });

  test('a body that is too large or invalid is refused', async () => {
    expect((await put('/api/contents/x', { content: 'x'.repeat(MAX_BYTES) })).status).toBe(413);
    for (const body of [
      '',
      '{',
      'null',
      '[]',
      '{"content":1}',
      '{"type":"other"}',
      '{"chunk":1,"content":""}',
    ])
      expect((await send('/api/contents/x', { method: 'PUT', body })).status).toBe(400);
    expect((await send('/api/contents/%', {})).status).toBe(400);
    expect((await send('/api/contents', { method: 'DELETE' })).status).toBe(400);
    expect((await put('/api/contents', { type: 'directory' })).status).toBe(400);
  });
});
