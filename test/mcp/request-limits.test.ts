import { Agent, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, httpClient, startHttp } from '../support/mcp.ts';

const META =
  '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}';
const MAX_BODY = 4 * 1024 * 1024;
const FILL = MAX_BODY - 2000;
interface Message {
  readonly method: string;
  readonly name?: string;
  readonly body: string;
}

function message(method: string, params: string, id = '1'): Message {
  return { method, body: `{"jsonrpc":"2.0","id":${id},"method":"${method}","params":${params}}` };
}

const toolCall = (name: string, args: string, meta = META): Message => ({
  ...message('tools/call', `{"_meta":{${meta}},"name":"${name}","arguments":${args}}`),
  name: name.slice(0, 64),
});

const members = (count: number, value = '1') =>
  Array.from({ length: count }, (_, i) => `"k${i}":${value}`).join(',');

const manyFiles = (path: (i: number) => string): Message => {
  const files = Array.from({ length: 1900 }, (_, i) => `"${path(i)}":"x"`).join(',');
  return toolCall('execute_code', `{"code":"1","language":"javascript","files":{${files}}}`);
};

/** Bodies that the server rejects, with a part of the message. */
const REJECTED: readonly (readonly [string, Message, RegExp])[] = [
  ['many members in _meta', message('tools/list', `{"_meta":{${META},${members(300_000)}}}`), /2000 members/],
  [
    'many members in params',
    message('tools/list', `{"_meta":{${META}},${members(300_000)}}`),
    /2000 members/,
  ],
  ['many arguments', toolCall('execute_code', `{${members(300_000)}}`), /2000 members/],
  [
    'a long array',
    message('tools/list', `{"_meta":{${META}},"a":[${'1,'.repeat(FILL / 2)}1]}`),
    /2000 members/,
  ],
  ['deep arrays', { method: 'x', body: '['.repeat(FILL) }, /64 levels deep/],
  ['deep objects', toolCall('execute_code', `${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}`), /64 levels deep/],
  ['a batch of many messages', { method: 'x', body: `[${'{},'.repeat(100)}{}]` }, /50 messages/],
  ['a long number', toolCall('execute_code', `{"timeout":${'9'.repeat(FILL)}}`), /512 characters/],
  ['a long member name', toolCall('execute_code', `{"${'k'.repeat(FILL)}":1}`), /name of a member/],
  ['a long tool name', toolCall('x'.repeat(FILL), '{}'), /params\.name/],
  ['a long method', message('x'.repeat(FILL), '{}'), /method/],
  ['a long id', message('tools/list', `{"_meta":{${META}}}`, `"${'i'.repeat(FILL)}"`), /id has/],
  [
    'a long progress token',
    toolCall('list_files', '{}', `${META},"progressToken":"${'t'.repeat(FILL)}"`),
    /progressToken/,
  ],
  [
    'a long URI',
    message('resources/read', `{"_meta":{${META}},"uri":"workspace://${'a/'.repeat(FILL / 2 - 100)}"}`),
    /params\.uri/,
  ],
];

/** Bodies within the limits that take as much work as possible. */
const ACCEPTED: readonly (readonly [string, Message])[] = [
  ['many members in _meta', message('tools/list', `{"_meta":{${META},${members(1900)}}}`)],
  ['many unknown arguments', toolCall('execute_code', `{${members(1900)}}`)],
  [
    'many invalid files',
    toolCall('execute_code', `{"code":"1","language":"python","files":{${members(1900)}}}`),
  ],
  [
    'many files',
    toolCall('execute_code', `{"code":"1","language":"javascript","files":{${members(1900, '"x"')}}}`),
  ],
  ['files with long paths', manyFiles((i) => `${'n'.repeat(250)}/${'m'.repeat(240)}${i}`)],
  ['files in deep folders', manyFiles((i) => `${'a/'.repeat(400)}${i}`)],
  ['long text of emoji', toolCall('write_file', `{"path":"a","content":"${'😀'.repeat(FILL / 4)}"}`)],
  ['long code', toolCall('execute_code', `{"code":"${'x'.repeat(FILL)}","language":"python"}`)],
  ['long text', toolCall('write_file', `{"path":"a","content":"${'é'.repeat(FILL / 2)}"}`)],
  ['long text of escapes', toolCall('write_file', `{"path":"a","content":"${'\\n'.repeat(FILL / 2)}"}`)],
  [
    'long base64 data',
    toolCall('write_file', `{"path":"a","encoding":"base64","content":"${'A'.repeat(FILL - (FILL % 4))}"}`),
  ],
  ['white space', { method: 'x', body: `${' '.repeat(FILL)}{}` }],
];

const headers = ({ method, name }: Pick<Message, 'method' | 'name'>) => ({
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': method.slice(0, 64),
  ...(name !== undefined && { 'mcp-name': name }),
});

describe('a request body', () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttp({ rate_per_minute: 100_000 });
  });
  afterAll(() => server.close());

  async function post({ body, ...rest }: Message): Promise<{ status: number; text: string }> {
    const response = await fetch(server.url, { method: 'POST', headers: headers(rest), body });
    return { status: response.status, text: await response.text() };
  }

  // guarantee: request-limits
  // proves: A request body that is malformed or too complex is rejected with 400.
  test.each(REJECTED)('with %s is rejected with 400', async (_, sent, reason) => {
    const { status, text } = await post(sent);
    expect(status).toBe(400);
    expect(JSON.parse(text).error.message).toMatch(reason);
    expect(text.length).toBeLessThan(1000);
  });

  // guarantee: request-limits
  // proves: A request body that is expensive to parse is answered.
  test.each(ACCEPTED)('with %s is answered', async (_, sent) => {
    expect((await post(sent)).status).toBeLessThan(500);
  });

  test('is read correctly when characters and strings are split between chunks', async () => {
    const text = 'a"\\é😀{[,'.repeat(30_000);
    await using writer = await httpClient(server, 'modern');
    await call(writer, 'write_file', { path: 'split.txt', content: text });
    const code = 'import hashlib\nhashlib.sha256(open("split.txt", "rb").read()).hexdigest()';
    const { structured } = await call(writer, 'execute_code', { code, language: 'python' });
    const { createHash } = await import('node:crypto');
    expect(structured['result']).toBe(createHash('sha256').update(text).digest('hex'));
  });
});

/** Opens a request and sends only a part of its body. */
function sendPart(
  url: string,
  bytes: number,
  declared: number,
  more: Record<string, string> = {},
): { close(): void; sent: Promise<void>; status: Promise<number> } {
  const outgoing = request(url, {
    method: 'POST',
    agent: new Agent(),
    headers: { ...headers({ method: 'tools/list' }), ...more, 'content-length': declared },
  });
  const status = new Promise<number>((resolve) => {
    outgoing.on('response', (response) => resolve(response.statusCode!));
    outgoing.on('error', () => resolve(0));
  });
  const sent = new Promise<void>((resolve) => {
    outgoing.write(`"${'x'.repeat(bytes)}`, () => resolve());
  });
  return { close: () => outgoing.destroy(), sent, status };
}

const wait = (ms: number) => new Promise((next) => setTimeout(next, ms));

describe('the bytes of a tenant', () => {
  // guarantee: request-limits
  test('are limited while request bodies arrive, and are released when the requests end', async () => {
    await using server = await startHttp({ max_body_bytes: 1_000_000 }, { bufferedBytes: 3_000_000 });
    // Bodies are not answered before they are complete, and at most three of them fit. Bytes that were not freed after the
    // first two rounds would leave no room for another body.
    for (let round = 0; round < 2; round++) {
      const parts = Array.from({ length: 4 }, () => sendPart(server.url, 900_000, 990_000));
      expect(await Promise.race(parts.map(({ status }) => status))).toBe(503);
      for (const part of parts) part.close();
    }
    // A complete body, which is not JSON.
    const complete = () => sendPart(server.url, 900_000, 900_001).status;
    await expect.poll(complete, { timeout: 60_000 }).toBe(400);
  });

  // guarantee: request-limits
  // proves: A client that stops in the middle of a body, of a message or an upload, loses its connection, and its bytes are released.
  test('are released when a client stops in the middle of a body', { tags: 'full' }, async () => {
    await using server = await startHttp(
      { e2b: true, max_body_bytes: 1_000_000 },
      { bufferedBytes: 2_000_000 },
    );
    const { origin } = new URL(server.url);
    const created = await fetch(`${origin}/sandboxes`, {
      method: 'POST',
      headers: { 'x-api-key': 'any', 'content-type': 'application/json' },
      body: JSON.stringify({ templateID: 'base' }),
    });
    const { sandboxID, envdAccessToken } = (await created.json()) as Record<string, string>;
    const access = {
      'e2b-sandbox-id': sandboxID!,
      'e2b-sandbox-port': '49983',
      'x-access-token': envdAccessToken!,
    };
    const stopped = [
      sendPart(server.url, 900_000, 990_000),
      sendPart(`${origin}/files?path=x`, 900_000, 990_000, access),
    ];
    const complete = () => sendPart(server.url, 900_000, 900_001).status;
    // A third body that arrives before both of these would take their place.
    await Promise.all(stopped.map(({ sent }) => sent));
    await wait(1000);
    await expect.poll(complete, { timeout: 10_000, interval: 200 }).toBe(503);
    expect(await Promise.all(stopped.map(({ status }) => status))).toEqual([408, 408]);
    expect(await complete()).toBe(400);
    expect((await fetch(`${origin}/files?path=x`, { headers: access })).status).toBe(404);
  });

  // guarantee: request-limits
  test('in unread responses are limited, and the connection of a client that does not read is closed', {
    tags: 'full',
  }, async () => {
    await using server = await startHttp({}, { bufferedBytes: 6_000_000, writeTimeoutMs: 1000 });
    await using client = await httpClient(server, 'modern');
    await call(client, 'write_file', { path: 'big.txt', content: 'x'.repeat(2_000_000) });
    await call(client, 'execute_code', {
      code: 'open("big.txt", "a").write("x" * 2_000_000)',
      language: 'python',
    });
    const { body, ...rest } = message(
      'resources/read',
      `{"_meta":{${META}},"uri":"workspace://default/big.txt"}`,
    );
    const { hostname, port, pathname } = new URL(server.url);
    const lines = Object.entries({
      ...headers(rest),
      'mcp-name': 'workspace://default/big.txt',
      host: `${hostname}:${port}`,
      'content-length': body.length,
    }).map(([name, value]) => `${name}: ${value}`);
    const text = `POST ${pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n${body}`;
    const served: Socket[] = [];
    let closed = 0;
    for (let i = 0; i < 8; i++) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => {});
      socket.on('close', () => closed++);
      // Only the beginning of a response is read.
      socket.once('data', (chunk) => {
        if (chunk.toString('latin1').startsWith('HTTP/1.1 200')) served.push(socket.pause());
        else socket.destroy();
      });
      socket.write(text);
    }
    // A socket that is not read notices that its connection is closed when it writes. The server ignores empty lines.
    while (closed < 8) {
      for (const socket of served) if (!socket.destroyed) socket.write('\r\n');
      await wait(50);
    }
    expect(served.length).toBeGreaterThan(0);
    // The budget is free again.
    const { contents } = await client.readResource({ uri: 'workspace://default/big.txt' });
    expect((contents[0] as { text: string }).text).toHaveLength(4_000_000);
  });

  // guarantee: request-limits
  // proves: Reading a resource larger than max_body_bytes fails, and the error recommends read_file.
  test('do not include resources larger than max_body_bytes: reading one fails, and the error recommends read_file', async () => {
    await using server = await startHttp({ max_body_bytes: 110_000 });
    await using client = await httpClient(server, 'modern');
    const code = 'open("big.txt", "w").write("x" * 110_001)';
    await call(client, 'execute_code', { code, language: 'python' });
    await expect(client.readResource({ uri: 'workspace://default/big.txt' })).rejects.toThrow(
      /limit is 110,000.*read_file/,
    );
  });
});

/** One request as it is sent over a connection. */
function rawRequest(url: string, { body, ...rest }: Message, name?: string): string {
  const { host, pathname } = new URL(url);
  const fields = { ...headers(rest), ...(name !== undefined && { 'mcp-name': name }), host };
  const lines = Object.entries({ ...fields, 'content-length': Buffer.byteLength(body) });
  return `POST ${pathname} HTTP/1.1\r\n${lines.map(([field, value]) => `${field}: ${value}`).join('\r\n')}\r\n\r\n${body}`;
}

/** Sends text over a connection and collects what it returns. */
function openConnection(url: string, text: string) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const connection = { socket, received: '', isClosed: false };
  socket.on('data', (chunk) => {
    connection.received += chunk;
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    connection.isClosed = true;
  });
  socket.write(text);
  return connection;
}

describe('connections', () => {
  // guarantee: request-limits
  test('with more than eight requests in progress are closed', { tags: 'full' }, async () => {
    await using server = await startHttp({ max_queued: 50 });
    const sleep = toolCall('execute_code', '{"code":"import time\\ntime.sleep(1)","language":"python"}');
    const list = message('tools/list', `{"_meta":{${META}}}`);
    const eight = openConnection(server.url, rawRequest(server.url, list).repeat(8));
    const responses = () => eight.received.split('HTTP/1.1 200').length - 1;
    while (responses() < 8 && !eight.isClosed) await wait(20);
    expect({ responses: responses(), isClosed: eight.isClosed }).toEqual({ responses: 8, isClosed: false });
    eight.socket.destroy();
    const nine = openConnection(server.url, rawRequest(server.url, sleep).repeat(9));
    while (!nine.isClosed) await wait(20);
    expect(nine.received).not.toContain('"result"');
  });

  // guarantee: request-limits
  // proves: The bytes that one connection holds are limited, and other connections of the tenant are still served.
  test('hold a limited number of bytes each, and other connections of the tenant are still served', {
    tags: 'full',
  }, async () => {
    await using server = await startHttp({}, { bufferedBytes: 10_000_000 });
    await using client = await httpClient(server, 'modern');
    await call(client, 'execute_code', {
      code: 'open("big.txt", "w").write("x" * 4_000_000)',
      language: 'python',
    });
    const uri = 'workspace://default/big.txt';
    const read = message('resources/read', `{"_meta":{${META}},"uri":"${uri}"}`);
    const unread = openConnection(server.url, rawRequest(server.url, read, uri).repeat(8));
    unread.socket.pause();
    await wait(500);
    // A new connection: the server may have closed that of the client, which has been idle.
    const other = openConnection(server.url, rawRequest(server.url, read, uri));
    while (other.received.length < 4_000_000 && !other.isClosed) await wait(20);
    expect(other.received).toMatch(/^HTTP\/1\.1 200 /);
    expect(other.received.length).toBeGreaterThan(4_000_000);
    other.socket.destroy();
    unread.socket.resume();
    while (!unread.isClosed) await wait(20);
    expect(unread.received.length).toBeLessThan(8 * 4_000_000);
  });

  // guarantee: request-limits
  // proves: If there are too many connections, new connections replace idle ones.
  test('above the limit replace idle ones, so that active clients are served', async () => {
    await using server = await startHttp({ max_connections: 10 });
    const { hostname, port } = new URL(server.url);
    const idle = Array.from({ length: 60 }, () => connect(Number(port), hostname));
    for (const socket of idle) socket.on('error', () => {});
    let closed = 0;
    for (const socket of idle) socket.on('close', () => closed++);
    while (closed < 50) await wait(20);
    await using client = await httpClient(server, 'modern');
    const { structured } = await call(client, 'execute_code', { code: '1 + 1', language: 'javascript' });
    expect(structured).toMatchObject({ result: 2 });
    for (const socket of idle) socket.destroy();
  });
});
