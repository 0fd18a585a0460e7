/** A port for a server that cannot choose one itself. */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * A port below those that systems give to outgoing connections and to servers that ask for any port, so that no other test
 * gets it between a stop and a start.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    if (await canListen(port)) return port;
  }
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
