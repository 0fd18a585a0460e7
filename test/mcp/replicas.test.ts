/**
 * Servers that share a database: any of them answers any call, and calls of one session take turns.
 *
 * @module-tag full
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { tmpdir } from 'node:os';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  createSandbox,
  openSessions,
  SandboxError as PackageError,
  type PostgresStore,
  postgresStore,
  type Session,
  type SessionRegistry,
} from 'llm-wasm-sandbox';
import type { HttpServer, ServerSettingsInput } from 'llm-wasm-sandbox/mcp';
import { RateLimiterMemory, RateLimiterPostgres } from 'rate-limiter-flexible';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { SandboxError } from '../../packages/core/src/errors.ts';
import { CancelledError } from '../../packages/core/src/model-text/client-errors.ts';
import { openStore } from '../../packages/core/src/session/open-store.ts';
import { relayAnswer, serializeOutcome } from '../../packages/server/src/mcp/relayed-answers.ts';
import { RunsAwaitingApproval } from '../../packages/server/src/mcp/runs-awaiting-approval.ts';
import { SharedFuel } from '../../packages/server/src/server/shared-fuel.ts';
import { startAsking } from '../support/asking-run.ts';
import { runCliHere } from '../support/cli.ts';
import { folderOfFile, folderOfTest } from '../support/folders.ts';
import { call, httpClient, startHttp, stdioClient } from '../support/mcp.ts';
import { newDatabase } from '../support/shared-postgres.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { writeToolsConfig } from '../tools/tool-server.ts';

const TOKENS = ['ann=ann-has-a-long-secret', 'bob=bob-has-a-long-secret'];
const SECRETS = TOKENS.map((token) => token.split('=')[1]!);

let database: string;
let servers: HttpServer[];
/** Clients of tenant ann, one for each server. */
let first: Client;
let second: Client;

const settings = (): ServerSettingsInput => ({
  store: database,
  tokens: [...TOKENS],
  optimization: 'demand',
  playground: true,
});

beforeAll(async () => {
  database = await newDatabase();
  servers = [await startHttp(settings()), await startHttp(settings())];
  const [one, other] = servers.map((server) => httpClient(server, 'modern', SECRETS[0]));
  [first, second] = await Promise.all([one!, other!]);
});
afterAll(async () => {
  await Promise.all([first, second].map((client) => client?.close()));
  await Promise.all((servers ?? []).map((server) => server.close()));
});

const create = (client: Client, session_id: string, language = 'javascript') =>
  call(client, 'create_session', { session_id, language });

const run = async (client: Client, session_id: string, code: string, options: object = {}) => {
  const { text, structured, isError } = await call(client, 'execute_code', {
    session_id,
    code,
    language: 'javascript',
    ...options,
  });
  return isError ? text : String(structured['stdout'] ?? text).trim();
};

/** The playground of a server, as a page uses it. */
function page(server: HttpServer) {
  const headers = { authorization: `Bearer ${SECRETS[0]}`, 'content-type': 'application/json' };
  const request = (path: string, body?: object, signal?: AbortSignal) =>
    fetch(new URL(`/playground/api/sessions${path}`, server.url), {
      headers,
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  const post = async (path: string, body: object) =>
    (await (await request(path, body)).json()) as { session_id: string; node: number };
  /** The first event is the snapshot. */
  const snapshot = async (session: string) => {
    const controller = new AbortController();
    const events = (await request(`/${session}/events`, undefined, controller.signal)).body!;
    let text = '';
    for await (const chunk of events.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      if (text.includes('\n')) break;
    }
    controller.abort();
    return JSON.parse(text.split('\n')[0]!) as {
      head: number;
      nodes: {
        id: number;
        label: string;
        kind: string;
        status: string;
        parent: number;
        checkpoint?: string;
      }[];
      detail: { output: { text: string }[] };
    };
  };
  const runHere = async (session: string, code: string) => {
    const { node } = await post(`/${session}/run`, { code, language: 'javascript' });
    for (;;) {
      const shown = await snapshot(session);
      const { checkpoint } = shown.nodes.find(({ id }) => id === node)!;
      if (checkpoint !== undefined) return node;
    }
  };
  return { post, snapshot, run: runHere };
}

describe('the timeline of a session in the playground', () => {
  test('is the same on all servers, with the steps of each', async () => {
    const [one, two] = servers.map(page) as [ReturnType<typeof page>, ReturnType<typeof page>];
    const { session_id } = await one.post('', { language: 'javascript' });
    const start = await one.run(session_id, 'let n = 1');
    expect(await two.snapshot(session_id)).toEqual(await one.snapshot(session_id));
    const added = await two.run(session_id, 'n += 1');
    const rolledBack = await one.post(`/${session_id}/rollback`, { node: start });
    await one.run(session_id, 'console.log(n)');
    // A client without a timeline.
    await run(second, session_id, 'n = 10');
    const shown = await two.snapshot(session_id);
    expect(shown).toEqual(await one.snapshot(session_id));
    expect(shown.nodes.map(({ label, kind, parent }) => [kind, label, parent])).toEqual([
      ['start', 'New session', null],
      ['call', 'let n = 1', 1],
      ['call', 'n += 1', start],
      ['rollback', 'Rolled back to: let n = 1', start],
      ['call', 'console.log(n)', rolledBack.node],
      ['call', '1 call from another client', expect.any(Number)],
    ]);
    // Every server can return to the steps of the others.
    await one.post(`/${session_id}/rollback`, { node: added });
    expect(await run(first, session_id, 'console.log(n)')).toBe('2');
  });
});

describe('a session', () => {
  test('continues on any server, with its variables and files', async () => {
    await create(first, 'moving');
    await run(first, 'moving', 'const fs = require("fs"); let n = 1; fs.writeFileSync("f", "one")');
    expect(await run(second, 'moving', 'n += 1; console.log(n, fs.readFileSync("f", "utf8"))')).toBe('2 one');
    await call(second, 'write_file', { session_id: 'moving', path: 'f', content: 'two' });
    expect((await call(first, 'read_file', { session_id: 'moving', path: 'f' })).text).toContain('two');
    expect(await run(first, 'moving', 'n += 1; console.log(n, fs.readFileSync("f", "utf8"))')).toBe('3 two');
    expect(await run(first, 'moving', 'n += 1; console.log(n)')).toBe('4');
    expect(await run(second, 'moving', 'console.log(n)')).toBe('4');
  });

  test('has its checkpoints, undo and forks on any server', async () => {
    await create(first, 'timeline');
    await run(first, 'timeline', 'let n = 1');
    await call(second, 'checkpoint_session', { session_id: 'timeline', name: 'one' });
    await run(first, 'timeline', 'n = 2');
    await call(second, 'fork_session', { session_id: 'timeline', new_session_id: 'branch' });
    await run(second, 'timeline', 'n = 3');
    await call(first, 'rollback_session', { session_id: 'timeline' });
    expect(await run(second, 'timeline', 'console.log(n)')).toBe('2');
    await call(second, 'rollback_session', { session_id: 'timeline', name: 'one' });
    expect(await run(first, 'timeline', 'console.log(n)')).toBe('1');
    expect(await run(first, 'branch', 'console.log(n)')).toBe('2');
  });

  test('is replaced on every server when it is deleted and created again', async () => {
    await create(first, 'replaced');
    await run(first, 'replaced', 'let n = 1');
    await run(second, 'replaced', 'n = 2');
    await call(second, 'destroy_session', { session_id: 'replaced' });
    expect(await run(first, 'replaced', 'console.log(n)')).toContain('session_not_found');
    await create(second, 'replaced');
    expect(await run(first, 'replaced', 'console.log(typeof n)')).toBe('undefined');
    const again = await create(first, 'replaced');
    expect(again.text).toContain('session_exists');
    const listed = await call(first, 'get_active_sessions');
    const ids = (listed.structured['sessions'] as { session_id: string }[]).map((one) => one.session_id);
    expect(ids.filter((id) => id === 'replaced')).toHaveLength(1);
  });

  test('is created by one of the servers that are asked at the same time', async () => {
    const answers = await Promise.all([first, second, first, second].map((client) => create(client, 'once')));
    expect(answers.filter(({ isError }) => !isError)).toHaveLength(1);
    for (const { isError, text } of answers) if (isError) expect(text).toContain('session_exists');
  });

  test('runs concurrent calls of several servers one after another', async () => {
    await create(first, 'counter');
    await run(first, 'counter', 'let n = 0');
    const calls = Array.from({ length: 16 }, (_, i) =>
      run(i % 2 === 0 ? first : second, 'counter', 'n += 1; console.log(n)'),
    );
    const seen = (await Promise.all(calls)).map(Number).sort((a, b) => a - b);
    expect(seen).toEqual(Array.from({ length: 16 }, (_, i) => i + 1));
  });

  // guarantee: tenant-identity
  // proves: A session is invisible to other tenants, and they can use the same name.
  test('is invisible to other tenants, who can use the same name', async () => {
    await create(first, 'private');
    await run(first, 'private', 'let secret = 7');
    await using other = await httpClient(servers[1]!, 'modern', SECRETS[1]);
    expect(await run(other, 'private', 'console.log(secret)')).toContain('session_not_found');
    await create(other, 'private');
    expect(await run(other, 'private', 'console.log(typeof secret)')).toBe('undefined');
    await call(other, 'destroy_session', { session_id: 'private' });
    expect(await run(second, 'private', 'console.log(secret)')).toBe('7');
  });

  test('is not blocked for readers while another server runs a call, and a call reports why it waits', async () => {
    await create(first, 'busy');
    await call(first, 'write_file', { session_id: 'busy', path: 'f', content: 'text' });
    const running = call(first, 'execute_code', {
      session_id: 'busy',
      language: 'javascript',
      code: 'for (;;) {}',
      timeout: 60,
      fuel_budget: 1_000_000_000_000,
    });
    while ((await leases()) === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect((await call(second, 'read_file', { session_id: 'busy', path: 'f' })).text).toContain('text');
    const refused = await run(second, 'busy', '1');
    expect(refused).toContain('session_busy');
    expect(refused).toContain('not become free within 20 s');
    expect(refused).toContain('Retry');
    await call(first, 'cancel_execution', { session_id: 'busy' });
    await running;
    expect(await run(second, 'busy', 'console.log("free")')).toBe('free');
  });
});

test('a call is cancelled by a request to another server, and a later call is not', async () => {
  await create(first, 'cancelled');
  const endless = { session_id: 'cancelled', language: 'javascript', code: 'for (;;) {}', timeout: 60 };
  const running = call(first, 'execute_code', { ...endless, fuel_budget: 1_000_000_000_000 });
  await expect.poll(() => leases('cancelled'), { timeout: 30_000 }).toBeGreaterThan(0);
  const { text, structured } = await call(second, 'cancel_execution', { session_id: 'cancelled' });
  expect(structured).toEqual({ session_id: 'cancelled', cancelled: 0 });
  expect(text).toContain('on this server. Calls that other servers are running are cancelled');
  expect((await running).structured).toMatchObject({ trap_reason: 'cancelled' });
  // Longer than the interval at which the server looks for requests.
  const wait = 'const end = Date.now() + 1500; while (Date.now() < end); console.log("done")';
  expect(await run(first, 'cancelled', wait, { fuel_budget: 1_000_000_000_000 })).toBe('done');
});

describe('a read while a call of the same server is being saved', () => {
  const write = (text: string) => `require('fs').writeFileSync('f', ${JSON.stringify(text)})`;
  let proxy: TcpProxy;
  let registry: SessionRegistry;
  let session: Session;
  /** Lets writes to the store continue. */
  let open: () => void;
  let opened: Promise<void>;
  /** Resolves when a write has started to wait. */
  let waiting: Promise<void>;
  let onWait: () => void;
  let store: PostgresStore;

  const hold = () => {
    opened = new Promise((resolve) => {
      open = resolve;
    });
    waiting = new Promise((resolve) => {
      onWait = resolve;
    });
  };

  beforeAll(async () => {
    const url = new URL(database);
    proxy = await TcpProxy.start(Number(url.port));
    url.port = String(proxy.port);
    store = postgresStore({ connectionString: url.href });
    const slow: PostgresStore = {
      ...store,
      write: async (...written) => {
        onWait();
        await opened;
        return store.write(...written);
      },
    };
    hold();
    open();
    registry = openSessions({ store: slow, lease: 'call', commit: 'answer' });
    session = await registry.create({ runtime: 'javascript', session_id: 'read' });
    await session.execute(`let n = 1; ${write('old')}`);
  });
  // Also after a failure, because closing the session waits for its writes.
  afterEach(() => open());
  afterAll(async () => {
    await registry?.close().catch(() => {});
    await store?.close();
    proxy?.close();
  });

  test('returns the state before the call, and afterwards that of the call', async () => {
    hold();
    const running = session.execute(`n = 2; ${write('new')}`, { files: { given: '1' } });
    await waiting;
    expect(await session.readFile('f', 'utf8')).toBe('old');
    expect((await session.listFiles()).map(({ path }) => path)).toEqual(['f']);
    expect(await session.paused()).toBeUndefined();
    open();
    expect(await running).toMatchObject({ success: true });
    expect(await session.readFile('f', 'utf8')).toBe('new');
    expect(await registry.info('read')).toMatchObject({
      calls: 2,
      variables: [{ name: 'n', repr: '2' }],
      files: [{ path: 'f' }, { path: 'given' }],
    });
  });

  test('returns what another server has written since the lease expired', async () => {
    hold();
    const running = session.execute(write('lost')).catch((error: unknown) => error);
    await waiting;
    await query("UPDATE llm_wasm_sandbox.leases SET expires_at = '-infinity' WHERE folded_id = 'read'");
    const other = openSessions({
      store: postgresStore({ connectionString: database }),
      lease: 'call',
      commit: 'answer',
    });
    const there = await other.get('read');
    await there.execute(write('other'));
    await there.checkpoint('made');
    expect(await session.readFile('f', 'utf8')).toBe('other');
    expect(await session.checkpoints()).toMatchObject([{ name: 'made' }]);
    open();
    expect(await running).toMatchObject({ code: 'session_busy' });
    expect(await session.readFile('f', 'utf8')).toBe('other');
    await other.close();
    await (other.store as PostgresStore).close();
  });

  test('fails with store_failed if the database cannot be reached', async () => {
    hold();
    const running = session.execute(write('unsaved')).catch((error: unknown) => error);
    await waiting;
    proxy.close();
    await expect(session.readFile('f')).rejects.toMatchObject({ code: 'store_failed' });
    await expect(session.checkpoints()).rejects.toMatchObject({ code: 'store_failed' });
    open();
    expect(await running).toMatchObject({ code: 'store_failed' });
  });
});

describe('servers that share a database', () => {
  test('share the files of calls without a session', async () => {
    const code = 'require("fs").writeFileSync("made.txt", "by a program")';
    await call(first, 'execute_code', {
      code,
      language: 'javascript',
      files: { 'given.txt': 'by a client' },
    });
    const listed = await call(second, 'list_files');
    expect(listed.text).toContain('made.txt');
    const both =
      'console.log(["made.txt", "given.txt"].map((f) => require("fs").readFileSync(f, "utf8")).join())';
    const read = await call(second, 'execute_code', { code: both, language: 'javascript' });
    expect(read.structured['stdout']).toBe('by a program,by a client\n');
    await Promise.all(
      [first, second].map((client, i) => call(client, 'write_file', { path: `file-${i}`, content: 'x' })),
    );
    for (const client of [first, second]) {
      const { text } = await call(client, 'list_files');
      for (const name of ['made.txt', 'given.txt', 'file-0', 'file-1']) expect(text).toContain(name);
    }
    expect((await call(first, 'get_active_sessions')).text).not.toContain('default');
  });

  test('share long outputs and results', async () => {
    const code = 'console.log("x".repeat(50_000)); display({ columns: ["a"], rows: [[1]] });';
    const { content, structured } = await call(first, 'execute_code', { code, language: 'javascript' });
    const uris = JSON.stringify([content, structured]).match(/(?:output|result):\/\/[^"\\ )]+/g) ?? [];
    expect(uris.some((uri) => uri.startsWith('output://'))).toBe(true);
    for (const uri of new Set(uris)) {
      const { contents } = await second.readResource({ uri });
      expect(JSON.stringify(contents).length).toBeGreaterThan(10);
      const other = await httpClient(servers[1]!, 'modern', SECRETS[1]);
      await expect(other.readResource({ uri })).rejects.toThrow();
      await other.close();
    }
  });
});

test('the command line finds the paused programs of a tenant', async () => {
  const tools = { ask: { needsApproval: true, execute: async () => 'asked' } };
  const store = postgresStore({ connectionString: database, tenant: 'ann' });
  const session = await createSandbox({ runtime: 'javascript', session_id: 'parked', store, tools });
  const { metadata } = await session.execute(
    'globalThis.y = await tools.ask({}).catch((error) => error.message)',
  );
  await session.close();
  await store.close();
  const command = (...args: string[]) => runCliHere(args, database);
  expect((await command('pending')).stdout).toBe('No paused programs.\n');
  expect((await command('pending', '--tenant', 'ann')).stdout).toContain(
    `execution ${metadata.execution_id}`,
  );
  const denied = await command('resume', metadata.execution_id!, '--deny', '1', '--tenant', 'ann');
  expect(denied.status).toBe(0);
  expect(await run(first, 'parked', 'console.log(y)')).toContain('not approved');
  expect(await runCliHere(['pending', '--tenant', 'ann'], '.')).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('does not contain sessions of a server'),
  });
});

describe('an approval request', () => {
  const config = writeToolsConfig(folderOfFile());
  let asking: HttpServer;
  let answering: HttpServer;
  let atAsking: Client;
  let atAnswering: Client;
  beforeAll(async () => {
    [asking, answering] = await Promise.all([
      startHttp({ ...settings(), tools_config: config, shutdown_seconds: 1 }),
      startHttp({ ...settings(), tools_config: config }),
    ]);
    [atAsking, atAnswering] = await Promise.all([personAt(asking), personAt(answering)]);
    await create(atAsking, 'questions');
  });
  afterAll(async () => {
    await Promise.all([atAsking, atAnswering].map((client) => client?.close()));
    await Promise.all([asking, answering].map((server) => server?.close()));
  });

  async function personAt({ url }: HttpServer, secret = SECRETS[0]): Promise<Client> {
    const client = new Client(
      { name: 'test', version: '1' },
      {
        capabilities: { elicitation: { form: {} } },
        versionNegotiation: { mode: { pin: '2026-07-28' } },
      },
    );
    const requestInit = { headers: { authorization: `Bearer ${secret}` } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    return client;
  }

  interface Round {
    readonly isError?: boolean;
    readonly content: { text: string }[];
    readonly requestState?: string;
    readonly structuredContent?: Record<string, unknown>;
  }
  const execute = (client: Client, args: object, extra: object = {}) =>
    client.callTool(
      { name: 'execute_code', arguments: { language: 'javascript', ...args }, ...extra } as never,
      { allowInputRequired: true } as never,
    ) as unknown as Promise<Round>;
  const decide = ({ requestState }: Round, seq: number, decision: 'allow' | 'deny') => ({
    requestState,
    inputResponses: { [`call_${seq}`]: { action: 'accept', content: { decision } } },
  });
  const spent = { isError: true, content: [{ text: expect.stringContaining('no longer waiting') }] };
  const echo = (text: string) => `await tools.demo.echo({ text: '${text}' }).catch((e) => e.message)`;

  // guarantee: approval
  test('can be answered only once, on any server, by the same tenant and for the same request', async () => {
    const args = {
      code: `console.log(${echo('one')}); console.log(${echo('two')})`,
      session_id: 'questions',
    };
    const first = await execute(atAsking, args);
    const answer = decide(first, 1, 'allow');
    const bob = await personAt(answering, SECRETS[1]);
    await expect(execute(bob, args, answer)).rejects.toThrow('Invalid or expired requestState');
    await bob.close();
    expect(await execute(atAnswering, { ...args, code: '1' }, answer)).toMatchObject(spent);
    const rounds = await Promise.all([1, 2].map(() => execute(atAnswering, args, answer)));
    const second = rounds.find(({ requestState }) => requestState !== undefined)!;
    expect(rounds.find((round) => round !== second)).toMatchObject(spent);
    for (const client of [atAsking, atAnswering])
      expect(await execute(client, args, answer)).toMatchObject(spent);
    // The program continues where it runs, and the session is saved there.
    const last = await execute(atAsking, args, decide(second, 2, 'deny'));
    expect(last.structuredContent).toMatchObject({ success: true, state: 'committed' });
    expect(String(last.structuredContent!['stdout'])).toMatch(/^one\n.*denied/);
    expect(await execute(atAnswering, args, decide(second, 2, 'allow'))).toMatchObject(spent);
    expect(await query('SELECT FROM llm_wasm_sandbox.approval_rounds')).toBe(0);
  });

  // guarantee: approval
  // proves: If many answers arrive at several servers at the same time, one of them continues the program, and the others are refused.
  test('is answered by one of many answers that arrive at the same time', async () => {
    for (const text of ['first', 'second', 'third']) {
      const args = { code: `console.log(${echo(text)})` };
      const asked = await execute(atAsking, args);
      const answer = decide(asked, 1, 'allow');
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) => execute(i % 2 === 0 ? atAsking : atAnswering, args, answer)),
      );
      const results = answers.filter(({ isError }) => isError !== true);
      expect(results.map(({ structuredContent }) => structuredContent!['stdout'])).toEqual([`${text}\n`]);
      for (const other of answers.filter((one) => one !== results[0])) expect(other).toMatchObject(spent);
    }
    expect(await query('SELECT FROM llm_wasm_sandbox.approval_rounds')).toBe(0);
  });

  // guarantee: approval
  test('is answered by another server while the database is slow to refuse the answer at this one', async () => {
    const store = openStore(database);
    const rounds = store.coordination.approvals!;
    const close = rounds.close.bind(rounds);
    // Removes a round only after the next look for answers, which finds no waiting run.
    rounds.close = async (round) => {
      await new Promise((resolve) => setTimeout(resolve, 700));
      return close(round);
    };
    const approvals = new RunsAwaitingApproval(rounds);
    const owner = { tenant: 'slow', request: 'r' };
    const { signal } = new AbortController();
    const step = await startAsking(approvals, owner, signal, async (ask, runSignal) =>
      ask({ call_id: '1', seq: 1, name: 'n', arguments: {}, session_id: undefined, signal: runSignal }),
    );
    if (step.type !== 'questions') throw new Error('no question');
    const here = approvals.continue(owner, step.state, () => true, signal);
    const { run, round } = step.state;
    const there = relayAnswer(rounds, { ...owner, run, round }, { call_1: true }, signal, 5000);
    await expect(here).rejects.toThrow('already answered');
    expect(await there).toEqual({ value: { type: 'done', value: true } });
    approvals.close();
    await store.close();
  });

  // guarantee: approval
  test('stays open after an answer without a decision at another server', async () => {
    const args = { code: `console.log(${echo('open')})` };
    const asked = await execute(atAsking, args);
    const { requestState } = asked;
    for (const inputResponses of [{}, { call_7: { action: 'accept', content: { decision: 'allow' } } }])
      expect(await execute(atAnswering, args, { requestState, inputResponses })).toMatchObject({
        isError: true,
        content: [{ text: expect.stringContaining('contains no decision about call_1') }],
      });
    const { structuredContent } = await execute(atAnswering, args, decide(asked, 1, 'allow'));
    expect(structuredContent).toMatchObject({ stdout: 'open\n' });
  });

  test('returns the result of the program to the server that was answered, and is cancelled there', async () => {
    const args = { code: `display({ columns: ['a'], rows: [[1]] }); console.log(${echo('x')}); for (;;) {}` };
    const endless = { ...args, timeout: 60, fuel_budget: 1_000_000_000_000 };
    const asked = await execute(atAsking, endless);
    const running = execute(atAnswering, endless, decide(asked, 1, 'allow'));
    await expect
      .poll(() => query('SELECT FROM llm_wasm_sandbox.approval_rounds WHERE answer IS NOT NULL'))
      .toBe(1);
    await call(atAnswering, 'cancel_execution');
    const { structuredContent } = await running;
    expect(structuredContent).toMatchObject({ trap_reason: 'cancelled', results: [{ mime: 'text/plain' }] });
  });

  test('fails as the program does, or if its server does not respond', async () => {
    const store = openStore(database);
    const rounds = store.coordination.approvals!;
    const relay = async (failure?: Error) => {
      const key = { tenant: 't', run: randomUUID(), round: randomUUID(), request: 'r' };
      await rounds.open(key);
      const relayed = relayAnswer(rounds, key, {}, new AbortController().signal, 500);
      if (failure !== undefined)
        await rounds.finish(key.round, await serializeOutcome(Promise.reject(failure)));
      return relayed;
    };
    const failure = new SandboxError('quota_exceeded', 'details', { publicMessage: 'public' });
    await expect(relay(failure)).rejects.toMatchObject({ ...failure, message: 'details' });
    const cancelled = new CancelledError('cancelled while queued');
    await expect(relay(cancelled)).rejects.toThrow(cancelled);
    await expect(relay(new TypeError('bug'))).rejects.toMatchObject({ code: 'internal' });
    await expect(relay()).rejects.toMatchObject({
      code: 'store_failed',
      publicMessage: expect.stringContaining('unknown'),
    });
    expect(await query("SELECT FROM llm_wasm_sandbox.approval_rounds WHERE tenant = 't'")).toBe(0);
    await store.close();
  });

  test('ends with the server that runs the program', async () => {
    const asked = await execute(atAsking, { code: echo('late') });
    await asking.close();
    expect(await execute(atAnswering, { code: echo('late') }, decide(asked, 1, 'allow'))).toMatchObject(
      spent,
    );
  });
});

// guarantee: paused-programs
test('a program that is paused on one server can be resumed once, on any server', async () => {
  const config = writeToolsConfig(folderOfTest());
  const store = database;
  // Servers without tokens share the sessions of the command line.
  const parking = await startHttp({ store, tools_config: config });
  const client = await httpClient(parking, 'modern');
  const flags = ['--store', store, '--tools-config', config, '--log-level', 'silent'];
  const other = await stdioClient('modern', ['mcp', ...flags]);
  try {
    const session_id = 'paused-elsewhere';
    await create(client, session_id);
    const code = `let n = 40; const text = await tools.demo.echo({ text: 'x' }); n += text.length; console.log(n)`;
    const start = { session_id, language: 'javascript', code };
    const paused = await call(client, 'execute_code', start);
    expect(paused.structured).toMatchObject({ exit_code: 75, state: 'paused', pending: [{ id: 1 }] });
    const { execution_id } = paused.structured;
    const answer = { session_id, execution_id, resolutions: [{ id: 1, value: 'ab' }] };
    // Both servers try to resume the program; one of them does.
    const answers = await Promise.all(
      [other.client, client].map((one) => call(one, 'resume_execution', answer)),
    );
    const refused = answers.filter(({ isError }) => isError);
    const resumed = answers.find(({ isError }) => !isError);
    expect(resumed?.structured).toMatchObject({ success: true, stdout: '42\n', state: 'committed' });
    expect(refused).toMatchObject([{ text: expect.stringContaining('execution_not_found') }]);
    // The first server sees that the program is no longer paused.
    expect(await call(client, 'resume_execution', answer)).toMatchObject({
      isError: true,
      text: expect.stringContaining('execution_not_found'),
    });
    expect(await run(client, session_id, 'console.log(n)')).toBe('42');
  } finally {
    await other.client.close();
    await client.close();
    await parking.close();
  }
});

// guarantee: paused-programs
// proves: An approval that another process sends during a resume is refused if the resume is rolled back.
test('an approval that another registry sends during a resume is refused if the resume is rolled back', async () => {
  const connectionString = database;
  const registries = [1, 2].map(() =>
    openSessions({ store: postgresStore({ connectionString }), lease: 'call' }),
  );
  const [here, there] = registries as [SessionRegistry, SessionRegistry];
  const stop = new AbortController();
  const resolutions = [{ id: 1, approve: true as const }];
  let calls = 0;
  let sent: Promise<unknown> | undefined;
  const pay = async () => {
    calls++;
    const { execution_id } = (await other.paused())!;
    sent = other.resume(execution_id, { resolutions }).catch((error: unknown) => error);
    stop.abort();
  };
  const options = { session_id: 'paid', tools: { pay: { needsApproval: true, execute: pay } } };
  const session = await here.create({ ...options, runtime: 'python' });
  // Cannot be interrupted, so the run is stopped and rolled back.
  const { metadata } = await session.execute(`try:
    await tools.pay()
finally:
    while True:
        try:
            while True: pass
        except BaseException: pass`);
  const other = await there.get('paid', { tools: options.tools });
  const resumed = session.resume(metadata.execution_id!, { resolutions, signal: stop.signal });
  const result = (await resumed).metadata;
  expect(result.state).toBe('rolled_back');
  // Saved before the result is returned.
  expect((await other.paused())!.execution_id).toBe(result.execution_id);
  expect(await sent).toMatchObject({
    code: 'execution_not_found',
    message: expect.stringContaining(result.execution_id!),
  });
  expect(calls).toBe(1);
  for (const registry of registries) {
    await registry.close();
    await (registry.store as PostgresStore).close();
  }
});

const rateLimiters = { RateLimiterMemory, RateLimiterPostgres };

describe('limits per minute', () => {
  const open = () => openStore(database).coordination;

  test('admit as many requests as the limit allows for all servers together', async () => {
    const limiters = [
      open().limiter(rateLimiters, 'requests', 300),
      open().limiter(rateLimiters, 'requests', 300),
    ];
    let admitted = 0;
    for (let i = 0; i < 400; i++)
      await limiters[i % 2]!.consume('tenant x').then(
        () => admitted++,
        (cause) => expect(cause.msBeforeNext).toBeGreaterThan(0),
      );
    expect(admitted).toBe(300);
  });

  test('admit as many concurrent requests as successive ones', async () => {
    const limiter = open().limiter(rateLimiters, 'requests', 600);
    const settled = await Promise.allSettled(Array.from({ length: 300 }, () => limiter.consume('tenant c')));
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(300);
  });

  test('count the fuel that programs use at any server', async () => {
    const [one, two] = [new SharedFuel(open(), 5_000_000_000), new SharedFuel(open(), 5_000_000_000)];
    await two.check('tenant y');
    one.charge('tenant y', 5_000_000_000);
    const isRejected = () =>
      two.check('tenant y').then(
        () => false,
        (cause) => cause.code === 'rate_limited',
      );
    while (!(await isRejected())) await new Promise((resolve) => setTimeout(resolve, 10));
    await one.check('tenant z');
  });
});

test('the database limits the bytes of a tenant and deletes sessions that are not used', async () => {
  for (const name of ['store_max_tenant_bytes', 'store_ttl_seconds'])
    await expect(startHttp({ store: tmpdir(), [name]: 2_000_000 })).rejects.toThrow(
      `${name}: requires a database`,
    );
  const [kept, expired] = ['in-use', 'not-used'];
  for (const id of [kept, expired]) await create(first, id);
  await query(
    `UPDATE llm_wasm_sandbox.sessions SET last_used_at = now() - interval '1 hour' WHERE id = '${expired}'`,
  );
  await using server = await startHttp({
    ...settings(),
    store_max_tenant_bytes: 1024 * 1024,
    store_ttl_seconds: 1800,
  });
  await using client = await httpClient(server, 'modern', SECRETS[0]);
  const { structured } = await call(client, 'get_active_sessions');
  const ids = (structured['sessions'] as { session_id: string }[]).map(({ session_id }) => session_id);
  expect(ids).toContain(kept);
  expect(ids).not.toContain(expired);
  expect(await run(first, expired, '1')).toContain('session_not_found');
  const content = randomBytes(800_000).toString('base64');
  const refused = await call(client, 'write_file', { session_id: kept, path: 'f', content });
  expect(refused.text).toContain('session_limit');
  expect(refused.text).toContain('the limit is 1 MiB');
  expect(await call(first, 'write_file', { session_id: kept, path: 'f', content })).toMatchObject({
    isError: false,
  });
});

async function leases(id = 'busy'): Promise<number> {
  return query(`SELECT FROM llm_wasm_sandbox.leases WHERE folded_id = '${id}' AND expires_at > now()`);
}

/** Runs a statement and returns the number of rows. */
async function query(statement: string): Promise<number> {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  const { rowCount } = await client.query(statement);
  await client.end();
  return rowCount ?? 0;
}

// guarantee: stored-sessions
test('a call whose outcome is unknown is not undone, and the next call reads what was saved', async () => {
  const store = postgresStore({ connectionString: database, tenant: 'unknown' });
  let isLossy = false;
  let writes = 0;
  const lossy: PostgresStore = {
    ...store,
    write: async (...written) => {
      writes++;
      await store.write(...written);
      if (isLossy) throw new PackageError('commit_unknown', 'The reply was lost.');
    },
  };
  const registry = openSessions({ store: lossy, lease: 'call', commit: 'answer' });
  const session = await registry.create({ runtime: 'javascript', session_id: 's' });
  await session.execute('let n = 1');
  isLossy = true;
  writes = 0;
  await expect(session.execute("n = 2; require('fs').writeFileSync('f', '2')")).rejects.toMatchObject({
    code: 'commit_unknown',
    message: 'The reply was lost.',
  });
  isLossy = false;
  expect(await session.readFile('f', 'utf8')).toBe('2');
  expect((await session.execute('n')).metadata).toMatchObject({ result: 2, state: 'committed' });
  // The lost write and that of the last call: nothing was written to undo the first.
  expect(writes).toBe(2);
  await registry.close();
  await store.close();
});
