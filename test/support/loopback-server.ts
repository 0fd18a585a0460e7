/** A server on the loopback interface that records its requests and answers by path. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { Certificate } from './certificates.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export type Answer = (request: ReceivedRequest, response: ServerResponse) => void;

const json =
  (value: unknown): Answer =>
  (_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(value));
  };

/** Megabytes of zeros in a few kilobytes. */
const BOMB = gzipSync(Buffer.alloc(8 * 1024 * 1024));

const ANSWERS: Readonly<Record<string, Answer>> = {
  '/weather': json({ city: 'Berlin', celsius: 21 }),
  '/csv': (_, response) => response.end('name,value\na,1\nb,2\n'),
  '/gzip': (_, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(gzipSync('compressed text'));
  },
  '/bomb': (_, response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end(BOMB);
  },
  '/redirect': (_, response) => response.writeHead(302, { location: '/weather' }).end(),
  '/loop': (_, response) => response.writeHead(302, { location: '/loop' }).end(),
  '/metadata': (_, response) =>
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
  '/see-other': (_, response) => response.writeHead(303, { location: '/echo' }).end(),
  '/missing': (_, response) => response.writeHead(404).end('nothing here'),
  '/cookies': (_, response) => {
    response.setHeader('set-cookie', ['a=1', 'b=2']);
    response.end();
  },
  '/big': (_, response) => response.end(Buffer.alloc(1024 * 1024, 'x')),
  '/chunks': (_, response) => {
    response.write('first ');
    setTimeout(() => response.end('second'), 20);
  },
  '/endless': (_, response) => {
    const write = () => {
      if (!response.destroyed) response.write(Buffer.alloc(64 * 1024), write);
    };
    write();
  },
  '/silent': () => {},
  '/stalled': (_, response) => response.write('start'),
  '/reset': (_, response) => response.socket!.destroy(),
  '/broken': (_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('short');
    setTimeout(() => response.socket!.destroy(), 10);
  },
  '/headers': (_, response) => response.setHeader('x-long', 'x'.repeat(100_000)).end(),
};

const echo: Answer = (request, response) => json(request)(request, response);

export interface LoopbackServer extends AsyncDisposable {
  readonly origin: string;
  readonly port: number;
  readonly requests: readonly ReceivedRequest[];
}

/** Starts a server, with HTTPS if there is a certificate. Paths that it does not know are answered with the request as JSON. */
export async function startLoopbackServer(
  answers: Readonly<Record<string, Answer>> = {},
  certificate?: Certificate,
): Promise<LoopbackServer> {
  const requests: ReceivedRequest[] = [];
  const listener = (incoming: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const { method = '', url = '', headers, rawHeaders } = incoming;
      const request = { method, url, headers, rawHeaders, body: Buffer.concat(parts).toString() };
      requests.push(request);
      const path = url.replace(/\?.*$/, '');
      (answers[path] ?? ANSWERS[path] ?? echo)(request, response);
    });
  };
  const server =
    certificate === undefined ? createServer(listener) : createTlsServer({ ...certificate }, listener);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    port,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
