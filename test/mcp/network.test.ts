/** Requests of programs on a server: ceilings per token, which clients can only restrict. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';

const folder = folderOfFile();
const SECRET = 'weather-key-0123456789';
const tokenOf = (name: string) => `${name}-secret-0123456789`;
const tokens = ['alice', 'bob', 'carol'].map((name) => `${name}=${tokenOf(name)}`);
let web: LoopbackServer;
let server: Awaited<ReturnType<typeof startHttp>>;
const clients: Client[] = [];

const configure = (config: object) => {
  const file = join(folder, `${clients.length}-${Math.random()}.json`);
  writeFileSync(file, JSON.stringify(config));
  return file;
};

beforeAll(async () => {
  web = await startLoopbackServer();
  const allow = [`${web.origin}/*`];
  const network_config = configure({
    network: { allow: [`${web.origin}/weather`] },
    tokens: {
      alice: { allow, secrets: { WEATHER_KEY: { value: SECRET, allow } } },
      carol: {},
    },
  });
  server = await startHttp({ tokens, network_config, store: join(folder, 'sessions') });
});
afterAll(async () => {
  for (const client of clients) await client.close();
  await server.close();
  await web[Symbol.asyncDispose]();
});

async function clientOf(name: string, at = server): Promise<Client> {
  const client = await httpClient(at, 'modern', tokenOf(name));
  clients.push(client);
  return client;
}

const program = (path: string) =>
  `var seen = await (await fetch('${path.startsWith('/') ? web.origin : ''}${path}', { headers: { authorization: process.env.WEATHER_KEY ?? '' } })).text();\nconsole.log(seen);`;
const run = (client: Client, path: string, more: object = {}) =>
  call(client, 'execute_code', { code: program(path), language: 'javascript', ...more });

describe('ceiling', () => {
  // guarantee: network
  test('is that of the token, otherwise that of all tokens', async () => {
    const [alice, bob, carol] = await Promise.all(['alice', 'bob', 'carol'].map((name) => clientOf(name)));
    expect((await run(alice!, '/echo')).text).toContain('/echo');
    expect((await run(bob!, '/weather')).text).toContain('Berlin');
    const refused = await run(bob!, '/echo');
    expect(refused.text).toContain(
      `The operator of the server can permit it by adding "${web.origin}/*" to network.allow in network_config. Trying again will not help.`,
    );
    expect((await run(carol!, '/weather')).text).toContain('to tokens.carol.allow in network_config');
  });

  test('includes secrets, which clients do not see', async () => {
    const alice = await clientOf('alice');
    const before = web.requests.length;
    const { text, structured } = await run(alice, '/echo');
    expect(web.requests.at(before)!.headers.authorization).toBe(SECRET);
    expect(text + JSON.stringify(structured)).not.toContain(SECRET);
    const created = await call(alice, 'create_session', { language: 'javascript' });
    expect(created.text).toContain(`Programs may request ${web.origin}/*.`);
    expect(created.text).toContain('WEATHER_KEY');
    expect(created.text + JSON.stringify(created.structured)).not.toContain(SECRET);
  });

  test('is restricted by a call, but not extended', async () => {
    const bob = await clientOf('bob');
    const before = web.requests.length;
    const answer = await run(bob, '/echo', { network_only: [`${web.origin}/*`] });
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain(
      `this server does not permit ${web.origin}/*. Permitted: ${web.origin}/weather. The operator of the server can permit it by adding "${web.origin}/*" to network.allow in network_config. Asking again will not help.`,
    );
    expect(web.requests.length).toBe(before);
    expect((await run(bob, '/weather', { network_only: [`${web.origin}/weather`] })).text).toContain(
      'Berlin',
    );
    const none = await run(bob, '/weather', { network_only: [] });
    expect(none.text).toContain('network_only restricts the program to no requests');
  });

  test('is restricted by a session, also when it is opened again or forked', async () => {
    const alice = await clientOf('alice');
    const only = { network_only: [`${web.origin}/weather`] };
    const tooMuch = await call(alice, 'create_session', {
      language: 'javascript',
      network_only: ['https://other.example/*'],
    });
    expect(tooMuch.text).toContain('adding "https://other.example/*" to tokens.alice.allow');
    await call(alice, 'create_session', { language: 'javascript', session_id: 'narrow', ...only });
    const refused = `network_only restricts the program to ${web.origin}/weather`;
    expect((await run(alice, '/weather', { session_id: 'narrow' })).text).toContain('Berlin');
    expect((await run(alice, '/echo', { session_id: 'narrow' })).text).toContain(refused);
    // A call restricts further; it does not replace the restriction.
    const wide = { session_id: 'narrow', network_only: [`${web.origin}/*`] };
    expect((await run(alice, '/echo', wide)).text).toContain(refused);
    await server.state.tenant('alice').release('narrow');
    expect((await run(alice, '/echo', { session_id: 'narrow' })).text).toContain(refused);
    await call(alice, 'fork_session', { session_id: 'narrow', new_session_id: 'branch' });
    expect((await run(alice, '/echo', { session_id: 'branch' })).text).toContain(refused);
    expect((await run(alice, '/weather', { session_id: 'branch' })).text).toContain('Berlin');
  });
});

describe('allow_net', () => {
  test('permits requests without a file', async () => {
    await using plain = await closing(startHttp({ allow_net: [`${web.origin}/weather`] }));
    const client = await httpClient(plain.server, 'modern');
    clients.push(client);
    expect((await run(client, '/weather')).text).toContain('Berlin');
    expect((await run(client, '/echo')).text).toContain(`adding "${web.origin}/*" to allow_net`);
    const { tools } = await client.listTools();
    const { description } = tools.find(({ name }) => name === 'execute_code')!;
    expect(description).toContain('Programs can send HTTP requests');
    expect(description).not.toContain('Not for network requests');
    expect(tools.filter(({ inputSchema: { properties = {} } }) => 'network_only' in properties)).toHaveLength(
      2,
    );
  });

  test('is missing in the answer of a server without a network', async () => {
    await using plain = await closing(startHttp());
    const client = await httpClient(plain.server, 'modern');
    clients.push(client);
    const answer = await run(client, '/weather', { network_only: ['https://api.example.com/v1/*'] });
    const { tools } = await client.listTools();
    expect(JSON.stringify(tools)).not.toContain('network_only');
    expect(answer.text).toContain('Permitted: no requests');
    expect(answer.text).toContain('adding "https://api.example.com/v1/*" to allow_net');
    expect((await run(client, '/weather')).text).toContain('it has no network');
  });
});

/** Names in this domain never resolve (RFC 6761). */
const UNKNOWN = 'https://api.invalid';

describe('ask', () => {
  test.each(['modern', 'legacy'] as const)('asks the person at the client (%s)', async (era) => {
    const network_config = configure({ network: { ask: true } });
    await using plain = await closing(startHttp({ network_config }));
    const mode = era === 'modern' ? { pin: '2026-07-28' } : 'legacy';
    const client = new Client(
      { name: 'test', version: '1' },
      { capabilities: { elicitation: { form: {} } }, versionNegotiation: { mode } },
    );
    const asked: string[] = [];
    let decision = 'deny';
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params.message);
      return { action: 'accept' as const, content: { decision } };
    });
    await client.connect(new StreamableHTTPClientTransport(new URL(plain.server.url)));
    clients.push(client);
    const denied = await run(client, `${UNKNOWN}/weather`);
    expect(asked).toEqual([
      expect.stringContaining(`wants to send the request GET ${UNKNOWN}/weather without a body\nAllow this?`),
    ]);
    expect(denied.text).toContain('a person denied the call');
    // The request was approved, but its host does not exist.
    decision = 'allow';
    expect((await run(client, `${UNKNOWN}/weather`)).text).toMatch(/does not resolve|did not answer/);
    decision = 'never';
    expect((await run(client, `${UNKNOWN}/weather`)).text).toContain('a person denied the call');
    expect((await run(client, `${UNKNOWN}/echo`)).text).toContain(`a person has refused GET ${UNKNOWN}`);
    expect(asked).toHaveLength(3);
    // Nobody can approve private addresses.
    expect((await run(client, '/weather')).text).toContain('no rule matches it');
    expect(asked).toHaveLength(3);
  });

  test('refuses requests if the client cannot ask', async () => {
    await using plain = await closing(startHttp({ network_config: configure({ network: { ask: true } }) }));
    const client = await httpClient(plain.server, 'modern');
    clients.push(client);
    expect((await run(client, `${UNKNOWN}/`)).text).toContain('this client cannot ask a person');
  });
});

describe('network_config', () => {
  test.each([
    [{ tokens: { dave: {} } }, 'tokens.dave: no token has this name'],
    [{ network: { record: 'a.har' } }, 'record'],
    [{ network: { allow: ['example.com'] } }, 'must begin with https:// or http://'],
    [{ network: { allow: [7] } }, 'must be a URL pattern'],
    [{ network: { alow: [] } }, 'alow'],
  ])('%j is rejected', async (config, problem) => {
    await expect(startHttp({ tokens, network_config: configure(config) })).rejects.toThrow(problem);
  });

  test('has no tokens on a server without tokens', async () => {
    const network_config = configure({ tokens: { dave: {} } });
    await expect(startHttp({ network_config })).rejects.toThrow(
      'tokens.dave: this server has no tokens. Put the rules under "network". Only "serve" has tokens.',
    );
  });

  test('must be JSON', async () => {
    const file = join(folder, 'broken.json');
    writeFileSync(file, `{"network": "${SECRET}"`);
    await expect(startHttp({ network_config: file })).rejects.toThrow('is not valid JSON');
  });
});

async function closing(starting: ReturnType<typeof startHttp>) {
  const started = await starting;
  return { server: started, [Symbol.asyncDispose]: () => started.close() };
}
