/**
 * Serves the REST and WebSocket interface of Jupyter Server over the sessions of a tenant. The server has checked host,
 * origin, token, rate and size of a request before it arrives here.
 */
import type { IncomingMessage } from 'node:http';
import { WebSocketServer } from 'ws';
import { HttpError } from '../server/http-error.ts';
import type { Protocol, UpgradeRequest } from '../server/protocol.ts';
import {
  findRoute,
  headerOf,
  type RestRequest,
  type Routes,
  respond,
  sendFile,
  splitUrl,
} from '../server/rest-call.ts';
import type { ServerState } from '../server/server-state.ts';
import type { Identity } from '../server/tokens.ts';
import { fileBytes, serveContents } from './contents.ts';
import { V1_PROTOCOL } from './kernel-message.ts';
import { KERNEL_ROUTES } from './kernel-routes.ts';
import { KernelSocket } from './kernel-socket.ts';
import type { JupyterCall } from './kernels.ts';
import { Kernels } from './kernels.ts';

/** WebSockets of one tenant. */
const MAX_SOCKETS_PER_TENANT = 64;
const PING_MS = 30_000;

/** Parts of Jupyter Server that cannot exist here. */
const REFUSED: Readonly<Record<string, string>> = {
  terminals: 'There are no terminals: run commands in a kernel for bash',
  nbconvert: 'Notebooks cannot be converted here: convert them with nbconvert on the client',
  workspaces: 'Layouts of the page are not stored: the server has no page',
  settings: 'Settings of the page are not stored: the server has no page',
  builds: 'The server has no page to build',
  events: 'Events are not published',
};

export class JupyterServer implements Protocol {
  readonly #kernels: Kernels;
  readonly #sockets: WebSocketServer;
  readonly #pings: NodeJS.Timeout;

  constructor(readonly state: ServerState) {
    const { version, settings } = state;
    this.#kernels = new Kernels({ version, onError: (cause) => state.logRequestError(cause) });
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: settings.max_body_bytes,
      // Compressed messages could expand to many times their size.
      perMessageDeflate: false,
      handleProtocols: (protocols) => (protocols.has(V1_PROTOCOL) ? V1_PROTOCOL : false),
    });
    this.#pings = setInterval(() => this.#kernels.ping(), PING_MS).unref();
  }

  matches(path: string): boolean {
    return path === '/api' || path.startsWith('/api/') || path.startsWith('/files/');
  }

  /** The token is in a header or, for links and WebSockets, in the query. */
  async authenticate(request: IncomingMessage): Promise<Identity> {
    const header = /^(?:token|bearer) +(\S{1,1000})$/i.exec(headerOf(request, 'authorization') ?? '')?.[1];
    return this.state.tokens.identify(header ?? splitUrl(request).query.get('token') ?? undefined);
  }

  errorBody({ message }: HttpError): object {
    return { message, reason: null };
  }

  async handle(request: RestRequest): Promise<void> {
    request.response.setHeader('cache-control', 'no-store');
    await this.#route(request);
  }

  async #route(request: RestRequest): Promise<void> {
    const { segments, query } = splitUrl(request.request);
    const [root, area = '', ...rest] = segments;
    const call: JupyterCall = { ...request, kernels: this.#kernels, params: [], query };
    if (root === 'files') return sendFile(call, await fileBytes(call, [area, ...rest].map(decoded)));
    if (area === 'contents') return serveContents(call, rest.map(decoded));
    const found = findRoute(this.#routes, request.request.method, [area, ...rest]);
    if (found !== undefined) return found.handle({ ...call, params: found.params });
    const reason = Object.hasOwn(REFUSED, area) ? REFUSED[area] : undefined;
    if (reason !== undefined) throw new HttpError(501, reason);
    throw new HttpError(404, 'This server does not have this operation of Jupyter Server');
  }

  readonly #routes: Routes<JupyterCall> = {
    ...Object.fromEntries(
      ['', 'status', 'me'].map((path) => [
        `GET ${path}`,
        async (call: JupyterCall) => respond(call, 200, await this.#facts(path, call)),
      ]),
    ),
    ...KERNEL_ROUTES,
  };

  async #facts(path: string, { kernels, tenant }: JupyterCall): Promise<object> {
    if (path === '') return { version: this.state.version };
    if (path === 'me') {
      const { id } = tenant;
      const identity = {
        username: id,
        name: id,
        display_name: id,
        initials: id.slice(0, 2),
        avatar_url: null,
        color: null,
      };
      return { identity, permissions: {} };
    }
    const all = await kernels.list(tenant);
    const models = await Promise.all(all.map(({ id }) => kernels.model(tenant, id)));
    return {
      started: this.#started,
      last_activity:
        models
          .map((one) => one.last_activity)
          .sort()
          .at(-1) ?? this.#started,
      connections: kernels.socketsOf(tenant),
      kernels: models.length,
    };
  }

  readonly #started = new Date().toISOString();

  /** Connects a client to the channels of a kernel. */
  async upgrade({ request, head, tenant, takeSocket, limits }: UpgradeRequest): Promise<void> {
    const { segments } = splitUrl(request);
    const id =
      segments.length === 4 && segments[3] === 'channels' && segments[1] === 'kernels' ? segments[2]! : '';
    const kernel = await this.#kernels.get(tenant, id);
    if (!kernel.hasRoom || this.#kernels.socketsOf(tenant) >= MAX_SOCKETS_PER_TENANT)
      throw new HttpError(429, 'The kernel or its tenant has too many connections. Close some first');
    this.#sockets.handleUpgrade(request, takeSocket(), head, (client) => {
      // Others may have connected since the request was checked.
      if (kernel.hasRoom) kernel.sockets.add(new KernelSocket(client, kernel, limits(client)));
      else client.close(1013, 'The kernel has too many connections.');
    });
  }

  async close(): Promise<void> {
    clearInterval(this.#pings);
    this.#kernels.close();
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HttpError(400, 'The path of the request is not a valid URL');
  }
}
