/** @module-tag full */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { call, httpClient, startHttp } from '../support/mcp.ts';
import { newDatabase } from '../support/shared-postgres.ts';
import { framed, httpTasks, stdioTasks } from './task-sessions.ts';

const FIXTURE = new URL('../tools/gateway-fixture.mjs', import.meta.url).pathname;
const TOKENS = ['ann=ann-has-a-long-secret', 'bob=bob-has-a-long-secret'];
const [ANN, BOB] = TOKENS.map((token) => token.split('=')[1]!) as [string, string];

let folder: string;
let config: string;
let server: Awaited<ReturnType<typeof startHttp>>;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-tasks-'));
  config = join(folder, 'tools.json');
  writeFileSync(
    config,
    JSON.stringify({ mcpServers: { demo: { command: process.execPath, args: [FIXTURE] } } }),
  );
  server = await startHttp({ tokens: TOKENS, tools_config: config });
});
afterAll(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

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
    if (statuses.includes(task.status)) return task;
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
