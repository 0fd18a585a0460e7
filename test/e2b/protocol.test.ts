/**
 * Hostile clients of `serve --e2b`, with requests that no SDK sends.
 *
 * @module-tag full
 */
import { createHash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { MAX_RECENT } from '../../packages/server/src/e2b/access-tokens.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';
import { startHttp } from '../support/mcp.ts';
import '../support/property-seed.ts';
import { repetitions } from '../support/repetitions.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';

interface Access {
  readonly sandboxID: string;
  readonly envdAccessToken: string;
}

let server: Awaited<ReturnType<typeof startHttp>>;
let origin: string;
let ann: Access;
let bob: Access;

type Given = Omit<RequestInit, 'headers' | 'body'> & {
  readonly headers?: Record<string, string>;
  readonly body?: BodyInit | Uint8Array;
};

const send = (path: string, init: Given = {}) => fetch(`${origin}${path}`, init as RequestInit);
const json = (body: unknown): Given => ({
  method: 'POST',
  body: JSON.stringify(body),
  headers: { 'content-type': 'application/json' },
});

async function create(apiKey: string, body: object = {}): Promise<Access> {
  const init = json({ templateID: 'base', ...body });
  const response = await send('/v2/sandboxes', {
    ...init,
    headers: { ...init.headers!, 'x-api-key': apiKey },
  });
  expect(response.status).toBe(201);
  return (await response.json()) as Access;
}

const headersOf = ({ sandboxID, envdAccessToken }: Access, port = 49_983) => ({
  'e2b-sandbox-id': sandboxID,
  'e2b-sandbox-port': String(port),
  'x-access-token': envdAccessToken,
});

/** Sends a request to a sandbox. */
const sendTo = (access: Access, path: string, init: Given = {}, port?: number) =>
  send(path, { ...init, headers: { ...init.headers, ...headersOf(access, port) } });

/** Calls a method of a service. */
const rpc = async (access: Access, method: string, message: object) => {
  const response = await sendTo(access, `/${method}`, json(message));
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
};

function frame(message: string, flags = 0): Uint8Array {
  const body = Buffer.from(message);
  const header = Buffer.alloc(5);
  header[0] = flags;
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}

/** The values of the first promises that resolve. */
const firstEnded = <T>(promises: readonly Promise<T>[], count: number) =>
  new Promise<T[]>((resolve, reject) => {
    const values: T[] = [];
    const add = (value: T) => {
      if (values.push(value) === count) resolve(values);
    };
    for (const one of promises) one.then(add, reject);
  });

beforeAll(async () => {
  server = await startHttp({ e2b: true, tokens: [`ann=${ANN}`, `bob=${BOB}`], rate_per_minute: 100_000 });
  origin = new URL(server.url).origin;
  [ann, bob] = await Promise.all([create(ANN), create(BOB)]);
});
afterAll(() => server.close());

describe('access', () => {
  // guarantee: e2b
  // proves: The access token of a sandbox opens no other sandbox, whichever headers are combined.
  test('the token of a sandbox opens no other sandbox', async () => {
    const other = await create(ANN);
    const mixed = [
      { sandboxID: ann.sandboxID, envdAccessToken: bob.envdAccessToken },
      { sandboxID: bob.sandboxID, envdAccessToken: ann.envdAccessToken },
      { sandboxID: other.sandboxID, envdAccessToken: ann.envdAccessToken },
      { sandboxID: ann.sandboxID, envdAccessToken: ANN },
      { sandboxID: ann.sandboxID, envdAccessToken: '' },
      { sandboxID: `${ann.sandboxID}, ${bob.sandboxID}`, envdAccessToken: ann.envdAccessToken },
      { sandboxID: '../ann', envdAccessToken: ann.envdAccessToken },
    ];
    for (const access of mixed) {
      expect((await sendTo(access, '/files?path=x')).status).toBe(401);
      expect((await sendTo(access, '/execute', json({ code: '1' }), 49_999)).status).toBe(401);
      expect((await rpc(access, 'filesystem.Filesystem/Stat', { path: '.' })).status).toBe(401);
    }
    expect((await sendTo(ann, '/health')).status).toBe(204);
  });

  // guarantee: e2b
  // proves: An API key reaches no sandbox of another tenant.
  test('an API key reaches no sandbox of another tenant, and no interface of a sandbox', async () => {
    const headers = { 'x-api-key': ANN };
    for (const path of ['', '/metrics'])
      expect((await send(`/sandboxes/${bob.sandboxID}${path}`, { headers })).status).toBe(404);
    for (const action of ['pause', 'connect', 'timeout', 'fork', 'snapshots']) {
      const body = action === 'timeout' ? { timeout: 1 } : {};
      const init = json(body);
      const given = { ...init, headers: { ...init.headers!, ...headers } };
      expect((await send(`/sandboxes/${bob.sandboxID}/${action}`, given)).status).toBe(404);
    }
    expect((await send(`/sandboxes/${bob.sandboxID}`, { method: 'DELETE', headers })).status).toBe(404);
    expect((await send('/files?path=x', { headers })).status).toBe(404);
    expect((await send('/sandboxes', { headers: { 'x-api-key': 'wrong-secret-0123456789' } })).status).toBe(
      401,
    );
    expect((await sendTo(bob, '/health')).status).toBe(204);
  });

  test('a context or snapshot is not a sandbox, and other sessions are not reachable', async () => {
    const init = json({ language: 'javascript' });
    const made = await sendTo(ann, '/contexts', init, 49_999);
    const { id } = (await made.json()) as { id: string };
    const headers = { 'x-api-key': ANN };
    for (const name of [`${ann.sandboxID}-${id}`, 'default', '..%2f..', ann.sandboxID.toUpperCase()])
      expect((await send(`/sandboxes/${name}`, { headers })).status).toBe(404);
  });

  // guarantee: e2b
  // proves: A signed URL is valid for its sandbox, path, operation and time only.
  test('a signed URL is valid for its sandbox, path, operation and time only', async () => {
    await sendTo(ann, '/files?path=secret', { method: 'POST', body: 'of ann' });
    await sendTo(bob, '/files?path=secret', { method: 'POST', body: 'of bob' });
    const sign = (...parts: string[]) =>
      encodeURIComponent(
        `v1_${createHash('sha256').update(parts.join(':')).digest('base64').replace(/=+$/, '')}`,
      );
    const valid = sign('secret', 'read', '', ann.envdAccessToken);
    const read = async (query: string, headers: Record<string, string> = {}) => {
      const response = await send(`/files?${query}`, { headers });
      return response.ok ? response.text() : response.status;
    };
    expect(await read(`path=secret&signature=${valid}`)).toBe('of ann');
    expect(await read(`path=secret&signature=${valid}`, { 'e2b-sandbox-id': bob.sandboxID })).toBe(401);
    expect(await read(`path=other&signature=${valid}`)).toBe(401);
    expect(await read(`path=secret&username=root&signature=${valid}`)).toBe(401);
    expect(await read(`path=secret&signature=${sign('secret', 'write', '', ann.envdAccessToken)}`)).toBe(401);
    const past = sign('secret', 'read', '', ann.envdAccessToken, '1000');
    expect(await read(`path=secret&signature=${past}&signature_expiration=1000`)).toBe(401);
    expect(await read(`path=secret&signature=${valid}&signature_expiration=99999999999`)).toBe(401);
    const odd = sign('secret', 'read', '', ann.envdAccessToken, 'NaN');
    expect(await read(`path=secret&signature=${odd}&signature_expiration=NaN`)).toBe(401);
  });

  // guarantee: e2b
  // proves: Forged signatures are compared with few sandboxes, and lock out no client with a right secret.
  test('forged signatures are compared with few sandboxes and lock out no right secret', async () => {
    await using own = await startHttp({
      e2b: true,
      tokens: [`ann=${ANN}`],
      rate_per_minute: 200,
      max_sessions: 100,
    });
    const at = new URL(own.url).origin;
    const made: Access[] = [];
    for (let i = 0; i <= MAX_RECENT; i++) {
      const headers = { 'x-api-key': ANN, 'content-type': 'application/json' };
      const body = JSON.stringify({ templateID: 'base' });
      made.push((await (await fetch(`${at}/sandboxes`, { method: 'POST', body, headers })).json()) as Access);
    }
    const status = async (token: string) => {
      const digest = createHash('sha256').update(`none:read::${token}`).digest('base64').slice(0, 43);
      return (await fetch(`${at}/files?path=none&signature=v1_${encodeURIComponent(digest)}`)).status;
    };
    const [oldest, latest] = [made[0]!.envdAccessToken, made.at(-1)!.envdAccessToken];
    expect([await status(oldest), await status(latest)]).toEqual([404, 404]);
    // More than the rate that an address may fail.
    for (let i = 0; i < 210; i++) expect(await status(`forged ${i}`)).toBe(i < 200 ? 401 : 429);
    expect([await status(oldest), await status(latest)]).toEqual([429, 404]);
    const list = await fetch(`${at}/v2/sandboxes`, { headers: { 'x-api-key': ANN } });
    expect(list.status).toBe(200);
  });

  test('other ports, methods and paths answer nothing', async () => {
    for (const port of [80, 8080, 50_005]) expect((await sendTo(ann, '/health', {}, port)).status).toBe(502);
    expect((await sendTo(ann, '/files', { method: 'DELETE' })).status).toBe(404);
    expect((await sendTo(ann, '/sandboxes')).status).toBe(404);
    expect((await sendTo(ann, '/execute', json({ code: '1' }))).status).toBe(404);
  });
});

describe('files', () => {
  const OUTSIDE = [
    '/etc/passwd',
    '../x',
    '/home/user/../root',
    '/app/../x',
    'a/../../x',
    '/home/userx',
    'a\0b',
    '~root/x',
  ];

  // guarantee: e2b
  // proves: No path of a client leads out of the files of its sandbox.
  test.each(OUTSIDE.slice(0, 7))('the path %j is refused', async (path) => {
    const query = `/files?path=${encodeURIComponent(path)}`;
    expect((await sendTo(ann, query)).status).toBe(404);
    expect((await sendTo(ann, query, { method: 'POST', body: 'x' })).status).toBe(400);
    const form = new FormData();
    form.append('file', new Blob(['x']), path);
    if (!path.includes('\0'))
      expect((await sendTo(ann, '/files', { method: 'POST', body: form })).status).toBe(400);
    expect((await rpc(ann, 'filesystem.Filesystem/Stat', { path })).status).toBe(404);
    expect((await rpc(ann, 'filesystem.Filesystem/MakeDir', { path })).status).toBe(400);
    expect(
      (await rpc(ann, 'filesystem.Filesystem/Move', { source: 'secret', destination: path })).status,
    ).toBe(400);
  });

  test('a cell prints what pip says, which is no result', async () => {
    const code = '!pip install requests\n%pip install numpy';
    const response = await sendTo(ann, '/execute', json({ code }), 49_999);
    const lines = (await response.text()).trim().split('\n');
    const sent = lines.map((line) => JSON.parse(line) as { type: string; text?: string });
    expect(sent.filter(({ type }) => type === 'stdout')).toMatchObject([
      { text: 'Requirement already satisfied: requests\n' },
    ]);
    expect(sent.find(({ type }) => type === 'stderr')?.text).toMatch(/^ERROR: cannot install numpy: /);
    expect(sent.map(({ type }) => type)).not.toContain('result');
  });

  // guarantee: e2b
  // proves: A link in a sandbox does not lead a client to other files.
  test('a link does not lead out of the sandbox', async () => {
    const code = 'import os\nos.symlink("/etc/passwd", "link")\nos.symlink("/", "root")';
    const execution = await sendTo(ann, '/execute', json({ code }), 49_999);
    expect(await execution.text()).not.toContain('"error"');
    for (const path of ['link', 'root/etc/passwd'])
      expect((await sendTo(ann, `/files?path=${path}`)).status).toBe(404);
    const { body } = await rpc(ann, 'filesystem.Filesystem/Stat', { path: 'link' });
    expect(body).toMatchObject({ entry: { type: 'FILE_TYPE_SYMLINK', symlinkTarget: '/etc/passwd' } });
  });

  // guarantee: e2b
  // proves: Clients reach files behind links within a sandbox, and nothing else.
  test('links lead to files of the sandbox, for every operation', async () => {
    const one = await create(ANN);
    const command = [
      'mkdir -p real/deep; echo text > real/file',
      'ln -s real alias; ln -s /home/user/real absolute; ln -s /app/real/file direct; ln -s new dangling',
      'ln -s a b; ln -s b a; ln -s loop/x loop; ln -s /tmp tmp; ln -s ../../etc up; ln -s /home/user/../../etc/passwd passwd',
    ].join('\n');
    expect(
      await (await sendTo(one, '/execute', json({ code: command, language: 'bash' }), 49_999)).text(),
    ).not.toContain('"error"');
    const read = async (path: string) => {
      const response = await sendTo(one, `/files?path=${path}`);
      return response.ok ? (await response.text()).trim() : response.status;
    };
    const write = async (path: string) =>
      (await sendTo(one, `/files?path=${path}`, { method: 'POST', body: path })).status;
    for (const path of ['alias/file', 'absolute/file', 'direct', '/home/user/absolute/file'])
      expect(await read(path)).toBe('text');
    for (const path of ['a', 'loop', 'loop/x', 'tmp/x', 'up/passwd', 'passwd'])
      expect(await read(path)).toBe(404);
    for (const path of ['absolute/up', 'dangling', 'alias/deep/new/file'])
      expect(await write(path)).toBe(200);
    for (const path of ['real/up', 'new', 'real/deep/new/file'])
      expect(await read(path)).toBeTypeOf('string');
    for (const path of ['tmp/x', 'up/x', 'loop/y', 'a/x']) expect(await write(path)).toBe(400);
    // A link that leads nowhere is replaced.
    expect(await write('passwd')).toBe(200);
    expect(await read('passwd')).toBe('passwd');
    const listed = await rpc(one, 'filesystem.Filesystem/ListDir', { path: 'alias' });
    expect((listed.body['entries'] as { path: string }[]).map(({ path }) => path)).toContain(
      '/home/user/real/file',
    );
    for (const path of ['tmp', 'up', 'loop'])
      expect((await rpc(one, 'filesystem.Filesystem/ListDir', { path })).status).toBe(400);
    await rpc(one, 'filesystem.Filesystem/Move', { source: 'alias/file', destination: 'absolute/moved' });
    expect(await read('real/moved')).toBe('text');
    await rpc(one, 'filesystem.Filesystem/Remove', { path: 'alias' });
    expect(await read('real/moved')).toBe('text');
    const { body } = await rpc(one, 'filesystem.Filesystem/Stat', { path: 'absolute' });
    expect(body).toMatchObject({ entry: { type: 'FILE_TYPE_SYMLINK', symlinkTarget: '/home/user/real' } });
  });

  // guarantee: e2b
  // proves: A program cannot replace the home folder of its sandbox.
  test('a program cannot replace the home folder', async () => {
    const one = await create(ANN);
    const code = `import os, shutil
shutil.rmtree('/home/user', ignore_errors=True)
for call in [lambda: os.rmdir('/home/user'), lambda: os.symlink('/tmp', '/home/user'), lambda: os.rename('/home/user', '/tmp/u'),
             lambda: os.unlink('/app'), lambda: os.symlink('/', '/app')]:
    try: call()
    except OSError: pass
    else: print('replaced')
open('/home/user/kept', 'w').write('text')`;
    const text = await (await sendTo(one, '/execute', json({ code }), 49_999)).text();
    expect(text).not.toMatch(/"error"|replaced/);
    expect(await (await sendTo(one, '/files?path=/home/user/kept')).text()).toBe('text');
    expect(await (await sendTo(one, '/files?path=/app/kept')).text()).toBe('text');
  });

  test('an upload can be a text of a form, and an expired URL is reported as such', async () => {
    const form = new FormData();
    form.append('file', 'text');
    expect((await sendTo(ann, '/files?path=form', { method: 'POST', body: form })).status).toBe(200);
    expect(await (await sendTo(ann, '/files?path=form')).text()).toBe('text');
    expect((await sendTo(ann, '/files', { method: 'POST', body: form })).status).toBe(400);
    const expired = await send('/files?path=form&signature=v1_x&signature_expiration=1000');
    expect(await expired.json()).toEqual({ code: 401, message: 'signature is already expired' });
  });

  // guarantee: e2b
  // proves: Uploads are limited, also if they are compressed or damaged.
  test('an upload is limited, also if it is compressed or a damaged form', async () => {
    const big = Buffer.alloc(5 * 1024 * 1024);
    expect((await sendTo(ann, '/files?path=big', { method: 'POST', body: big })).status).toBe(413);
    const garbage = { method: 'POST', body: randomBytes(100), headers: { 'content-encoding': 'gzip' } };
    expect((await sendTo(ann, '/files?path=z', garbage)).status).toBe(400);
    const form = {
      method: 'POST',
      body: 'x',
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    };
    expect((await sendTo(ann, '/files', form)).status).toBe(400);
    const long = 'd/'.repeat(3000);
    expect((await sendTo(ann, `/files?path=${long}f`, { method: 'POST', body: 'x' })).status).toBe(400);
    const { status } = await rpc(ann, 'filesystem.Filesystem/MakeDir', { path: 'n'.repeat(300) });
    expect(status).toBe(400);
  });

  // guarantee: e2b
  // proves: What a compressed upload expands to counts as bytes of the tenant.
  test('what a compressed upload expands to counts as bytes of the tenant', async () => {
    const one = await create(ANN);
    const upload = async (content: Uint8Array, type = 'application/octet-stream') => {
      const headers = { 'content-encoding': 'gzip', 'content-type': type };
      // Not at once: while this thread is busy, the server closes the idle connections that the next request would use.
      const body = await promisify(gzip)(content);
      const path = type === FORM_TYPE ? '/files' : '/files?path=zipped';
      return sendTo(one, path, { method: 'POST', body, headers });
    };
    const FORM_TYPE = 'multipart/form-data; boundary=b';
    const form = (content: Uint8Array) =>
      Buffer.concat([
        Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="part"\r\n\r\n'),
        content,
        Buffer.from('\r\n--b--'),
      ]);
    // A body may expand to more than it may have as it is sent.
    const large = Buffer.alloc(10 * 1024 * 1024, 'x');
    expect((await upload(large)).status).toBe(200);
    expect((await upload(form(large), FORM_TYPE)).status).toBe(200);
    for (const path of ['zipped', 'part'])
      expect((await (await sendTo(one, `/files?path=${path}`)).arrayBuffer()).byteLength).toBe(large.length);
    // The workspace has room for 64 MiB, but a connection may have 32 MiB in progress, including the response.
    const larger = Buffer.alloc(31 * 1024 * 1024);
    for (const answer of [await upload(larger), await upload(form(larger), FORM_TYPE)]) {
      expect(answer.status).toBe(507);
      expect(await answer.text()).toContain('31457280 bytes');
    }
  });

  test('a form writes all of its files or none', async () => {
    const one = await create(ANN);
    const upload = async (...names: string[]) => {
      const form = new FormData();
      for (const name of names) form.append('file', new Blob([name]), name);
      return (await sendTo(one, '/files', { method: 'POST', body: form })).status;
    };
    const namesOf = async () => {
      const { body } = await rpc(one, 'filesystem.Filesystem/ListDir', { path: '.', depth: 3 });
      return (body['entries'] as { path: string }[]).map(({ path }) => path.slice('/home/user/'.length));
    };
    expect(await upload('a', 'd/b', '/app/d/c')).toBe(200);
    expect(await namesOf()).toEqual(['a', 'd', 'd/b', 'd/c']);
    for (const refused of ['a/in', 'd', 'n'.repeat(300), '../x'])
      expect(await upload('new', refused)).toBe(400);
    expect(await upload(...Array.from({ length: 1001 }, (_, i) => `f${i}`))).toBe(413);
    expect(await namesOf()).toEqual(['a', 'd', 'd/b', 'd/c']);
  });

  test('a move cannot break the tree', async () => {
    await rpc(bob, 'filesystem.Filesystem/MakeDir', { path: 'a/b/c' });
    const move = (source: string, destination: string) =>
      rpc(bob, 'filesystem.Filesystem/Move', { source, destination });
    expect((await move('a', 'a/b/c/d')).status).toBe(400);
    expect((await move('.', 'x')).status).toBe(400);
    expect((await move('a', '.')).status).toBe(400);
    expect((await move('secret', 'a')).status).toBe(400);
    expect((await move('a', 'secret/in')).status).toBe(400);
    expect((await move('a', 'a')).status).toBe(200);
    const { body } = await rpc(bob, 'filesystem.Filesystem/ListDir', { path: '.', depth: 9 });
    expect((body['entries'] as { path: string }[]).map(({ path }) => path)).toEqual([
      '/home/user/a',
      '/home/user/a/b',
      '/home/user/a/b/c',
      '/home/user/secret',
    ]);
  });
});

describe('queue', () => {
  // guarantee: e2b
  // proves: The programs that wait for another one of their context are limited in number, and none of them is lost.
  test('programs of a context that wait are limited, and none of them is lost', async () => {
    const one = await create(ANN);
    const run = async (code: string) => {
      const response = await sendTo(one, '/execute', json({ code }), 49_999);
      return { status: response.status, text: await response.text() };
    };
    await run('n = 0');
    const first = run('import time\nfor _ in range(100): time.sleep(0.1)\nn');
    const begun = Array.from({ length: 120 }, () => run('n += 1\nn'));
    const refused = (await firstEnded(begun, 20)).filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(19);
    for (const { status, text } of refused) {
      expect(status).toBe(429);
      expect(text).toContain('The queue of calls is full (limit 100)');
    }
    const answered = (await Promise.all([first, ...begun])).filter(({ status }) => status === 200);
    const values = answered.map(({ text }) => Number(/"text":"(\d+)"/.exec(text)![1]));
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: answered.length }, (_, i) => i));
    expect(answered.length + refused.length).toBe(121);
  });
});

describe('streams', () => {
  const start = (body: Uint8Array, headers: Record<string, string> = {}) =>
    sendTo(ann, '/process.Process/Start', {
      method: 'POST',
      body: body as BodyInit,
      headers: { 'content-type': 'application/connect+json', ...headers },
    });

  test('messages that are damaged, compressed or too deep are refused', async () => {
    const messages = [
      new Uint8Array(),
      frame('{'),
      frame('{}', 1),
      frame('{}').subarray(0, 6),
      frame('[[]]'),
    ];
    for (const message of messages)
      expect(await (await start(message)).text()).toMatch(/"error":\{"code":"invalid_argument"/);
    expect(await (await start(frame(`${'['.repeat(200_000)}`))).text()).toContain('"error"');
    const many = { process: { cmd: 'x', args: Array.from({ length: 1100 }, () => '') } };
    expect(await (await start(frame(JSON.stringify(many)))).text()).toContain('invalid_argument');
  });

  // guarantee: e2b
  // proves: A message with very many members or levels is refused before it is parsed.
  test('messages with many members or levels are refused before they are parsed', async () => {
    const members = Object.fromEntries(Array.from({ length: 70_000 }, (_, i) => [`e${i}`, '']));
    const process = { cmd: '/bin/true' };
    const messages = [
      { process: { ...process, envs: members } },
      { process, ...members },
      { process: { ...process, args: Array(300_000).fill([]) } },
    ].map((message) => JSON.stringify(message));
    for (const message of messages)
      expect(await (await start(frame(message))).text()).toContain('more than 2000 members');
    expect(await (await start(frame('['.repeat(900_000)))).text()).toContain('more than 64 levels');
    const name = JSON.stringify({ process: { ...process, envs: { ['='.repeat(50_000)]: '' } } });
    const refusal = await (await start(frame(name))).text();
    expect(refusal).toContain('more than 4096 characters');
    expect(refusal.length).toBeLessThan(1000);
  });

  test('processes that are started at the same time are limited, and all of them can be ended', async () => {
    const one = await create(ANN);
    const command = frame(JSON.stringify({ process: { cmd: '/bin/sleep', args: ['1000'] } }));
    const begun = Array.from({ length: 40 }, () =>
      sendTo(one, '/process.Process/Start', {
        method: 'POST',
        body: command as BodyInit,
        headers: { 'content-type': 'application/connect+json' },
      }).then((response) => response.text()),
    );
    const list = async () =>
      (await rpc(one, 'process.Process/List', {})).body['processes'] as { readonly pid: number }[];
    for (const text of await firstEnded(begun, 8)) expect(text).toContain('32 processes are already running');
    const running = await list();
    expect(running).toHaveLength(32);
    for (const { pid } of running)
      await rpc(one, 'process.Process/SendSignal', { process: { pid }, signal: 'SIGNAL_SIGKILL' });
    const texts = await Promise.all(begun);
    expect(texts.filter((text) => text.includes('"exitCode":137'))).toHaveLength(32);
    expect(await list()).toEqual([]);
  });

  test('processes that are ended at any instant leave nothing behind', async () => {
    const one = await create(ANN);
    const cmd =
      'while true; do (echo a | cat > file) & python3 -c "import os; os.system(chr(58))"; wait; done';
    const message = frame(JSON.stringify({ process: { cmd: '/bin/bash', args: ['-c', cmd] } }));
    const [instants] = fc.sample(
      fc.array(fc.integer({ min: 1, max: 600 }), { minLength: repetitions(24, 200), maxLength: 200 }),
      1,
    );
    while (instants!.length > 0) {
      const group = instants!.splice(0, 8).map(async (ms) => {
        const response = await sendTo(one, '/process.Process/Start', {
          method: 'POST',
          body: message as BodyInit,
          headers: { 'content-type': 'application/connect+json', 'connect-timeout-ms': String(ms) },
        });
        await response.arrayBuffer();
      });
      await Promise.all(group);
    }
    const running = async () => (await rpc(one, 'process.Process/List', {})).body['processes'];
    await expect.poll(running, { timeout: 60_000 }).toEqual([]);
    expect(server.state.tenant('ann').calls.count(one.sandboxID)).toBe(0);
    const response = await sendTo(one, '/execute', json({ code: '6 * 7' }), 49_999);
    expect(await response.text()).toContain('"text":"42"');
  });

  test('arguments are data, never code', async () => {
    const argument = '`);process.exit(9);(`$ {1}\\"\u2028$(exit 8)';
    const message = { process: { cmd: '/bin/echo', args: [argument] } };
    const text = await (await start(frame(JSON.stringify(message)))).text();
    const output = [...text.matchAll(/"stdout":"([^"]*)"/g)].map(([, part]) => Buffer.from(part!, 'base64'));
    expect(Buffer.concat(output).toString()).toBe(`${argument}\n`);
    expect(text).toContain('"exitCode":0');
  });

  // guarantee: e2b
  // proves: Watchers and processes are limited in number and end with the sandbox.
  test('watchers and processes are limited and end with the sandbox', async () => {
    const one = await create(ANN);
    const stream = (path: string, message: object) => {
      const left = new AbortController();
      const response = sendTo(one, path, {
        method: 'POST',
        body: frame(JSON.stringify(message)) as BodyInit,
        headers: { 'content-type': 'application/connect+json' },
        signal: left.signal,
      });
      return { left, response };
    };
    const watches = Array.from({ length: 16 }, () =>
      stream('/filesystem.Filesystem/WatchDir', { path: '.' }),
    );
    const opened = await Promise.all(watches.map(({ response }) => response));
    const watch = async () => {
      const { response, left } = stream('/filesystem.Filesystem/WatchDir', { path: '.' });
      const reader = (await response).body!.getReader();
      const text = new TextDecoder().decode((await reader.read()).value);
      left.abort();
      return text;
    };
    expect(await watch()).toContain('resource_exhausted');
    for (const { left } of watches.slice(0, 8)) left.abort();
    await expect.poll(watch, { timeout: 20_000 }).toContain('"start"');
    const first = await rpc(one, 'filesystem.Filesystem/CreateWatcher', { path: '.' });
    for (let i = 0; i < 32; i++) await rpc(one, 'filesystem.Filesystem/CreateWatcher', { path: '.' });
    const events = await rpc(one, 'filesystem.Filesystem/GetWatcherEvents', first.body);
    expect(events.status).toBe(404);
    const sleeping = stream('/process.Process/Start', { process: { cmd: '/bin/sleep', args: ['1000'] } });
    const process = await sleeping.response;
    await expect
      .poll(async () => ((await rpc(one, 'process.Process/List', {})).body['processes'] as unknown[]).length)
      .toBe(1);
    await send(`/sandboxes/${one.sandboxID}`, { method: 'DELETE', headers: { 'x-api-key': ANN } });
    for (const response of opened.slice(8)) expect(await response.text()).toContain('"unavailable"');
    expect(await process.text()).toMatch(/"unavailable".*the sandbox was killed/);
  });

  test('watchers that a client asks see each change once', async () => {
    const { body } = await rpc(ann, 'filesystem.Filesystem/CreateWatcher', { path: '.', recursive: true });
    await sendTo(ann, '/files?path=seen/file', { method: 'POST', body: 'x' });
    const events = async () =>
      (await rpc(ann, 'filesystem.Filesystem/GetWatcherEvents', body)).body['events'];
    expect(await events()).toMatchObject([
      { name: 'seen', type: 'EVENT_TYPE_CREATE' },
      { name: 'seen/file', type: 'EVENT_TYPE_CREATE' },
      { name: 'seen/file', type: 'EVENT_TYPE_WRITE' },
    ]);
    expect(await events()).toEqual([]);
    expect((await rpc(bob, 'filesystem.Filesystem/GetWatcherEvents', body)).status).toBe(404);
    expect((await rpc(ann, 'filesystem.Filesystem/RemoveWatcher', body)).status).toBe(200);
    expect((await rpc(ann, 'filesystem.Filesystem/GetWatcherEvents', body)).status).toBe(404);
  });

  // guarantee: e2b
  // proves: Watchers receive very many changes in parts, and lists of very many files arrive completely.
  test('very many changes and files are reported in parts, completely', async () => {
    const one = await create(ANN);
    const watcher = async () =>
      (await rpc(one, 'filesystem.Filesystem/CreateWatcher', { path: '.', recursive: true })).body;
    const watchers = [await watcher(), await watcher()];
    const code = "import os\nos.mkdir('d')\nfor i in range(6_000): open(f'd/f{i}', 'w').write('x')";
    await (await sendTo(one, '/execute', json({ code }), 49_999)).text();
    const events = async (body: object) =>
      (await rpc(one, 'filesystem.Filesystem/GetWatcherEvents', body)).body['events'] as { name: string }[];
    const first = await Promise.all(watchers.map(events));
    expect(first.map(({ length }) => length)).toEqual([10_000, 10_000]);
    const second = await events(watchers[0]!);
    expect(second).toHaveLength(2001);
    expect(new Set([...first[0]!, ...second].map(({ name }) => name)).size).toBe(6001);
    const list = async (depth: number) => {
      const { body } = await rpc(one, 'filesystem.Filesystem/ListDir', { path: '.', depth });
      return (body['entries'] as object[]).length;
    };
    expect([await list(1), await list(2)]).toEqual([1, 6001]);
  });

  test('input that nobody reads is limited', async () => {
    const left = new AbortController();
    const response = await sendTo(ann, '/process.Process/Start', {
      method: 'POST',
      body: frame(
        JSON.stringify({ process: { cmd: '/bin/sleep', args: ['1000'] }, stdin: true, tag: 't' }),
      ) as BodyInit,
      headers: { 'content-type': 'application/connect+json' },
      signal: left.signal,
    });
    const chunk = Buffer.alloc(600 * 1024).toString('base64');
    const input = { process: { tag: 't' }, input: { stdin: chunk } };
    const codes = [];
    for (let i = 0; i < 4; i++) codes.push((await rpc(ann, 'process.Process/SendInput', input)).status);
    expect(codes).toContain(429);
    expect((await rpc(bob, 'process.Process/SendInput', input)).status).toBe(404);
    const signal = { process: { tag: 't' }, signal: 'SIGNAL_SIGTERM' };
    expect((await rpc(bob, 'process.Process/SendSignal', signal)).status).toBe(404);
    expect((await rpc(ann, 'process.Process/SendSignal', signal)).status).toBe(200);
    expect(await response.text()).toContain('"exitCode":137');
  });
});

describe('network', () => {
  test('does not exist unless the operator permits it, whether or not the SDK sends its default', async () => {
    const { sandboxID } = await create(ANN, { allow_internet_access: true });
    const headers = { 'x-api-key': ANN };
    const info = await (await send(`/sandboxes/${sandboxID}`, { headers })).json();
    expect(info).toMatchObject({ allowInternetAccess: false });
    const init = json({ templateID: 'base', network: { allowOut: ['example.com'] } });
    const refused = await send('/v2/sandboxes', { ...init, headers: { ...init.headers!, ...headers } });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('have no network')]);
  });

  test('follows the rules of the operator, which a client can only narrow', async () => {
    await using web = await startLoopbackServer();
    await using permitting = await startHttp({ e2b: true, allow_net: [`${web.origin}/*`] });
    const own = new URL(permitting.url).origin;
    const post = (path: string, body: object, headers: Record<string, string> = {}) =>
      fetch(`${own}${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      });
    const fetched = async (options: object) => {
      const made = await post('/sandboxes', { templateID: 'base', ...options });
      if (made.status !== 201) return made.status;
      const access = (await made.json()) as Access;
      const code = `import urllib.request\nprint(urllib.request.urlopen("${web.origin}/weather").status)`;
      const answer = await post('/execute', { code }, headersOf(access, 49_999));
      return (await answer.text()).includes('200') ? 'sent' : 'refused';
    };
    expect(await fetched({})).toBe('sent');
    expect(await fetched({ allow_internet_access: false })).toBe('refused');
    expect(await fetched({ network: { denyOut: ['0.0.0.0/0'] } })).toBe('refused');
    expect(await fetched({ network: { allowOut: ['127.0.0.1'] } })).toBe('sent');
    expect(await fetched({ network: { allowOut: ['api.example.com'] } })).toBe(400);
    expect(await fetched({ network: { rules: { 'example.com': [{}] } } })).toBe(400);
  });
});
