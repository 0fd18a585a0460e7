/** @module-tag full */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { runCliHere } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { CLI, call, ERAS, type Era, httpClient, startHttp } from '../support/mcp.ts';

/** The official file system server of the MCP registry. */
const FILESYSTEM = createRequire(import.meta.url).resolve(
  '@modelcontextprotocol/server-filesystem/dist/index.js',
);
const TOKENS = ['alice=alice-secret-token-1', 'bob=bob-secret-token-12'];

const folder = folderOfFile();
const files = join(folder, 'files');
let server: HttpServer;
beforeAll(async () => {
  mkdirSync(files);
  writeFileSync(join(files, 'a.txt'), 'first');
  const config = join(folder, 'tools.json');
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { files: { command: process.execPath, args: [FILESYSTEM, files] } } }),
  );
  server = await startHttp({ tools_config: config, tokens: TOKENS });
});
afterAll(() => server.close());

type Answer = 'allow' | 'deny' | 'decline' | 'cancel';

/** A client whose user answers questions; not connected yet. */
function person(era: Era, answer: (message: string) => Answer) {
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: era === 'modern' ? { pin: '2026-07-28' } : 'legacy' },
    },
  );
  const asked: string[] = [];
  client.setRequestHandler('elicitation/create', async ({ params }) => {
    asked.push(params.message);
    const decision = answer(params.message);
    if (decision === 'decline' || decision === 'cancel') return { action: decision };
    return { action: 'accept' as const, content: { decision } };
  });
  return { client, asked, connect: (transport: Transport) => client.connect(transport) };
}

async function personAt(era: Era, answer: (message: string) => Answer, tenant = 'alice') {
  const { client, asked, connect } = person(era, answer);
  const token = TOKENS.find((entry) => entry.startsWith(tenant))!.split('=')[1];
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit }));
  return { client, asked };
}

const writeProgram = (...names: string[]) =>
  `
import asyncio
async def write(name):
    try:
        return await tools.files.write_file(path=${JSON.stringify(`${'FOLDER'}/`)} + name, content="by a program")
    except ToolError as error:
        return f"{error.code}: {error}"
for text in await asyncio.gather(*map(write, ${JSON.stringify(names)})):
    print(text)
`.replace('FOLDER', files);

describe.each(ERAS)('programs that call tools of MCP servers, %s era', (era) => {
  test('read without a question, in both languages', async () => {
    const { client, asked } = await personAt(era, () => 'deny');
    const path = JSON.stringify(join(files, 'a.txt'));
    const python = `print((await tools.files.read_text_file(path=${path}))["content"])`;
    expect(
      (await call(client, 'execute_code', { code: python, language: 'python' })).structured,
    ).toMatchObject({ stdout: 'first\n' });
    const javascript = `console.log((await tools.files.read_text_file({ path: ${path} })).content)`;
    expect(
      (await call(client, 'execute_code', { code: javascript, language: 'javascript' })).structured,
    ).toMatchObject({ stdout: 'first\n' });
    expect(asked).toEqual([]);
    await client.close();
  });

  // guarantee: approval
  // proves: Programs that call tools of MCP servers write only what a person has approved.
  test('write only what a person allows', async () => {
    const { client, asked } = await personAt(era, (message) =>
      message.includes('good') ? 'allow' : message.includes('bad') ? 'deny' : 'cancel',
    );
    const code = writeProgram(`good-${era}`, `bad-${era}`, `other-${era}`);
    const { structured } = await call(client, 'execute_code', { code, language: 'python' });
    expect(structured['stdout']).toMatch(
      /Successfully wrote.*\ndenied: .*a person denied the call\.\ndenied: .*the question was not answered\.\n$/s,
    );
    expect(readdirSync(files).filter((name) => name.endsWith(era))).toEqual([`good-${era}`]);
    expect(readFileSync(join(files, `good-${era}`), 'utf8')).toBe('by a program');
    expect(asked).toHaveLength(3);
    expect(asked[0]).toContain(
      `A program wants to call files.write_file with the arguments {"path":"${files}/`,
    );
    expect(structured['tool_calls']).toMatchObject([
      { name: 'files.write_file', status: 'ok' },
      { name: 'files.write_file', status: 'denied' },
      { name: 'files.write_file', status: 'denied' },
    ]);
    await client.close();
  });

  // guarantee: approval
  // proves: Tool calls are denied if the client cannot ask a person and the program cannot pause.
  test('are denied if the client cannot ask a person and the program cannot pause', async () => {
    await using client = await httpClient(server, era, 'bob-secret-token-12');
    const { structured, text } = await call(client, 'execute_code', {
      code: writeProgram(`none-${era}`),
      language: 'python',
    });
    expect(structured['stdout']).toMatch(
      /^denied: The call was not approved. Reason: this client cannot ask a person, and only a program in a session that keeps its variables can wait for approval. Use create_session\.$/m,
    );
    expect(text).toContain('files.write_file');
    const session_id = `none-${era}`;
    await call(client, 'create_session', { session_id, language: 'python' });
    const execute = (code: string) => call(client, 'execute_code', { code, language: 'python', session_id });
    const inSession = await execute(writeProgram(session_id));
    expect(inSession.structured['stdout']).toMatch(/^denied: .*this server keeps sessions in memory/);
    expect((await execute('print("usable")')).structured).toMatchObject({ stdout: 'usable\n' });
    expect(readdirSync(files)).not.toContain(`none-${era}`);
  });

  test('are denied without naming tools that the server does not offer', async () => {
    const small = await startHttp({ tools_config: join(folder, 'tools.json'), tools: 'minimal' });
    onTestFinished(() => small.close());
    await using client = await httpClient(small, era);
    const { text } = await call(client, 'execute_code', { code: writeProgram('small'), language: 'python' });
    expect(text).toMatch(
      /^denied: .*only a program in a session that keeps its variables can wait for approval\.$/m,
    );
  });

  test('can search for tools', async () => {
    const { client } = await personAt(era, () => 'deny');
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['search_tools', 'describe_tools']));
    expect(tools.find(({ name }) => name === 'execute_code')!.description).toContain(
      'await tools.files.NAME',
    );
    const found = await call(client, 'search_tools', { query: 'write file', limit: 2 });
    expect(found.structured).toMatchObject({
      tools: [{ name: 'files.write_file', call: 'tools.files.write_file' }, {}],
    });
    const described = await call(client, 'describe_tools', { names: ['files.write_file'] });
    expect(described.text).toContain('async def write_file(*, path: str, content: str)');
    const unknown = await call(client, 'describe_tools', { names: ['files.write_fil'] });
    expect(unknown).toMatchObject({
      isError: true,
      text: expect.stringContaining('Did you mean files.write_file'),
    });
    // Clients can cache the list: it does not depend on what the MCP servers offer.
    expect((await client.listTools()).tools).toEqual(tools);
    await client.close();
  });
});

describe('approval requests', () => {
  const ask = async (client: Client, name: string, extra: object = {}) =>
    (await client.callTool(
      {
        name: 'execute_code',
        arguments: { code: writeProgram(name), language: 'python' },
        ...extra,
      } as never,
      { allowInputRequired: true } as never,
    )) as {
      resultType?: string;
      requestState?: string;
      inputRequests?: Record<string, unknown>;
      structuredContent?: { stdout: string };
    };
  const allow = (key: string) => ({ [key]: { action: 'accept', content: { decision: 'allow' } } });

  // guarantee: approval
  test('can be answered only once, by the same tenant and for the same request', async () => {
    const { client } = await personAt('modern', () => 'deny');
    const other = await personAt('modern', () => 'deny', 'bob');
    const first = await ask(client, 'once');
    expect(first).toMatchObject({
      resultType: 'input_required',
      inputRequests: { call_1: { method: 'elicitation/create' } },
    });
    const answer = { requestState: first.requestState, inputResponses: allow('call_1') };
    await expect(ask(other.client, 'once', answer)).rejects.toThrow('Invalid or expired requestState');
    await expect(ask(client, 'once', { ...answer, requestState: `${first.requestState}x` })).rejects.toThrow(
      'Invalid or expired requestState',
    );
    const changed = await call(client, 'execute_code', { code: 'print(1)', language: 'python' }).then(() =>
      ask(client, 'another', answer),
    );
    expect(changed).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('no longer waiting for this answer') }],
    });
    expect((await ask(client, 'once', answer)).structuredContent?.stdout).toContain('Successfully wrote');
    expect(await ask(client, 'once', answer)).toMatchObject({ isError: true });
    expect(readdirSync(files)).toContain('once');
    expect(readdirSync(files)).not.toContain('another');
    await client.close();
    await other.client.close();
  });

  // guarantee: approval
  // proves: An answer without a decision, or for another call, leaves the question open.
  test.each<[string, object]>([
    ['no answer', {}],
    ['an answer for another call', allow('call_2')],
    ['an answer without content', { call_1: { action: 'accept' } }],
    ['an answer without a decision', { call_1: { action: 'accept', content: {} } }],
    ['an unknown decision', { call_1: { action: 'accept', content: { decision: 'ALLOW' } } }],
  ])('stay open after %s', async (name, inputResponses) => {
    const { client } = await personAt('modern', () => 'deny');
    const file = name.replaceAll(' ', '-');
    const first = await ask(client, file);
    const { requestState } = first;
    const again = await ask(client, file, { requestState, inputResponses });
    expect(again).toMatchObject({ resultType: 'input_required', inputRequests: first.inputRequests });
    expect(readdirSync(files)).not.toContain(file);
    // The first state is still valid.
    const answer = { requestState, inputResponses: allow('call_1') };
    expect((await ask(client, file, answer)).structuredContent?.stdout).toContain('Successfully wrote');
    await client.close();
  });

  // guarantee: approval
  // proves: A state of which a single character was changed is refused.
  test('refuse a state that differs in any character', { tags: 'full' }, async () => {
    const { client } = await personAt('modern', () => 'deny');
    const { requestState = '' } = await ask(client, 'altered');
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    // The neighbour of the last character differs only in bits that decoding ignores.
    const altered = [...requestState].map((character, at) => {
      const other = alphabet[alphabet.indexOf(character) ^ 1] ?? 'A';
      return requestState.slice(0, at) + other + requestState.slice(at + 1);
    });
    const texts = [...altered, `${requestState}=`, ` ${requestState}`, requestState.replace('v1.', 'v1..')];
    const inputResponses = allow('call_1');
    const accepted: string[] = [];
    for (const state of texts)
      await ask(client, 'altered', { requestState: state, inputResponses }).then(
        () => accepted.push(state),
        () => {},
      );
    expect(accepted).toEqual([]);
    const denied = { requestState, inputResponses: { call_1: { action: 'decline' } } };
    expect((await ask(client, 'altered', denied)).structuredContent?.stdout).toContain('denied');
    await client.close();
  });
});

describe('a program whose client cannot ask a person', () => {
  let parking: HttpServer;
  let data: string;
  beforeAll(async () => {
    data = join(folder, 'data');
    parking = await startHttp({ tools_config: join(folder, 'tools.json'), tokens: TOKENS, store: data });
  });
  afterAll(() => parking.close());

  const start = async (client: Client, session_id: string, code: string) => {
    await call(client, 'create_session', { session_id, language: 'python' });
    return call(client, 'execute_code', { session_id, language: 'python', code });
  };
  const resume = (execution_id: unknown, ...args: string[]) =>
    runCliHere(['resume', String(execution_id), '--store', data, '--tenant', 'alice', ...args], folder);

  // guarantee: approval, paused-programs
  test('pauses until a person approves its calls on the command line', { tags: 'full' }, async () => {
    await using client = await httpClient(parking, 'modern', 'alice-secret-token-1');
    const path = join(files, 'approved-later');
    const code = `text = await tools.files.write_file(path=${JSON.stringify(path)}, content="late")\nprint(text)`;
    const { structured, text } = await start(client, 'parked', `x = 20\n${code}`);
    expect(structured).toMatchObject({
      success: false,
      exit_code: 75,
      state: 'paused',
      pending: [{ id: 1, name: 'files.write_file', arguments: { path }, reason: 'approval' }],
      error_guidance: { error_type: 'ProgramPaused' },
    });
    expect(text).toContain('llm-wasm-sandbox resume EXECUTION_ID --approve CALL_ID --tools-config FILE');
    const { execution_id } = structured;
    const blocked = await call(client, 'execute_code', {
      session_id: 'parked',
      language: 'python',
      code: '1',
    });
    expect(blocked).toMatchObject({ isError: true, text: expect.stringContaining('execution_paused') });
    for (const decision of [{ approve: true }, { deny: true }, {}, { value: 1, error: 'x' }]) {
      const forged = await call(client, 'resume_execution', {
        session_id: 'parked',
        execution_id,
        resolutions: [{ id: 1, ...decision }],
      }).catch((cause: Error) => ({ isError: true, text: cause.message }));
      expect(forged.isError).toBe(true);
    }
    await using other = await httpClient(parking, 'modern', 'bob-secret-token-12');
    const foreign = { session_id: 'parked', execution_id, resolutions: [{ id: 1, value: 'x' }] };
    expect(await call(other, 'resume_execution', foreign)).toMatchObject({ isError: true });
    expect(readdirSync(files)).not.toContain('approved-later');
    const config = ['--tools-config', join(folder, 'tools.json')];
    const approved = await resume(execution_id, '--approve', '1', ...config);
    expect([approved.status, approved.stdout]).toEqual([0, expect.stringContaining('Successfully wrote')]);
    expect(readFileSync(path, 'utf8')).toBe('late');
    expect((await resume(execution_id, '--approve', '1', ...config)).stderr).toContain(
      'There is no paused program',
    );
    const after = await call(client, 'execute_code', {
      session_id: 'parked',
      language: 'python',
      code: 'x + 1',
    });
    expect(after.structured).toMatchObject({ result: 21 });
  });

  // guarantee: paused-programs
  // proves: A paused program continues with a value that the model provides instead of the tool call.
  test('continues with a value that the model gives instead of the call', async () => {
    await using client = await httpClient(parking, 'modern', 'alice-secret-token-1');
    const path = join(files, 'never');
    const code = `print(await tools.files.write_file(path=${JSON.stringify(path)}, content="x"))`;
    const { structured } = await start(client, 'valued', code);
    const { execution_id } = structured;
    const answer = {
      session_id: 'valued',
      execution_id,
      resolutions: [{ id: 1, value: { content: 'skipped' } }],
    };
    expect((await call(client, 'resume_execution', answer)).structured).toMatchObject({
      success: true,
      stdout: "{'content': 'skipped'}\n",
      state: 'committed',
      tool_calls: [{ name: 'files.write_file', status: 'ok' }],
    });
    expect(readdirSync(files)).not.toContain('never');
    expect(await call(client, 'resume_execution', answer)).toMatchObject({
      isError: true,
      text: expect.stringContaining('execution_not_found'),
    });
  });
});

describe('a gateway', () => {
  const configure = (servers: object) => {
    const path = join(folder, `${Object.keys(servers).join('-')}.json`);
    writeFileSync(path, JSON.stringify({ mcpServers: servers }));
    return path;
  };

  test('calls tools of a server over HTTP, with the headers of the configuration', async () => {
    const headers = { authorization: 'Bearer bob-secret-token-12' };
    const tools_config = configure({ remote: { url: server.url, headers, approval: 'allow' } });
    const outer = await startHttp({ tools_config });
    onTestFinished(() => outer.close());
    const client = await httpClient(outer, 'modern');
    const code = `await tools.remote.write_file(path="by-bob.txt", content="over HTTP")
print(await tools.remote.read_file(path="by-bob.txt"))`;
    const { structured } = await call(client, 'execute_code', { code, language: 'python' });
    expect(structured).toMatchObject({
      stdout: expect.stringContaining('over HTTP'),
      tool_calls: [{ name: 'remote.write_file' }, { name: 'remote.read_file', status: 'ok' }],
    });
    await client.close();
    await using bob = await httpClient(server, 'modern', 'bob-secret-token-12');
    expect((await call(bob, 'read_file', { path: 'by-bob.txt' })).text).toContain('over HTTP');
  });

  test('does not make programs that call no tools wait for a slow server', async () => {
    const slow = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] };
    const tools_config = configure({ slow });
    const outer = await startHttp({ tools_config });
    onTestFinished(() => outer.close());
    const client = await httpClient(outer, 'modern');
    const execute = (code: string) => call(client, 'execute_code', { code, language: 'javascript' });
    expect((await execute('console.log(1)')).structured).toMatchObject({ stdout: '1\n' });
    // Nothing has asked for the tools, so the server was not contacted.
    expect(outer.state.gateway!.listedToolset).toBeUndefined();
    const waiting = execute('console.log(Object.keys(tools).length)');
    const other = await execute('console.log(2)');
    expect(other.structured).toMatchObject({ stdout: '2\n' });
    expect(outer.state.gateway!.listedToolset).toBeUndefined();
    // A call that waits for the server can be cancelled.
    expect((await call(client, 'cancel_execution')).structured).toMatchObject({ cancelled: 1 });
    expect(await waiting).toMatchObject({ isError: true, text: expect.stringMatching(/Nothing was run/) });
    await outer.close();
    await client.close();
    const { stdout, stderr } = await runCliHere(
      ['run', '-c', 'print(3)', '--tools-config', tools_config],
      folder,
    );
    expect([stdout, stderr]).toEqual(['3\n', '']);
  });
});

// guarantee: approval
// proves: Over standard input and output, the user of the client approves or denies tool calls.
test.each(ERAS)(
  'the user of a client over standard input and output decides, %s era',
  { tags: 'full' },
  async (era) => {
    const { client, asked, connect } = person(era, (message) =>
      message.includes('good') ? 'allow' : 'deny',
    );
    const args = ['mcp', '--tools-config', join(folder, 'tools.json'), '--log-level', 'silent'];
    await connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [CLI, ...args, '--optimization', 'demand'],
        stderr: 'ignore',
      }),
    );
    const code = writeProgram(`good-stdio-${era}`, `bad-stdio-${era}`);
    const { structured } = await call(client, 'execute_code', { code, language: 'python' });
    expect(structured['stdout']).toMatch(/Successfully wrote.*\ndenied: .*a person denied the call\.\n$/s);
    expect(asked).toHaveLength(2);
    expect(readdirSync(files).filter((name) => name.endsWith(`stdio-${era}`))).toEqual([`good-stdio-${era}`]);
    await client.close();
  },
);

// guarantee: approval
test('a person is not asked about arguments that a form cannot show completely', async () => {
  const { client, asked } = await personAt('modern', () => 'allow');
  const code = `await tools.files.write_file(path=${JSON.stringify(join(files, 'long'))}, content="x" * 5000)`;
  const { structured } = await call(client, 'execute_code', { code, language: 'python' });
  expect(structured['stderr']).toContain('the arguments are too long to be shown to a person');
  expect(structured['error_guidance']).toMatchObject({ error_type: 'ToolError' });
  expect(asked).toEqual([]);
  expect(readdirSync(files)).not.toContain('long');
  await client.close();
});
