/** `fetch` and `http` of the sandbox beside those of Node.js: the same programs, with the same server. */
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { createSandbox } from 'llm-wasm-sandbox';
import { beforeAll, expect, test } from 'vitest';
import { startLoopbackServer } from '../support/loopback-server.ts';
import { sharedByFile } from '../support/shared.ts';
import { FETCH_PROGRAMS, HTTP_PROGRAMS } from './fetch-programs.ts';

const require = createRequire(import.meta.url);
type Answers = NonNullable<Parameters<typeof startLoopbackServer>[0]>;

const encoded =
  (coding: string, bytes: Uint8Array): Answers[string] =>
  (_, response) => {
    response.setHeader('content-encoding', coding);
    response.end(bytes);
  };

const moved =
  (location: string): Answers[string] =>
  (_, response) =>
    void response.writeHead(302, { location }).end();

const FORM = ['--x', 'Content-Disposition: form-data; name="a"', '', '1', '--x--', ''].join('\r\n');

const answers = (other: () => string): Answers => ({
  '/form': (_, response) => response.setHeader('content-type', 'multipart/form-data; boundary=x').end(FORM),
  '/no-content': (_, response) => response.writeHead(204).end(),
  '/teapot': (_, response) => response.writeHead(418, 'Short and stout').end(),
  '/bom': (_, response) => response.end('\ufeff{"a":1}'),
  '/latin': (_, response) => response.end(Buffer.from([0x61, 0xff, 0x62])),
  '/brotli': encoded('br', brotliCompressSync('brotli text')),
  '/deflate': encoded('deflate', deflateSync('deflated text')),
  '/raw-deflate': encoded('deflate', deflateRawSync('deflated text')),
  '/gzip-twice': encoded('gzip, gzip', gzipSync(gzipSync('two codings'))),
  '/cut-gzip': encoded('gzip', gzipSync('x'.repeat(10_000)).subarray(0, 30)),
  '/unknown-coding': encoded('other', Buffer.from('as it is')),
  '/empty-gzip': encoded('gzip', Buffer.alloc(0)),
  '/headers-of-all-kinds': (_, response) => {
    response.setHeader('X-Two', ['1', '2']);
    response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    response.setHeader('Content-Type', 'text/x');
    response.end();
  },
  '/latin-header': (_, response) => response.setHeader('x-latin', 'gr\u00fcn').end(),
  '/count': ({ url }, response) => {
    const left = Number(url.split('?')[1]);
    if (left === 0) response.end('arrived');
    else response.writeHead(302, { location: `/count?${left - 1}` }).end();
  },
  '/moved': ({ url }, response) =>
    void response.writeHead(Number(url.split('?')[1]), { location: '/echo' }).end(),
  '/late': (_, response) => void setTimeout(() => response.end('late'), 150),
  '/nowhere': (_, response) => response.writeHead(302).end(),
  '/to-file': moved('file:///etc/passwd'),
  '/to-invalid': moved('http://['),
  '/to-data': moved('data:,a'),
  '/to-other': (_, response) => response.writeHead(302, { location: `${other()}/echo` }).end(),
});

const other = await sharedByFile(startLoopbackServer());
const server = await sharedByFile(startLoopbackServer(answers(() => other.origin)));
/** A port on which nothing listens. */
let closed = 0;

beforeAll(async () => {
  const free = createServer();
  await new Promise<void>((listening) => free.listen(0, '127.0.0.1', listening));
  closed = (free.address() as { port: number }).port;
  await new Promise((done) => free.close(done));
});

const inServers = (code: string) =>
  code.replaceAll('ORIGIN', server.origin).replaceAll('CLOSED', `http://127.0.0.1:${closed}`);

/** A program whose value is the list of what it prints. */
const printing = (code: string) => `
const lines = [];
const log = (...values) => lines.push(JSON.stringify(values));
try { ${inServers(code)} } catch (error) { lines.push('uncaught ' + error); }
`;

const AsyncFunction = (async () => {}).constructor as new (
  ...parameters: string[]
) => (require: NodeRequire) => Promise<string[]>;

test.each([
  ['fetch', FETCH_PROGRAMS],
  ['the module http', HTTP_PROGRAMS],
])('%s prints what it prints in Node.js', { tags: 'full', timeout: 120_000 }, async (_, programs) => {
  const origins = [server.origin, other.origin, `http://127.0.0.1:${closed}`];
  await using sandbox = await createSandbox({
    runtime: 'javascript',
    policy: { network: { allow: origins.map((origin) => `${origin}/*`) } },
  });
  for (const [name, code] of Object.entries(programs)) {
    const native = await new AsyncFunction('require', `${printing(code)}; return lines;`)(require);
    const { stdout, stderr } = await sandbox.execute(`${printing(code)}; console.log(lines.join('\\n'));`);
    expect.soft(`${stdout}${stderr}`, name).toBe(`${native.join('\n')}\n`);
  }
});
