/**
 * One tenant holds streams of each protocol that never end, and another one sends requests.
 *
 * @module-tag full
 */
import { Agent, request } from 'node:http';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { startHttp } from '../support/mcp.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';
/** Tenants can hold seven eighths of them. */
const MAX_CONNECTIONS = 8;

let server: Awaited<ReturnType<typeof startHttp>>;

beforeEach(async () => {
  server = await startHttp({
    e2b: true,
    jupyter: true,
    playground: true,
    max_connections: MAX_CONNECTIONS,
    tokens: [`ann=${ANN}`, `bob=${BOB}`],
  });
});
afterEach(() => server.close());

interface Sent {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Uint8Array;
}

interface Opened {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  text(): Promise<string>;
}

/** Sends a request on a new connection; resolves when the answer begins. */
function send(path: string, { method = 'POST', headers, body }: Sent, token = ANN): Promise<Opened> {
  return new Promise((resolve, reject) => {
    const all = { authorization: `Bearer ${token}`, 'x-api-key': token, ...headers };
    const options = { method, headers: all, agent: new Agent({ keepAlive: false }) };
    const outgoing = request(new URL(path, server.url), options, (response) => {
      let text = '';
      response.on('data', (chunk) => {
        text += String(chunk);
      });
      response.on('error', () => {});
      const ended = new Promise<void>((end) => response.once('close', () => end()));
      resolve({
        status: response.statusCode!,
        headers: response.headers,
        text: () => ended.then(() => text),
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

async function sendJson(path: string, body: object, headers: Record<string, string> = {}) {
  const answer = await send(path, { headers: { ...JSON_HEADERS, ...headers }, body: JSON.stringify(body) });
  return { ...answer, body: JSON.parse((await answer.text()).replace(/^[^{]*data: /s, '')) };
}

function frame(message: object): Uint8Array {
  const body = Buffer.from(JSON.stringify(message));
  const length = Buffer.alloc(5);
  length.writeUInt32BE(body.length, 1);
  return Buffer.concat([length, body]);
}

/** Prepares streams of a protocol. Returns a function that opens one and resolves with the status of its answer. */
const STREAMS: Readonly<Record<string, () => Promise<() => Promise<number>>>> = {
  MCP: async () => {
    const clientInfo = { name: 't', version: '1' };
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const path = new URL(server.url).pathname;
    return async () => {
      const { status, headers } = await sendJson(path, {
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params,
      });
      if (status !== 200) return status;
      const id = { accept: 'text/event-stream', 'mcp-session-id': String(headers['mcp-session-id']) };
      return (await send(path, { method: 'GET', headers: id })).status;
    };
  },
  E2B: async () => {
    const { body } = await sendJson('/sandboxes', { templateID: 'base' });
    const headers = {
      'content-type': 'application/connect+json',
      'e2b-sandbox-id': body.sandboxID,
      'e2b-sandbox-port': '49983',
      'x-access-token': body.envdAccessToken,
    };
    return async () =>
      (await send('/filesystem.Filesystem/WatchDir', { headers, body: frame({ path: '.' }) })).status;
  },
  Jupyter: async () => {
    const { body } = await sendJson('/api/kernels', { name: 'python3' });
    const url = new URL(`/api/kernels/${body.id}/channels?token=${ANN}`, server.url.replace('http', 'ws'));
    return () =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(url);
        socket.once('open', () => resolve(200));
        socket.once('unexpected-response', (_, { statusCode }) => resolve(statusCode!));
        socket.on('error', reject);
      });
  },
  'the playground': async () => {
    const { body } = await sendJson('/playground/api/sessions', { language: 'python' });
    const path = `/playground/api/sessions/${body.session_id}/events`;
    return async () => (await send(path, { method: 'GET' })).status;
  },
};

// guarantee: request-limits
// proves: A tenant that opens endless streams of any protocol closes no connection of another tenant.
test.each(Object.keys(STREAMS))(
  'endless streams of one tenant close no connection of another (%s)',
  async (protocol) => {
    const open = await STREAMS[protocol]!();
    const opened: number[] = [];
    for (let i = 0; i < MAX_CONNECTIONS; i++) opened.push(await open());
    expect(opened.slice(0, 5)).toEqual([200, 200, 200, 200, 200]);
    expect(opened.at(-1)).toBe(429);
    for (let i = 0; i < 10; i++) {
      const { status } = await send('/v2/sandboxes', { method: 'GET' }, BOB);
      expect(status).toBe(200);
    }
  },
);
