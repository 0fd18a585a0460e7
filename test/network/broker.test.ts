/** The broker: rules, addresses, limits and failures of single requests, with a server on the loopback interface. */
import {
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { atOnce } from '../../packages/core/src/concurrency/slices.ts';
import type { NetworkAnswer, NetworkBroker } from '../../packages/core/src/network/broker.ts';
import { NetworkAccess } from '../../packages/core/src/network/network-access.ts';
import { Recorder, readRecording } from '../../packages/core/src/network/recording.ts';
import { replaceResolver } from '../../packages/core/src/network/resolver.ts';
import { type CheckedUrl, checkUrl } from '../../packages/core/src/schema/url-pattern.ts';
import { networkPolicy } from '../../packages/core/src/schema.ts';
import { testAuthority } from '../support/certificates.ts';
import { folderOfFile } from '../support/folders.ts';
import { startLoopbackServer } from '../support/loopback-server.ts';
import { sharedByFile } from '../support/shared.ts';

const server = await sharedByFile(startLoopbackServer());
const brokers: NetworkBroker[] = [];
const folder = folderOfFile();

afterEach(async () => {
  for (const broker of brokers.splice(0)) await broker.finish();
});

function open(policy: Parameters<typeof networkPolicy.parse>[0]): NetworkBroker {
  const broker = new NetworkAccess(networkPolicy.parse(policy)).open();
  brokers.push(broker);
  return broker;
}

const openServer = (more: object = {}) => open({ allow: [`${server.origin}/*`], ...more });

const get = (broker: NetworkBroker, path: string, more: object = {}) =>
  broker.request({ method: 'GET', url: path.startsWith('/') ? `${server.origin}${path}` : path, ...more });

/** The whole body of a response, or its error. */
async function read(broker: NetworkBroker, answer: NetworkAnswer): Promise<string> {
  let text = '';
  for (let next = answer; ; ) {
    if ('error' in next) return `${next.error.kind}: ${next.error.message}`;
    text += Buffer.from(next.body, 'base64').toString();
    if (next.handle === undefined) return text;
    next = await broker.read(next.handle);
  }
}

const errorOf = (answer: NetworkAnswer) => ('error' in answer ? answer.error : { kind: 'none', message: '' });

describe('request', () => {
  test('is sent if a rule permits it, and is recorded', async () => {
    const broker = openServer();
    const answer = await get(broker, '/weather?city=Berlin', { headers: [['X-Test', 'yes']] });
    expect(answer).toMatchObject({ status: 200, reason: 'OK', url: `${server.origin}/weather?city=Berlin` });
    expect(JSON.parse(await read(broker, answer))).toEqual({ city: 'Berlin', celsius: 21 });
    expect(broker.records).toEqual([
      {
        method: 'GET',
        url: `${server.origin}/weather?city=Berlin`,
        outcome: 'ok',
        rule: `${server.origin}/*`,
        status: 200,
        bytes_up: 0,
        bytes_down: 30,
        duration_ms: expect.any(Number),
      },
    ]);
  });

  // guarantee: network
  test('has the headers of the program, except those about the connection', async () => {
    const broker = openServer();
    const headers = [
      ['Accept', 'text/plain'],
      ['accept', 'text/html'],
      ['Host', 'other.example'],
      ['Content-Length', '999'],
      ['Transfer-Encoding', 'chunked'],
      ['Connection', 'x-secret, close'],
      ['X-Secret', '1'],
      ['Upgrade', 'websocket'],
      ['Expect', '100-continue'],
      ['TE', 'trailers'],
      ['Proxy-Authorization', 'x'],
      ['Keep-Alive', '1'],
    ];
    const body = Buffer.from('data').toString('base64');
    const answer = await broker.request({ method: 'post', url: `${server.origin}/echo`, headers, body });
    const seen = JSON.parse(await read(broker, answer));
    expect(seen).toMatchObject({ method: 'POST', body: 'data' });
    expect(seen.headers).toEqual({
      host: `127.0.0.1:${server.port}`,
      connection: 'keep-alive',
      accept: 'text/plain, text/html',
      'content-length': '4',
    });
  });

  test('has no proxy, cookie or credential of the host', async () => {
    for (const name of ['http_proxy', 'HTTP_PROXY', 'ALL_PROXY']) vi.stubEnv(name, 'http://127.0.0.1:1');
    try {
      const broker = openServer();
      await get(broker, '/cookies');
      const seen = JSON.parse(await read(broker, await get(broker, '/echo')));
      expect(Object.keys(seen.headers).sort()).toEqual(['connection', 'host']);
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test.each([
    [{ method: 'GET', url: 'https://other.example/a' }, 'refused', 'https://other.example/*'],
    [{ method: 'GET', url: 'http://169.254.169.254/' }, 'refused', 'no rule matches'],
    [{ method: 'GET', url: 'file:///etc/passwd' }, 'invalid', 'only http'],
    [{ method: 'CONNECT', url: 'http://a.example/' }, 'invalid', 'CONNECT'],
    [{ method: 'GET\r\nX: y', url: 'http://a.example/' }, 'invalid', 'method'],
    [{ method: 'GET', url: 'http://a.example/', headers: [['X', 'a\r\nY: b']] }, 'invalid', 'header X'],
    [{ method: 'GET', url: 'http://a.example/', headers: [['X: y', 'a']] }, 'invalid', 'name of a header'],
    [{ method: 'GET', url: 'http://a.example/', headers: 'X' }, 'invalid', 'headers'],
    [
      { method: 'GET', url: 'http://a.example/', headers: Array(101).fill(['a', 'b']) },
      'invalid',
      'at most 100',
    ],
    [{ method: 'GET', url: 'http://a.example/', headers: [['a', 'b'.repeat(40_000)]] }, 'invalid', 'longer'],
    [{ method: 'GET', url: 'http://a.example/', body: '***' }, 'invalid', 'base64'],
    [{}, 'invalid', 'method'],
  ])('%j is refused and recorded', async (args, kind, text) => {
    const broker = openServer();
    const error = errorOf(await broker.request(args));
    expect(error).toMatchObject({ kind, message: expect.stringContaining(text) });
    expect(broker.records).toMatchObject([{ outcome: 'refused', error: error.message }]);
  });

  test('says how a person can permit it', async () => {
    const broker = openServer({ advice: "Use --allow-net '{rule}'." });
    const { message } = errorOf(await get(broker, 'https://api.example:8443/v1'));
    expect(message).toContain("Use --allow-net 'https://api.example:8443/*'. Trying again will not help.");
  });

  test('is refused by a deny rule, whatever is allowed', async () => {
    const broker = openServer({ deny: [`${server.origin}/admin/*`] });
    for (const path of ['/admin/x', '/%61dmin/x', '//admin/x', '/a/..%2fadmin/x'])
      expect(errorOf(await get(broker, path)).kind).toBe('refused');
    expect(errorOf(await get(broker, '/echo')).kind).toBe('none');
  });

  test('is refused if the rule has other methods', async () => {
    const broker = open({ allow: [{ url: `${server.origin}/*`, methods: ['GET', 'HEAD'] }] });
    expect(errorOf(await broker.request({ method: 'DELETE', url: `${server.origin}/x` })).message).toContain(
      'permits only GET, HEAD',
    );
    expect(errorOf(await get(broker, '/x')).kind).toBe('none');
  });

  test('is not redirected by the broker', async () => {
    const broker = openServer();
    expect(await get(broker, '/metadata')).toMatchObject({ status: 302 });
  });

  // guarantee: network
  test('fails if the host name has an address that is not public', async () => {
    const restore = replaceResolver(async (host) =>
      host === 'mixed.example'
        ? [
            { address: '93.184.216.34', family: 4 },
            { address: '10.0.0.1', family: 4 },
          ]
        : [{ address: '127.0.0.1', family: 4 }],
    );
    try {
      const port = server.port;
      const hosts = ['rebound.example', 'mixed.example'];
      const broker = open({
        allow: [`http://*:${port}/*`, ...hosts.map((host) => `http://${host}:${port}/*`)],
      });
      for (const host of [...hosts, 'any.example', '127.0.0.1', '[::ffff:127.0.0.1]', '127.1'])
        expect(errorOf(await get(broker, `http://${host}:${port}/`))).toMatchObject({
          kind: 'refused',
          message: expect.stringContaining('not on the public internet'),
        });
      const named = open({ allow: [{ url: `http://*.example:${port}/*`, addresses: ['127.0.0.0/8'] }] });
      expect(errorOf(await get(named, `http://rebound.example:${port}/`)).kind).toBe('none');
      const local = open({ allow: [`http://localhost:${port}/*`] });
      expect(errorOf(await get(local, `http://localhost:${port}/`)).kind).toBe('none');
    } finally {
      restore();
    }
  });

  // guarantee: network
  test('uses the address that was checked, even if the next answer of the name server is another', async () => {
    let count = 0;
    const restore = replaceResolver(async () => [
      { address: count++ === 0 ? '127.0.0.1' : '10.0.0.1', family: 4 },
    ]);
    try {
      const broker = open({
        allow: [{ url: `http://name.example:${server.port}/*`, addresses: ['127.0.0.1'] }],
      });
      expect(errorOf(await get(broker, `http://name.example:${server.port}/`)).kind).toBe('none');
      expect(count).toBe(1);
    } finally {
      restore();
    }
  });

  test.each([
    ['/silent', 'timeout'],
    ['/stalled', 'timeout'],
    ['/reset', 'reset'],
    ['/broken', 'reset'],
    ['/headers', 'limit'],
  ])('%s fails with %s', async (path, kind) => {
    const broker = open({ allow: [{ url: `${server.origin}/*`, timeout_seconds: 0.2 }] });
    expect(await read(broker, await get(broker, path))).toContain(`${kind}: `);
    expect(broker.records[0]).toMatchObject({ outcome: 'failed' });
  });

  test('fails if the host refuses the connection', async () => {
    const broker = open({ allow: ['http://127.0.0.1:1/*'] });
    expect(errorOf(await get(broker, 'http://127.0.0.1:1/'))).toMatchObject({ kind: 'connect' });
  });

  test('ends when the program or its run is cancelled', async () => {
    const broker = openServer();
    const aborter = new AbortController();
    const answer = broker.request({ method: 'GET', url: `${server.origin}/silent` }, aborter.signal);
    setTimeout(() => aborter.abort(), 20);
    expect(errorOf(await answer)).toMatchObject({ kind: 'failed', message: 'the request was cancelled' });
    const other = get(broker, '/silent');
    setTimeout(() => void broker.finish(), 20);
    expect(errorOf(await other).kind).toBe('failed');
  });
});

describe('certificate', () => {
  const authority = testAuthority();
  const other = testAuthority();

  /** The status of a request to a server with a certificate, or why it fails. */
  async function statusOf(names: readonly string[], { isExpired = false, ca = authority.cert } = {}) {
    await using secure = await startLoopbackServer({}, authority.issue(names, isExpired));
    const allow = [`${secure.origin}/*`, `${secure.origin.replace('127.0.0.1', 'localhost')}/*`];
    const broker = new NetworkAccess(networkPolicy.parse({ allow }), { ca }).open();
    try {
      const answer = await get(broker, `${secure.origin}/weather`);
      if ('error' in answer) return `${answer.error.kind}, ${secure.requests.length} received`;
      return `${answer.status} ${await read(broker, answer)}`;
    } finally {
      await broker.finish();
    }
  }

  test('is accepted if an authority has signed it for the host', async () => {
    expect(await statusOf(['127.0.0.1'])).toContain('200 {"city":"Berlin"');
  });

  // guarantee: network
  test('is refused if it is for another host, has expired or is from an unknown authority', async () => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    try {
      expect(await statusOf(['other.example'])).toBe('tls, 0 received');
      expect(await statusOf(['127.0.0.1'], { isExpired: true })).toBe('tls, 0 received');
      expect(await statusOf(['127.0.0.1'], { ca: other.cert })).toBe('tls, 0 received');
    } finally {
      vi.unstubAllEnvs();
    }
  });
});

test('10,000 small requests leave nothing open', { tags: 'full', timeout: 120_000 }, async () => {
  const broker = openServer({ limits: { requests: 10_000 } });
  let done = 0;
  const worker = async () => {
    while (done < 10_000) {
      done++;
      expect(await read(broker, await get(broker, '/weather'))).toContain('Berlin');
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  expect(broker.records).toHaveLength(10_000);
  expect(broker.records.every(({ outcome, bytes_down }) => outcome === 'ok' && bytes_down === 30)).toBe(true);
  expect(errorOf(await get(broker, '/weather')).kind).toBe('limit');
});

describe('response', () => {
  test('is delivered in pieces', async () => {
    const broker = openServer();
    const answer = await get(broker, '/chunks');
    expect(answer).toMatchObject({ status: 200, handle: 1 });
    expect(await read(broker, answer)).toBe('first second');
    expect((await read(broker, await get(broker, '/big'))).length).toBe(1024 * 1024);
  });

  test('is decompressed only if the program wants that', async () => {
    const broker = openServer();
    const raw = await get(broker, '/gzip');
    expect(raw).toMatchObject({ headers: expect.arrayContaining([['content-encoding', 'gzip']]) });
    const decoded = await get(broker, '/gzip', { decode: true });
    expect(await read(broker, decoded)).toBe('compressed text');
    expect(JSON.stringify(decoded)).not.toContain('content-encoding');
  });

  test.each([
    ['/endless', {}],
    ['/bomb', { decode: true }],
    ['/big', {}],
  ])('%s ends at the limit', async (path, more) => {
    const broker = open({ allow: [{ url: `${server.origin}/*`, response_bytes: 500_000 }] });
    expect(await read(broker, await get(broker, path, more))).toContain('limit: the response has more than');
    expect(broker.records[0]!.bytes_down).toBeLessThan(1_000_000);
  });

  test('can be closed before its end', async () => {
    const broker = openServer();
    const answer = await get(broker, '/endless');
    const { handle } = answer as { handle: number };
    broker.close(handle);
    expect(errorOf(await broker.read(handle)).message).toContain('the response is closed');
    expect(broker.records[0]).toMatchObject({ outcome: 'ok', status: 200 });
  });
});

describe('limits of a program', () => {
  test('refuse further requests', async () => {
    const broker = openServer({ limits: { requests: 2 } });
    const kinds = [];
    for (let i = 0; i < 3; i++) kinds.push(errorOf(await get(broker, '/echo')).kind);
    expect(kinds).toEqual(['none', 'none', 'limit']);
    const rule = open({ allow: [{ url: `${server.origin}/*`, requests: 1 }] });
    expect([errorOf(await get(rule, '/')).kind, errorOf(await get(rule, '/')).kind]).toEqual([
      'none',
      'limit',
    ]);
  });

  test('refuse bodies that are too large, one or all together', async () => {
    const body = Buffer.alloc(1000).toString('base64');
    const broker = openServer({ limits: { request_bytes: 1500, bytes_up: 1999 } });
    const send = (data: string) => broker.request({ method: 'POST', url: `${server.origin}/`, body: data });
    expect(errorOf(await send(Buffer.alloc(1600).toString('base64'))).message).toContain('the limit is');
    expect(errorOf(await send(body)).kind).toBe('none');
    expect(errorOf(await send(body))).toMatchObject({
      kind: 'limit',
      message: expect.stringContaining('would send more than'),
    });
  });

  test('end responses that are too large together', async () => {
    const broker = openServer({ limits: { bytes_down: 1_500_000 } });
    expect((await read(broker, await get(broker, '/big'))).length).toBe(1024 * 1024);
    expect(await read(broker, await get(broker, '/big'))).toContain('has received more than');
  });
});

describe('recording', () => {
  const file = join(folder, 'recording.har');

  test('that cannot be written is refused before a program runs', () => {
    expect(() => openServer({ record: join(folder, 'missing', 'a.har') })).toThrow(
      /policy\.network\.record: .* cannot be written/,
    );
  });

  test('answers the same requests, and no others', async () => {
    const paths = ['/weather', '/gzip', '/missing', '/chunks', '/big', '/broken'];
    const recorded = openServer({ record: file });
    const live = [];
    for (const path of paths) live.push(await read(recorded, await get(recorded, path, { decode: true })));
    await recorded.finish();
    const count = server.requests.length;
    const replayed = openServer({ replay: file });
    const again = [];
    for (const path of paths) again.push(await read(replayed, await get(replayed, path, { decode: true })));
    expect(again).toEqual(live);
    expect(errorOf(await get(replayed, '/weather'))).toMatchObject({
      kind: 'replay',
      message: expect.stringContaining('is not in the recording'),
    });
    expect(errorOf(await get(replayed, '/other')).kind).toBe('replay');
    expect(server.requests.length).toBe(count);
  });

  test('is a HAR 1.2 file', () => {
    const { log } = JSON.parse(readFileSync(file, 'utf8'));
    expect(log.version).toBe('1.2');
    expect(log.entries[0]).toMatchObject({
      request: { method: 'GET', url: `${server.origin}/weather`, httpVersion: 'HTTP/1.1' },
      response: {
        status: 200,
        content: { mimeType: 'application/json', text: '{"city":"Berlin","celsius":21}' },
      },
    });
  });

  test('ends when the headers of its requests are too large together', () => {
    const recorder = new Recorder(join(folder, 'limited.har'));
    const url = checkUrl('https://api.example.com/') as CheckedUrl;
    const request = { method: 'GET', url, headers: [['x', 'x'.repeat(30_000)]], body: undefined } as const;
    expect(() => {
      for (let i = 0; i < 2000; i++) recorder.begin(request, () => {});
    }).toThrow('the recording has reached its maximum size');
  });

  test('is only added to, and not touched by a program without requests', async () => {
    const added = join(folder, 'added.har');
    const access = new NetworkAccess(networkPolicy.parse({ allow: [`${server.origin}/*`], record: added }));
    const run = async (...paths: string[]) => {
      const broker = access.open();
      for (const path of paths) await read(broker, await get(broker, path));
      await broker.finish();
    };
    await run('/weather');
    const changed = readFileSync(added, 'utf8').replace('Berlin', 'Munich');
    writeFileSync(added, changed);
    utimesSync(added, 1, 1);
    await run();
    expect(statSync(added).mtimeMs).toBe(1000);
    await run('/csv', '/missing');
    const text = readFileSync(added, 'utf8');
    expect(text.startsWith(changed.slice(0, -5))).toBe(true);
    const urls = JSON.parse(text).log.entries.map((one: { request: { url: string } }) => one.request.url);
    expect(urls).toEqual(['/weather', '/csv', '/missing'].map((path) => server.origin + path));
    expect(text.split('\n')).toHaveLength(6);
  });

  test('without its end has the exchanges before it', async () => {
    const torn = join(folder, 'torn.har');
    const recorded = openServer({ record: torn });
    for (const path of ['/weather', '/csv']) await read(recorded, await get(recorded, path));
    await recorded.finish();
    const text = readFileSync(torn, 'utf8');
    const second = text.lastIndexOf('{"startedDateTime"');
    const warnings: string[] = [];
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation((warning) => {
      warnings.push(String(warning));
    });
    try {
      for (let size = text.length - 6; size > second; size -= 97) {
        truncateSync(torn, size);
        const replayed = openServer({ replay: torn });
        expect(await get(replayed, '/weather')).toMatchObject({ status: 200 });
        expect(errorOf(await get(replayed, '/csv')).kind).toBe('replay');
        expect(warnings.pop()).toContain('torn.har ends in the middle of an exchange');
      }
    } finally {
      emitWarning.mockRestore();
    }
  });

  test('of another sandbox is not written, nor one that somebody else has shortened', async () => {
    const shared = join(folder, 'shared.har');
    const url = checkUrl('https://api.example.com/') as CheckedUrl;
    const add = (recorder: Recorder) =>
      recorder.append([recorder.begin({ method: 'GET', url, headers: [], body: undefined }, () => {})]);
    const [first, second] = [new Recorder(shared), new Recorder(shared)];
    // Some file systems give this file the number of the first one.
    const third = new Recorder(shared);
    for (let i = 0; i < 3; i++) await add(third);
    const text = readFileSync(shared, 'utf8');
    for (const recorder of [first, second])
      await expect(add(recorder)).rejects.toThrow('was replaced or changed');
    expect(readFileSync(shared, 'utf8')).toBe(text);
    truncateSync(shared, 50);
    await expect(add(third)).rejects.toThrow('was replaced or changed');
    expect(readFileSync(shared, 'utf8')).toBe(text.slice(0, 50));
  });

  test('that was replaced by another file is not written', async () => {
    const target = join(folder, 'target.txt');
    const replaced = join(folder, 'replaced.har');
    writeFileSync(target, 'mine');
    for (const replace of [() => symlinkSync(target, replaced), () => writeFileSync(replaced, 'mine')]) {
      const recorder = new Recorder(replaced);
      const url = checkUrl('https://api.example.com/') as CheckedUrl;
      const exchange = recorder.begin({ method: 'GET', url, headers: [], body: undefined }, () => {});
      // The file keeps its number, so that no other file gets it.
      renameSync(replaced, `${replaced}.old`);
      replace();
      await expect(recorder.append([exchange])).rejects.toThrow(/was replaced|cannot be written/);
      expect(readFileSync(replaced, 'utf8')).toBe('mine');
      rmSync(replaced);
    }
    expect(readFileSync(target, 'utf8')).toBe('mine');
  });

  test('is written in slices, and other work has turns in between', async () => {
    const large = join(folder, 'large.har');
    const recorder = new Recorder(large);
    const url = checkUrl('https://api.example.com/') as CheckedUrl;
    const bodies = ['é"\0'.repeat(700_000), '\ud83d\ude00é"\n'.repeat(400_000)];
    const exchanges = bodies.map((body) => {
      const exchange = recorder.begin(
        { method: 'GET', url, headers: [['x', '"text":""']], body: undefined },
        () => {},
      );
      exchange.respond({ status: 200, reason: '"text":""', headers: [['location', '"text":""']] });
      exchange.add(Buffer.from(body));
      return exchange;
    });
    // Each takes a while, and another program of the sandbox writes at the same time.
    const written = Promise.all(exchanges.map((exchange) => recorder.append([exchange])));
    let isWritten = false;
    void written.then(() => {
      isWritten = true;
    });
    let turns = 0;
    for (; !isWritten; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(turns).toBeGreaterThan(3);
    const { entries } = JSON.parse(readFileSync(large, 'utf8')).log;
    const contents = entries.map(
      (entry: { response: { content: { text: string; encoding?: string } } }) => entry.response.content,
    );
    expect(Buffer.from(contents[0].text, contents[0].encoding).toString()).toBe(bodies[0]);
    expect(contents[1]).toMatchObject({ text: bodies[1] });
  });

  test('has bodies with control characters in base64', async () => {
    const binary = join(folder, 'binary.har');
    const recorder = new Recorder(binary);
    const url = checkUrl('https://api.example.com/') as CheckedUrl;
    const exchange = recorder.begin({ method: 'GET', url, headers: [], body: undefined }, () => {});
    exchange.add(Buffer.alloc(1_000_000));
    await recorder.append([exchange]);
    expect(statSync(binary).size).toBeLessThan(1_400_000);
  });

  test('has the failure of a request that the end of its program ended', async () => {
    const ended = join(folder, 'ended.har');
    const broker = openServer({ record: ended });
    const answer = get(broker, '/stalled').then((first) =>
      'handle' in first ? broker.read(first.handle!) : first,
    );
    await vi.waitFor(() => expect(broker.records[0]).toMatchObject({ status: 200 }));
    await broker.finish();
    expect(errorOf(await answer).kind).toBe('failed');
    expect(JSON.parse(readFileSync(ended, 'utf8')).log.entries).toMatchObject([
      { response: { status: 200, _error: { kind: 'failed', message: 'the program has ended' } } },
    ]);
  });

  test('replaces no file of others', () => {
    const others = join(folder, 'others.txt');
    const recorded = join(folder, 'linked.har');
    writeFileSync(others, 'mine');
    symlinkSync(others, `${recorded}.partial`);
    new Recorder(recorded);
    expect(readFileSync(others, 'utf8')).toBe('mine');
    expect(JSON.parse(readFileSync(recorded, 'utf8')).log.entries).toEqual([]);
  });

  test('still needs a rule', async () => {
    const broker = open({ allow: ['https://other.example/*'], replay: file });
    expect(errorOf(await get(broker, '/weather')).kind).toBe('refused');
  });

  test.each(['{', '{}', '{"log":{"version":"1.2","entries":[{}]}}'])('%j is rejected', (text) => {
    const damaged = join(folder, 'damaged.har');
    writeFileSync(damaged, text);
    expect(() => open({ replay: damaged })).toThrow('is not a HAR file');
    expect(() => open({ replay: join(folder, 'none.har') })).toThrow('cannot be read');
    expect(() => open({ replay: '/dev/null' })).toThrow('is not a file');
  });

  test('is rejected at its first invalid entry, whatever it contains', () => {
    const damaged = join(folder, 'large.har');
    const headers = `[${'1,'.repeat(999)}1]`;
    const response = '{"status":200,"statusText":"","headers":[],"content":{"size":-1e308,"mimeType":""}}';
    const entryWith = (list: string) =>
      `{"startedDateTime":"","time":-1,"request":{"method":"GET","url":"https://a.example/","headers":${list}},"response":${response}}`;
    const harWith = (entries: string) => `{"log":{"version":"1.2","entries":[${entries}]}}`;
    const hostile = [
      harWith(Array(20_000).fill(entryWith(headers)).join()),
      harWith(`${'[],'.repeat(100_000)}[]`),
      harWith(entryWith(`[${'1,'.repeat(10_000_000)}1]`)),
      harWith(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`),
      harWith(entryWith('{"length":1e9}')),
      `{"log":{"version":"1.2","entries":{"length":1e9}}}`,
      '{"__proto__":{"log":{"version":"1.2","entries":[]}}}',
      `[${'1,'.repeat(10_000_000)}1]`,
    ];
    for (const text of hostile) {
      writeFileSync(damaged, text);
      expect(() => open({ replay: damaged })).toThrow('is not a HAR file');
    }
    // Sizes and times are not used.
    writeFileSync(damaged, harWith(entryWith('[]')));
    expect(() => open({ replay: damaged })).not.toThrow();
  });

  test('of a browser has bodies without the compression that their headers describe', async () => {
    const exported = join(folder, 'browser.har');
    const entryOf = (path: string, content: object) => ({
      startedDateTime: '2026-01-01T00:00:00.000Z',
      time: 1,
      request: { method: 'GET', url: `${server.origin}${path}`, httpVersion: 'http/2.0', headers: [] },
      response: {
        status: 200,
        statusText: '',
        headers: [
          { name: 'Content-Encoding', value: path === '/image' ? 'gzip' : 'br, other' },
          { name: 'content-length', value: '7' },
          { name: 'Content-Type', value: 'text/plain' },
        ],
        content: { size: 12, mimeType: 'text/plain', ...content },
      },
    });
    const entries = ['/text', '/text', '/image'].map((path) =>
      entryOf(path, path === '/text' ? { text: 'decoded text' } : { text: 'AAEC/w==', encoding: 'base64' }),
    );
    const creator = { name: 'WebInspector', version: '537.36' };
    writeFileSync(exported, JSON.stringify({ log: { version: '1.2', creator, entries } }));
    const replayed = openServer({ replay: exported });
    for (const decode of [true, false]) {
      const answer = await get(replayed, '/text', { decode });
      expect(answer).toMatchObject({ status: 200, headers: [['Content-Type', 'text/plain']] });
      expect(await read(replayed, answer)).toBe('decoded text');
    }
    const image = await get(replayed, '/image', { decode: true });
    expect(image).toMatchObject({ body: 'AAEC/w==' });
  });

  test('has its large bodies in pieces, as a network does', async () => {
    const large = join(folder, 'large-body.har');
    const bytes = Buffer.alloc(1_000_003, 'abc');
    const content = { size: 0, mimeType: '', text: bytes.toString('base64'), encoding: 'base64' };
    const response = { status: 200, statusText: '', headers: [], content };
    const request = { method: 'GET', url: 'https://a.example/', headers: [] };
    const entry = { startedDateTime: '', time: 0, request, response };
    writeFileSync(large, JSON.stringify({ log: { version: '1.2', entries: [entry] } }));
    const url = checkUrl('https://a.example/') as CheckedUrl;
    const { body } = await atOnce(readRecording(large)).send({
      method: 'GET',
      url,
      headers: [],
      body: undefined,
    });
    const pieces: Uint8Array[] = [];
    for await (const piece of body) pieces.push(piece);
    expect(Math.max(...pieces.map(({ length }) => length))).toBe(256 * 1024);
    expect(Buffer.concat(pieces).equals(bytes)).toBe(true);
  });

  test('is rejected if its responses are not those of a server', () => {
    const damaged = join(folder, 'hostile.har');
    const response = { status: 200, statusText: '', headers: [], content: { size: 0, mimeType: '' } };
    const hostile = [
      { statusText: 'OK\r\nX-Added: 1' },
      { headers: [{ name: 'x', value: 'a\r\nSet-Cookie: b=1' }] },
      { headers: [{ name: 'x\ny', value: '' }] },
      { status: 1 },
      { status: 0, _error: { kind: '__proto__', message: '' } },
      { status: 0, _error: { kind: 'reset', message: 'x'.repeat(100_000) } },
    ];
    const request = { method: 'GET', url: 'https://a.example/', headers: [] };
    const write = (changes: object) => {
      const entry = { startedDateTime: '', time: 0, request, response: { ...response, ...changes } };
      writeFileSync(damaged, JSON.stringify({ log: { version: '1.2', entries: [entry] } }));
    };
    for (const changes of hostile) {
      write(changes);
      expect(() => open({ replay: damaged })).toThrow('is not a HAR file');
    }
    write({});
    expect(() => open({ replay: damaged })).not.toThrow();
  });
});
