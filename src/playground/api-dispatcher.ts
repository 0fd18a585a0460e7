/**
 * Answers the requests of the playground page: a JSON interface over the sessions of a tenant. The server has checked host,
 * token, rate and size of a request before it arrives here; this module checks that it comes from the page itself.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { matchPath } from '../schema/match-path.ts';
import { parse, type RuntimeName } from '../schema.ts';
import type { Session } from '../session/session.ts';
import type { SessionRegistry } from '../session/session-registry.ts';
import { PAGE_PATH, SECURITY_HEADERS } from './page.ts';
import type { PlaygroundServices, ResumeLimits } from './playground-services.ts';
import { PlaygroundSession } from './playground-session.ts';
import type { TimelineEvent } from './timeline.ts';

/** Prefix of the paths of the interface. */
export const API_PATH = `${PAGE_PATH}api/`;

/** Timelines of one tenant that are kept in memory. */
const MAX_CACHED_SESSIONS = 16;
/** Pages that may watch one session at the same time. */
const MAX_WATCHERS = 32;
/** Bytes that a page may leave unread before its event stream is closed; the page then connects again. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const PING_MS = 15_000;

/** A tenant of the server, as far as the playground uses it. */
interface PlaygroundTenant {
  readonly id: string;
  readonly sessions: SessionRegistry;
  readonly maximums: ResumeLimits;
  create(options: {
    readonly language: RuntimeName;
    readonly session_id: string;
    readonly policy: object;
  }): Promise<Session>;
  session(session_id: string): Promise<Session>;
  destroy(session_id: string): Promise<void>;
  runCancellable: PlaygroundServices['runCancellable'];
  readonly timelines: PlaygroundServices['timelines'];
}

/** A request that has passed the guards of the server. */
interface PlaygroundRequest {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly tenant: PlaygroundTenant;
  /** Reads the body as JSON, within the limits of the server. */
  readJson(): Promise<unknown>;
  /** Reads the body as bytes, within the limits of the server. */
  readBytes(): Promise<Uint8Array>;
}

/** The request, as handlers receive it. */
export interface ApiCall extends PlaygroundRequest {
  readonly playground: ApiDispatcher;
  /** The parts of the path that match the `:` segments of the route. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  body<S extends z.ZodType>(schema: S): Promise<z.output<S>>;
  /** The session that the first part of the path names. */
  playgroundSession(): Promise<PlaygroundSession>;
}

/** The value of a JSON response; undefined if the handler has sent the response. */
export type Handler = (call: ApiCall) => Promise<unknown>;

export interface Route {
  readonly method: string;
  /** Segments; `:` stands for any value. */
  readonly path: string;
  readonly handle: Handler;
}

export interface PlaygroundOptions
  extends Pick<PlaygroundServices, 'toolset'>,
    Pick<PlaygroundServices, 'clientError'> {
  readonly version: string;
  readonly routes: readonly Route[];
}

const STATUS: Readonly<Record<string, number>> = {
  file_not_found: 404,
  session_not_found: 404,
  checkpoint_not_found: 404,
  execution_not_found: 404,
  quota_exceeded: 413,
  session_busy: 409,
  session_exists: 409,
  execution_paused: 409,
  rate_limited: 429,
  queue_full: 429,
  session_limit: 429,
  internal: 500,
  store_failed: 500,
  commit_unknown: 500,
  not_installed: 500,
};

export class ApiDispatcher {
  readonly #tenants = new Map<string, Map<string, Promise<PlaygroundSession>>>();

  constructor(readonly options: PlaygroundOptions) {}

  /** Answers a request to a path below `API_PATH`. */
  async handle(request: PlaygroundRequest): Promise<void> {
    const { response } = request;
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    response.setHeader('cache-control', 'no-store');
    try {
      checkSameOrigin(request.request);
      const value = await this.#dispatch(request);
      if (value !== undefined) sendJson(response, 200, value);
    } catch (cause) {
      if (!(cause instanceof SandboxError)) throw cause;
      const { code, message } = this.options.clientError(cause);
      if (response.headersSent) response.destroy();
      else sendJson(response, STATUS[code] ?? 400, { error: { code, message } });
    }
  }

  async #dispatch(request: PlaygroundRequest): Promise<unknown> {
    const { url = '', method } = request.request;
    const [path = '', search = ''] = url.split('?', 2);
    const segments = path.slice(API_PATH.length).split('/');
    for (const route of this.options.routes) {
      const params = matchPath(route.path, segments);
      if (params === undefined || route.method !== method) continue;
      return route.handle({
        ...request,
        playground: this,
        params,
        query: new URLSearchParams(search),
        body: async (schema) => parse(schema, await request.readJson(), 'body'),
        playgroundSession: async () => {
          const session = await this.playgroundSession(request.tenant, params[0]!);
          if (method !== 'GET') await session.refresh();
          return session;
        },
      });
    }
    sendJson(request.response, 404, { error: { code: 'not_found', message: 'Not found.' } });
    return undefined;
  }

  #sessions(tenant: PlaygroundTenant): Map<string, Promise<PlaygroundSession>> {
    const known = this.#tenants.get(tenant.id) ?? new Map<string, Promise<PlaygroundSession>>();
    this.#tenants.set(tenant.id, known);
    return known;
  }

  /** The session as the playground uses it; opens the session on first use. Throws `session_not_found`. */
  async playgroundSession(
    tenant: PlaygroundTenant,
    session_id: string,
    origin?: string,
  ): Promise<PlaygroundSession> {
    const known = this.#sessions(tenant);
    const earlier = known.get(session_id);
    if (earlier !== undefined) {
      const found = await earlier.catch(() => undefined);
      if (found !== undefined && !found.session.isClosed) {
        found.lastUsedMs = Date.now();
        return found;
      }
      // Another request may have opened the session again in the meantime.
      if (known.get(session_id) !== earlier) return this.playgroundSession(tenant, session_id, origin);
    }
    const opening = tenant.session(session_id).then((session) =>
      PlaygroundSession.open(
        session,
        {
          ...this.options,
          timelines: tenant.timelines,
          runCancellable: (id, signal, work) => tenant.runCancellable(id, signal, work),
        },
        origin,
      ),
    );
    known.set(session_id, opening);
    opening.catch(() => {
      if (known.get(session_id) === opening) known.delete(session_id);
    });
    await this.#evict(known);
    return opening;
  }

  /** Removes the least recently used timelines that no page shows. */
  async #evict(known: Map<string, Promise<PlaygroundSession>>): Promise<void> {
    if (known.size <= MAX_CACHED_SESSIONS) return;
    const settled = await Promise.allSettled(
      [...known].map(async ([id, opening]) => [id, await opening] as const),
    );
    const idle = settled
      .flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      .filter(([, { isIdle, timeline }]) => isIdle && timeline.subscribers === 0)
      .sort(([, a], [, b]) => a.lastUsedMs - b.lastUsedMs);
    for (const [id] of idle.slice(0, known.size - MAX_CACHED_SESSIONS)) known.delete(id);
  }

  /** Removes a session that was deleted, and notifies the pages that show it. */
  async forget(tenant: PlaygroundTenant, session_id: string): Promise<void> {
    const known = this.#sessions(tenant);
    const playgroundSession = await known.get(session_id)?.catch(() => undefined);
    known.delete(session_id);
    playgroundSession?.timeline.emit({ type: 'deleted' });
  }

  /** Waits until all timelines are saved. */
  async close(): Promise<void> {
    const opened = [...this.#tenants.values()].flatMap((known) => [...known.values()]);
    await Promise.allSettled(opened.map(async (opening) => (await opening).save()));
  }
}

/** A name for a new session. */
export const newSessionId = (prefix: string) => `${prefix}-${randomBytes(3).toString('hex')}`;

/** Streams the changes of a session as lines of JSON, beginning with a snapshot. */
export async function streamEvents(
  { request, response }: ApiCall,
  playgroundSession: PlaygroundSession,
): Promise<void> {
  const { timeline } = playgroundSession;
  if (timeline.subscribers >= MAX_WATCHERS)
    throw new SandboxError(
      'queue_full',
      `${MAX_WATCHERS} pages are already showing this session. Close one of them.`,
    );
  const snapshot = await playgroundSession.snapshot();
  if (response.destroyed) return;
  response.writeHead(200, { 'content-type': 'application/x-ndjson; charset=utf-8' });
  const send = (event: TimelineEvent | { type: 'snapshot' | 'ping' }) => {
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    else if (!response.destroyed) response.write(`${JSON.stringify(event)}\n`);
  };
  const latest = timeline.nodes.findLast(({ kind }) => kind === 'call')?.id;
  // No other code runs between the snapshot and the subscription, so no event is lost or sent twice.
  const unsubscribe = timeline.subscribe(send);
  send({
    type: 'snapshot',
    ...snapshot,
    nodes: timeline.nodes,
    head: timeline.head,
    latest,
    detail: latest === undefined ? undefined : timeline.detail(latest),
  } as { type: 'snapshot' });
  const ping = setInterval(() => send({ type: 'ping' }), PING_MS);
  ping.unref();
  response.once('close', () => {
    clearInterval(ping);
    unsubscribe();
  });
  request.resume();
}

/** Browsers say where a request comes from. Only the page itself may use the interface. */
function checkSameOrigin({ headers }: IncomingMessage): void {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  const isOwn = origin === undefined || [`http://${host}`, `https://${host}`].includes(origin);
  if (isOwn && (site === undefined || site === 'same-origin' || site === 'none')) return;
  throw new SandboxError(
    'invalid_argument',
    'The request comes from another site. Open the playground page.',
  );
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response
    .writeHead(status, { 'content-type': 'application/json; charset=utf-8' })
    .end(JSON.stringify(value));
}
