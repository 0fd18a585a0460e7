/** The interface of the playground over HTTP, as the page and hostile clients use it. */
import { readdirSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { createSandbox, diskStore } from 'llm-wasm-sandbox';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parseTimeline, serializeTimeline } from '../../packages/server/src/playground/saved-timeline.ts';
import { Timeline } from '../../packages/server/src/playground/timeline.ts';
import { runCliHere } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { startHttp } from '../support/mcp.ts';
import { sharedByFile } from '../support/shared.ts';

const SECRETS = { alice: 'alice-secret-token-1', bob: 'bob-secret-token-12' };
const TOKENS = Object.entries(SECRETS).map(([name, secret]) => `${name}=${secret}`);

const settings = { playground: true, tokens: TOKENS, max_body_bytes: 100_000 };
const server: HttpServer = await sharedByFile(startHttp(settings));
const plain = await sharedByFile(startHttp({ tokens: TOKENS }));

interface Given {
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly token?: string | undefined;
  readonly to?: HttpServer;
}

interface Answer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: the tests read fields of many different answers
  readonly json: any;
}

/** `fetch` does not allow a client to choose its Host header. */
function send(
  path: string,
  { method = 'GET', body, headers = {}, token = SECRETS.alice, to = server }: Given = {},
): Promise<Answer> {
  const isText = typeof body === 'string';
  const sent: Record<string, string> = { ...headers };
  if (token !== undefined && token !== '') sent['authorization'] = `Bearer ${token}`;
  if (body !== undefined) sent['content-type'] ??= 'application/json';
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL(path, to.url), { method, headers: sent }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        let json: unknown;
        try {
          json = JSON.parse(text);
        } catch {}
        resolve({ status: response.statusCode!, headers: response.headers, text, json });
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end(body === undefined ? undefined : isText ? body : JSON.stringify(body));
  });
}

const api = (path: string, given?: Given) => send(`/playground/api/${path}`, given);
const post = (path: string, body: unknown = {}, given: Given = {}) =>
  api(path, { method: 'POST', body, ...given });

interface Node {
  readonly id: number;
  readonly kind: string;
  readonly status: string;
  readonly checkpoint?: string;
}

interface Event {
  readonly type: string;
  readonly node?: Node;
}

/** Reads the events of a session until one of them satisfies a condition. */
async function eventUntil(session: string, isLast: (event: Event) => boolean, to = server) {
  const controller = new AbortController();
  const response = await fetch(new URL(`/playground/api/sessions/${session}/events`, to.url), {
    headers: { authorization: `Bearer ${SECRETS.alice}` },
    signal: controller.signal,
  });
  let pending = '';
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (pending + chunk).split('\n');
    pending = lines.pop()!;
    for (const line of lines) {
      const event = JSON.parse(line);
      if (!isLast(event)) continue;
      controller.abort();
      return event;
    }
  }
  throw new Error('The event stream has ended.');
}

const snapshot = (session: string, to = server) => eventUntil(session, ({ type }) => type === 'snapshot', to);
const newSession = async (given?: Given) =>
  (await post('sessions', { language: 'python' }, given)).json.session_id as string;

/** Runs a program and returns its step, once its state is kept. */
async function run(session: string, code: string, to = server): Promise<Node> {
  const isKept = (node: Node) => node.status !== 'running' && node.checkpoint !== undefined;
  let id: number | undefined;
  const isDone = ({ type, node }: Event) => type === 'node' && node?.id === id && isKept(node!);
  const done = eventUntil(session, isDone, to);
  await snapshot(session, to);
  id = (await post(`sessions/${session}/run`, { code, language: 'python' }, { to })).json.node;
  return (await done).node;
}

describe('the playground', () => {
  // guarantee: playground
  test('is served only if it is enabled', async () => {
    for (const path of ['/playground/', '/playground/app.js', '/playground/api/info'])
      expect(await send(path, { to: plain })).toMatchObject({ status: 404 });
  });

  // guarantee: playground
  test('refuses to start without a token', async () => {
    await expect(startHttp({ playground: true })).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  // guarantee: playground
  // proves: The command `serve` refuses to combine the playground with tools.
  test('cannot be combined with tools for clients that know the token', async () => {
    const flags = ['--playground', '--token', 'x'.repeat(32), '--tools-config', 'tools.json', '--port', '0'];
    expect(await runCliHere(['serve', ...flags], '')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('playground: cannot be combined with tools_config'),
    });
  });

  // guarantee: playground
  test('rejects requests without a valid token, for another host or from another site', async () => {
    const rejected: [Given, number][] = [
      [{ token: '' }, 401],
      [{ token: 'unknown-token-unknown' }, 401],
      [{ headers: { host: 'attacker.example' } }, 403],
      [{ headers: { origin: 'https://attacker.example' } }, 403],
      [{ headers: { origin: 'http://localhost:1' } }, 400],
      [{ headers: { 'sec-fetch-site': 'cross-site' } }, 400],
    ];
    for (const [given, status] of rejected) {
      const answer = await api('sessions', given);
      expect({ given, status: answer.status }).toEqual({ given, status });
      expect(answer.text).not.toContain('session_id');
    }
  });

  // guarantee: playground
  test('keeps the sessions of tenants apart', async () => {
    const session = await newSession();
    const { bob: token } = SECRETS;
    expect((await api('sessions', { token })).json.sessions).toEqual([]);
    for (const [method, path] of [
      ['GET', 'events'],
      ['GET', 'files'],
      ['GET', 'variables'],
    ])
      expect(await api(`sessions/${session}/${path}`, { method: method!, token })).toMatchObject({
        status: 404,
      });
    expect(await api(`sessions/${session}`, { method: 'DELETE', token })).toMatchObject({ status: 404 });
    expect((await api('sessions')).json.sessions).toContainEqual(
      expect.objectContaining({ session_id: session }),
    );
  });

  // guarantee: playground
  test('sends a page that can load only its own scripts and cannot be framed', async () => {
    const { headers, text } = await send('/playground/', { token: '' });
    const policy = String(headers['content-security-policy']);
    for (const rule of [
      "default-src 'none'",
      "script-src 'self'",
      "connect-src 'self'",
      "frame-ancestors 'none'",
    ])
      expect(policy.split('; ')).toContain(rule);
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' });
    expect(text).not.toMatch(/<script(?![^>]*src="app\.js")|\son\w+=|https?:/);
  });

  test('has at most 400 KB of compressed files', async () => {
    const headers = { 'accept-encoding': 'br' };
    let bytes = 0;
    for (const file of ['', 'app.js', 'app.css', 'icon.svg']) {
      const answer = await send(`/playground/${file}`, { token: '', headers });
      expect(answer).toMatchObject({ status: 200, headers: { 'content-encoding': 'br' } });
      bytes += Number(answer.headers['content-length']);
    }
    expect(bytes).toBeLessThan(400_000);
  });

  // guarantee: playground
  test('rejects requests with unknown fields, invalid values and bodies above the limit', async () => {
    const session = await newSession();
    const rejected: [string, unknown, number][] = [
      ['run', { code: 'x', language: 'python', tools: {} }, 400],
      ['run', { code: 'x', language: 'cobol' }, 400],
      ['run', { code: 'x', language: 'python', fuel_budget: 1e15 }, 400],
      ['run', { code: 'x'.repeat(200_000), language: 'python' }, 413],
      ['run', '{', 400],
      ['rollback', { node: 10_000 }, 400],
      ['rollback', { node: '../../etc' }, 400],
      ['fork', { node: -1 }, 400],
      ['checkpoint', { name: '../x' }, 400],
      ['resume', { execution_id: 'x', resolutions: [] }, 400],
      ['unknown', {}, 404],
    ];
    for (const [path, body, status] of rejected)
      expect({ path, status: (await post(`sessions/${session}/${path}`, body)).status }).toEqual({
        path,
        status,
      });
    const file = (path: string) => api(`sessions/${session}/file?path=${encodeURIComponent(path)}`);
    expect((await file('../../etc/passwd')).status).toBeGreaterThanOrEqual(400);
    expect((await api('sessions/%ff/files')).status).toBe(400);
  });
});

describe('sessions of the playground', () => {
  test('keep every step, return to one and branch from one', async () => {
    const session = await newSession();
    const one = await run(session, 'x = 1\nopen("one.txt", "w").write("1")');
    const two = await run(session, 'x = 2');
    expect((await api(`sessions/${session}/variables`)).json.variables).toMatchObject([
      { name: 'x', repr: '2' },
    ]);
    expect((await post(`sessions/${session}/rollback`, { node: one.id })).status).toBe(200);
    expect((await api(`sessions/${session}/variables`)).json.variables).toMatchObject([
      { name: 'x', repr: '1' },
    ]);
    const fork = (await post(`sessions/${session}/fork`, { node: two.id })).json.session_id;
    expect((await api(`sessions/${fork}/variables`)).json.variables).toMatchObject([
      { name: 'x', repr: '2' },
    ]);
    expect((await api(`sessions/${fork}/files`)).json.files).toMatchObject([{ path: 'one.txt' }]);
    const { nodes, head } = await snapshot(session);
    expect(nodes.map(({ kind }: Node) => kind)).toEqual(['start', 'call', 'call', 'rollback', 'fork']);
    expect(nodes.find(({ id }: Node) => id === head).kind).toBe('rollback');
  });

  test('stream output, and stop a program', async () => {
    const session = await newSession();
    const printed = eventUntil(session, ({ type }) => type === 'output');
    await snapshot(session);
    await post(`sessions/${session}/run`, { code: 'print("go")\nwhile True: pass', language: 'python' });
    expect(await printed).toMatchObject({ stream: 'stdout', text: 'go\n' });
    expect((await post(`sessions/${session}/run`, { code: '', language: 'python' })).status).toBe(400);
    const ended = eventUntil(session, (event) => event.node?.status === 'stopped');
    expect((await post(`sessions/${session}/stop`)).json).toEqual({ stopped: true });
    await ended;
  });

  test('send files as attachments that no browser displays', async () => {
    const session = await newSession();
    const path = `sessions/${session}/file?path=a.html`;
    const headers = { 'content-type': 'application/octet-stream' };
    expect((await api(path, { method: 'PUT', body: '<script>1</script>', headers })).status).toBe(200);
    expect(await api(path)).toMatchObject({
      text: '<script>1</script>',
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': 'attachment',
        'x-content-type-options': 'nosniff',
      },
    });
    expect((await api(path, { method: 'DELETE' })).status).toBe(200);
    expect((await api(path)).status).toBe(404);
  });

  test('delete old automatic checkpoints, and no others', async () => {
    const session = await newSession();
    const { json: own } = await post(`sessions/${session}/checkpoint`, { name: 'step-1' });
    for (let i = 0; i < 24; i++)
      await api(`sessions/${session}/file?path=f`, { method: 'PUT', body: String(i) });
    const { nodes } = await snapshot(session);
    const kept = nodes.filter(({ id, checkpoint }: Node) => id !== own.node && checkpoint !== undefined);
    expect(kept).toHaveLength(20);
    expect(nodes.find(({ id }: Node) => id === own.node)).toMatchObject({ checkpoint: 'step-1' });
    expect(kept.at(-1)).toBe(nodes.at(-1));
    const answer = await post(`sessions/${session}/rollback`, { node: nodes[0].id });
    expect(answer).toMatchObject({ status: 404, json: { error: { code: 'checkpoint_not_found' } } });
  });
});

describe('a request that no rule permits', () => {
  /** Names in this domain never resolve (RFC 6761), so an approved request fails in another way than a denied one. */
  const FETCH =
    "await fetch('https://api.invalid/x', { method: 'POST', body: 'abc' }).catch(({ cause }) => console.log(cause.code));\nconsole.log('end');";
  const network_config = join(folderOfFile(), 'network.json');
  let asking: HttpServer;
  beforeAll(async () => {
    writeFileSync(network_config, '{"network":{"ask":true}}');
    asking = await startHttp({ playground: true, tokens: TOKENS, network_config });
  });
  afterAll(() => asking.close());
  const start = async () =>
    (await post('sessions', { language: 'javascript' }, { to: asking })).json.session_id as string;

  /** Runs a program, or continues it with an answer, until it has ended or paused. */
  async function until(session: string, status: string, path: string, body: object) {
    const done = eventUntil(session, ({ node }) => node?.kind === 'call' && node.status === status, asking);
    await snapshot(session, asking);
    const answer = await post(`sessions/${session}/${path}`, body, { to: asking });
    expect(answer.status).toBe(200);
    await done;
    return snapshot(session, asking);
  }
  const pause = (session: string) => until(session, 'paused', 'run', { code: FETCH, language: 'javascript' });
  const resume = (session: string, body: object, given: Given = {}) =>
    post(`sessions/${session}/resume`, body, { to: asking, ...given });

  // guarantee: network
  // proves: The playground shows the method, URL and size of a request that needs approval, and sends or refuses it as decided.
  test('is shown to the page, and is sent or refused as a person decides', async () => {
    for (const [answer, output] of [
      [{ approve: true }, 'ENOTFOUND\nend\n'],
      [{ deny: true }, 'EACCES\nend\n'],
    ] as const) {
      const session = await start();
      const { paused } = await pause(session);
      expect(paused.pending).toMatchObject([
        {
          name: 'network:request',
          reason: 'approval',
          arguments: { method: 'POST', url: 'https://api.invalid/x', body_bytes: 3 },
        },
      ]);
      const { execution_id, pending } = paused;
      const resolutions = [{ id: pending[0].id, ...answer }];
      const { detail } = await until(session, 'ok', 'resume', { execution_id, resolutions });
      expect(detail.output.map(({ text }: { text: string }) => text).join('')).toBe(output);
    }
  });

  // guarantee: network
  // proves: The playground accepts no approval of another tenant, another session or another call, and none twice or too late.
  test('is not approved by answers of others, forged ones, or those that come too late', async () => {
    const [mine, others] = [await start(), await start()];
    const { paused } = await pause(mine);
    const { paused: theirs } = await pause(others);
    const { execution_id, pending } = paused;
    const { id } = pending[0];
    const approval = { execution_id, resolutions: [{ id, approve: true }] };
    expect((await resume(mine, approval, { token: SECRETS.bob })).status).toBe(404);
    const stays = async (body: object) => {
      const failed = eventUntil(mine, ({ node }) => node?.status === 'paused', asking);
      await snapshot(mine, asking);
      if ((await resume(mine, body)).status === 200) await failed;
      const { paused: after } = await snapshot(mine, asking);
      expect(after).toMatchObject({ pending: [{ id, name: 'network:request' }] });
    };
    await stays({ ...approval, execution_id: theirs.execution_id });
    await stays({ ...approval, execution_id: '../x' });
    const forged = { status: 200, reason: 'OK', headers: [], body: '' };
    for (const resolution of [
      { id: id + 1, approve: true },
      { id, approve: true, for: 'session' },
      { id, approve: 1 },
      { id, value: forged },
    ])
      await stays({ execution_id, resolutions: [resolution] });
    // Of two answers at the same time, one is used.
    const ended = eventUntil(mine, ({ node }) => node?.status === 'ok' && node.kind === 'call', asking);
    await snapshot(mine, asking);
    const { execution_id: current } = (await snapshot(mine, asking)).paused;
    const answers = [approval, approval].map((one) => resume(mine, { ...one, execution_id: current }));
    expect((await Promise.all(answers)).map(({ status }) => status).sort()).toEqual([200, 400]);
    await ended;
    expect((await resume(mine, approval)).status).toBe(404);
    const { nodes } = await snapshot(others, asking);
    const before = nodes.find(({ kind }: Node) => kind === 'start');
    await post(`sessions/${others}/rollback`, { node: before.id }, { to: asking });
    const late = {
      execution_id: theirs.execution_id,
      resolutions: [{ id: theirs.pending[0].id, approve: true }],
    };
    expect((await resume(others, late)).status).toBe(404);
  });
});

describe('the timeline of a stored session', () => {
  const folder = folderOfFile();
  let stored: HttpServer;
  const start = async () => {
    stored = await startHttp({ playground: true, tokens: TOKENS, store: folder });
  };
  const restart = async () => {
    await stored.close();
    await start();
  };
  beforeAll(start);
  afterAll(() => stored.close());

  test('survives a restart of the server with its branches, code and output', async () => {
    const to = stored;
    const session = await newSession({ to });
    const first = await run(session, 'x = 1\nprint("one")', to);
    await run(session, 'x = 2', to);
    await post(`sessions/${session}/rollback`, { node: first.id }, { to });
    await run(session, '1 / 0', to);
    const branch = (await post(`sessions/${session}/fork`, { node: first.id }, { to })).json.session_id;
    const before = await snapshot(session, to);
    expect(before.nodes.map(({ kind }: Node) => kind)).toEqual([
      'start',
      'call',
      'call',
      'rollback',
      'call',
      'fork',
    ]);
    await restart();
    const after = await snapshot(session, stored);
    expect(after).toEqual(before);
    const { json } = await api(`sessions/${session}/nodes/${first.id}`, { to: stored });
    expect(json.detail).toMatchObject({ code: 'x = 1\nprint("one")', output: [{ text: 'one\n' }] });
    // Steps from before the restart can be returned to.
    await post(`sessions/${session}/rollback`, { node: before.nodes[2].id }, { to: stored });
    await run(session, 'print(x)', stored);
    const { nodes, head, detail } = await snapshot(session, stored);
    expect(detail.output).toEqual([{ stream: 'stdout', text: '2\n' }]);
    expect(nodes.at(-1)).toMatchObject({ id: head, parent: nodes.at(-2).id });
    expect((await snapshot(branch, stored)).nodes[0].label).toContain(`Branch of ${session}`);
    const { sessions } = (await api('sessions', { to: stored })).json;
    expect(sessions.map(({ session_id }: { session_id: string }) => session_id).sort()).toEqual(
      [session, branch].sort(),
    );
  });

  test('shows calls of other clients, loses steps whose state is gone, and ends with the session', {
    tags: 'full',
  }, async () => {
    const session = await newSession({ to: stored });
    const { checkpoint } = await run(session, 'x = 1', stored);
    await stored.close();
    const store = diskStore(join(folder, 'caller-alice'));
    const sandbox = await createSandbox({ runtime: 'python', session_id: session, store });
    await sandbox.execute('x = 2');
    await sandbox.deleteCheckpoint(checkpoint!);
    await sandbox.close();
    await start();
    const { nodes, head } = await snapshot(session, stored);
    expect(nodes.at(-1)).toMatchObject({ id: head, label: '1 call from another client' });
    expect(nodes[1]).toMatchObject({ kind: 'call', label: 'x = 1' });
    expect(nodes[1]).not.toHaveProperty('checkpoint');
    // A session that is created again under the same name has a timeline of its own.
    await stored.close();
    await store.delete(session);
    await (await createSandbox({ runtime: 'python', session_id: session, store })).close();
    await start();
    expect((await snapshot(session, stored)).nodes).toMatchObject([{ kind: 'start', label: 'New session' }]);
    await api(`sessions/${session}`, { method: 'DELETE', to: stored });
    expect(readdirSync(join(folder, 'timelines-alice'))).not.toContain(`${session}.json`);
  });
});

test.each([
  ['no JSON', '{'],
  ['another version', '{"version":2}'],
  ['a head that is not a step', undefined],
])('a stored timeline with %s is ignored', (_, text) => {
  const owner = { created_at: '2026-01-01T00:00:00Z', calls: 1 };
  const timeline = new Timeline();
  timeline.add({ kind: 'start', label: 'x', status: 'ok' });
  const saved = Buffer.from(serializeTimeline(owner, timeline));
  expect(parseTimeline(owner, saved)).toMatchObject({ head: 1, calls: 1 });
  const damaged = text ?? saved.toString().replace('"head":1', '"head":2');
  expect(parseTimeline(owner, Buffer.from(damaged))).toBeUndefined();
});
