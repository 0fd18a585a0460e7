/** Starts an HTTP server with protocols, and stops it: running calls may finish, then the sessions are saved. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { pollUntil } from '@llm-wasm-sandbox/core/internal';
import { ConnectionLimiter } from './connection-limits.ts';
import { HttpApp } from './http-app.ts';
import type { Protocol } from './protocol.ts';
import type { ServerState } from './server-state.ts';
import type { ServerSettings } from './settings.ts';
import { stopOnce } from './stop-once.ts';

export interface ListeningServer {
  readonly url: string;
  readonly state: ServerState;
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** Limit for receiving the headers and the body of a request. */
const RECEIVE_TIMEOUT_MS = 30_000;
const RECEIVE_CHECK_MS = 5_000;
/** How long the last responses may take to reach their clients. */
const RESPONSE_FLUSH_MS = 1000;

/** Starts a server. Resolves when it accepts connections. `open` creates its protocols. Its URL has the path `path`. */
export async function startHttpServer(
  state: ServerState,
  path: string,
  open: () => Promise<readonly Protocol[]>,
): Promise<ListeningServer> {
  const { settings } = state;
  const server = createServer({ connectionsCheckingInterval: RECEIVE_CHECK_MS });
  const connections = new ConnectionLimiter(server, {
    maxConnections: settings.max_connections,
    writeTimeoutMs: state.limits.writeTimeoutMs,
  });
  server.requestTimeout = RECEIVE_TIMEOUT_MS;
  server.headersTimeout = RECEIVE_TIMEOUT_MS;
  let app: HttpApp | undefined;
  try {
    app = new HttpApp(state, await open(), connections);
    listenTo(server, app, connections);
    await listen(server, settings);
  } catch (cause) {
    await (app ?? state).close().catch(() => {});
    throw cause;
  }
  const opened = app;
  const { port } = server.address() as AddressInfo;
  const host = settings.host.includes(':') ? `[${settings.host}]` : settings.host;
  const url = `http://${host}:${port}${path}`;
  const { log } = state.telemetry;
  void state.prepare();
  log.info({ event: 'server.start', transport: 'http', url, version: state.version }, 'server started');
  const { closed, stop } = stopOnce(() =>
    shutDown(server, opened).finally(() => log.info({ event: 'server.stop' }, 'server stopped')),
  );
  return { url, state, closed, close: stop };
}

function listenTo(server: Server, app: HttpApp, connections: ConnectionLimiter): void {
  server.on('request', (request, response) => void app.handle(request, response));
  if (app.protocols.every(({ upgrade }) => upgrade === undefined)) return;
  server.on('upgrade', (request, socket, head) => {
    connections.holdOpen(socket as Socket);
    void app.upgrade(request, socket as Socket, head);
  });
}

function listen(server: Server, { host, port }: ServerSettings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function shutDown(server: Server, app: HttpApp): Promise<void> {
  // While running calls finish, new requests get 503, and load balancers see that the server is not ready.
  app.isClosing = true;
  await app.state.drain();
  const ended = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  // A call ends shortly before its response is sent.
  await pollUntil(() => app.openRequests === 0, RESPONSE_FLUSH_MS);
  try {
    await app.close();
  } finally {
    server.closeAllConnections();
    await ended;
  }
}
