/**
 * What a request must pass before it reaches a tool: addressed to us, from a page we know or from none, with a token,
 * not too often. Each guard answers by itself when it refuses, and says whether the request may go on.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import { SandboxError } from '../errors.ts';
import { LOCAL_TENANT } from './server-state.ts';
import { parseToken, type ServerSettings } from './settings.ts';

const LOOPBACK_NAMES = ['localhost', '127.0.0.1', '[::1]'];

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Refuses settings under which anybody on the network could run programs here. */
export function checkExposure({ host, tokens, allowed_hosts }: ServerSettings): void {
  if (isLoopback(host)) return;
  if (tokens.length === 0) {
    const advice = 'Give a token (--token or LLM_WASM_SANDBOX_TOKENS), or listen on 127.0.0.1';
    throw new SandboxError('invalid_argument', `host: ${host} can be reached by others. ${advice}.`);
  }
  if (allowed_hosts.length === 0 && ['0.0.0.0', '::'].includes(host)) {
    const advice = 'Name the hosts that clients use (--allowed-host), or "*" for any';
    throw new SandboxError('invalid_argument', `host: ${host} stands for every address. ${advice}.`);
  }
}

/** Answers with a JSON-RPC error, which MCP clients can show. */
export function sendError(
  response: ServerResponse,
  status: number,
  message: string,
  headers: Record<string, string> = {},
): false {
  const body = JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null });
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  return false;
}

/** The host name of a Host header, without the port. */
function hostName(header: string | undefined): string {
  const match = /^(\[[0-9a-fA-F:.]+\]|[^:/?#@\s]+)(?::\d+)?$/.exec(header ?? '');
  return match?.[1]?.toLowerCase() ?? '';
}

export class RequestGuards {
  readonly #hosts: Set<string>;
  readonly #tokens: readonly { readonly tenant: string; readonly hash: Buffer }[];
  readonly #rate: RateLimiterMemory;

  constructor(readonly settings: ServerSettings) {
    checkExposure(settings);
    const own = isIP(settings.host) === 6 ? `[${settings.host}]` : settings.host;
    this.#hosts = new Set(
      [...LOOPBACK_NAMES, own, ...settings.allowed_hosts].map((one) => one.toLowerCase()),
    );
    this.#tokens = settings.tokens.map((text, i) => {
      const { name, secret } = parseToken(text, i);
      return { tenant: name, hash: sha256(secret) };
    });
    const names = this.#tokens.map(({ tenant }) => tenant);
    if (new Set(names).size < names.length)
      throw new SandboxError('invalid_argument', 'tokens: two have the same name.');
    this.#rate = new RateLimiterMemory({ points: settings.rate_per_minute, duration: 60 });
  }

  /** Against pages that make a browser talk to us under their own name. */
  checkHost(request: IncomingMessage, response: ServerResponse): boolean {
    const name = hostName(request.headers.host);
    if (name !== '' && (this.#hosts.has(name) || this.#hosts.has('*'))) return true;
    return sendError(
      response,
      403,
      `Forbidden: requests for host ${JSON.stringify(name)} are not served here.`,
    );
  }

  /** Browsers name the page a request comes from; other clients do not. Sets CORS headers for pages that may call. */
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
    if (isOwnPage(origin)) return true;
    return sendError(response, 403, 'Forbidden: pages of this origin may not call.');
  }

  answerPreflight(response: ServerResponse): void {
    response.setHeader('access-control-allow-methods', 'GET, POST, DELETE, OPTIONS');
    response.setHeader(
      'access-control-allow-headers',
      'authorization, content-type, accept, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, last-event-id',
    );
    response.setHeader('access-control-max-age', '600');
    response.writeHead(204).end();
  }

  /** Who calls, or undefined for a request without a token that is known. */
  authenticate(request: IncomingMessage): string | undefined {
    if (this.#tokens.length === 0) return LOCAL_TENANT;
    const hash = sha256(bearer(request) ?? '');
    // All are compared, so that the time taken does not tell which one was close.
    return this.#tokens.filter((token) => timingSafeEqual(token.hash, hash))[0]?.tenant;
  }

  /** Asks for a token, or for another one. */
  requestToken(request: IncomingMessage, response: ServerResponse): void {
    const isWrong = bearer(request) !== undefined;
    const message = isWrong ? 'this token is not known' : 'a bearer token is needed';
    sendError(response, 401, `Unauthorized: ${message}.`, {
      'www-authenticate': `Bearer realm="llm-wasm-sandbox"${isWrong ? ', error="invalid_token"' : ''}`,
    });
  }

  async checkRate(key: string, response: ServerResponse): Promise<boolean> {
    try {
      await this.#rate.consume(key);
      return true;
    } catch (cause) {
      if (!(cause instanceof RateLimiterRes)) throw cause;
      const seconds = Math.max(1, Math.ceil(cause.msBeforeNext / 1000));
      return sendError(response, 429, `Too many requests: try again in ${seconds} s.`, {
        'retry-after': String(seconds),
      });
    }
  }
}

function bearer(request: IncomingMessage): string | undefined {
  return /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
}

function isOwnPage(origin: string): boolean {
  try {
    return LOOPBACK_NAMES.includes(new URL(origin).hostname);
  } catch {
    return false;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
