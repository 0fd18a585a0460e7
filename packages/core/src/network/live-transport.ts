/**
 * Sends requests over the network. The HTTP client never learns the host of a request: connections are made to the addresses that
 * were checked, for the host that was checked. Nothing of the environment is used: no proxy, no cookies, no certificates of
 * clients. TLS is always verified.
 */
import { isIP, type LookupFunction } from 'node:net';
import type { buildConnector, Pool } from 'undici';
import { requireInstalled } from '../host/install-folder.ts';
import { authorityOf, type CheckedUrl, originOf } from '../schema/url-pattern.ts';
import { NetworkError } from './network-error.ts';
import { isPermittedAddress, type PermittingRule } from './network-rules.ts';
import { resolveHost } from './resolver.ts';
import type { Transport, WireResponse } from './transport.ts';
import { isConnectionHeader, type WireRequest } from './wire-request.ts';

const MAX_HEADER_BYTES = 64 * 1024;
/** More than the broker has open requests and unread responses: none of them waits for another one. */
const MAX_CONNECTIONS = 128;
const CONNECT_MS = 10_000;
const MAX_POOLS = 32;
const BUFFER_BYTES = 256 * 1024;
/** What the HTTP client knows instead of the host. No name server resolves it (RFC 6761). */
const CLIENT_ORIGIN = 'http://checked.invalid';

/** Additional certificate authorities, for tests. */
export interface TlsOptions {
  readonly ca?: string | readonly string[];
}

function checkAddress(rule: PermittingRule, host: string, address: string): void {
  if (isPermittedAddress(rule, host, address)) return;
  throw new NetworkError(
    'refused',
    `${host} has an address that is not on the public internet, and the rule ${rule.pattern.text} does not name it. Trying again will not help.`,
  );
}

/** Resolves a host and checks all its addresses. They are the addresses that the connection then uses. */
function checkedLookup(rule: PermittingRule, host: string): LookupFunction {
  return (_, options, callback) => {
    resolveHost(host).then(
      (found) => {
        try {
          if (found.length === 0) throw new NetworkError('dns', 'the host name does not resolve');
          for (const { address } of found) checkAddress(rule, host, address);
        } catch (cause) {
          callback(cause as Error, '');
          return;
        }
        if (options.all) callback(null, [...found]);
        else callback(null, found[0]!.address, found[0]!.family);
      },
      (cause: unknown) => callback(cause as Error, ''),
    );
  };
}

/** Connects to the host of a URL, whatever the HTTP client asks for. */
function connectorTo(
  { scheme: protocol, host, port }: CheckedUrl,
  rule: PermittingRule,
  connect: buildConnector.connector,
): buildConnector.connector {
  const hostname = host.replace(/^\[|\]$/g, '');
  const isAddress = isIP(hostname) !== 0;
  return (_, callback) => {
    try {
      if (isAddress) checkAddress(rule, host, hostname);
    } catch (cause) {
      callback(cause as Error, null);
      return;
    }
    connect({ protocol, hostname, port, ...(!isAddress && { servername: host }) }, callback);
  };
}

function pairs(raw: unknown): [string, string][] {
  const list = (raw as (Buffer | string)[]).map((one) =>
    typeof one === 'string' ? one : one.toString('latin1'),
  );
  return Array.from({ length: list.length >> 1 }, (_, i) => [list[2 * i]!, list[2 * i + 1]!]);
}

/** Loads the HTTP client, and the one of Node.js before it: the first of them sends the requests of the application's own `fetch`. */
function loadClient(): typeof import('undici') {
  void globalThis.Response;
  return requireInstalled('undici') as typeof import('undici');
}

export class LiveTransport implements Transport {
  readonly #pools = new Map<string, Pool>();
  #isClosed = false;

  constructor(readonly tls: TlsOptions = {}) {}

  async send(request: WireRequest, rule: PermittingRule, signal: AbortSignal): Promise<WireResponse> {
    const { method, url, headers, body } = request;
    const pool = await this.#poolOf(url, rule);
    const response = await pool.request({
      method: method as 'GET',
      path: `${url.path}${url.query}`,
      headers: ['host', authorityOf(url), ...headers.flat()],
      body: body === undefined ? null : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      signal,
      responseHeaders: 'raw',
      highWaterMark: BUFFER_BYTES,
    });
    // Aborting is not an error that nobody handles.
    response.body.on('error', () => {});
    return {
      status: response.statusCode,
      reason: response.statusText,
      headers: pairs(response.headers).filter(
        ([name]) => !isConnectionHeader(name) || name.toLowerCase() === 'content-length',
      ),
      body: response.body,
    };
  }

  /** Rules differ in the addresses that they permit, so they share no connection. */
  async #poolOf(url: CheckedUrl, rule: PermittingRule): Promise<Pool> {
    const { buildConnector, Pool } = loadClient();
    if (this.#isClosed) throw new NetworkError('failed', 'the program has ended');
    const key = `${rule.id} ${originOf(url)}`;
    const known = this.#pools.get(key);
    if (known !== undefined) return known;
    this.#closeOldest();
    const timeoutMs = rule.timeout_seconds * 1000;
    const connect = buildConnector({
      ...(this.tls as { ca?: string }),
      lookup: checkedLookup(rule, url.host),
      rejectUnauthorized: true,
      timeout: Math.min(CONNECT_MS, timeoutMs),
    });
    const pool = new Pool(CLIENT_ORIGIN, {
      connections: MAX_CONNECTIONS,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      connect: connectorTo(url, rule, connect),
    });
    this.#pools.set(key, pool);
    return pool;
  }

  /** Programs may send requests to many hosts. A pool that is closed ends the requests that it has first. */
  #closeOldest(): void {
    const [oldest] = this.#pools;
    if (oldest === undefined || this.#pools.size < MAX_POOLS) return;
    this.#pools.delete(oldest[0]);
    oldest[1].close().catch(() => {});
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const pools = [...this.#pools.values()];
    this.#pools.clear();
    await Promise.all(pools.map((pool) => pool.destroy().catch(() => {})));
  }
}
