/**
 * What the hostile tenant does over the protocols of E2B, Jupyter and the playground: requests, messages and streams that are
 * expensive for the main thread, for memory or for connections. No answer may be an internal error.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { WebSocket } from 'ws';

export interface ProtocolTarget {
  readonly origin: string;
  readonly secret: string;
}

export interface ProtocolAttack {
  readonly name: string;
  /** Resolves with the statuses of the answers; 0 if the connection was closed. */
  run(target: ProtocolTarget): Promise<readonly number[]>;
}

const MiB = 1024 * 1024;
const JSON_TYPE = { 'content-type': 'application/json' };
const STREAMS = 300;
const STREAM_MS = 4000;
const REQUEST_MS = 60_000;

/** The answer to a request that the server could not handle; others say that the store of the tenant fails. */
const SERVER_FAILURE = /The server failed|Internal server error/;

/** The store fails from time to time, which is not an error of the server. */
async function statusOf(response: Response): Promise<number> {
  const text = await response.text();
  return response.status === 500 && !SERVER_FAILURE.test(text) ? 503 : response.status;
}

async function status(url: string, init: RequestInit, timeoutMs = REQUEST_MS): Promise<number> {
  try {
    return await statusOf(await fetch(url, { ...init, signal: AbortSignal.timeout(timeoutMs) }));
  } catch {
    return 0;
  }
}

const repeat = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)));

/** Opens many streams at once, and leaves them after some seconds. */
const streams = (url: string, init: RequestInit) => repeat(STREAMS, () => status(url, init, STREAM_MS));

// ---- E2B ----

interface Access {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
}

/** Runs an attack in a sandbox of its own. */
async function inSandbox(
  { origin, secret }: ProtocolTarget,
  attack: (
    send: (path: string, init: RequestInit, port?: number) => Promise<number>,
    access: Access,
  ) => Promise<number[]>,
): Promise<number[]> {
  const key = { ...JSON_TYPE, 'x-api-key': secret };
  const body = JSON.stringify({ templateID: 'base' });
  const created = await fetch(`${origin}/v2/sandboxes`, { method: 'POST', headers: key, body });
  if (created.status !== 201) return [await statusOf(created)];
  const access = (await created.json()) as Access;
  const send = (path: string, init: RequestInit, port = 49_983) =>
    status(`${origin}/${path}`, {
      method: 'POST',
      ...init,
      headers: { ...JSON_TYPE, ...(init.headers as Record<string, string>), ...headersOf(access, port) },
    });
  try {
    return await attack(send, access);
  } finally {
    await status(`${origin}/sandboxes/${access.sandboxID}`, { method: 'DELETE', headers: key });
  }
}

const headersOf = ({ sandboxID, envdAccessToken }: Access, port: number) => ({
  'e2b-sandbox-id': sandboxID,
  'e2b-sandbox-port': String(port),
  'x-access-token': envdAccessToken,
});

function frame(message: string): Uint8Array<ArrayBuffer> {
  const body = new TextEncoder().encode(message);
  const framed = new Uint8Array(5 + body.length);
  new DataView(framed.buffer).setUint32(1, body.length);
  framed.set(body, 5);
  return framed;
}

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`e${i}`, '']));
const connect = { 'content-type': 'application/connect+json' };
const STARTS = [
  { process: { cmd: '/bin/true', envs: many(80_000) } },
  { process: { cmd: '/bin/true', args: Array(400_000).fill('') } },
  { process: { cmd: '/bin/true' }, ...many(80_000) },
].map((message) => frame(JSON.stringify(message)));

/** Compressed once, so that the load takes no more of the processor than it must. */
const BOMB = new Uint8Array(gzipSync(Buffer.alloc(32 * MiB)));

const E2B: readonly ProtocolAttack[] = [
  {
    name: 'e2b, compressed uploads',
    run: async (target) => {
      const headers = { 'content-type': 'application/octet-stream', 'content-encoding': 'gzip' };
      return inSandbox(target, (send) =>
        repeat(30, (i) => send(`files?path=f${i}`, { headers, body: BOMB })),
      );
    },
  },
  {
    name: 'e2b, large starts of processes',
    run: (target) =>
      inSandbox(target, (send) =>
        Promise.all(STARTS.map((body) => send('process.Process/Start', { headers: connect, body }))),
      ),
  },
  {
    name: 'e2b, watchers of many changes',
    run: (target) =>
      inSandbox(target, async (send, access) => {
        const ids: string[] = [];
        for (let i = 0; i < 32; i++) {
          const response = await fetch(`${target.origin}/filesystem.Filesystem/CreateWatcher`, {
            method: 'POST',
            headers: { ...JSON_TYPE, ...headersOf(access, 49_983) },
            body: JSON.stringify({ path: '.', recursive: true }),
          });
          const { watcherId } = (await response.json()) as { watcherId?: string };
          if (watcherId !== undefined) ids.push(watcherId);
        }
        const code = "for i in range(9_500): open(f'f{i}', 'w').write('x')";
        const made = await send('execute', { body: JSON.stringify({ code }) }, 49_999);
        const polled = await Promise.all(
          ids.map((watcherId) =>
            send('filesystem.Filesystem/GetWatcherEvents', { body: JSON.stringify({ watcherId }) }),
          ),
        );
        const list = { body: JSON.stringify({ path: '.', depth: 9 }) };
        return [made, ...polled, ...(await repeat(20, () => send('filesystem.Filesystem/ListDir', list)))];
      }),
  },
  {
    name: 'e2b, forged signatures without a key',
    run: ({ origin }) =>
      repeat(100, (i) => status(`${origin}/files?path=x&signature=v1_${`${i}`.padEnd(43, 'A')}`, {})),
  },
  {
    name: 'e2b, streams',
    run: (target) =>
      inSandbox(target, (_, access) =>
        streams(`${target.origin}/filesystem.Filesystem/WatchDir`, {
          method: 'POST',
          headers: { ...connect, ...headersOf(access, 49_983), 'keepalive-ping-interval': '1' },
          body: frame(JSON.stringify({ path: '.' })),
        }),
      ),
  },
];

// ---- Jupyter ----

const message = (msg_type: string, content: object) =>
  JSON.stringify({
    channel: 'shell',
    header: { msg_id: randomUUID(), msg_type, session: 'x' },
    parent_header: {},
    metadata: {},
    content,
  });

/** Connects to a kernel. Resolves with 101, the status of a refusal, or 0. */
function connectTo(url: string, sockets: WebSocket[]): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url);
    sockets.push(socket);
    socket.once('open', () => resolve(101));
    socket.once('unexpected-response', (_, response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    socket.on('error', () => resolve(0));
  });
}

/** Runs an attack with clients of a new kernel. */
async function withKernel(
  { origin, secret }: ProtocolTarget,
  clients: number,
  attack: (sockets: readonly WebSocket[]) => Promise<readonly number[]>,
): Promise<readonly number[]> {
  const headers = { ...JSON_TYPE, authorization: `token ${secret}` };
  const created = await fetch(`${origin}/api/kernels`, {
    method: 'POST',
    headers,
    body: '{"name":"python3"}',
  });
  if (!created.ok) return [await statusOf(created)];
  const { id } = (await created.json()) as { id: string };
  const sockets: WebSocket[] = [];
  const url = `${origin.replace('http', 'ws')}/api/kernels/${id}/channels?token=${secret}`;
  try {
    const statuses = await repeat(clients, () => connectTo(url, sockets));
    return [
      ...statuses,
      ...(await attack(sockets.filter(({ readyState }) => readyState === WebSocket.OPEN))),
    ];
  } finally {
    for (const socket of sockets) socket.terminate();
    await status(`${origin}/api/kernels/${id}`, { method: 'DELETE', headers });
  }
}

const JUPYTER: readonly ProtocolAttack[] = [
  {
    name: 'jupyter, many messages',
    run: (target) =>
      withKernel(target, 16, async ([first]) => {
        for (let i = 0; i < 400; i++) first?.send(message('comm_info_request', { pad: 'x'.repeat(3000) }));
        await delay(STREAM_MS);
        return [];
      }),
  },
  {
    name: 'jupyter, large cell for many clients',
    run: (target) =>
      withKernel(target, 16, async ([first]) => {
        first?.send(message('execute_request', { code: `#${'é"'.repeat(1.2 * MiB)}` }));
        await delay(STREAM_MS);
        return [];
      }),
  },
  {
    name: 'jupyter, large files',
    run: (target) =>
      withKernel(target, 1, async ([first]) => {
        const code = "open('t', 'w').write('é\\n' * 5_000_000); open('b', 'wb').write(bytes(15_000_000))";
        first?.send(message('execute_request', { code }));
        await delay(STREAM_MS);
        const headers = { authorization: `token ${target.secret}` };
        return Promise.all(
          ['t', 'b?format=base64', 't?hash=1'].map((path) =>
            status(`${target.origin}/api/contents/${path}`, { headers }),
          ),
        );
      }),
  },
  {
    name: 'jupyter, connections',
    run: (target) =>
      withKernel(target, 100, async () => {
        await delay(STREAM_MS);
        return [];
      }),
  },
];

// ---- the playground ----

async function inPlayground(
  { origin, secret }: ProtocolTarget,
  attack: (url: string, headers: Record<string, string>) => Promise<number[]>,
): Promise<number[]> {
  const headers = { ...JSON_TYPE, authorization: `Bearer ${secret}` };
  const api = `${origin}/playground/api/sessions`;
  const created = await fetch(api, { method: 'POST', headers, body: '{"language":"python"}' });
  if (!created.ok) return [await statusOf(created)];
  const { session_id } = (await created.json()) as { session_id: string };
  try {
    return await attack(`${api}/${session_id}`, headers);
  } finally {
    await status(`${api}/${session_id}`, { method: 'DELETE', headers });
  }
}

const PLAYGROUND: readonly ProtocolAttack[] = [
  {
    name: 'playground, streams',
    run: (target) => inPlayground(target, (url, headers) => streams(`${url}/events`, { headers })),
  },
  {
    name: 'playground, large outputs for many pages',
    run: (target) =>
      inPlayground(target, async (url, headers) => {
        const pages = repeat(20, () => status(`${url}/events`, { headers }, STREAM_MS));
        const code = "for i in range(40): print('é' * 50_000)";
        const body = JSON.stringify({ code, language: 'python' });
        return [await status(`${url}/run`, { method: 'POST', headers, body }), ...(await pages)];
      }),
  },
];

export const PROTOCOL_ATTACKS: readonly (readonly ProtocolAttack[])[] = [E2B, JUPYTER, PLAYGROUND];
