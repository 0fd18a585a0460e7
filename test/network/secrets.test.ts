/** Secrets that programs send but never have. */
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { createSandbox, diskStore, openSessions, type RuntimeName } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { NetworkAccess } from '../../packages/core/src/network/network-access.ts';
import { networkPolicy } from '../../packages/core/src/schema.ts';
import { folderOfFile } from '../support/folders.ts';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.ts';

const SECRET = 'sk-live-Zx81/+"q%7Kp=end';
let server: LoopbackServer;
/** Ends a response that is waiting. */
let release = () => {};
const folder = folderOfFile();

beforeAll(async () => {
  server = await startLoopbackServer({
    '/reflect': ({ headers }, response) => {
      response.setHeader('x-reflected', headers.authorization ?? '');
      response.end(JSON.stringify(headers));
    },
    '/zipped': ({ headers }, response) => {
      response.setHeader('content-encoding', 'gzip');
      response.end(gzipSync(`before ${headers.authorization} after`));
    },
    '/divided': async ({ headers }, response) => {
      for (const character of `before ${headers.authorization} after`) {
        response.write(character);
        await new Promise(setImmediate);
      }
      response.end();
    },
    '/forms': ({ headers }, response) => {
      const value = (headers.authorization ?? '').replace('Bearer ', '');
      const bytes = Buffer.from(value);
      response.end([encodeURIComponent(value), bytes.toString('base64'), bytes.toString('hex')].join('\n'));
    },
    '/inside': ({ headers }, response) => {
      const value = (headers.authorization ?? '').replace('Bearer ', '');
      const texts = ['', 'a', 'ab'].map((before) => Buffer.from(`${before}${value} and more`));
      response.end(
        `${texts.map((text) => text.toString('base64')).join('\n')}\n${texts.map((text) => text.toString('base64url')).join('\n')}`,
      );
    },
    '/slow': ({ body }, response) => {
      response.write(`${'-'.repeat(2000)}${body}`);
      release = () => void response.end();
    },
    '/error': ({ headers }, response) => response.writeHead(401, `Bad ${headers.authorization}`).end(),
  });
});
afterAll(() => server[Symbol.asyncDispose]());

const network = (more: object = {}) => ({
  allow: [`${server.origin}/*`],
  secrets: { API_KEY: { value: SECRET, allow: [`${server.origin}/*`] } },
  ...more,
});

/** Every form of the secret that a search must not find. */
const NEEDLES = ['utf8', 'base64', 'hex'].map((encoding) =>
  Buffer.from(
    encoding === 'utf8'
      ? SECRET
      : Buffer.from(SECRET)
          .toString(encoding as 'hex')
          .replace(/=+$/, ''),
  ),
);
NEEDLES.push(Buffer.from(JSON.stringify(SECRET).slice(1, -1)), Buffer.from(encodeURIComponent(SECRET)));

function expectNoSecret(what: string, data: string | Uint8Array): void {
  const bytes = Buffer.from(data as string);
  for (const needle of NEEDLES) expect(bytes.includes(needle), `${what} contains ${needle}`).toBe(false);
}

function filesIn(path: string): string[] {
  return statSync(path).isDirectory()
    ? readdirSync(path).flatMap((name) => filesIn(join(path, name)))
    : [path];
}

describe('secret', () => {
  const open = (more: object = {}) => new NetworkAccess(networkPolicy.parse(network(more)));

  async function send(access: NetworkAccess, path: string, headers: [string, string][], more: object = {}) {
    const broker = access.open();
    const answer = await broker.request({ method: 'GET', url: `${server.origin}${path}`, headers, ...more });
    let text = JSON.stringify(answer);
    for (let next = answer; !('error' in next); ) {
      text += Buffer.from(next.body, 'base64').toString();
      if (next.handle === undefined) break;
      next = await broker.read(next.handle);
    }
    await broker.finish();
    return { text, seen: server.requests.at(-1)! };
  }

  test('replaces its placeholder in its header only', async () => {
    const access = open();
    const placeholder = access.secrets.placeholders['API_KEY']!;
    expect(placeholder).toMatch(/^secret_[\da-f]{25}$/);
    const { seen } = await send(
      access,
      `/echo/${placeholder}?q=${placeholder}`,
      [
        ['Authorization', `Bearer ${placeholder}`],
        ['X-Other', placeholder],
        ['Range', 'bytes=0-1'],
      ],
      { method: 'POST', body: Buffer.from(placeholder).toString('base64') },
    );
    expect(seen.headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(seen.headers['x-other']).toBe(placeholder);
    expect(seen.headers.range).toBeUndefined();
    expect(seen.url).toBe(`/echo/${placeholder}?q=${placeholder}`);
    expect(seen.body).toBe(placeholder);
  });

  test('replaces it in the credentials of basic authentication', async () => {
    const access = open();
    const credentials = Buffer.from(`user:${access.secrets.placeholders['API_KEY']}`).toString('base64');
    const { seen, text } = await send(access, '/reflect', [['Authorization', `Basic ${credentials}`]]);
    const sent = Buffer.from(seen.headers.authorization!.slice(6), 'base64').toString();
    expect(sent).toBe(`user:${SECRET}`);
    expectNoSecret('the response', text);
    expect(text).not.toContain(seen.headers.authorization!.slice(6).replace(/=+$/, ''));
  });

  test.each(['/reflect', '/zipped', '/divided', '/forms', '/error'])(
    'is hidden in the response of %s',
    async (path) => {
      const access = open();
      const placeholder = access.secrets.placeholders['API_KEY']!;
      const { text, seen } = await send(access, path, [
        ['authorization', `Bearer ${placeholder}`],
        ['accept-encoding', 'zstd'],
      ]);
      expect(seen.headers.authorization).toBe(`Bearer ${SECRET}`);
      expectNoSecret(path, text);
      expect(text).toContain(placeholder);
    },
  );

  test('is hidden inside longer texts in base64', async () => {
    const access = open();
    const bearer = `Bearer ${access.secrets.placeholders['API_KEY']}`;
    const { text } = await send(access, '/inside', [['authorization', bearer]]);
    for (const encoding of ['base64', 'base64url'] as const)
      for (const before of ['', 'a', 'ab']) {
        const whole = Buffer.from(`${before}${SECRET} and more`).toString(encoding);
        expect(text).not.toContain(whole.slice(4, 28));
      }
  });

  test.each([SECRET.slice(0, 1), SECRET.slice(0, 12), SECRET.slice(0, -1), 'zzzzzzz'])(
    'does not show whether it begins with a guess (%j)',
    async (guess) => {
      const broker = open().open();
      const answer = await broker.request({
        method: 'POST',
        url: `${server.origin}/slow`,
        body: Buffer.from(guess).toString('base64'),
      });
      if ('error' in answer) throw new Error(answer.error.message);
      let received = Buffer.from(answer.body, 'base64').length;
      if (received === 0) {
        const next = await broker.read(answer.handle!);
        if (!('error' in next)) received = Buffer.from(next.body, 'base64').length;
      }
      // The longest form has twelve bytes for each character of the secret, whose length is rounded up.
      expect(received).toBe(2000 + guess.length - 12 * 32);
      release();
      await broker.finish();
    },
  );

  test('is not sent to a host, path or scheme that its rules do not name', async () => {
    const access = open({ secrets: { API_KEY: { value: SECRET, allow: [`${server.origin}/v1/*`] } } });
    const placeholder = access.secrets.placeholders['API_KEY']!;
    for (const path of ['/reflect', '/v1', '/v1/..%2freflect', '/V1/x']) {
      const { seen } = await send(access, path, [['authorization', placeholder]]);
      expect(seen.headers.authorization).toBe(placeholder);
    }
    expect((await send(access, '/v1/x', [['authorization', placeholder]])).seen.headers.authorization).toBe(
      SECRET,
    );
  });

  test('has another placeholder in every sandbox', () => {
    const [one, other] = [open(), open()].map((access) => access.secrets.placeholders['API_KEY']);
    expect(one).not.toBe(other);
  });

  // guarantee: secrets
  // proves: A placeholder of another sandbox or secret, or one that a program makes up, is sent as it is.
  test('is not sent for a placeholder of another sandbox, of another secret or that is made up', async () => {
    const OTHER = 'other-secret-0123456789';
    const secrets = {
      API_KEY: { value: SECRET, allow: [`${server.origin}/v1/*`] },
      OTHER: { value: OTHER, allow: [`${server.origin}/reflect`], header: 'x-key' },
    };
    const [access, foreign] = [open({ secrets }), open({ secrets })];
    const { API_KEY: own, OTHER: other } = access.secrets.placeholders as Record<string, string>;
    const forged = [
      ...Object.values(foreign.secrets.placeholders),
      ...[own!.slice(0, -1), `${own!.slice(0, -1)}${own!.at(-1) === '0' ? '1' : '0'}`, own!.toUpperCase()],
      ...[own!.split('').join(' '), own!.replace('secret_', ''), 'API_KEY', '$API_KEY', '{API_KEY}', other!],
      ...Array.from(
        { length: 100 },
        () =>
          `secret_${randomBytes(61)
            .toString('hex')
            .slice(0, own!.length - 7)}`,
      ),
    ];
    for (const text of forged) {
      const { seen } = await send(access, '/v1/x', [['authorization', `Bearer ${text}`]]);
      expect(seen.headers.authorization).toBe(`Bearer ${text}`);
    }
    // The place of one secret is not that of another, and a sandbox never learns the placeholders of others.
    const { seen } = await send(access, '/reflect', [
      ['authorization', other!],
      ['x-key', own!],
    ]);
    expect([seen.headers.authorization, seen.headers['x-key']]).toEqual([other, own]);
    expect((await send(access, '/reflect', [['x-key', other!]])).seen.headers['x-key']).toBe(OTHER);
  });

  test('is not sent for a placeholder that a program puts in place of its own', async () => {
    await using sandbox = await createSandbox({
      runtime: 'javascript',
      auto_persist_globals: true,
      policy: { network: network() },
    });
    const made = `secret_${'0'.repeat(25)}`;
    const ask = `await (await fetch('${server.origin}/reflect', { headers: { authorization: '${made}' } })).text()`;
    await sandbox.execute(`process.env.API_KEY = '${made}'`);
    for (const code of [ask, ask]) await sandbox.execute(code);
    expect(server.requests.at(-1)!.headers.authorization).toBe(made);
  });

  test.each([
    [{ value: 'short', allow: ['https://a.example'] }, '8 to 1,024'],
    [{ value: 'line\r\nbreak-in-it', allow: ['https://a.example'] }, 'control characters'],
    [{ env: 'NO_SUCH_VARIABLE_HERE', allow: ['https://a.example'] }, 'is not set'],
    [{ allow: ['https://a.example'] }, 'value'],
    [{ value: SECRET, env: 'HOME', allow: ['https://a.example'] }, 'value'],
    [{ value: SECRET, allow: [] }, 'allow'],
  ])('%j is rejected', (secret, problem) => {
    expect(() => open({ secrets: { API_KEY: secret } })).toThrow(problem);
  });

  test('must not have the name of a variable', async () => {
    const policy = { env: { API_KEY: 'x' }, network: network() };
    await expect(createSandbox({ runtime: 'javascript', policy })).rejects.toThrow('same name');
  });

  // guarantee: secrets
  // proves: A secret that programs send is in no image, result, log, error, recording, export or fork.
  test.each([
    [
      'python',
      `import os, urllib.request, urllib.error
key = os.environ['API_KEY']
print(key)
def get(path):
    return urllib.request.urlopen(urllib.request.Request('ORIGIN' + path, headers={'Authorization': 'Bearer ' + key})).read()
kept = [get(path) for path in ('/reflect', '/zipped', '/divided', '/forms')]
open('/app/seen.bin', 'wb').write(b''.join(kept))
print(kept, dict(os.environ))
get('/error')`,
    ],
    [
      'javascript',
      `const key = process.env.API_KEY;
console.log(key);
const get = async (path) => (await fetch('ORIGIN' + path, { headers: { authorization: 'Bearer ' + key } })).text();
var kept = [];
for (const path of ['/reflect', '/zipped', '/divided', '/forms']) kept.push(await get(path));
require('fs').writeFileSync('/app/seen.bin', kept.join(''));
console.log(kept, process.env, await fetch('ORIGIN/error', { headers: { authorization: key } }));
throw new Error(kept.join(''));`,
    ],
  ] as const)(
    'is in no image, result, log, error, recording or fork (%s)',
    { tags: 'full' },
    async (runtime: RuntimeName, code) => {
      const store = join(folder, runtime);
      const record = join(folder, `${runtime}.har`);
      const events: unknown[] = [];
      const logger = {
        info: (fields: object) => events.push(fields),
        warn: (fields: object) => events.push(fields),
      };
      const sessions = openSessions({ store: diskStore(store) });
      const session = await sessions.create({
        runtime,
        session_id: 'one',
        policy: { network: network({ record }) },
        logger,
      });
      const before = server.requests.length;
      const result = await session.execute(code.replaceAll('ORIGIN', server.origin));
      expect(
        server.requests.slice(before).every(({ headers }) => headers.authorization?.includes(SECRET)),
      ).toBe(true);
      expect(server.requests.length).toBe(before + 5);
      expect(result.success).toBe(false);
      const [placeholder] = result.stdout.split('\n');
      expect(result.stdout).toContain(`Bearer ${placeholder}`);
      const fork = await session.fork('two');
      const again = await fork.execute(
        runtime === 'python' ? "get('/reflect').decode()" : "await get('/reflect')",
      );
      expect(server.requests.at(-1)!.headers.authorization).toBe(`Bearer ${SECRET}`);
      await session.checkpoint('saved');
      expectNoSecret('the results', JSON.stringify([result, again]));
      expectNoSecret('the variables', JSON.stringify(await session.variables()));
      expectNoSecret('the policy', JSON.stringify(session.policy));
      expectNoSecret('the log', JSON.stringify(events));
      await sessions.close();
      expectNoSecret('an export', await openSessions({ store: diskStore(store) }).export('one'));
      expectNoSecret('the recording', readFileSync(record));
      const files = filesIn(store);
      expect(files.length).toBeGreaterThan(3);
      for (const file of files) expectNoSecret(file, readFileSync(file));
      // The search finds what the memory and the files of the program contain.
      expect(files.filter((file) => readFileSync(file).includes(placeholder!)).length).toBeGreaterThan(1);
      await using reopened = await createSandbox({
        runtime,
        store: diskStore(store),
        session_id: 'one',
        policy: { network: network() },
      });
      const kept = await reopened.execute(
        runtime === 'python' ? "import os\nos.environ['API_KEY']" : 'process.env.API_KEY',
      );
      expect(kept.metadata.result).toBe(placeholder);
    },
  );
});
