/** A paused execution can be resumed once, even if the resume is rolled back or its process is killed. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, diskStore, memoryStore, type Session } from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();

interface CallContext {
  readonly call_id: string;
}

/** Makes a call that needs approval, and one that does not. */
const PROGRAM = `const first = await tools.pay({ amount: 1 });
globalThis.paid = [first, await tools.note({ text: 'paid' })];`;

/** Cannot be interrupted, so the run is stopped and rolled back. */
const LOOP = `while True:
        try:
            while True: pass
        except BaseException: pass`;

/** What ends a resumed run, the program, and the calls that it makes. */
const ENDS = [
  [
    'is cancelled while the tool runs',
    `try:\n    await tools.pay(amount=1)\nfinally:\n    ${LOOP}`,
    ['unknown'],
  ],
  [
    'reaches a limit',
    `if await tools.pay(amount=1) is None:\n    await tools.note(text="paid")\n    ${LOOP}`,
    ['ok', 'ok'],
  ],
] as const;

async function approveAll(session: Session, execution_id: string, signal?: AbortSignal) {
  const { pending } = (await session.paused())!;
  const resolutions = pending.map(({ id }) => ({ id, approve: true as const }));
  return session.resume(execution_id, { resolutions, ...(signal && { signal }) });
}

describe('a resume that is rolled back', () => {
  // guarantee: paused-programs
  // proves: If a cancellation or a limit rolls back a resume, the execution id is not accepted again, and approvals sent during the resume are refused.
  it.each(ENDS)('because it %s, uses up the execution', async (_, code, made) => {
    const cancels = made[0] === 'unknown';
    const stop = new AbortController();
    const calls: CallContext[] = [];
    const sentMeanwhile: Promise<unknown>[] = [];
    const onCall = async (_args: object, context: CallContext) => {
      calls.push(context);
      if (calls.length === 1) {
        const running = (await session.paused())!;
        const send = (id: string) => approveAll(session, id).catch((error: unknown) => error);
        sentMeanwhile.push(send(first.execution_id!), send(running.execution_id));
        // This one does not wait until the resume has ended.
        await sentMeanwhile[0];
      }
      if (cancels && calls.length === 1) stop.abort();
    };
    await using session = await createSandbox({
      runtime: 'python',
      session_id: 'rolled-back',
      store: cancels ? memoryStore() : diskStore(folder),
      tools: { pay: { needsApproval: true, execute: onCall }, note: onCall },
      policy: { fuel_budget: 300_000_000 },
    });
    const { metadata: first } = await session.execute(code);
    const before = (await session.paused())!;
    const result = await approveAll(session, first.execution_id!, stop.signal);
    const paused = (await session.paused())!;
    expect(result).toMatchObject({
      success: false,
      metadata: {
        state: 'rolled_back',
        execution_id: paused.execution_id,
        pending: first.pending,
        tool_calls: made.map((status) => ({ status })),
      },
    });
    expect(paused).toEqual({
      ...before,
      execution_id: expect.not.stringMatching(first.execution_id!),
      tool_calls: [{ ...before.tool_calls[0], status: 'unknown' }],
    });
    expect(session.session.paused?.execution_id).toBe(paused.execution_id);

    const [again, withNewId] = await Promise.all(sentMeanwhile);
    expect(again).toMatchObject({
      code: 'execution_not_found',
      message: expect.stringMatching(/: a resume is in progress.*wait for its result; otherwise check/),
    });
    expect(withNewId).toMatchObject({
      code: 'execution_not_found',
      message: expect.stringContaining(paused.execution_id),
    });
    expect(await session.paused()).toEqual(paused);
    expect(calls).toHaveLength(made.length);
    await expect(approveAll(session, first.execution_id!)).rejects.toMatchObject({
      code: 'execution_not_found',
      message: expect.stringMatching(
        `${paused.execution_id}: a resume is in progress, or was rolled back, undone or interrupted.*may have taken effect: 1 \\(pay\\)`,
      ),
    });
    expect(calls).toHaveLength(made.length);

    // The calls that are repeated have the same idempotency keys.
    await approveAll(session, paused.execution_id);
    const ids = calls.map(({ call_id }) => call_id);
    expect(ids.slice(made.length)).toEqual(ids.slice(0, made.length));
    expect(new Set(ids).size).toBe(made.length);
  });

  it('does not start if the execution cannot be claimed, and refuses old ids if it is undone or cannot be saved', async () => {
    const store = memoryStore();
    let calls = 0;
    const ids: string[] = [];
    const pay = async () => {
      ids.push((await session.paused())!.execution_id);
      return ++calls;
    };
    await using session = await createSandbox({
      runtime: 'javascript',
      session_id: 'unsaved',
      store,
      tools: { pay: { needsApproval: true, execute: pay }, note: async () => 0 },
    });
    const { metadata } = await session.execute(PROGRAM);
    const { write } = store;
    store.write = async () => {
      throw new Error('disk full');
    };
    await expect(approveAll(session, metadata.execution_id!)).rejects.toMatchObject({ code: 'store_failed' });
    store.write = write;
    expect(calls).toBe(0);
    expect(await session.paused()).toMatchObject({
      execution_id: metadata.execution_id,
      tool_calls: [{ status: 'pending' }],
    });
    expect(await approveAll(session, metadata.execution_id!)).toMatchObject({ success: true });
    expect([calls, await session.paused()]).toEqual([1, undefined]);

    // After an undo, the id that was visible during the resume is refused too.
    await session.undo();
    const undone = (await session.paused())!;
    expect(undone.tool_calls).toMatchObject([{ status: 'unknown' }]);
    for (const id of [metadata.execution_id!, ...ids])
      await expect(approveAll(session, id)).rejects.toMatchObject({ code: 'execution_not_found' });

    // So is it if the result of the resume cannot be saved.
    const failing = approveAll(session, undone.execution_id);
    store.write = async (stored, revision) => {
      if (calls === 2) throw new Error('disk full');
      return write(stored, revision);
    };
    await expect(failing).rejects.toMatchObject({ code: 'store_failed' });
    store.write = write;
    expect(calls).toBe(2);
    for (const id of [undone.execution_id, ...ids])
      await expect(approveAll(session, id)).rejects.toMatchObject({ code: 'execution_not_found' });
    await session.flush();
    expect((await store.read('unsaved'))!.state.paused).toEqual(await session.paused());
    expect(calls).toBe(2);
  });
});

/** Runs the body of a function with `session` in a separate process, which must end with SIGKILL. */
function killedProcess(body: string): Promise<void> {
  const script = `import { appendFileSync } from 'node:fs';
import { createSandbox, diskStore } from 'llm-wasm-sandbox';
const log = (text) => appendFileSync(${JSON.stringify(join(folder, 'log'))}, text + '\\n');
const kill = () => { process.kill(process.pid, 'SIGKILL'); for (;;); };
let pay = async () => 0;
const tools = { pay: { needsApproval: true, execute: (...args) => pay(...args) }, note: async () => 0 };
const session = await createSandbox({ runtime: 'javascript', session_id: 'killed', store: diskStore(${JSON.stringify(folder)}), tools });
const approve = async () => {
  const { execution_id, pending } = await session.paused();
  return session.resume(execution_id, { resolutions: pending.map(({ id }) => ({ id, approve: true })) });
};
${body}`;
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.on('exit', (code, signal) =>
      signal === 'SIGKILL' ? resolve() : reject(new Error(`ended with ${signal ?? code}`)),
    );
  });
}

describe('a resume whose process is killed with SIGKILL', { tags: 'full' }, () => {
  // guarantee: paused-programs
  // proves: If SIGKILL ends the process during a resume, the execution id is not accepted again. A result that was returned is in the store.
  it('uses up the execution, and is in the store if it has returned', async () => {
    await killedProcess(`pay = async (_, { call_id }) => { log('pay ' + call_id); kill(); };
log((await session.execute(${JSON.stringify(PROGRAM)})).metadata.execution_id);
await approve();`);
    const log = () => readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');
    const [execution_id, firstCall] = log();
    const pay = async (_: object, { call_id }: CallContext) => {
      expect(`pay ${call_id}`).toBe(firstCall);
      return 'ok';
    };
    const tools = { pay: { needsApproval: true, execute: pay }, note: async () => 0 };
    const open = () =>
      createSandbox({ runtime: 'javascript', session_id: 'killed', store: diskStore(folder), tools });
    const session = await open();
    await expect(approveAll(session, execution_id!)).rejects.toMatchObject({ code: 'execution_not_found' });
    const paused = (await session.paused())!;
    expect(paused.tool_calls).toMatchObject([{ name: 'pay', status: 'unknown' }]);
    if (process.env['NIGHTLY_TESTS']) {
      await session.close();
      await killedProcess(`pay = async (_, { call_id }) => { log('pay ' + call_id); return 'ok'; };
log((await approve()).metadata.state);
kill();`);
      expect(log().slice(1)).toEqual([firstCall, firstCall, 'committed']);
    } else {
      expect((await approveAll(session, paused.execution_id)).metadata.state).toBe('committed');
      expect((await diskStore(folder).read('killed'))!.state.paused).toBeUndefined();
      await session.close();
    }
    await using after = await open();
    expect(await after.paused()).toBeUndefined();
    expect((await after.execute('paid')).metadata.result).toEqual(['ok', 0]);
  });
});
