/**
 * Checks that every HTTP request must pass before it reaches a protocol: host, origin, token and rate. A guard that rejects
 * a request throws the error for its client.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { type MinuteLimiter, SandboxError, sha256 } from '@llm-wasm-sandbox/core/internal';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { HttpError, quoted, retryLater } from './http-error.ts';
import type { Protocol } from './protocol.ts';
import type { ServerState } from './server-state.ts';
import type { ServerSettings } from './settings.ts';

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

/** The host name in a Host header, without the port; empty if the header is malformed. */
function hostName(header: string | undefined): string {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:/?#@\s]+)(?::\d+)?$/.exec(header ?? '');
  return match?.[1]?.toLowerCase() ?? '';
}

type CorsHeaders = Protocol['corsHeaders'];

const listed = (names: readonly string[]) => [...new Set(names)].join(', ');

export class RequestGuards {
  readonly #hosts: Set<string>;
  readonly #metricsHash: Buffer | undefined;
  readonly #rateLimiter: MinuteLimiter;
  /** Counts wrong secrets, by address and in all. */
  readonly #failures = new RateLimiterMemory({ points: MAX_WRONG_SECRETS, duration: 60 });
  readonly #exposedHeaders: string;
  readonly #allowedHeaders: string;

  constructor(
    readonly state: ServerState,
    cors: readonly CorsHeaders[],
  ) {
    const { settings } = state;
    checkExposure(settings);
    const ownHost = isIP(settings.host) === 6 ? `[${settings.host}]` : settings.host;
    this.#hosts = new Set(
      [...LOOPBACK_NAMES, ownHost, ...settings.allowed_hosts].map((name) => name.toLowerCase()),
    );
    this.#metricsHash = settings.metrics_token === undefined ? undefined : sha256(settings.metrics_token);
    this.#rateLimiter = new RateLimiterMemory({ points: settings.rate_per_minute, duration: 60 });
    this.#exposedHeaders = listed([...cors.flatMap((one) => one?.read ?? []), 'www-authenticate']);
    this.#allowedHeaders = listed([
      ...['authorization', 'content-type', 'accept'],
      ...cors.flatMap((one) => one?.sent ?? []),
    ]);
  }

  /** Prevents DNS rebinding: a web page must not reach the server under its own host name. */
  checkHost(request: IncomingMessage): void {
    const name = hostName(request.headers.host);
    if (name !== '' && (this.#hosts.has(name) || this.#hosts.has('*'))) return;
    throw new HttpError(403, `Forbidden: host ${quoted(name)} is not allowed.`);
  }

  /**
   * Rejects browser requests from unknown pages, and sets CORS headers for pages of the settings, for which it returns true.
   * Other clients send no Origin.
   */
  checkOrigin(request: IncomingMessage, response: ServerResponse): boolean {
    const { origin } = request.headers;
    if (origin === undefined) return false;
    if (this.state.settings.cors_origins.includes(origin)) {
      response.setHeader('access-control-allow-origin', origin);
      response.setHeader('access-control-expose-headers', this.#exposedHeaders);
      response.setHeader('vary', 'origin');
      return true;
    }
    if (isLoopbackOrigin(origin)) return false;
    throw new HttpError(403, 'Forbidden: this origin is not allowed.');
  }

  answerPreflight(response: ServerResponse): void {
    response.setHeader('access-control-allow-methods', 'GET, POST, PUT, PATCH, DELETE, OPTIONS');
    response.setHeader('access-control-allow-headers', this.#allowedHeaders);
    response.setHeader('access-control-max-age', '600');
    response.writeHead(204).end();
  }

  /** Whether a request may read the metrics of all tenants. If there are tokens, this requires the metrics token. */
  mayReadMetrics(request: IncomingMessage): boolean {
    if (this.#metricsHash === undefined) return this.state.tokens.isEmpty;
    return timingSafeEqual(this.#metricsHash, sha256(bearerToken(request) ?? ''));
  }

  /** Counts a request against the rate limit of a tenant. */
  checkTenantRate(tenant: string): Promise<void> {
    return consume(this.state.requestLimiter, `tenant ${tenant}`);
  }

  /** Counts a request to the metrics against their rate limit. */
  checkMetricsRate(): Promise<void> {
    return consume(this.#rateLimiter, 'metrics');
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
   * The error for a request without a valid token. It counts against the rate limit of its address and token. Clients behind
   * one proxy have the same address, so a client with a wrong token must not use up the limit of the others. The number of
   * keys per address is bounded.
   */
  async unauthorized(request: IncomingMessage, token: string | undefined): Promise<HttpError> {
    const address = addressOf(request.socket);
    await Promise.all([this.#failures.penalty(address), this.#failures.penalty(ALL_ADDRESSES)]);
    const bucket = token === undefined ? 'none' : sha256(token)[0];
    await consume(this.#rateLimiter, `address ${address} ${bucket}`);
    const [message, reason] =
      token === undefined ? ['a bearer token is required', ''] : ['unknown token', ', error="invalid_token"'];
    return new HttpError(401, `Unauthorized: ${message}.`, {
      headers: { 'www-authenticate': `Bearer realm="llm-wasm-sandbox"${reason}` },
    });
  }

  /** Counts a message on an open connection of a tenant. Returns why it is refused, or undefined. */
  async refuseMessage(tenant: string): Promise<string | undefined> {
    const limited = await secondsToWait(this.state.requestLimiter, `tenant ${tenant}`);
    const seconds = Math.max(limited, this.state.mainThread.secondsToWait(tenant));
    return seconds === 0 ? undefined : `Too many messages. Retry in ${seconds} s.`;
  }
}

const addressOf = ({ remoteAddress = '' }: Socket) => remoteAddress;

/** Counts a request. Throws an error if it exceeds the limit. */
async function consume(limiter: MinuteLimiter, key: string): Promise<void> {
  const seconds = await secondsToWait(limiter, key);
  if (seconds > 0) throw retryLater(429, `Too many requests. Retry in ${seconds} s.`, seconds);
}

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

export function bearerToken(request: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}

function isLoopbackOrigin(origin: string): boolean {
  try {
    return LOOPBACK_NAMES.includes(new URL(origin).hostname);
  } catch {
    return false;
  }
}
