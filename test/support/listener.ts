/** A server on the loopback interface that records every connection, for tests that check that nothing is loaded. */
import { createServer, type Socket } from 'node:net';

interface Listener extends AsyncDisposable {
  /** Start of a URL of the server, without a path. */
  readonly origin: string;
  /** First lines of the requests since the last call. Makes a request itself, so that earlier connections have arrived. */
  requests(): Promise<string[]>;
}

const OWN_REQUEST = 'GET /from-the-test HTTP/1.1';

export async function startListener(): Promise<Listener> {
  const received: string[] = [];
  const server = createServer((socket: Socket) => {
    let text = '';
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (text.includes('\r\n\r\n')) socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n');
    });
    socket.on('error', () => {});
    socket.on('close', () => received.push(text.split('\r\n')[0]!));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  return {
    origin,
    requests: async () => {
      await fetch(`${origin}/from-the-test`);
      while (!received.includes(OWN_REQUEST)) await new Promise((resolve) => setImmediate(resolve));
      return received.splice(0);
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
}

/** What `requests` returns if nothing else was requested. */
export const ONLY_OWN_REQUEST: readonly string[] = [OWN_REQUEST];
