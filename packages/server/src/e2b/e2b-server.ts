/**
 * Serves the protocol of E2B's SDKs: the REST interface with an API key, and the interfaces of a sandbox with its access
 * token or a signed URL. The server has checked host, rate and size of a request before it arrives here.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { HttpError } from '../server/http-error.ts';
import type { Protocol } from '../server/protocol.ts';
import { findRoute, headerOf, splitUrl } from '../server/rest-call.ts';
import type { ServerState } from '../server/server-state.ts';
import type { Identity } from '../server/tokens.ts';
import { AccessTokens, isExpired, MAX_ISSUED, MAX_RECENT, type SignedUrl } from './access-tokens.ts';
import { CODE_ROUTES } from './code-interpreter.ts';
import type { E2bCaller, E2bRequest, E2bRoutes } from './e2b-call.ts';
import { connectError, toE2bError } from './e2b-error.ts';
import { FILE_ROUTES } from './file-transfer.ts';
import { FILESYSTEM_ROUTES } from './filesystem-service.ts';
import { SandboxProcesses } from './process-service.ts';
import { NOT_IN_A_SANDBOX, REST_ROUTES } from './rest-routes.ts';
import { Sandboxes } from './sandboxes.ts';
import { Watchers } from './watch-service.ts';

const ENVD_PORT = '49983';
const CODE_PORT = '49999';

const HEALTH: E2bRoutes = {
  'GET health': async ({ tenant, sandboxes, caller, response }) => {
    await sandboxes.running(tenant, caller.sandbox_id!);
    response.writeHead(204).end();
  },
};

export class E2bServer implements Protocol<E2bCaller> {
  readonly sandboxes = new Sandboxes();
  readonly #watchers = new Watchers();
  readonly #processes = new SandboxProcesses();
  readonly #routes: Readonly<Record<string, E2bRoutes>> = {
    [ENVD_PORT]: {
      ...HEALTH,
      ...FILE_ROUTES,
      ...FILESYSTEM_ROUTES,
      ...this.#watchers.routes,
      ...this.#processes.routes,
    },
    [CODE_PORT]: { ...HEALTH, ...CODE_ROUTES },
  };
  readonly #tokens: AccessTokens;

  constructor(readonly state: ServerState) {
    this.#tokens = new AccessTokens(() => state.coordination.signingKey(), state.tokens.tenants);
    this.sandboxes.onError = (cause) => state.logRequestError(cause);
    this.sandboxes.onStop = (sandbox_id) => {
      this.#watchers.stop(sandbox_id);
      this.#processes.stop(sandbox_id);
    };
  }

  /** All paths that no other protocol has. */
  matches(): boolean {
    return true;
  }

  /**
   * Who sends a request: with a key, the token of a sandbox or a signed URL. If the source is suspect, a signature is
   * compared with fewer sandboxes.
   */
  async authenticate(
    request: IncomingMessage,
    isSuspect: () => Promise<boolean>,
  ): Promise<Identity<E2bCaller>> {
    const sandbox_id = headerOf(request, 'e2b-sandbox-id');
    const { segments, query } = splitUrl(request);
    const url = segments[0] === 'files' ? signedUrl(request, query) : undefined;
    if (sandbox_id !== undefined) {
      const token = headerOf(request, 'x-access-token') ?? headerOf(request, 'e2b-traffic-access-token');
      return { caller: await this.#tokens.ownerOf(sandbox_id, url ?? token ?? '') };
    }
    if (url !== undefined)
      return { caller: this.#tokens.signerOf(url, (await isSuspect()) ? MAX_RECENT : MAX_ISSUED) };
    return { caller: this.state.tokens.identify(headerOf(request, 'x-api-key')).caller };
  }

  errorBody({ status, message }: HttpError, request: IncomingMessage, response: ServerResponse): object {
    const text = status === 401 ? this.#refusal(request) : message;
    // The SDK of the code interpreter reports only the status and its text.
    if (portOf(request) === CODE_PORT)
      response.statusMessage = text.replace(/[^\x20-\x7e]/g, ' ').slice(0, 1000);
    return isConnect(request) ? connectError(status, text) : { code: status, message: text };
  }

  #refusal(request: IncomingMessage): string {
    const { query } = splitUrl(request);
    // Clients compare this text.
    if (isExpired(query.get('signature_expiration') ?? undefined)) return 'signature is already expired';
    return headerOf(request, 'e2b-sandbox-id') === undefined && !query.has('signature')
      ? 'The API key is missing or unknown. Set E2B_API_KEY to the secret of a token of this server (serve --e2b --token NAME=SECRET).'
      : 'The access token or the signature of the URL is missing, unknown or expired. Connect to the sandbox again with Sandbox.connect(id).';
  }

  async handle(request: E2bRequest): Promise<void> {
    const { response } = request;
    const closed = new AbortController();
    response.once('close', () => closed.abort(CLIENT_LEFT));
    const { segments, query } = splitUrl(request.request);
    const { handle, params } = this.#route(request, segments);
    const { sandboxes } = this;
    const call = { ...request, sandboxes, tokens: this.#tokens, query, signal: closed.signal, params };
    await handle(call).catch((cause: unknown) => {
      throw toE2bError(cause);
    });
  }

  #route({ request, caller }: E2bRequest, segments: readonly string[]) {
    const { routes, path } = this.#reachable(request, caller, segments);
    const found = findRoute(routes, request.method, path);
    if (found !== undefined) return found;
    const reason = caller.sandbox_id === undefined ? NOT_IN_A_SANDBOX[path[0] ?? ''] : undefined;
    if (reason !== undefined) throw new HttpError(400, reason);
    throw new HttpError(404, 'This server does not have this operation of E2B');
  }

  /** The routes that a caller can reach, and the path without the version of the interface. */
  #reachable(request: IncomingMessage, caller: E2bCaller, segments: readonly string[]) {
    if (caller.sandbox_id === undefined)
      return { routes: REST_ROUTES, path: /^v\d$/.test(segments[0] ?? '') ? segments.slice(1) : segments };
    const port = portOf(request) ?? ENVD_PORT;
    const routes = Object.hasOwn(this.#routes, port) ? this.#routes[port] : undefined;
    if (routes === undefined)
      throw new HttpError(502, `Nothing listens on port ${port.slice(0, 10)}: programs cannot open ports`);
    return { routes, path: segments };
  }

  async close(): Promise<void> {
    this.sandboxes.close();
  }
}

/** One error for all requests: creating one for each takes a noticeable part of the time of a short call. */
const CLIENT_LEFT = new Error('The connection is closed');

const portOf = (request: IncomingMessage) => headerOf(request, 'e2b-sandbox-port');

const isConnect = (request: IncomingMessage) => /^\/(filesystem|process)\.[A-Z]/.test(request.url ?? '');

function signedUrl(request: IncomingMessage, query: URLSearchParams): SignedUrl | undefined {
  const signature = query.get('signature');
  if (signature === null) return undefined;
  return {
    path: query.get('path') ?? '',
    operation: request.method === 'GET' ? 'read' : 'write',
    user: query.get('username') ?? '',
    signature,
    expiration: query.get('signature_expiration') ?? undefined,
  };
}
