/**
 * Answers the requests of the playground page: a JSON interface over the sessions of a tenant. The server has checked host,
 * token, rate and size of a request before it arrives here; this module checks that it comes from the page itself.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type NextSlice, parse, SandboxError, SerialQueue } from '@llm-wasm-sandbox/core/internal';
import type { z } from 'zod';
import { HttpError } from '../server/http-error.ts';
import type { Protocol } from '../server/protocol.ts';
import { bearerToken } from '../server/request-guards.ts';
import {
  encodedJson,
  findRoute,
  type RestRequest,
  type Routes,
  respond,
  splitUrl,
} from '../server/rest-call.ts';
import type { ServerState } from '../server/server-state.ts';
import type { Tenant } from '../server/tenant.ts';
import type { Identity } from '../server/tokens.ts';
import { PAGE_PATH, SECURITY_HEADERS, sendPageFile } from './page.ts';
import { PlaygroundSession } from './playground-session.ts';
import type { TimelineEvent } from './timeline.ts';

/** Prefix of the paths of the interface. */
const API_PATH = `${PAGE_PATH}api/`;
const PREFIX_SEGMENTS = API_PATH.split('/').length - 2;
const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8' };

/** Timelines of one tenant that are kept in memory. */
const MAX_CACHED_SESSIONS = 16;
/** Pages that may watch one session at the same time. */
const MAX_WATCHERS = 32;
/** Bytes that a page may leave unread before its event stream is closed; the page then connects again. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const PING_MS = 15_000;

/** The request, as handlers receive it. */
export interface ApiCall extends RestRequest {
  readonly playground: ApiDispatcher;
  /** The parts of the path that match the `:` segments of the route. */
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  body<S extends z.ZodType>(schema: S): Promise<z.output<S>>;
  /** The session that the first part of the path names. */
  playgroundSession(): Promise<PlaygroundSession>;
}

/** A handler returns the value of a JSON response; undefined if it has sent the response. */
export type PlaygroundRoutes = Routes<ApiCall, unknown>;

export class ApiDispatcher implements Protocol {
  readonly #tenants = new Map<string, Map<string, Promise<PlaygroundSession>>>();
  readonly sendPublic = sendPageFile;

  constructor(
    readonly state: ServerState,
    readonly routes: PlaygroundRoutes,
  ) {}

  matches(path: string): boolean {
    return path.startsWith(API_PATH);
  }

  async authenticate(request: IncomingMessage): Promise<Identity> {
    return this.state.tokens.identify(bearerToken(request));
  }

  errorBody({ status, message, options }: HttpError): object {
    return { error: { code: options.code ?? String(status), message } };
  }

  /** Answers a request to a path below `API_PATH`. */
  async handle(request: RestRequest): Promise<void> {
    const { response } = request;
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
    response.setHeader('cache-control', 'no-store');
    checkSameOrigin(request.request);
    const value = await this.#dispatch(request);
    if (value !== undefined) await respond(request, 200, value, JSON_HEADERS);
  }

  async #dispatch(request: RestRequest): Promise<unknown> {
    const { method } = request.request;
    const { segments, query } = splitUrl(request.request);
    const found = findRoute(this.routes, method, segments.slice(PREFIX_SEGMENTS));
    if (found === undefined) throw new HttpError(404, 'Not found.', { code: 'not_found' });
    const { handle, params } = found;
    return handle({
      ...request,
      playground: this,
      params,
      query,
      body: async (schema) => parse(schema, await request.readJson(), 'body'),
      playgroundSession: async () => {
        const session = await this.playgroundSession(request.tenant, params[0]!);
        if (method !== 'GET') await session.refresh();
        return session;
      },
    });
  }

  #sessions(tenant: Tenant): Map<string, Promise<PlaygroundSession>> {
    const known = this.#tenants.get(tenant.id) ?? new Map<string, Promise<PlaygroundSession>>();
    this.#tenants.set(tenant.id, known);
    return known;
  }

  /** The session as the playground uses it; opens the session on first use. Throws `session_not_found`. */
  async playgroundSession(tenant: Tenant, session_id: string, origin?: string): Promise<PlaygroundSession> {
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
    const opening = tenant
      .session(session_id)
      .then((session) => PlaygroundSession.open(session, { tenant, state: this.state }, origin));
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
  async forget(tenant: Tenant, session_id: string): Promise<void> {
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

type StreamedEvent = TimelineEvent | { readonly type: 'snapshot' | 'ping' };

/** The lines of events that several pages receive. */
const lines = new WeakMap<StreamedEvent, Promise<Buffer>>();

/** An event as a line of JSON, which is encoded once for all pages. */
function encodedLine(event: StreamedEvent, nextSlice: NextSlice): Promise<Buffer> {
  const line = lines.get(event) ?? encodedJson(event, nextSlice, { end: '\n' });
  lines.set(event, line);
  return line;
}

/** Streams the changes of a session as lines of JSON, beginning with a snapshot. */
export async function streamEvents(
  { request, response, nextSlice }: ApiCall,
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
  const order = new SerialQueue();
  const write = async (event: StreamedEvent) => {
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
    if (!response.destroyed) response.write(await encodedLine(event, nextSlice));
  };
  const send = (event: StreamedEvent) => void order.run(() => write(event)).catch(() => response.destroy());
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
