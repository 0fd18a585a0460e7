/**
 * Requests to the server. The token arrives in the fragment of the address, is removed from the address at once, and is kept
 * for this tab only.
 */

import type { Variable } from '../packages/core/src/results/variable.ts';
import type { PausedExecution } from '../packages/core/src/schema.ts';
import type { CallDetail, TimelineEvent, TimelineNode } from '../packages/server/src/playground/timeline.ts';

export type { CallDetail, PausedExecution, TimelineEvent, TimelineNode, Variable };

const TOKEN_KEY = 'token';

export interface Info {
  readonly version: string;
  readonly languages: readonly { readonly name: string; readonly runtime: string }[];
  readonly tools: readonly { readonly name: string; readonly description?: string }[];
  readonly max_fuel_budget: number;
}

export interface SessionEntry {
  readonly session_id: string;
  readonly runtime: string;
  readonly calls: number;
}

export interface FileEntry {
  readonly path: string;
  readonly size_bytes: number;
}

export interface Snapshot {
  readonly type: 'snapshot';
  readonly session_id: string;
  readonly runtime: string;
  readonly calls: number;
  readonly nodes: readonly TimelineNode[];
  readonly head: number;
  readonly paused?: PausedExecution;
  readonly latest?: number;
  readonly detail?: CallDetail;
}

export type ServerEvent = TimelineEvent | Snapshot | { readonly type: 'ping' };

/** An error that the server reports. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** Moves the token from the address to the storage of the tab. */
export function takeToken(): void {
  const given = new URLSearchParams(location.hash.slice(1));
  const token = given.get(TOKEN_KEY);
  if (token === null) return;
  setToken(token);
  given.delete(TOKEN_KEY);
  const rest = given.toString();
  history.replaceState(null, '', location.pathname + (rest === '' ? '' : `#${rest}`));
}

export function setToken(token: string): void {
  sessionStorage.setItem(TOKEN_KEY, token);
}

export const hasToken = () => sessionStorage.getItem(TOKEN_KEY) !== null;

async function request(method: string, path: string, body?: BodyInit | object): Promise<Response> {
  const headers = new Headers({ authorization: `Bearer ${sessionStorage.getItem(TOKEN_KEY) ?? ''}` });
  const isRaw = body instanceof Blob || body instanceof Uint8Array;
  if (body !== undefined)
    headers.set('content-type', isRaw ? 'application/octet-stream' : 'application/json');
  const response = await fetch(`api/${path}`, {
    method,
    headers,
    body: body === undefined ? null : isRaw ? (body as BodyInit) : JSON.stringify(body),
    cache: 'no-store',
    credentials: 'omit',
  });
  if (response.ok) return response;
  const { error } = (await response.json().catch(() => ({}))) as {
    error?: { code?: string; message?: string };
  };
  const message = error?.message ?? `The server answered with status ${response.status}.`;
  throw new ApiError(response.status, String(error?.code ?? response.status), message);
}

const json = async <T>(method: string, path: string, body?: object) =>
  (await (await request(method, path, body)).json()) as T;

const at = (session_id: string, rest = '') => `sessions/${encodeURIComponent(session_id)}${rest}`;
const fileAt = (session_id: string, path: string) => at(session_id, `/file?path=${encodeURIComponent(path)}`);

export const api = {
  info: () => json<Info>('GET', 'info'),
  sessions: async () => (await json<{ sessions: SessionEntry[] }>('GET', 'sessions')).sessions,
  create: async (language: string) =>
    (await json<{ session_id: string }>('POST', 'sessions', { language })).session_id,
  destroy: (id: string) => json('DELETE', at(id)),
  detail: async (id: string, node: number) =>
    (await json<{ detail: CallDetail | null }>('GET', at(id, `/nodes/${node}`))).detail,
  run: (id: string, body: { code: string; language: string; fuel_budget?: number }) =>
    json<{ node: number }>('POST', at(id, '/run'), body),
  stop: (id: string) => json('POST', at(id, '/stop'), {}),
  resume: (id: string, execution_id: string, resolutions: readonly object[]) =>
    json('POST', at(id, '/resume'), { execution_id, resolutions }),
  checkpoint: (id: string, name?: string) => json('POST', at(id, '/checkpoint'), name ? { name } : {}),
  rollback: (id: string, node: number) => json('POST', at(id, '/rollback'), { node }),
  fork: async (id: string, node: number) =>
    (await json<{ session_id: string }>('POST', at(id, '/fork'), { node })).session_id,
  variables: async (id: string) =>
    (await json<{ variables: Variable[] | null }>('GET', at(id, '/variables'))).variables,
  files: async (id: string) => (await json<{ files: FileEntry[] }>('GET', at(id, '/files'))).files,
  readFile: async (id: string, path: string) => (await request('GET', fileAt(id, path))).blob(),
  writeFile: (id: string, path: string, content: Blob) => request('PUT', fileAt(id, path), content),
  deleteFile: (id: string, path: string) => request('DELETE', fileAt(id, path)),
};

/** Reads the event stream of a session until it ends or `signal` aborts. */
export async function readEvents(
  session_id: string,
  signal: AbortSignal,
  receive: (event: ServerEvent) => void,
): Promise<void> {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(TOKEN_KEY) ?? ''}` };
  const response = await fetch(`api/${at(session_id, '/events')}`, { headers, signal, cache: 'no-store' });
  if (!response.ok)
    throw new ApiError(response.status, String(response.status), 'The session is not available.');
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  let pending = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (pending + value).split('\n');
    pending = lines.pop()!;
    for (const line of lines) if (line !== '') receive(JSON.parse(line) as ServerEvent);
  }
}
