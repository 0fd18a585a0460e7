/** A server answers any protocol: what it does for each of them is shown with one that is not part of the package. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { HttpError } from '../../packages/server/src/server/http-error.ts';
import type { Protocol } from '../../packages/server/src/server/protocol.ts';

// The guests run from the built files, so the server must too.
const built = (name: string) =>
  import(new URL(`../../packages/server/dist/server/${name}.js`, import.meta.url).href);
const { startHttpServer } = (await built(
  'http-server',
)) as typeof import('../../packages/server/src/server/http-server.ts');
const { ServerState } = (await built(
  'server-state',
)) as typeof import('../../packages/server/src/server/server-state.ts');
const { resolveSettings } = (await built(
  'resolve-settings',
)) as typeof import('../../packages/server/src/server/resolve-settings.ts');
const { respond } = (await built(
  'rest-call',
)) as typeof import('../../packages/server/src/server/rest-call.ts');

const SECRET = 'a-secret-of-tenant-ann';
const state = new ServerState(
  resolveSettings({ port: 0, optimization: 'demand', tokens: [`ann=${SECRET}`], max_body_bytes: 2000 }),
);
const closed: string[] = [];

const echo: Protocol = {
  matches: (path) => path.startsWith('/echo'),
  authenticate: async ({ headers }) => state.tokens.identify(headers['x-echo-key'] as string | undefined),
  async handle(request) {
    if (request.request.url === '/echo/bug') throw new Error('a detail of the host');
    await respond(request, 200, { of: request.tenant.id, body: await request.readJson() });
  },
  errorBody: ({ status, message }: HttpError) => ({ echo: `${status} ${message}` }),
  close: async () => void closed.push('echo'),
};

let server: Awaited<ReturnType<typeof startHttpServer>>;
beforeAll(async () => {
  server = await startHttpServer(state, '/echo', async () => [echo]);
});
afterAll(() => server.close());

async function send(body: string, { key = SECRET, path = '/echo' } = {}) {
  const headers = { 'content-type': 'application/json', 'x-echo-key': key };
  const response = await fetch(new URL(path, server.url), { method: 'POST', headers, body });
  return { status: response.status, body: await response.json() };
}

test('a protocol identifies the sender and receives the body and the tenant', async () => {
  expect(await send('{"a":1}')).toEqual({ status: 200, body: { of: 'ann', body: { a: 1 } } });
});

// guarantee: request-limits
// proves: The server limits the bodies of every protocol, and answers its errors in its own form, without details of the host.
test.each([
  ['an unknown key', '{}', { key: 'another-secret-of-ann' }, 401, /^401 Unauthorized/],
  ['a body that is too large', `"${'x'.repeat(3000)}"`, {}, 413, /2000 bytes/],
  ['a body with deep arrays', '['.repeat(100), {}, 400, /^400 Bad Request/],
  ['a body that is not JSON', '{', {}, 400, /not valid JSON/],
  ['a bug', '{}', { path: '/echo/bug' }, 500, /^500 (?!.*detail)/],
  ['another path', '{}', { path: '/other' }, 404, /^404 Not found/],
])('%s is answered by the server in the form of the protocol', async (_, body, options, status, message) => {
  const answer = await send(body, options);
  expect(answer.status).toBe(status);
  expect(answer.body.echo).toMatch(message);
});

test('a protocol is closed with the server', async () => {
  await server.close();
  expect(closed).toEqual(['echo']);
});
