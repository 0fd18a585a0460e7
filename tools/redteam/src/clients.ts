/** Clients that attacks use: of HTTP, of E2B and of Jupyter. They do as little as possible, because their time counts as the server's. */
import { randomUUID } from 'node:crypto';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { WebSocket } from 'ws';
import { TOKENS } from './corpus/secret.ts';

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export interface Sent {
  readonly method?: string;
  readonly headers?: object;
  readonly body?: string | Uint8Array;
  /** Resolves when the answer begins, and reads the rest without keeping it. */
  readonly isStream?: boolean;
}

/** Sends a request on a new connection. */
export function sendHttp(
  origin: string,
  path: string,
  { method = 'POST', headers = {}, body = '', isStream = false }: Sent = {},
): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const given = headers as OutgoingHttpHeaders;
    const outgoing = httpRequest(
      { host: hostname, port, path, method, headers: given, agent: false },
      (response) => {
        const status = response.statusCode!;
        const chunks: Buffer[] = [];
        if (isStream) resolve({ status, body: Buffer.of() });
        response.on('error', reject);
        response.on('data', (chunk: Buffer) => !isStream && chunks.push(chunk));
        response.on('end', () => resolve({ status, body: Buffer.concat(chunks) }));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** A sandbox of E2B. */
export interface E2bSandbox {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
  send(path: string, request?: Sent, port?: number): Promise<Answer>;
  /** Calls a method that answers with JSON. */
  call(method: string, message: object): Promise<Answer>;
  /** Calls a method with messages in frames. */
  stream(method: string, message: string, isStream?: boolean): Promise<Answer>;
}

export const keyOf = (tenant: keyof typeof TOKENS) => ({ 'x-api-key': TOKENS[tenant], ...JSON_TYPE });

export async function newSandbox(origin: string, tenant: keyof typeof TOKENS = 'ann'): Promise<E2bSandbox> {
  const body = '{"templateID":"base"}';
  const answer = await sendHttp(origin, '/v2/sandboxes', { headers: keyOf(tenant), body });
  const access = JSON.parse(answer.body.toString()) as E2bSandbox;
  const send = (path: string, request: Sent = {}, port = 49_983) =>
    sendHttp(origin, path, {
      ...request,
      headers: {
        ...JSON_TYPE,
        'e2b-sandbox-id': access.sandboxID,
        'e2b-sandbox-port': String(port),
        'x-access-token': access.envdAccessToken,
        ...request.headers,
      },
    });
  return {
    ...access,
    send,
    call: (method, message) => send(`/${method}`, { body: JSON.stringify(message) }),
    stream: (method, message, isStream = false) =>
      send(`/${method}`, {
        headers: { 'content-type': 'application/connect+json' },
        body: frame(message),
        isStream,
      }),
  };
}

function frame(message: string): Uint8Array {
  const body = Buffer.from(message);
  const length = Buffer.alloc(5);
  length.writeUInt32BE(body.length, 1);
  return Buffer.concat([length, body]);
}

/** Clients of a new kernel of Jupyter. */
export interface KernelClients {
  /** Sends a message of the first client. */
  send(msg_type: string, content: object): void;
  /** Resolves when each client has received this many messages that contain the text. */
  received(text: string, count?: number): Promise<void>;
  close(): void;
}

export async function kernelClients(origin: string, clients: number): Promise<KernelClients> {
  const headers = { authorization: `token ${TOKENS.ann}`, ...JSON_TYPE };
  const made = await sendHttp(origin, '/api/kernels', { headers, body: '{"name":"python3"}' });
  const { id } = JSON.parse(made.body.toString()) as { id: string };
  const url = `${origin.replace('http', 'ws')}/api/kernels/${id}/channels?token=${TOKENS.ann}`;
  const sockets = Array.from({ length: clients }, () => new WebSocket(url));
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise((resolve, reject) => {
          socket.once('open', resolve);
          socket.on('error', reject);
          socket.on('close', () => reject(new Error('the connection was closed')));
        }),
    ),
  );
  return {
    send: (msg_type, content) => {
      const header = { msg_id: randomUUID(), msg_type, session: 'x' };
      sockets[0]!.send(
        JSON.stringify({ channel: 'shell', header, parent_header: {}, metadata: {}, content }),
      );
    },
    received: async (text, count = 1) => {
      await Promise.all(sockets.map((socket) => messages(socket, text, count)));
    },
    close: () => {
      for (const socket of sockets) socket.terminate();
    },
  };
}

const messages = (socket: WebSocket, text: string, count: number) =>
  new Promise<void>((resolve, reject) => {
    let seen = 0;
    socket.on('message', (data: Buffer) => {
      if (data.includes(text) && ++seen === count) resolve();
    });
    socket.on('close', () => reject(new Error(`the connection was closed after ${seen} messages`)));
  });
