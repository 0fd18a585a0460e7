// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the syntax of variables in the configuration
import { once } from 'node:events';
import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { fromMcp } from '../../packages/core/src/tools/from-mcp.ts';
import { ToolDispatcher } from '../../packages/core/src/tools/tool-dispatcher.ts';
import { Gateway } from '../../packages/server/src/gateway/gateway.ts';
import { parseToolsConfig, readToolsConfig } from '../../packages/server/src/gateway/tools-config.ts';
import { serveHttp } from '../../packages/server/src/serve.ts';
import { folderOfFile } from '../support/folders.ts';

const require = createRequire(import.meta.url);
/** The official file system server. */
const FILESYSTEM = require.resolve('@modelcontextprotocol/server-filesystem/dist/index.js');
/** A server that reports its environment, fails, exits and sends hostile lists. */
const FIXTURE = new URL('gateway-fixture.mjs', import.meta.url).pathname;
const { execPath } = process;

const folder = folderOfFile();
const gateways: Gateway[] = [];
afterAll(() => Promise.all(gateways.map((gateway) => gateway.close())));

type Events = { event: string; reason?: string }[];

function open(servers: Record<string, object>, env: Record<string, string> = {}) {
  const events: Events = [];
  const logger = {
    info: (fields: object) => events.push(fields as Events[number]),
    warn: (fields: object) => events.push(fields as Events[number]),
  };
  const gateway = new Gateway(parseToolsConfig({ mcpServers: servers }, env), { version: '1', log: logger });
  gateways.push(gateway);
  return { gateway, events };
}

async function caller(gateway: Gateway, onApproval?: () => boolean) {
  const run = new ToolDispatcher(await gateway.toolset(), {
    cannotPause: 'it has no session',
    ...(onApproval && { onApproval }),
  });
  let id = 0;
  return (name: string, args: object = {}) =>
    run.call({ id: ++id, name, argumentsJson: JSON.stringify(args) });
}

const fixture = (options: object = {}) => ({ command: execPath, args: [FIXTURE], ...options });

describe('tools configuration', () => {
  it('replaces variables, and leaves out disabled servers', () => {
    const config = parseToolsConfig(
      {
        mcpServers: {
          a: {
            command: '${BIN}/server',
            args: ['${X:-one}', '${EMPTY:-two}', '${EMPTY}'],
            env: { KEY: 'k-${SECRET}' },
          },
          b: { type: 'http', url: 'https://${HOST}/mcp', headers: { Authorization: 'Bearer ${SECRET}' } },
          c: { command: '${UNSET}', disabled: true },
        },
      },
      { BIN: '/bin', SECRET: 's', HOST: 'example.com', EMPTY: '' },
    );
    expect([...config.keys()]).toEqual(['a', 'b']);
    expect(config.get('a')).toMatchObject({
      command: '/bin/server',
      args: ['one', 'two', ''],
      env: { KEY: 'k-s' },
    });
    expect(config.get('b')).toMatchObject({
      url: 'https://example.com/mcp',
      headers: { Authorization: 'Bearer s' },
    });
  });

  it.each<[string, object, string]>([
    ['an unset variable', { a: { command: '${UNSET}' } }, 'UNSET is not set'],
    ['an unknown key', { a: { command: 'x', autoApprove: ['*'] } }, 'autoApprove'],
    [
      'an unknown approval mode',
      { a: { command: 'x', approval: 'never' } },
      'tools_config.mcpServers.a.approval',
    ],
    ['a server without a command and a URL', { a: {} }, 'tools_config.mcpServers.a.command'],
    ['another protocol', { a: { url: 'file:///etc/passwd' } }, 'must start with http'],
    ['a relative command without a folder', { a: { command: './server' } }, 'is a relative path'],
    ['an invalid name', { 'a b': { command: 'x' } }, 'Names must consist of 1 to 64'],
    [
      'too many servers',
      Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`s${i}`, { command: 'x' }])),
      'At most 32',
    ],
  ])('rejects %s', (_, mcpServers, message) => {
    expect(() => parseToolsConfig({ mcpServers }, {})).toThrow(message);
  });

  it('reports files that cannot be read without quoting them', () => {
    const path = join(folder, 'bad.json');
    writeFileSync(path, '{"mcpServers": SECRET');
    expect(() => readToolsConfig(path)).toThrow(/bad\.json is not valid JSON\.$/);
    expect(() => readToolsConfig(join(folder, 'missing.json'))).toThrow('Cannot read');
  });
});

describe('the folder of a tool server', () => {
  const folderOf = async (options: object) => {
    const { gateway } = open({ own: fixture(options) });
    const result = await (await caller(gateway))('own.environment', { folder: true });
    return JSON.parse(JSON.parse((result as { json: string }).json));
  };

  // guarantee: host-programs
  it('is empty unless the configuration names one, so that it uses no file that a guest has written', async () => {
    const { cwd, files } = await folderOf({});
    expect(cwd).not.toBe(process.cwd());
    expect(files).toEqual(['package.json', 'uv.toml']);
  });

  it('is the one that the configuration names', async () => {
    expect((await folderOf({ cwd: folder })).cwd).toBe(realpathSync(folder));
  });
});

describe('gateway to the official file system server', () => {
  it('allows reading, and asks before writing', async () => {
    writeFileSync(join(folder, 'a.txt'), 'hello');
    const { gateway } = open({ files: { command: execPath, args: [FILESYSTEM, folder] } });
    const asked: string[] = [];
    let decision = false;
    const toolset = await gateway.toolset();
    const run = new ToolDispatcher(toolset, {
      cannotPause: 'it has no session',
      onApproval: ({ name, arguments: args }) => {
        asked.push(`${name} ${args['path']}`);
        return decision;
      },
    });
    let id = 0;
    const call = (name: string, args: object) =>
      run.call({ id: ++id, name, argumentsJson: JSON.stringify(args) });
    const path = join(folder, 'a.txt');
    expect(await call('files.read_text_file', { path })).toEqual({
      type: 'value',
      json: '{"content":"hello"}',
    });
    expect(asked).toEqual([]);
    const write = { path, content: 'changed' };
    expect(await call('files.write_file', write)).toMatchObject({ code: 'denied' });
    expect(readFileSync(path, 'utf8')).toBe('hello');
    decision = true;
    expect(await call('files.write_file', write)).toMatchObject({ type: 'value' });
    expect(readFileSync(path, 'utf8')).toBe('changed');
    expect(asked).toEqual([`files.write_file ${path}`, `files.write_file ${path}`]);
    expect(await call('files.read_text_file', { path: '/etc/passwd' })).toMatchObject({ code: 'failed' });
    expect(await call('files.read_text_file', { file: path })).toMatchObject({ code: 'invalid_arguments' });
    expect(await gateway.toolset()).toBe(toolset);
  });
});

const BLANK = ' '.repeat(1024 * 1024);

/** An MCP server over HTTP. Its tools answer with the same text, after 17 MiB of blanks in the same message or in others. */
async function answerOverHttp(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const { id, method, params } = JSON.parse(await text(request));
  if (id === undefined) return void response.writeHead(202).end();
  const message = (result: object) => JSON.stringify({ jsonrpc: '2.0', id, result });
  const content = (value: string) => message({ content: [{ type: 'text', text: value }] });
  const send = (type: string, ...parts: string[]) => {
    response.writeHead(200, { 'content-type': type });
    for (const part of parts) response.write(part);
    response.end();
  };
  const json = (body: string) => send('application/json', body);
  const events = (...parts: string[]) => send('text/event-stream', ...parts);
  const calls: Record<string, () => void> = {
    small: () => json(content('small')),
    long_body: () => json(BLANK.repeat(17) + content('small')),
    long_event: () => events(`: ${BLANK.repeat(17)}\ndata: ${content('small')}\n\n`),
    many_events: () =>
      events(...new Array<string>(17).fill(`: ${BLANK}\r\n\r\n`), `data: ${content('small')}\n\n`),
  };
  if (method === 'tools/call') calls[params.name]!();
  else if (method === 'tools/list')
    json(message({ tools: Object.keys(calls).map((name) => ({ name, inputSchema: { type: 'object' } })) }));
  else
    json(
      message({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'http', version: '1' },
      }),
    );
}

describe('the gateway', () => {
  // guarantee: untrusted-tool-servers
  it('gives a server only the environment that is configured', async () => {
    process.env['GATEWAY_TEST_SECRET'] = 'secret';
    const { gateway } = open(
      { s: fixture({ env: { OWN: '${GIVEN}' }, approval: 'allow' }) },
      { GIVEN: 'yes' },
    );
    const answer = await (await caller(gateway))('s.environment');
    delete process.env['GATEWAY_TEST_SECRET'];
    const { json } = answer as { json: string };
    expect(JSON.parse(JSON.parse(json))).toEqual({ OWN: 'yes', PATH: expect.any(String) });
  });

  // guarantee: approval
  // proves: By default, the gateway asks a person before it calls a tool that writes.
  it.each<[string, object, object, boolean]>([
    ['calls to tools that write, by default', {}, { code: 'denied' }, true],
    ['calls, with ask', { approval: 'ask' }, { code: 'denied' }, true],
    ['nothing, with allow', { approval: 'allow' }, { type: 'value' }, false],
    [
      'nothing, with deny',
      { approval: 'deny' },
      { code: 'denied', message: expect.stringContaining('operator') },
      false,
    ],
  ])('asks for %s', async (_, options, expected, isAsked) => {
    const { gateway } = open({ s: fixture(options) });
    let asked = 0;
    const call = await caller(gateway, () => {
      asked++;
      return false;
    });
    expect(await call('s.echo', { text: 'x' })).toMatchObject(expected);
    expect(asked).toBe(isAsked ? 1 : 0);
  });

  it('offers only the tools that are allowed, and limits their calls', async () => {
    const { gateway } = open({
      s: fixture({ tools: ['echo', 'environment'], deny: ['environment'], approval: 'allow', max_calls: 1 }),
    });
    expect((await gateway.toolset()).catalog.map(({ name }) => name)).toEqual(['s.echo']);
    const call = await caller(gateway);
    expect(await call('s.environment')).toMatchObject({ code: 'unknown_tool' });
    expect(await call('s.echo', { text: 'x' })).toMatchObject({ type: 'value', json: '"x"' });
    expect(await call('s.echo', { text: 'x' })).toMatchObject({ code: 'limit' });
  });

  // guarantee: tool-calls
  it('reconnects after a server has ended, and does not repeat the call', async () => {
    const { gateway } = open({ s: fixture({ approval: 'allow' }) });
    const call = await caller(gateway);
    expect(await call('s.exit')).toMatchObject({ code: 'failed' });
    expect(await call('s.echo', { text: 'again' })).toMatchObject({ type: 'value' });
  });

  it('lists the tools of a server once, for all programs that ask for them', async () => {
    const { gateway, events } = open({ s: fixture() });
    const [one, two] = await Promise.all([gateway.toolset(), gateway.toolset()]);
    expect(two).toBe(one);
    expect(await gateway.toolset()).toBe(one);
    expect(events.filter(({ event }) => event === 'gateway.connect')).toHaveLength(1);
  });

  it('is closed if the HTTP server that uses it cannot start', async () => {
    const used = createServer().listen(0, '127.0.0.1');
    await once(used, 'listening');
    const config = join(folder, 'used-port.json');
    writeFileSync(config, JSON.stringify({ mcpServers: { s: fixture() } }));
    const closed = vi.spyOn(Gateway.prototype, 'close');
    const { port } = used.address() as AddressInfo;
    await expect(serveHttp({ port, tools_config: config })).rejects.toThrow('EADDRINUSE');
    expect(closed).toHaveBeenCalledOnce();
    closed.mockRestore();
    used.close();
  });

  it('stops waiting for a server after the time limit', async () => {
    const { gateway } = open({ s: fixture({ approval: 'allow', timeout_seconds: 0.05 }) });
    expect(await (await caller(gateway))('s.wait')).toMatchObject({ code: 'timeout' });
  });

  // guarantee: untrusted-tool-servers
  // proves: The gateway closes even if a process that a server has started keeps its output open.
  it('closes even if a process that a server has started keeps its output open', {
    tags: 'full',
  }, async () => {
    const { gateway } = open({ s: fixture({ approval: 'allow' }) });
    const started = (await (await caller(gateway))('s.fork')) as { json: string };
    await gateway.close();
    process.kill(Number(JSON.parse(started.json)), 'SIGKILL');
  });

  // guarantee: untrusted-tool-servers
  it('ends a server that ignores SIGTERM', { tags: 'full' }, async () => {
    const { gateway } = open({ s: fixture({ env: { STUBBORN: '1' }, approval: 'allow' }) });
    const { json } = (await (await caller(gateway))('s.pid')) as { json: string };
    await gateway.close();
    expect(() => process.kill(Number(JSON.parse(json)), 0)).toThrow('ESRCH');
  });

  it('works without servers that cannot be reached, and logs the reason', async () => {
    const { gateway, events } = open({
      refuses: fixture({ env: { REFUSE: '1' } }),
      gone: { command: join(folder, 'missing-program') },
      exits: { command: execPath, args: ['-e', 'process.exit(3)'] },
      http: { url: 'http://127.0.0.1:9/mcp' },
      s: fixture(),
    });
    const { catalog } = await gateway.toolset();
    expect(new Set(catalog.map(({ path }) => path[0]))).toEqual(new Set(['s']));
    const unavailable = events.filter(({ event }) => event === 'gateway.unavailable');
    expect(unavailable).toHaveLength(4);
    const reasons = unavailable.map(({ reason }) => reason).join('\n');
    expect(reasons).toContain('exits could not be reached: it exited with code 3');
    expect(reasons).toContain(`The program ${join(folder, 'missing-program')} was not found`);
    expect(reasons).toMatch(/http could not be reached: .*(?:ECONNREFUSED|bad port)/);
    for (const { reason } of unavailable) expect(reason!.length).toBeLessThanOrEqual(1000);
    expect(events.filter(({ event }) => event === 'gateway.tool_skipped')).toMatchObject([
      { tool: 'hostile' },
    ]);
  });

  // guarantee: untrusted-tool-servers
  it('leaves out tools whose names collide or that exceed the limit, and logs the reason', async () => {
    const many = Array.from({ length: 998 }, (_, i) => `t${i}`).join(' ');
    const { gateway, events } = open({
      a: fixture({ env: { TOOLS: 'b.c own' } }),
      'a.b': fixture({ env: { TOOLS: 'c d' } }),
      many: fixture({ env: { TOOLS: many } }),
    });
    const names = (await gateway.toolset()).catalog.map(({ name }) => name);
    expect(names).toHaveLength(1000);
    expect(names.slice(0, 3)).toEqual(['a.b.c', 'a.b.d', 'a.own']);
    expect(events.filter(({ event }) => event === 'gateway.tools_skipped')).toMatchObject([
      { server: 'a.b', tools: 1, reason: expect.stringContaining('two tools have the name "a.b.c"') },
      { server: 'many', tools: 1, reason: expect.stringContaining('at most 1,000 tools') },
    ]);
  });

  // guarantee: untrusted-tool-servers
  // proves: A server that sends too much is disconnected. The call fails with the name of the server, the log states the reason, and other servers are not affected.
  it.each([
    ['members', /more than 100,000 members and elements$/],
    ['hidden-members', /more than 100,000 members and elements$/],
    ['bytes', /longer than 10 MiB$/],
    ['line', /longer than 10 MiB$/],
    ['pings', /more than 500 messages without a request in 5 s$/],
    ['changes', /more than 500 messages without a request in 5 s$/],
    ['logs', /more than 500 messages without a request in 5 s$/],
    ['answers', /more than 500 messages without a request in 5 s$/],
    ['large', /more than 64 MiB in 5 s$/],
  ])('disconnects a server that sends too much: %s', { tags: 'full' }, async (HOSTILE, reason) => {
    const { gateway, events } = open({
      bad: fixture({ env: { HOSTILE, STUBBORN: '1' }, approval: 'allow' }),
      good: fixture({ approval: 'allow' }),
    });
    const call = await caller(gateway);
    const [attacked, answered] = await Promise.all([call('bad.attack'), call('good.echo', { text: 'x' })]);
    expect(answered).toEqual({ type: 'value', json: '"x"' });
    expect(attacked).toMatchObject({
      code: 'failed',
      message: expect.stringMatching(/^The connection to the MCP server bad was closed: it sent /),
    });
    expect(events.filter(({ event }) => event === 'gateway.closed')).toEqual([
      { event: 'gateway.closed', server: 'bad', reason: expect.stringMatching(reason) },
    ]);
    await gateway.close();
  });

  // guarantee: untrusted-tool-servers
  it.each(['garbage', 'binary'])(
    'disconnects a server that does not send messages: %s',
    { tags: 'full' },
    async (HOSTILE) => {
      const { gateway } = open({ s: fixture({ env: { HOSTILE }, approval: 'allow' }) });
      const call = await caller(gateway);
      expect(await call('s.attack')).toMatchObject({ code: 'failed' });
      expect(await call('s.echo', { text: 'again' })).toMatchObject({ type: 'value' });
    },
  );

  // guarantee: untrusted-tool-servers
  it.each([
    ['list-members', {}],
    ['list-line', {}],
    ['list-pings', {}],
    ['a list of thousands of tools', { MANY: '30000' }],
  ])('offers no tools of a server whose list is too large: %s', { tags: 'full' }, async (HOSTILE, env) => {
    const { gateway, events } = open({ bad: fixture({ env: { HOSTILE, ...env } }), good: fixture() });
    const { catalog } = await gateway.toolset();
    expect(new Set(catalog.map(({ path }) => path[0]))).toEqual(new Set(['good']));
    expect(events.map(({ event }) => event)).toContain('gateway.closed');
    const [unavailable] = events.filter(({ event }) => event === 'gateway.unavailable');
    expect(unavailable!.reason).toContain('The connection to the MCP server bad was closed');
    await gateway.close();
  });

  // guarantee: untrusted-tool-servers
  it('checks long lists of tools in several turns of the event loop', { tags: 'full' }, async () => {
    const many = Array.from({ length: 900 }, (_, i) => ({
      name: `t${i}`,
      inputSchema: { patternProperties: { [`p${i}(){3000}`]: {} } },
    }));
    let turns = 0;
    let isDone = false;
    const client = { listTools: async () => ({ tools: many }), callTool: async () => ({}) };
    const tools = fromMcp(client).finally(() => {
      isDone = true;
    });
    while (!isDone) {
      await new Promise((resolve) => setImmediate(resolve));
      turns++;
    }
    expect(Object.keys(await tools)).toHaveLength(900);
    expect(turns).toBeGreaterThan(10);
  });

  // guarantee: untrusted-tool-servers
  it('keeps the allowance of a server when it connects again', async () => {
    const { gateway } = open({ s: fixture({ env: { HOSTILE: 'pings' }, approval: 'allow' }) });
    const call = await caller(gateway);
    await call('s.attack');
    expect(await call('s.echo', { text: 'x' })).toMatchObject({
      code: 'failed',
      message: expect.stringMatching(/ It can be used again in [4-6] seconds\.$/),
    });
  });

  // guarantee: untrusted-tool-servers
  it('follows redirects of a server over HTTP only to the same origin', async () => {
    const visited: string[] = [];
    const internal = createServer((request, response) => {
      visited.push(`internal ${request.url}`);
      void answerOverHttp(request, response);
    }).listen(0, '127.0.0.1');
    await once(internal, 'listening');
    const { port: other } = internal.address() as AddressInfo;
    const server = createServer((request, response) => {
      visited.push(String(request.url));
      const leadsTo: Record<string, string> = {
        '/same': '/mcp',
        '/other': `http://127.0.0.1:${other}/mcp`,
        '/loop': '/loop',
      };
      const location = leadsTo[String(request.url)];
      if (location === undefined) void answerOverHttp(request, response);
      else response.writeHead(307, { location }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const at = (path: string) => ({ url: `http://127.0.0.1:${port}${path}`, approval: 'allow' });
    const { gateway } = open({ same: at('/same'), other: at('/other'), loop: at('/loop') });
    const call = await caller(gateway);
    expect(await call('same.small')).toEqual({ type: 'value', json: '"small"' });
    expect(visited).toContain('/mcp');
    expect(visited.join()).not.toContain('internal');
    expect(visited).toEqual(expect.arrayContaining(['/other', '/loop']));
    await gateway.close();
    for (const one of [server, internal]) {
      one.closeAllConnections();
      one.close();
    }
  });

  // guarantee: untrusted-tool-servers
  it('limits the size of messages from a server over HTTP, and reconnects', { tags: 'full' }, async () => {
    const server = createServer(answerOverHttp).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { gateway } = open({ s: { url: `http://127.0.0.1:${port}/mcp`, approval: 'allow' } });
    const call = await caller(gateway);
    const small = { type: 'value', json: '"small"' };
    expect(await call('s.small')).toEqual(small);
    expect(await call('s.long_body')).toMatchObject({ code: 'failed' });
    expect(await call('s.small')).toEqual(small);
    expect(await call('s.long_event')).toMatchObject({ code: 'failed' });
    expect(await call('s.many_events')).toEqual(small);
    await gateway.close();
    server.closeAllConnections();
    server.close();
  });
});
