/** Programs that pause at a tool call and continue later, in this process or in another one. */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import {
  createSandbox,
  diskStore,
  memoryStore,
  openSessions,
  type RuntimeName,
  type Session,
  type SessionStore,
} from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';
import { folderOfFile } from '../support/folders.ts';

const executed: string[] = [];
const tools = {
  approve: {
    needsApproval: true,
    execute: async ({ item }: { item: string }) => {
      executed.push(item);
      return `${item}!`;
    },
  },
  wait: async (_: object, ctx: { suspend(payload?: unknown): never }) => ctx.suspend({ ticket: 1 }),
  echo: async (args: object) => args,
};

const folder = folderOfFile();

const PROGRAMS: Record<Exclude<RuntimeName, 'bash'>, string> = {
  python: `import asyncio
counter = 40
async def main():
    global counter
    print("before")
    answers = await asyncio.gather(*(tools.approve(item=i) for i in "abc"))
    counter += 2
    print(answers, (await tools.echo(n=1))["n"])
    return answers
asyncio.run(main())`,
  javascript: `var counter = 40;
console.log('before');
const answers = await Promise.all(['a', 'b', 'c'].map((item) => tools.approve({ item })));
counter += 2;
console.log(answers.join(), (await tools.echo({ n: 1 })).n);
answers`,
};
const PRINTED: Record<Exclude<RuntimeName, 'bash'>, string> = {
  python: "['a!', 'b!', 'C'] 1\n",
  javascript: 'a!,b!,C 1\n',
};

const open = (runtime: RuntimeName, store: SessionStore, session_id: string): Promise<Session> =>
  createSandbox({ runtime, store, session_id, tools });

/** Pauses a program in a separate process, which then kills itself. Returns the result. */
function pauseInOtherProcess(
  runtime: Exclude<RuntimeName, 'bash'>,
  session_id: string,
): Promise<{ metadata: never }> {
  const script = `import { createSandbox, diskStore } from 'llm-wasm-sandbox';
const tools = { approve: { needsApproval: true, execute: async () => 0 }, wait: async () => 0, echo: async () => 0 };
const session = await createSandbox({ runtime: '${runtime}', store: diskStore(${JSON.stringify(folder)}), session_id: '${session_id}', tools });
const result = await session.execute(${JSON.stringify(PROGRAMS[runtime])});
process.stdout.write(JSON.stringify(result), () => process.kill(process.pid, 'SIGKILL'));`;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
    });
    child.on('exit', (_, signal) =>
      signal === 'SIGKILL' ? resolve(JSON.parse(text)) : reject(new Error(`ended with ${signal}: ${text}`)),
    );
  });
}

describe.each(['python', 'javascript'] as const)('a paused %s program', (runtime) => {
  // guarantee: paused-programs
  // proves: A paused program continues in another process after kill -9, with answers in any order and in several steps.
  it('continues in another process after kill -9, with answers in any order and in several steps', {
    tags: 'full',
  }, async () => {
    executed.length = 0;
    const first = await pauseInOtherProcess(runtime, `kill-${runtime}`);
    expect(first).toMatchObject({
      success: false,
      exit_code: 75,
      stdout: 'before\n',
      metadata: {
        state: 'paused',
        trapped: false,
        pending: [{ name: 'approve', arguments: { item: 'a' }, reason: 'approval' }, {}, {}],
        tool_calls: [{ status: 'pending' }, { status: 'pending' }, { status: 'pending' }],
      },
    });
    const { execution_id, pending } = first.metadata as { execution_id: string; pending: { id: number }[] };
    const [a, b, c] = pending.map(({ id }) => id) as [number, number, number];
    await using session = await open(runtime, diskStore(folder), `kill-${runtime}`);
    expect((await session.paused())?.execution_id).toBe(execution_id);
    await expect(session.execute('1')).rejects.toMatchObject({ code: 'execution_paused' });
    await expect(session.resume(execution_id, { resolutions: [{ id: 99, value: 1 }] })).rejects.toMatchObject(
      { code: 'invalid_argument' },
    );
    const second = await session.resume(execution_id, { resolutions: [{ id: c, value: 'C' }] });
    expect(second).toMatchObject({ exit_code: 75, stdout: '', metadata: { state: 'paused' } });
    expect(second.metadata.pending).toHaveLength(2);
    expect((await session.paused())?.execution_id).toBe(second.metadata.execution_id);
    const resolutions = [
      { id: b, approve: true },
      { id: a, approve: true },
    ] as const;
    await expect(session.resume(execution_id, { resolutions })).rejects.toMatchObject({
      code: 'execution_not_found',
    });
    const third = await session.resume(second.metadata.execution_id!, { resolutions });
    expect(third).toMatchObject({
      success: true,
      stdout: PRINTED[runtime],
      metadata: { state: 'committed' },
    });
    expect(third.metadata.tool_calls?.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
    expect(executed.sort()).toEqual(['a', 'b']);
    await expect(session.resume(execution_id, { resolutions })).rejects.toMatchObject({
      code: 'execution_not_found',
    });
    expect((await session.execute('counter')).metadata.result).toBe(42);
  });

  it('can be forked, exported and undone, so that one call can get two answers', async () => {
    const store = memoryStore();
    const session = await open(runtime, store, 'origin');
    const paused = await session.execute(
      runtime === 'python'
        ? 'x = 1\ny = await tools.wait()'
        : 'globalThis.x = 1; globalThis.y = await tools.wait({})',
    );
    const { execution_id = '', pending = [] } = paused.metadata;
    expect(pending).toMatchObject([{ reason: 'suspended', payload: { ticket: 1 } }]);
    const { id } = pending[0]!;
    await session.checkpoint('asked');
    const fork = await session.fork('fork');
    const answer = async (one: Session, value: number) => {
      await one.resume(execution_id, { resolutions: [{ id, value }] });
      return (await one.execute('x + y')).metadata.result;
    };
    expect(await answer(session, 10)).toBe(11);
    expect(await answer(fork, 20)).toBe(21);
    await session.rollback('asked');
    expect(await answer(session, 30)).toBe(31);
    await session.rollback('asked');
    await session.close();
    await fork.close();
    await using registry = await openSessions({ store });
    const bundle = await registry.export('origin');
    await using target = await openSessions({ store: memoryStore() });
    await target.import(bundle, { session_id: 'copy' });
    const imported = await target.get('copy');
    const result = await imported.resume(execution_id, { resolutions: [{ id, error: 'no' }], tools });
    expect(result).toMatchObject({ success: false, metadata: { error: { type: 'ToolError' } } });
  });
});

describe('a program that cannot pause', () => {
  it('gets an error that explains how to write the call', async () => {
    await using session = await open('python', memoryStore(), 'blocking');
    const code = `import asyncio
async def inner(): return await tools.wait()
def nested(): return asyncio.run(inner())
for action in (lambda: tools.call("wait"), nested):
    try:
        action()
    except ToolError as error:
        print(error.code, "await tools.wait(...)" in str(error))`;
    const result = await session.execute(`${code}\nawait tools.echo()`);
    expect(result.stdout).toBe('denied True\ndenied True\n');
    expect(result.metadata.tool_calls?.map(({ status }) => status)).toEqual(['denied', 'denied', 'ok']);
  });
});

describe('limits of a paused program', () => {
  it('continue after it is resumed', async () => {
    await using session = await open('javascript', memoryStore(), 'limits');
    const code = 'for (let i = 0; i < 3e5; i++); await tools.wait({}); for (let i = 0; i < 3e5; i++);';
    const { fuel_consumed, metadata } = await session.execute(code);
    await session.undo();
    const again = await session.execute(code, { fuel_budget: Math.round(fuel_consumed * 1.3) });
    const { execution_id = '', pending = [] } = again.metadata;
    expect(metadata.state).toBe('paused');
    const resolutions = [{ id: pending[0]!.id, value: 1 }];
    const result = await session.resume(execution_id, { resolutions });
    expect(result.metadata.trap_reason).toBe('out_of_fuel');
  });
});

describe("execute with onPending: 'pause'", () => {
  it.each(['python', 'javascript'] as const)(
    'leaves all calls of a %s program to the caller',
    async (runtime) => {
      executed.length = 0;
      await using session = await open(runtime, memoryStore(), `caller-${runtime}`);
      const first = await session.execute(PROGRAMS[runtime], { onPending: 'pause' });
      expect(first).toMatchObject({
        exit_code: 75,
        metadata: { state: 'paused', error_guidance: { error_type: 'ProgramPaused' } },
      });
      expect(session.session.paused?.execution_id).toBe(first.metadata.execution_id);
      const answers = { a: 'a!', b: 'b!', c: 'C' };
      let result = first;
      for (let rounds = 0; result.metadata.state === 'paused' && rounds < 3; rounds++)
        result = await session.resume(result.metadata.execution_id!, {
          onPending: 'pause',
          resolutions: result.metadata.pending!.map(({ id, name, arguments: args }) => ({
            id,
            value: name === 'echo' ? args : answers[args['item'] as keyof typeof answers],
          })),
        });
      expect(result).toMatchObject({ success: true, stdout: PRINTED[runtime] });
      expect(result.metadata.tool_calls?.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok']);
      expect(executed).toEqual([]);
      expect([session.session.paused, await session.paused()]).toEqual([undefined, undefined]);
    },
  );

  it('is rejected without a session', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', tools });
    await expect(sandbox.execute('1', { onPending: 'pause' })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('requires a session'),
    });
  });
});

describe('resume', () => {
  it('reports what the rest of the program displays while it runs', async () => {
    await using session = await open('javascript', memoryStore(), 'display');
    const { metadata } = await session.execute("await tools.wait({}); display('later');");
    const shown: unknown[] = [];
    const { execution_id = '', pending = [] } = metadata;
    const result = await session.resume(execution_id, {
      resolutions: [{ id: pending[0]!.id, value: 1 }],
      onResult: (one) => void shown.push(one),
    });
    expect(result.results[0]).toMatchObject({ text: 'later' });
    expect(shown).toEqual(result.results);
  });
});

describe('an approval', () => {
  // guarantee: approval
  it('is not accepted for another call with the same number after a rollback or in a fork', async () => {
    executed.length = 0;
    const session = await open('javascript', memoryStore(), 'swapped');
    const first = await session.execute('await tools.approve({ item: await tools.wait({}) })');
    const fork = await session.fork('swapped-fork');
    const id = first.metadata.pending![0]!.id;
    const answer = async (one: Session, value: string) =>
      one.resume((await one.paused())!.execution_id, { resolutions: [{ id, value }] });
    const { metadata: seen } = await answer(session, 'harmless');
    const call = seen.pending![0]!;
    expect(call).toMatchObject({ name: 'approve', arguments: { item: 'harmless' } });
    await session.undo();
    // The execution was resumed, so its id is not accepted again.
    await expect(
      session.resume(first.metadata.execution_id!, { resolutions: [{ id, value: 'harmful' }] }),
    ).rejects.toMatchObject({ code: 'execution_not_found' });
    for (const other of [session, fork]) {
      const { metadata } = await answer(other, 'harmful');
      expect(metadata.pending).toMatchObject([{ id: call.id, arguments: { item: 'harmful' } }]);
      await expect(
        other.resume(seen.execution_id!, { resolutions: [{ id: call.id, approve: true }] }),
      ).rejects.toMatchObject({ code: 'execution_not_found' });
      await other.close();
    }
    expect(executed).toEqual([]);
  });
});

describe('records of paused sessions', () => {
  it('follow checkpoints, rollbacks, forks and imports', async () => {
    const store = memoryStore();
    await using registry = await openSessions({ store });
    const session = await registry.create({ runtime: 'javascript', session_id: 'origin', tools });
    const { metadata } = await session.execute('await tools.wait({})');
    const { execution_id = '', pending = [] } = metadata;
    const paused = async (one = registry) =>
      (await one.list()).flatMap((record) => (record.paused ? [record.session_id] : [])).sort();
    await session.checkpoint('asked');
    await session.fork('fork');
    expect(await paused()).toEqual(['fork', 'origin']);
    await session.resume(execution_id, { resolutions: [{ id: pending[0]!.id, value: 1 }] });
    await session.flush();
    expect(await paused()).toEqual(['fork']);
    await session.rollback('asked');
    await session.flush();
    expect((await store.list()).records.find(({ session_id }) => session_id === 'origin')!.paused).toEqual({
      execution_id,
      paused_at: expect.any(String),
    });
    const bundle = await registry.export('origin');
    await using target = await openSessions({ store: memoryStore() });
    expect((await target.import(bundle)).paused?.execution_id).toBe(execution_id);
    expect(await paused(target)).toEqual(['origin']);
  });
});

describe('the stored image of a paused program', () => {
  // guarantee: paused-programs
  it('contains the data of the program but no data of the tools, and can be read only by its owner', async () => {
    const secret = `secret-${randomUUID()}`;
    const store = diskStore(join(folder, 'images'));
    const session = await createSandbox({
      runtime: 'javascript',
      store,
      session_id: 'image',
      tools: { ask: { needsApproval: true, description: 'Asks.', execute: async () => secret } },
    });
    await session.execute(
      "globalThis.own = 'own-secret-42 '.repeat(100_000); await tools.ask({ key: own.slice(0, 13) })",
    );
    await session.close();
    const { state } = (await store.read('image'))!;
    const [, ...diffs] = state.delta!;
    const image = Buffer.concat(diffs.map((diff) => brotliDecompressSync(diff)));
    expect(image.includes('own-secret-42 own-secret-42')).toBe(true);
    expect(image.includes(secret)).toBe(false);
    expect(state.paused?.pending[0]?.arguments).toEqual({ key: 'own-secret-42' });
    const files = readdirSync(join(folder, 'images', 'image'), { recursive: true, encoding: 'utf8' });
    for (const name of files) {
      const path = join(folder, 'images', 'image', name);
      expect(statSync(path).mode & 0o077).toBe(0);
      if (statSync(path).isFile()) expect(readFileSync(path).includes(secret)).toBe(false);
    }
  });
});
