/** The broker with servers that send what no server should: a program gets an error or a correct response, and nothing stays open. */
import { createServer, type Socket } from 'node:net';
import { brotliCompressSync, deflateRawSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import type { NetworkAnswer, NetworkBroker } from '../../packages/core/src/network/broker.ts';
import { NetworkAccess } from '../../packages/core/src/network/network-access.ts';
import { networkPolicy } from '../../packages/core/src/schema.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';

const SECRET = 'k\u00e9y/with "q" & <b> 100%\'s';
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A server that answers every request with what a function writes. */
async function rawServer(answer: (socket: Socket, count: number) => void) {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    socket.on('data', () => answer(socket, ++count));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((done) => server.close(done));
  });
  return { origin: `http://127.0.0.1:${(server.address() as { port: number }).port}`, sockets };
}

function open(origin: string, more: object = {}): NetworkBroker {
  const broker = new NetworkAccess(networkPolicy.parse({ allow: [`${origin}/*`], ...more })).open();
  closing.push(() => broker.finish());
  return broker;
}

const withSecret = (origin: string) => ({ secrets: { KEY: { value: SECRET, allow: [`${origin}/*`] } } });

async function textOf(broker: NetworkBroker, answer: NetworkAnswer): Promise<string> {
  let text = '';
  for (let next = answer; ; ) {
    if ('error' in next) return next.error.kind;
    text += Buffer.from(next.body, 'base64').toString('latin1');
    if (next.handle === undefined) return text;
    next = await broker.read(next.handle);
  }
}

const get = (broker: NetworkBroker, url: string, more: object = {}) =>
  broker.request({ method: 'GET', url, ...more });

const OK = 'HTTP/1.1 200 OK\r\n';
const withBody = (coding: string, body: Buffer) =>
  Buffer.concat([
    Buffer.from(`${OK}Content-Encoding: ${coding}\r\nContent-Length: ${body.length}\r\n\r\n`),
    body,
  ]);
/** Writes until the connection is closed. */
function flood(socket: Socket, bytes: Buffer | string): void {
  const write = () => {
    if (!socket.destroyed) socket.write(bytes, () => setImmediate(write));
  };
  write();
}

const MiB = 2 ** 20;
const LIMITS = { limits: { response_bytes: MiB, timeout_seconds: 1 } };

describe('response', () => {
  test.each<[string, RegExp, (socket: Socket) => void]>([
    [
      'of interim responses without an end',
      /^(?:timeout|protocol|reset|limit)$/,
      (socket) => flood(socket, 'HTTP/1.1 103 Early Hints\r\nLink: <a>\r\n\r\n'),
    ],
    [
      'of 100 Continue without an end',
      /^(?:timeout|protocol|reset|limit)$/,
      (socket) => flood(socket, 'HTTP/1.1 100 Continue\r\n\r\n'),
    ],
    [
      'that changes the protocol',
      /^(?:protocol|reset|failed)$/,
      (socket) =>
        socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'),
    ],
    [
      'with headers without an end',
      /^limit$/,
      (socket) => {
        socket.write(OK);
        flood(socket, `X: ${'x'.repeat(1000)}\r\n`);
      },
    ],
    [
      'with a header line without an end',
      /^limit$/,
      (socket) => {
        socket.write(`${OK}X: `);
        flood(socket, 'x'.repeat(10_000));
      },
    ],
    [
      'with two lengths',
      /^(?:protocol|reset)$/,
      (socket) => socket.write(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc`),
    ],
    [
      'with a length and chunks',
      /^(?:protocol|reset)$/,
      (socket) => socket.write(`${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
    ],
    [
      'with a chunk without a size',
      /^(?:protocol|reset)$/,
      (socket) => socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\nx\r\n`),
    ],
    [
      'with trailers without an end',
      /^(?:timeout|protocol|limit|reset)$/,
      (socket) => {
        socket.write(`${OK}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n`);
        flood(socket, `X: ${'x'.repeat(1000)}\r\n`);
      },
    ],
    ['that ends in its headers', /^reset$/, (socket) => socket.end(`${OK}X: `)],
    ['that ends in its body', /^reset$/, (socket) => socket.end(`${OK}Content-Length: 10\r\n\r\nabc`)],
    [
      'that ends in a chunk',
      /^reset$/,
      (socket) => socket.end(`${OK}Transfer-Encoding: chunked\r\n\r\n5\r\nab`),
    ],
    ['that is not HTTP', /^(?:protocol|reset)$/, (socket) => socket.write('SSH-2.0-OpenSSH_9.9\r\n')],
    [
      'that announces too much',
      /^limit$/,
      (socket) => socket.write(`${OK}Content-Length: 99999999999\r\n\r\n`),
    ],
    [
      'with a body that grows without an end',
      /^limit$/,
      (socket) => {
        socket.write(`${OK}\r\n`);
        flood(socket, Buffer.alloc(65_536));
      },
    ],
  ])('%s is an error', async (_, kind, answer) => {
    const { origin } = await rawServer(answer);
    const broker = open(origin, LIMITS);
    expect(await textOf(broker, await get(broker, `${origin}/`))).toMatch(kind);
  });

  test('to a later request is never taken from an earlier one', async () => {
    const forged = `${OK}Content-Length: 6\r\n\r\nforged`;
    const { origin } = await rawServer((socket, count) => {
      socket.write(`${OK}Content-Length: 4\r\n\r\nreal${count === 1 ? forged : ''}`);
    });
    const broker = open(origin);
    const texts: string[] = [];
    for (let i = 0; i < 5; i++) texts.push(await textOf(broker, await get(broker, `${origin}/${i}`)));
    expect(texts[0]).toBe('real');
    expect(texts).not.toContain('forged');
    expect(texts.at(-1)).toBe('real');
  });

  test('has no trailers', async () => {
    const { origin } = await rawServer((socket) =>
      socket.write(
        `${OK}Transfer-Encoding: chunked\r\nTrailer: X-Key\r\n\r\n1\r\na\r\n0\r\nX-Key: ${SECRET}\r\n\r\n`,
        'latin1',
      ),
    );
    const broker = open(origin);
    const answer = await get(broker, `${origin}/`);
    expect(await textOf(broker, answer)).toBe('a');
    expect(JSON.stringify(answer)).not.toContain('X-Key');
  });
});

describe('compressed response', () => {
  const zeros = Buffer.alloc(64 * MiB);
  test.each([
    ['gzip', gzipSync(zeros)],
    ['deflate', deflateRawSync(zeros)],
    ['br', brotliCompressSync(zeros)],
    ['gzip, gzip', gzipSync(gzipSync(zeros))],
    ['br, gzip', gzipSync(brotliCompressSync(zeros))],
  ])('ends at the limit (%s)', async (coding, body) => {
    const { origin } = await rawServer((socket) => socket.write(withBody(coding, body)));
    const broker = open(origin, { limits: { response_bytes: MiB } });
    expect(await textOf(broker, await get(broker, `${origin}/`, { decode: true }))).toBe('limit');
    expect(broker.records[0]!.bytes_down).toBeLessThan(2 * MiB);
  });

  test('ends at the limit if it decodes to nothing', async () => {
    const nothing = gzipSync('');
    const { origin } = await rawServer((socket) => {
      socket.write(`${OK}Content-Encoding: gzip\r\n\r\n`);
      flood(socket, Buffer.concat(Array.from({ length: 1000 }, () => nothing)));
    });
    const broker = open(origin, { limits: { response_bytes: MiB } });
    expect(await textOf(broker, await get(broker, `${origin}/`, { decode: true }))).toBe('limit');
  });

  test('is refused with more than two codings, or with an unknown one if it could contain a secret', async () => {
    const { origin } = await rawServer((socket) =>
      socket.write(withBody('gzip, gzip, gzip', Buffer.from('x'))),
    );
    const broker = open(origin);
    expect(await textOf(broker, await get(broker, `${origin}/`, { decode: true }))).toBe('protocol');
    const other = await rawServer((socket) => socket.write(withBody('zstd', Buffer.from('x'))));
    const hiding = open(other.origin, withSecret(other.origin));
    expect(await textOf(hiding, await get(hiding, `${other.origin}/`))).toBe('protocol');
  });
});

describe('secret', () => {
  const latin = (text: string) => Buffer.from(text, 'latin1');
  const percent = (bytes: Buffer) =>
    [...bytes].map((one) => `%${one.toString(16).padStart(2, '0')}`).join('');
  const html = (quote: string, apostrophe: string) =>
    Buffer.from(
      SECRET.replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', quote)
        .replaceAll("'", apostrophe),
    );
  const json = JSON.stringify(SECRET).slice(1, -1);
  const forms: readonly [name: string, bytes: Buffer][] = [
    ['bytes', latin(SECRET)],
    ['UTF-8', Buffer.from(SECRET)],
    ['JSON', Buffer.from(json)],
    ['JSON with encoded slashes', Buffer.from(json.replaceAll('/', '\\/'))],
    ['JSON in ASCII', Buffer.from(json.replace('\u00e9', '\\u00e9'))],
    ['HTML', html('&quot;', '&#39;')],
    ['HTML of Python', html('&quot;', '&#x27;')],
    ['HTML with numbers only', html('&#34;', '&#39;')],
    ['HTML with literal quotation marks', html('"', "'")],
    ['HTML with literal apostrophes', html('&quot;', "'")],
    ['XML', html('&quot;', '&apos;')],
    ['percent-encoding', Buffer.from(encodeURIComponent(SECRET))],
    [
      'percent-encoding with slashes',
      Buffer.from(encodeURIComponent(SECRET).replaceAll('%2F', '/').replaceAll("'", '%27')),
    ],
    ['percent-encoding of all bytes', Buffer.from(percent(Buffer.from(SECRET)))],
    ['a form', Buffer.from(`${new URLSearchParams({ a: SECRET })}`.slice(2).replaceAll('%27', '%27'))],
    ['base64', Buffer.from(Buffer.from(SECRET).toString('base64'))],
    ['hexadecimal', Buffer.from(latin(SECRET).toString('hex'))],
  ];
  test.each(forms)('is hidden in headers and divided bodies as %s', async (_, form) => {
    const { origin } = await rawServer(async (socket) => {
      socket.write(`HTTP/1.1 302 Found\r\nLocation: http://a.example/?k=`);
      socket.write(Buffer.concat([form, latin('\r\nTransfer-Encoding: chunked\r\n\r\n')]));
      for (const byte of Buffer.concat([latin('before '), form, latin(' after')])) {
        socket.write(Buffer.concat([latin('1\r\n'), Buffer.from([byte]), latin('\r\n')]));
        await new Promise(setImmediate);
      }
      socket.write('0\r\n\r\n');
    });
    const broker = open(origin, withSecret(origin));
    const answer = await get(broker, `${origin}/`);
    const text = await textOf(broker, answer);
    const location = 'headers' in answer ? answer.headers!.find(([name]) => name === 'Location')![1] : '';
    for (const part of [text, location]) expect(part).not.toContain(form.toString('latin1'));
    expect(text).toMatch(/^before \S+ after$/);
    expect(location).toMatch(/^http:\/\/a\.example\/\?k=\S+$/);
  });
});

describe('limits', () => {
  test('do not restrict the number of hosts', async () => {
    const servers = await Promise.all(Array.from({ length: 40 }, () => startLoopbackServer()));
    for (const server of servers) closing.push(async () => await server[Symbol.asyncDispose]());
    const broker = open('', { allow: servers.map(({ origin }) => `${origin}/*`) });
    for (const { origin } of servers)
      expect(await textOf(broker, await get(broker, `${origin}/csv`))).toMatch(/^name/);
  });

  test('hold for requests at the same time', async () => {
    await using server = await startLoopbackServer();
    const rules = [{ url: `${server.origin}/few/*`, requests: 5 }, `${server.origin}/*`];
    const broker = open(server.origin, { allow: rules, limits: { requests: 40, bytes_up: 100 } });
    const all = (count: number, path: string, more: object = {}) =>
      Promise.all(Array.from({ length: count }, () => get(broker, `${server.origin}${path}`, more)));
    const few = await all(20, '/few/a');
    expect(few.filter((answer) => 'error' in answer)).toHaveLength(15);
    const body = Buffer.alloc(30).toString('base64');
    const sent = await all(10, '/other', { method: 'POST', body });
    expect(sent.filter((answer) => 'error' in answer)).toHaveLength(7);
    await all(100, '/other');
    expect(server.requests).toHaveLength(5 + 3 + 10);
    expect(broker.records.filter(({ outcome }) => outcome === 'ok')).toHaveLength(18);
  });

  test('do not let unread responses block later requests', async () => {
    await using server = await startLoopbackServer();
    const broker = open(server.origin, { limits: { requests: 200 } });
    const first = await get(broker, `${server.origin}/endless`);
    for (let i = 0; i < 100; i++)
      expect(await get(broker, `${server.origin}/endless`)).toHaveProperty('status', 200);
    // The oldest were closed.
    expect(await textOf(broker, first)).toBe('invalid');
  });
});

test('a request that is cancelled at any time leaves nothing open', async () => {
  const { origin, sockets } = await rawServer(async (socket) => {
    for (const part of ['HTTP/1.1 20', '0 OK\r\nContent-', 'Length: 9\r\n\r\n', 'abc', 'def', 'ghi']) {
      socket.write(part);
      await new Promise((done) => setTimeout(done, 2));
    }
  });
  const broker = open(origin, { limits: { requests: 200 } });
  for (let delay = 0; delay < 100; delay++) {
    const aborter = new AbortController();
    const running = broker.request({ method: 'POST', url: `${origin}/`, body: 'AAAA' }, aborter.signal);
    for (let i = 0; i < delay; i++) await new Promise(setImmediate);
    aborter.abort();
    const answer = await running;
    if ('handle' in answer) broker.close(answer.handle!);
  }
  expect(await textOf(broker, await get(broker, `${origin}/`))).toBe('abcdefghi');
  await broker.finish();
  await expect.poll(() => sockets.size).toBe(0);
  expect(broker.records.every(({ outcome }) => outcome !== 'unknown')).toBe(true);
});
