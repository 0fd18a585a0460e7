/** A call that was reported as committed and then could not be saved: the session reverts and reports the loss. */
import { memoryStore } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';

const built = (name: string) => new URL(`../../dist/${name}.js`, import.meta.url).href;
const { Session } = (await import(
  built('session/timeline')
)) as typeof import('../../src/session/timeline.ts');
const { Transaction } = (await import(
  built('session/transaction')
)) as typeof import('../../src/session/transaction.ts');
const { Workspace } = (await import(
  built('sandbox/workspace')
)) as typeof import('../../src/sandbox/workspace.ts');

test('a call whose worker is lost while saving is rolled back, and flush() reports it', async () => {
  const settings = { runtime: 'python', auto_persist_globals: true, preload: [], policy: {} } as const;
  const session = await Session.open(memoryStore(), { ...settings, session_id: 'lost' });
  const workspace = new Workspace(Date.now, { maxBytes: 1000, maxFiles: 10 });
  const transaction = new Transaction(session, workspace, 'x = 1');
  await transaction.begin('key', { in: 'x' });
  const entry = { path: 'out', kind: 'file', mode: 0o644, mtimeMs: 0, data: new Uint8Array(1) } as const;
  const changes = { created: ['out'], modified: [], deleted: [], removed: [], entries: [entry] };
  transaction.answered({
    state: 'committed',
    trap: undefined,
    report: undefined,
    fuelConsumed: 1,
    memoryUsedBytes: 1,
    durationMs: 1,
    yieldedMs: 0,
    stdout: '',
    stderr: '',
    stdoutDroppedBytes: 0,
    stderrDroppedBytes: 0,
    changes,
    imports: [],
  });
  expect(workspace.list().map(({ path }) => path)).toEqual(['in', 'out']);
  transaction.finished();
  expect(workspace.list()).toEqual([]);
  expect(session.state).toMatchObject({ version: 0, delta: undefined });
  await expect(session.flush()).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining('call 1'),
  });
  await session.close();
});
