/**
 * Checks that every HTTP request must pass before it reaches a tool: host, origin, bearer token and rate. A guard that
 * rejects a request sends the response itself and returns false.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { SandboxError } from '../errors.ts';
import { sha256, sha256Hex } from '../framing/digest.ts';
import type { MinuteLimiter } from '../stores/coordination.ts';
import { quoted } from './http-error.ts';
import type { MainThreadAllowance } from './main-thread-allowance.ts';
import type { ServerSettings } from './settings.ts';
import { LOCAL_TENANT, parseTokens } from './tokens.ts';

/** Wrong secrets in a minute, of an address and of all, after which a source is suspect. */
const MAX_WRONG_SECRETS = 60;
const MAX_WRONG_SECRETS_OF_ALL = 600;
const ALL_ADDRESSES = 'all';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Rejects settings that would let anyone on the network run programs. */
function checkExposure({ host, tokens, allowed_hosts }: ServerSettings): void {
  if (isLoopback(host)) return;
  if (tokens.length === 0) {
    const advice = 'Set a token (--token or LLM_WASM_SANDBOX_TOKENS), or listen on 127.0.0.1';
    throw new SandboxError('invalid_argument', `host: ${host} is reachable from other machines. ${advice}.`);
  }
  if (allowed_hosts.length === 0 && ['0.0.0.0', '::'].includes(host)) {
    const advice = 'List the host names that clients use (--allowed-host), or "*" for any';
    throw new SandboxError('invalid_argument', `host: ${host} listens on every address. ${advice}.`);
  }
}

/** Creates the body of an error. */
type ErrorBody = (status: number, message: string) => object;

/** The bodies of errors for clients of other protocols. */
const errorBodies = new WeakMap<ServerResponse, ErrorBody>();

/** Determines the form of the errors of a response. */
export function setErrorBody(response: ServerResponse, body: ErrorBody): void {
  errorBodies.set(response, body);
}

/** Sends a JSON-RPC error, which MCP clients can display, or an error of another protocol. Returns false, so that a guard can return its result. */
export function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {},
  code = -32_000,
): false {
  const own = errorBodies.get(response)?.(status, message);
  const body = own ?? { jsonrpc: '2.0', error: { code, message }, id: null };
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  return false;
}

/** The host name in a Host header, without the port; empty if the header is malformed. */
function hostName(header: string | undefined): string {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:/?#@\s]+)(?::\d+)?$/.exec(header ?? '');
  return match?.[1]?.toLowerCase() ?? '';
}

export class RequestGuards {
  readonly #hosts: Set<string>;
  /** By the digest of their secret, so that looking one up costs the same for right and wrong secrets. */
  readonly #tenants: ReadonlyMap<string, string>;
  readonly #metricsHash: Buffer | undefined;
  readonly #rateLimiter: MinuteLimiter;
  /** Counts wrong secrets, by address and in all. */
  readonly #failures = new RateLimiterMemory({ points: MAX_WRONG_SECRETS, duration: 60 });
  readonly #tenantLimiter: MinuteLimiter;

  /** `tenantLimiter` counts the requests of tenants; by default each server counts for itself. */
  constructor(
    readonly settings: ServerSettings,
    tenantLimiter: MinuteLimiter,
  ) {
    checkExposure(settings);
    const ownHost = isIP(settings.host) === 6 ? `[${settings.host}]` : settings.host;
    this.#hosts = new Set(
      [...LOOPBACK_NAMES, ownHost, ...settings.allowed_hosts].map((name) => name.toLowerCase()),
    );
    this.#tenants = new Map(parseTokens(settings).map(({ tenant, secret }) => [sha256Hex(secret), tenant]));
    this.#metricsHash = settings.metrics_token === undefined ? undefined : sha256(settings.metrics_token);
    this.#rateLimiter = new RateLimiterMemory({ points: settings.rate_per_minute, duration: 60 });
    this.#tenantLimiter = tenantLimiter;
  }

  /** Prevents DNS rebinding: a web page must not reach the server under its own host name. */
  checkHost(request: IncomingMessage, response: ServerResponse): boolean {
    const name = hostName(request.headers.host);
    if (name !== '' && (this.#hosts.has(name) || this.#hosts.has('*'))) return true;
    return sendError(response, 403, `Forbidden: host ${quoted(name)} is not allowed.`);
  }

  /** Rejects browser requests from unknown pages, and sets CORS headers for known ones. Other clients send no Origin. */
  checkOrigin(request: IncomingMessage, response: ServerResponse): boolean {
    const { origin } = request.headers;
    if (origin === undefined) return true;
    const { cors_origins } = this.settings;
    if (cors_origins.includes(origin)) {
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader(
        'access-control-expose-headers',
        'mcp-session-id, mcp-protocol-version, www-authenticate',
      );
      response.setHeader('vary', 'origin');
      return true;
    }
    if (isLoopbackOrigin(origin)) return true;
    return sendError(response, 403, 'Forbidden: this origin is not allowed.');
  }

  answerPreflight(response: ServerResponse): void {
    response.setHeader('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS');
    response.setHeader(
      'access-control-allow-headers',
      'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id',
    );
    response.setHeader('access-control-max-age', '600');
    response.writeHead(204).end();
  }

  /** The tenant that a request belongs to, or undefined if its token is missing or unknown. */
  authenticate(request: IncomingMessage): string | undefined {
    return this.tenantOf(bearer(request));
  }

  /** The tenants that have tokens, or the only one. */
  get tenants(): string[] {
    return this.#tenants.size === 0 ? [LOCAL_TENANT] : [...this.#tenants.values()];
  }

  /** The tenant of a token; undefined if it is missing or unknown. */
  tenantOf(token: string | undefined): string | undefined {
    if (this.#tenants.size === 0) return LOCAL_TENANT;
    // The digest is compared, whose first characters no client can choose.
    return this.#tenants.get(sha256Hex(token ?? ''));
  }

  /** Whether a request may read the metrics of all tenants. If there are tokens, this requires the metrics token. */
  mayReadMetrics(request: IncomingMessage): boolean {
    if (this.#metricsHash === undefined) return this.#tenants.size === 0;
    return timingSafeEqual(this.#metricsHash, sha256(bearer(request) ?? ''));
  }

  /** Sends 401 for a missing or unknown token. */
  sendUnauthorized(request: IncomingMessage, response: ServerResponse): void {
    const hasToken = bearer(request) !== undefined;
    const message = hasToken ? 'unknown token' : 'a bearer token is required';
    sendError(response, 401, `Unauthorized: ${message}.`, {
      'www-authenticate': `Bearer realm="llm-wasm-sandbox"${hasToken ? ', error="invalid_token"' : ''}`,
    });
  }

  /** Rejects a request of a tenant that has used up its main-thread time. */
  checkMainThread(tenant: string, mainThread: MainThreadAllowance, response: ServerResponse): boolean {
    const seconds = mainThread.secondsToWait(tenant);
    if (seconds === 0) return true;
    const used = `The requests of this tenant have used ${mainThread.secondsPerMinute} s of main-thread time, which is the limit per minute`;
    return sendError(response, 429, `rate_limited: ${used}. Retry in ${seconds} s.`, {
      'retry-after': String(seconds),
    });
  }

  /** Counts a request against the rate limit of a tenant. */
  checkTenantRate(tenant: string, response: ServerResponse): Promise<boolean> {
    return this.#consume(this.#tenantLimiter, `tenant ${tenant}`, response);
  }

  /** Counts a request to the metrics against their rate limit. */
  checkMetricsRate(response: ServerResponse): Promise<boolean> {
    return this.#consume(this.#rateLimiter, 'metrics', response);
  }

  /** Whether so many wrong secrets come from an address, or from all, that its requests get only checks of small constant cost. */
  async isSuspect({ socket }: IncomingMessage): Promise<boolean> {
    const [own, all] = await Promise.all([
      this.#failures.get(addressOf(socket)),
      this.#failures.get(ALL_ADDRESSES),
    ]);
    return (
      (own?.consumedPoints ?? 0) >= MAX_WRONG_SECRETS ||
      (all?.consumedPoints ?? 0) >= MAX_WRONG_SECRETS_OF_ALL
    );
  }

  /**
   * Counts a request without a valid token against the rate limit of its address and token. Clients behind one proxy have
   * the same address, so a client with a wrong token must not use up the limit of the others. The number of keys per
   * address is bounded.
   */
  async checkFailureRate(request: IncomingMessage, response: ServerResponse): Promise<boolean> {
    const address = addressOf(request.socket);
    await Promise.all([this.#failures.penalty(address), this.#failures.penalty(ALL_ADDRESSES)]);
    const token = bearer(request);
    const bucket = token === undefined ? 'none' : sha256(token)[0];
    return this.#consume(this.#rateLimiter, `address ${address} ${bucket}`, response);
  }

  /** Counts a message on an open connection of a tenant. Returns why it is refused, or undefined. */
  async refuseMessage(tenant: string, mainThread: MainThreadAllowance): Promise<string | undefined> {
    const limited = await secondsToWait(this.#tenantLimiter, `tenant ${tenant}`);
    const seconds = Math.max(limited, mainThread.secondsToWait(tenant));
    return seconds === 0 ? undefined : `Too many messages. Retry in ${seconds} s.`;
  }

  async #consume(limiter: MinuteLimiter, key: string, response: ServerResponse): Promise<boolean> {
    const seconds = await secondsToWait(limiter, key);
    if (seconds === 0) return true;
    return sendError(response, 429, `Too many requests. Retry in ${seconds} s.`, {
      'retry-after': String(seconds),
    });
  }
}

const addressOf = ({ remoteAddress = '' }: Socket) => remoteAddress;

/** Counts a request; returns the seconds until it is allowed, 0 if it is. */
async function secondsToWait(limiter: MinuteLimiter, key: string): Promise<number> {
  try {
    await limiter.consume(key);
    return 0;
  } catch (cause) {
    if (!(cause instanceof RateLimiterRes)) throw cause;
    return Math.max(1, Math.ceil(cause.msBeforeNext / 1000));
  }
}

function bearer(request: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}

function isLoopbackOrigin(origin: string): boolean {
  try {
    return LOOPBACK_NAMES.includes(new URL(origin).hostname);
  } catch {
    return false;
  }
}
