/** A request is sent to the host that the rules have checked, however the host is written. */
import { createSandbox } from 'llm-wasm-sandbox';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LiveTransport } from '../../packages/core/src/network/live-transport.ts';
import { NetworkAccess } from '../../packages/core/src/network/network-access.ts';
import { NetworkRules } from '../../packages/core/src/network/network-rules.ts';
import { replaceResolver } from '../../packages/core/src/network/resolver.ts';
import type { CheckedUrl } from '../../packages/core/src/schema/url-pattern.ts';
import { networkPolicy, type PolicyInput, type RuntimeName } from '../../packages/core/src/schema.ts';
import { type Answer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.ts';

let server: LoopbackServer;
beforeEach(async () => {
  server = await startLoopbackServer();
});
afterEach(() => server[Symbol.asyncDispose]());

/** Hosts that some parser or resolver reads as an address of the loopback interface. */
const HOSTS = [
  '127.0.0.1..',
  '2130706433..',
  '0x7f.1..',
  'localhost..',
  '0177.1..',
  '127.0.0.1...',
  '127.0.0.1%2e.',
  '127.0.0.1。。',
  '１２７.1..',
  '127.0.0..1',
  '.127.0.0.1',
];

type Network = NonNullable<PolicyInput['network']>;

async function request(host: string, network: Network) {
  const broker = new NetworkAccess(networkPolicy.parse(network)).open();
  const args = { method: 'GET', url: `http://${host}:${server.port}/internal` };
  try {
    const answer = await broker.request(args);
    return { kind: 'error' in answer ? answer.error.kind : 'sent', records: broker.records };
  } finally {
    await broker.finish();
  }
}

describe('request to a host with another notation of a loopback address', () => {
  // guarantee: network
  // proves: A request to a host that another parser could read as a loopback address is refused.
  test.each(HOSTS)('%s is refused by a rule for every host', async (host) => {
    const { kind, records } = await request(host, { allow: [`http://*:${server.port}/*`] });
    expect(kind).toBe('invalid');
    expect(records).toMatchObject([{ outcome: 'refused', bytes_up: 0 }]);
    expect(server.requests).toEqual([]);
  });

  test.each([...HOSTS, '127.0.0.1.', '127.1', '2130706433', '0x7f.1'])(
    '%s does not avoid a rule that denies it',
    async (host) => {
      const allow = [{ url: `http://*:${server.port}/*`, addresses: ['127.0.0.0/8'] }];
      const deny = [`http://127.0.0.1:${server.port}/*`, `http://localhost:${server.port}/*`];
      expect((await request(host, { allow, deny })).kind).toMatch(/^(?:invalid|refused)$/);
      expect(server.requests).toEqual([]);
    },
  );

  test.each([...HOSTS, '2130706433.', '0x7f.1.', 'localhost.'])(
    '%s is not asked about, and an approval does not permit it',
    async (host) => {
      const broker = new NetworkAccess(networkPolicy.parse({ ask: true })).open();
      const args = { method: 'GET', url: `http://${host}:${server.port}/internal` };
      expect(broker.needsApproval(args)).toBe(false);
      broker.approve(args, { isForSession: false, isRepeated: false });
      expect(await broker.request(args)).toMatchObject({
        error: { kind: expect.stringMatching(/^(?:invalid|refused)$/) },
      });
      await broker.finish();
      expect(server.requests).toEqual([]);
    },
  );

  test('is recorded with the address in its usual notation', async () => {
    const { kind, records } = await request('0x7f.1.', { allow: [`http://127.0.0.1:${server.port}/*`] });
    expect(kind).toBe('sent');
    expect(records).toMatchObject([{ url: `http://127.0.0.1:${server.port}/internal`, outcome: 'ok' }]);
    expect(server.requests).toMatchObject([{ headers: { host: `127.0.0.1:${server.port}` } }]);
  });
});

const PROGRAMS: readonly (readonly [string, RuntimeName, string])[] = [
  ['fetch', 'javascript', `try { await fetch('URL'); } catch { console.log('failed'); }`],
  [
    'urllib',
    'python',
    `import urllib.request
try:
    urllib.request.urlopen('URL')
except OSError:
    print('failed')`,
  ],
  [
    'curl',
    'python',
    `import subprocess
if subprocess.run(['curl', '-sL', 'URL']).returncode != 0:
    print('failed')`,
  ],
];

describe('redirect to such a host', () => {
  test.each(PROGRAMS)('is not followed by %s', async (_, runtime, code) => {
    const { port } = server;
    const hosts = HOSTS.slice(0, 4);
    const answers = hosts.map((host): [string, Answer] => [
      `/to/${host}`,
      (_, response) => response.writeHead(302, { location: `http://${host}:${port}/internal` }).end(),
    ]);
    await using first = await startLoopbackServer(Object.fromEntries(answers));
    const policy: PolicyInput = { network: { allow: [`${first.origin}/*`, `http://*:${port}/*`] } };
    await using sandbox = await createSandbox({ runtime, policy });
    for (const host of hosts)
      expect((await sandbox.execute(code.replace('URL', `${first.origin}/to/${host}`))).stdout).toBe(
        'failed\n',
      );
    expect(first.requests).toHaveLength(hosts.length);
    expect(server.requests).toEqual([]);
  });
});

describe('connection', () => {
  const url = (host: string): CheckedUrl => ({
    scheme: 'http:',
    host,
    port: String(server.port),
    path: '/internal',
    decodedPath: '/internal',
    query: '',
  });

  async function send(host: string, allow: NonNullable<Network['allow']>) {
    const rules = new NetworkRules(networkPolicy.parse({ allow }));
    const transport = new LiveTransport();
    const wire = { method: 'GET', url: url(host), headers: [], body: undefined };
    try {
      const { status } = await transport.send(wire, rules.find('GET', wire.url), AbortSignal.timeout(5000));
      return String(status);
    } catch (cause) {
      return (cause as Error).message;
    } finally {
      await transport.close();
    }
  }

  // guarantee: network
  // proves: A connection is made to the addresses of the checked host, which nothing parses again.
  test.each(['2130706433', '127.0.0.1.', '127.1', 'localhost.', '0x7f.1'])(
    'is made to the addresses of the checked host %s, which nothing parses again',
    async (host) => {
      const resolved: string[] = [];
      const restore = replaceResolver(async (name) => {
        resolved.push(name);
        return [{ address: '10.0.0.1', family: 4 }];
      });
      try {
        expect(await send(host, [`http://*:${server.port}/*`])).toContain('not on the public internet');
      } finally {
        restore();
      }
      expect(resolved).toEqual([host]);
      expect(server.requests).toEqual([]);
    },
  );

  test('is for the name of the checked host, at an address that the rule permits', async () => {
    const restore = replaceResolver(async () => [{ address: '127.0.0.1', family: 4 }]);
    try {
      const allow = [{ url: `http://*:${server.port}/*`, addresses: ['127.0.0.1'] }];
      expect(await send('name.example', allow)).toBe('200');
    } finally {
      restore();
    }
    expect(server.requests).toMatchObject([{ headers: { host: `name.example:${server.port}` } }]);
  });
});
