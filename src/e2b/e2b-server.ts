/**
 * Serves the protocol of E2B's SDKs: the REST interface with an API key, and the interfaces of a sandbox with its access
 * token or a signed URL. The server has checked host, rate and size of a request before it arrives here.
 */
import type { IncomingMessage } from 'node:http';
import { HttpError } from '../server/http-error.ts';
import { findRoute, headerOf, respond, splitUrl } from '../server/rest-call.ts';
import { AccessTokens, isExpired, MAX_ISSUED, MAX_RECENT, type SignedUrl } from './access-tokens.ts';
import { CODE_ROUTES } from './code-interpreter.ts';
import type { E2bCall, E2bCaller, E2bRequest, E2bRoute } from './e2b-call.ts';
import { connectError, toE2bError } from './e2b-error.ts';
import { FILE_ROUTES } from './file-transfer.ts';
import { FILESYSTEM_ROUTES } from './filesystem-service.ts';
import { SandboxProcesses } from './process-service.ts';
import { NOT_IN_A_SANDBOX, REST_ROUTES } from './rest-routes.ts';
import { Sandboxes } from './sandboxes.ts';
import { Watchers } from './watch-service.ts';

const ENVD_PORT = '49983';
const CODE_PORT = '49999';

interface E2bOptions {
  readonly signingKey: () => Promise<Uint8Array>;
  /** The tenants of the server. */
  readonly tenants: readonly string[];
  /** The tenant of an API key. */
  readonly tenantOf: (key: string | undefined) => string | undefined;
  readonly onError: (cause: unknown) => void;
}

const health: E2bRoute = {
  method: 'GET',
  path: 'health',
  handle: async ({ tenant, sandboxes, caller, response }) => {
    await sandboxes.running(tenant, caller.sandbox_id!);
    response.writeHead(204).end();
  },
};

export class E2bServer {
  readonly sandboxes = new Sandboxes();
  readonly #watchers = new Watchers();
  readonly #processes = new SandboxProcesses();
  readonly #routes: Readonly<Record<string, readonly E2bRoute[]>> = {
    [ENVD_PORT]: [
      health,
      ...FILE_ROUTES,
      ...FILESYSTEM_ROUTES,
      ...this.#watchers.routes,
      ...this.#processes.routes,
    ],
    [CODE_PORT]: [health, ...CODE_ROUTES],
  };
  readonly #tokens: AccessTokens;

  constructor(readonly options: E2bOptions) {
    this.#tokens = new AccessTokens(options.signingKey, options.tenants);
    this.sandboxes.onError = options.onError;
    this.sandboxes.onStop = (sandbox_id) => {
      this.#watchers.stop(sandbox_id);
      this.#processes.stop(sandbox_id);
    };
  }

  /**
   * Who sends a request; undefined if it has no valid key, token or signature. If many wrong secrets came from the same
   * address, a signature is compared with fewer sandboxes.
   */
  async authenticate(request: IncomingMessage, isSuspect: boolean): Promise<E2bCaller | undefined> {
    const sandbox_id = headerOf(request, 'e2b-sandbox-id');
    const { segments, query } = splitUrl(request);
    const url = segments[0] === 'files' ? signedUrl(request, query) : undefined;
    if (sandbox_id !== undefined) {
      const token = headerOf(request, 'x-access-token') ?? headerOf(request, 'e2b-traffic-access-token');
      return this.#tokens.ownerOf(sandbox_id, url ?? token ?? '');
    }
    if (url !== undefined) return this.#tokens.signerOf(url, isSuspect ? MAX_RECENT : MAX_ISSUED);
    const tenant = this.options.tenantOf(headerOf(request, 'x-api-key'));
    return tenant === undefined ? undefined : { tenant };
  }

  /** The body of an error that is sent before a request is handled. */
  errorBody(request: IncomingMessage, status: number, message: string): object {
    const text = status === 401 ? this.#refusal(request) : message;
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
    try {
      const { segments, query } = splitUrl(request.request);
      const { sandboxes } = this;
      const found = this.#route(request, segments);
      const call: E2bCall = {
        ...request,
        sandboxes,
        tokens: this.#tokens,
        query,
        signal: closed.signal,
        params: found.params,
      };
      await found.route.handle(call);
    } catch (cause) {
      const { error, isHostError } = toE2bError(cause);
      if (isHostError) this.options.onError(cause);
      if (response.headersSent) response.destroy();
      else await this.#sendError(request, error);
    }
  }

  async #sendError(call: E2bRequest, { status, message }: HttpError): Promise<void> {
    const { request, response, caller } = call;
    // The SDK of the code interpreter reports only the status and its text.
    if (headerOf(request, 'e2b-sandbox-port') === CODE_PORT && caller.sandbox_id !== undefined)
      response.statusMessage = message.replace(/[^\x20-\x7e]/g, ' ').slice(0, 1000);
    await respond(call, status, this.errorBody(request, status, message));
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
    const port = headerOf(request, 'e2b-sandbox-port') ?? ENVD_PORT;
    const routes = Object.hasOwn(this.#routes, port) ? this.#routes[port] : undefined;
    if (routes === undefined)
      throw new HttpError(502, `Nothing listens on port ${port.slice(0, 10)}: programs cannot open ports`);
    return { routes, path: segments };
  }

  close(): void {
    this.sandboxes.close();
  }
}

/** One error for all requests: creating one for each takes a noticeable part of the time of a short call. */
const CLIENT_LEFT = new Error('The connection is closed');

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
