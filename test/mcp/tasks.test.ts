/** @module-tag full */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { folderOfFile } from '../support/folders.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';
import { sharedByFile } from '../support/shared.ts';
import { newDatabase } from '../support/shared-postgres.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';
import { writeToolsConfig } from '../tools/tool-server.ts';
import { framed, httpTasks, stdioTasks } from './task-sessions.ts';

const TOKENS = ['ann=ann-has-a-long-secret', 'bob=bob-has-a-long-secret'];
const [ANN, BOB] = TOKENS.map((token) => token.split('=')[1]!) as [string, string];

const folder = folderOfFile();
const config = writeToolsConfig(folder);
const server = await sharedByFile(startHttp({ tokens: TOKENS, tools_config: config }));

type Client = Awaited<ReturnType<typeof httpTasks>>;
type Status = { status: string; result?: { structuredContent: object }; [key: string]: unknown };

const program = (code: string) => ({ language: 'javascript', code });
const LONG = program('console.log("long"); await new Promise((done) => setTimeout(done, 4000)); 42');
const ENDLESS = {
  ...program('await new Promise((done) => setTimeout(done, 100_000))'),
  timeout_seconds: 120,
};
const ASKS = program(
  `for (const text of ['one', 'two']) console.log(await tools.demo.echo({ text }).catch((e) => e.code))`,
);

/** Starts a call that becomes a task, without the client that follows it. */
async function start({ send }: Client, args: object) {
  const { result } = (await send(framed('tools/call', { name: 'execute_code', arguments: args }))) as {
    result: Status & { taskId: string };
  };
  expect(result).toMatchObject({ resultType: 'task', taskId: expect.any(String), ttlMs: 3_600_000 });
  return result.taskId;
}

async function get({ send }: Client, taskId: string): Promise<Status> {
  const answer = (await send(framed('tasks/get', { taskId }))) as { result: Status };
  return answer.result;
}

async function waitFor(client: Client, taskId: string, ...statuses: string[]): Promise<Status> {
  for (;;) {
    const task = await get(client, taskId);
    if (statuses.includes(task?.status)) return task;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const TRANSPORTS = {
  HTTP: (decide: (message: string) => 'allow' | 'deny') => httpTasks(server, ANN, decide),
  stdio: (decide: (message: string) => 'allow' | 'deny') => stdioTasks(['--tools-config', config], decide),
};

describe.each(Object.entries(TRANSPORTS))('the published client for tasks, over %s', (_, connect) => {
  test('receives the results of short calls at once, and follows long calls to their results', async () => {
    const { execute, close } = await connect(() => 'deny');
    onTestFinished(close);
    expect(await execute(program('1 + 1'))).toMatchObject({ structuredContent: { result: 2 } });
    expect(await execute(LONG)).toMatchObject({ structuredContent: { stdout: 'long\n', result: 42 } });
  });

  // guarantee: approval
  // proves: A task whose program waits for approval is in the state input_required, and continues with the decisions of a person.
  test('answers the questions of a program that waits for approval', async () => {
    const asked: string[] = [];
    const { execute, close } = await connect((message) => {
      asked.push(message);
      return message.includes('one') ? 'allow' : 'deny';
    });
    onTestFinished(close);
    expect(await execute(ASKS)).toMatchObject({ structuredContent: { stdout: 'one\ndenied\n' } });
    expect(asked).toEqual([expect.stringContaining('demo.echo'), expect.stringContaining('demo.echo')]);
  });

  test('cancels a task, which ends its program', async () => {
    const client = await connect(() => 'deny');
    onTestFinished(client.close);
    const taskId = await start(client, ENDLESS);
    expect(await get(client, taskId)).toMatchObject({ status: 'working' });
    await client.send(framed('tasks/cancel', { taskId }));
    await waitFor(client, taskId, 'cancelled');
  });
});

describe('a task', () => {
  let ann: Client;
  let bob: Client;
  beforeAll(async () => {
    [ann, bob] = await Promise.all([httpTasks(server, ANN), httpTasks(server, BOB)]);
  });
  afterAll(() => Promise.all([ann.close(), bob.close()]));
  const unknown = { kind: 'error', error: { code: -32602 } };
  const decision = (key: string, value: string) => ({
    inputResponses: { [key]: { action: 'accept', content: { decision: value } } },
  });

  // guarantee: tenant-identity
  // proves: A task is visible only to the tenant that started it: others can neither read nor answer nor cancel it.
  test('is unknown to other tenants', async () => {
    const taskId = await start(ann, ASKS);
    expect(await get(ann, taskId)).toMatchObject({ status: 'input_required' });
    expect(await bob.send(framed('tasks/get', { taskId }))).toMatchObject(unknown);
    expect(await bob.send(framed('tasks/cancel', { taskId }))).toMatchObject(unknown);
    expect(await bob.send(framed('tasks/update', { taskId, ...decision('call_1', 'allow') }))).toMatchObject(
      unknown,
    );
    expect(await get(ann, taskId)).toMatchObject({ status: 'input_required' });
    await ann.send(framed('tasks/cancel', { taskId }));
    expect(await get(ann, taskId)).toMatchObject({ status: 'cancelled' });
  });

  test('has new questions with new keys, and ignores answers to others', async () => {
    const taskId = await start(ann, ASKS);
    await ann.send(framed('tasks/update', { taskId, ...decision('call_7', 'allow') }));
    const first = await get(ann, taskId);
    expect(Object.keys(first['inputRequests'] as object)).toEqual(['call_1']);
    await Promise.all(
      ['allow', 'deny', 'deny'].map((value) =>
        ann.send(framed('tasks/update', { taskId, ...decision('call_1', value) })),
      ),
    );
    let second = await waitFor(ann, taskId, 'input_required');
    expect(Object.keys(second['inputRequests'] as object)).toEqual(['call_2']);
    await ann.send(framed('tasks/update', { taskId, ...decision('call_2', 'deny') }));
    second = await waitFor(ann, taskId, 'completed');
    expect(second.result!.structuredContent).toMatchObject({ stdout: 'one\ndenied\n' });
    // A completed task stays as it is.
    await ann.send(framed('tasks/cancel', { taskId }));
    expect(await get(ann, taskId)).toEqual(second);
  });

  test('is not offered to clients that do not declare the extension', async () => {
    const plain = await httpClient(server, 'modern', ANN);
    onTestFinished(() => plain.close());
    expect((await call(plain, 'execute_code', LONG)).structured).toMatchObject({ result: 42 });
    const missing = {
      kind: 'error',
      error: { code: -32021, data: { requiredCapabilities: { extensions: expect.anything() } } },
    };
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await ann.send(framed(method, { taskId: 'x' }, {}))).toMatchObject(missing);
  });

  test('is created up to a limit; further calls return their results', async () => {
    const ids = await Promise.all(Array.from({ length: 32 }, () => start(ann, ENDLESS)));
    const beyond = ann.send(framed('tools/call', { name: 'execute_code', arguments: LONG }));
    const other = await start(bob, LONG);
    expect(new Set(ids).size).toBe(32);
    await Promise.all(ids.map((taskId) => ann.send(framed('tasks/cancel', { taskId }))));
    expect(await beyond).toMatchObject({ result: { structuredContent: { result: 42 } } });
    for (const taskId of ids) await waitFor(ann, taskId, 'cancelled');
    await waitFor(bob, other, 'completed');
  });
});

describe('a question about a request', () => {
  /** Names in this domain never resolve (RFC 6761): a request that is sent fails in another way than one that is refused. */
  const asking = (path: string) =>
    program(
      `console.log(await fetch('https://api.invalid${path}').catch(({ cause }) => cause.code)); console.log('end')`,
    );
  let asker: Awaited<ReturnType<typeof startHttp>>;
  let ann: Client;
  let bob: Client;
  beforeAll(async () => {
    const network_config = join(folder, 'network.json');
    writeFileSync(network_config, '{"network":{"ask":true}}');
    asker = await startHttp({ tokens: TOKENS, network_config });
    [ann, bob] = await Promise.all([httpTasks(asker, ANN), httpTasks(asker, BOB)]);
  });
  afterAll(async () => {
    await Promise.all([ann.close(), bob.close()]);
    await asker.close();
  });
  const accept = (decision: unknown) => ({ call_1: { action: 'accept', content: { decision } } });
  const SENT = 'ENOTFOUND\nend\n';
  const DENIED = 'EACCES\nend\n';

  // guarantee: network
  // proves: A question about a request in a task is answered once, by its tenant, and not after the task was cancelled.
  test('of a task is answered once, by its tenant, and not after the task was cancelled', async () => {
    const taskId = await start(ann, asking('/a'));
    const update = (client: Client, inputResponses: object, id = taskId) =>
      client.send(framed('tasks/update', { taskId: id, inputResponses }));
    await update(bob, accept('allow'));
    await update(ann, { call_2: accept('allow').call_1 });
    for (const forged of ['ALLOW', ['allow'], { allow: true }, true, null]) await update(ann, accept(forged));
    expect(await get(ann, taskId)).toMatchObject({ status: 'input_required' });
    await Promise.all(['deny', 'allow', 'allow_session'].map((value) => update(ann, accept(value))));
    const done = await waitFor(ann, taskId, 'completed');
    expect(done.result!.structuredContent).toMatchObject({ stdout: DENIED });
    // What came too late did not approve requests of the session.
    const next = await start(ann, asking('/a'));
    expect(await get(ann, next)).toMatchObject({ status: 'input_required' });
    await ann.send(framed('tasks/cancel', { taskId: next }));
    await update(ann, accept('allow'), next);
    expect(await get(ann, next)).toMatchObject({ status: 'cancelled' });
  });

  // guarantee: network
  // proves: A question about a request is not answered with the state of another program, tenant or time.
  test('is not answered with the state of another program, tenant or time', async () => {
    const round = async (client: Client, args: object, more: object = {}) => {
      const params = { name: 'execute_code', arguments: args, ...more };
      const { result, error } = await client.send(framed('tools/call', params, {}));
      return { result, error } as { result?: Status & { requestState?: string }; error?: object };
    };
    const { result: question } = await round(ann, asking('/a'));
    const { requestState } = question!;
    expect(requestState).toEqual(expect.any(String));
    const answer = { requestState, inputResponses: accept('allow') };
    const forged = [
      await round(ann, asking('/b'), answer),
      await round(bob, asking('/a'), answer),
      await round(ann, asking('/a'), { ...answer, requestState: `${requestState}A` }),
      await round(ann, asking('/a'), { ...answer, requestState: 'x' }),
    ];
    for (const one of forged) expect(JSON.stringify(one)).not.toContain('ENOTFOUND');
    expect(JSON.stringify((await round(ann, asking('/a'), answer)).result)).toContain(
      JSON.stringify(SENT).slice(1, -1),
    );
    expect(JSON.stringify(await round(ann, asking('/a'), answer))).not.toContain('ENOTFOUND');
  });
});

describe('a task of servers that share a database', () => {
  let servers: Awaited<ReturnType<typeof startHttp>>[];
  let first: Client;
  let second: Client;
  beforeAll(async () => {
    const settings = { store: await newDatabase(), tokens: TOKENS, tools_config: config };
    servers = [await startHttp(settings), await startHttp(settings)];
    [first, second] = (await Promise.all(servers.map((one) => httpTasks(one, ANN)))) as [Client, Client];
  });
  afterAll(async () => {
    await Promise.all([first, second].map((client) => client?.close()));
    await Promise.all((servers ?? []).map((one) => one.close()));
  });

  test('can be followed and cancelled at any of them', async () => {
    const long = await start(first, LONG);
    const endless = await start(first, ENDLESS);
    expect(await get(second, long)).toMatchObject({ status: 'working' });
    await second.send(framed('tasks/cancel', { taskId: endless }));
    await waitFor(second, endless, 'cancelled');
    expect((await waitFor(second, long, 'completed')).result!.structuredContent).toMatchObject({
      result: 42,
    });
  });

  // guarantee: approval
  test('can be answered at any of them', async () => {
    const taskId = await start(first, ASKS);
    for (const [client, key] of [
      [second, 'call_1'],
      [first, 'call_2'],
    ] as const) {
      const { inputRequests } = await waitFor(client, taskId, 'input_required');
      if (!(key in (inputRequests as object))) throw new Error(`no question ${key}`);
      const inputResponses = { [key]: { action: 'accept', content: { decision: 'allow' } } };
      await client.send(framed('tasks/update', { taskId, inputResponses }));
      if (key === 'call_1')
        while (!('call_2' in ((await waitFor(first, taskId, 'input_required'))['inputRequests'] as object)))
          await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const { result } = await waitFor(second, taskId, 'completed');
    expect(result!.structuredContent).toMatchObject({ stdout: 'one\ntwo\n' });
  });
});

test('a call whose task cannot be stored returns its result', async () => {
  const database = new URL(await newDatabase());
  const proxy = await TcpProxy.start(Number(database.port));
  database.port = String(proxy.port);
  const lonely = await startHttp({ store: database.href, tokens: TOKENS });
  const client = await httpTasks(lonely, ANN);
  onTestFinished(async () => {
    proxy.close();
    await client.close();
    await lonely.close().catch(() => {});
  });
  const result = client.send(framed('tools/call', { name: 'execute_code', arguments: LONG }));
  await vi.waitFor(() => expect(lonely.state.pool.running).toBe(1), 60_000);
  proxy.close();
  expect(await result).toMatchObject({ result: { structuredContent: { stdout: 'long\n', result: 42 } } });
});

describe('a task whose server loses its database', () => {
  const connected = async () => {
    const store = await newDatabase();
    const address = new URL(store);
    const proxy = await TcpProxy.start(Number(address.port));
    address.port = String(proxy.port);
    const servers = [
      await startHttp({ store: address.href, tokens: TOKENS }),
      await startHttp({ store, tokens: TOKENS }),
    ];
    const clients = await Promise.all(servers.map((one) => httpTasks(one, ANN)));
    onTestFinished(async () => {
      proxy.close();
      await Promise.all(clients.map((client) => client.close()));
      await Promise.all(servers.map((one) => one.close().catch(() => {})));
    });
    return { store, proxy, clients: clients as [Client, Client] };
  };

  test('is failed at the other servers when that server has shown no sign of life for a minute', async () => {
    const { store, proxy, clients } = await connected();
    const [lost, other] = clients;
    const taskId = await start(lost, ENDLESS);
    expect(await get(other, taskId)).toMatchObject({ status: 'working' });
    proxy.close();
    const client = new pg.Client(store);
    await client.connect();
    await client.query(
      `UPDATE llm_wasm_sandbox.cancellations SET requested_at = requested_at - interval '1 min'`,
    );
    await client.end();
    expect(await get(other, taskId)).toMatchObject({
      status: 'failed',
      error: { code: -32603, message: expect.stringContaining('Make the call again') },
    });
  });

  test('has its result when the database is back', async () => {
    const { proxy, clients } = await connected();
    const [first, second] = clients;
    const taskId = await start(first, LONG);
    proxy.refuse(true);
    expect((await waitFor(first, taskId, 'completed')).result!.structuredContent).toMatchObject({
      result: 42,
    });
    expect(await get(second, taskId)).toMatchObject({ status: 'working' });
    proxy.refuse(false);
    await waitFor(second, taskId, 'completed');
  });
});

describe('a client of 2025', () => {
  // In that revision, servers that have tasks state it with the capability `tasks`, which this server does not.
  test('is offered no tasks: a call that asks for one returns its result, and there are no methods for tasks', async () => {
    const client = await httpClient(server, 'legacy', ANN);
    onTestFinished(() => client.close());
    expect(client.getServerCapabilities()).not.toHaveProperty('tasks');
    const { tools } = await client.listTools();
    expect(tools.filter(({ execution }) => execution?.taskSupport !== undefined)).toEqual([]);
    const params = { name: 'execute_code', arguments: program('1 + 1'), task: { ttl: 60_000 } };
    const result = await client.request({ method: 'tools/call', params }, z.looseObject({}));
    expect(result).toMatchObject({ structuredContent: { result: 2 } });
    const codes: unknown[] = [];
    for (const method of ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel'])
      await client
        .request({ method, params: { taskId: 'x' } }, z.looseObject({}))
        .catch(({ code }) => codes.push([method, code]));
    const notFound = -32601;
    expect(codes).toEqual([
      ['tasks/get', notFound],
      ['tasks/result', notFound],
      ['tasks/list', notFound],
      ['tasks/cancel', notFound],
    ]);
  });
});
