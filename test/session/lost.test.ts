/** A call that was reported as committed and then could not be saved. */
import { memoryStore } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';

const built = (path: string) => new URL(`../../dist/${path}.js`, import.meta.url).href;
const { SessionTimeline } = (await import(
  built('session/timeline')
)) as typeof import('../../src/session/timeline.ts');
const { Transaction } = (await import(
  built('session/transaction')
)) as typeof import('../../src/session/transaction.ts');
const { Workspace } = (await import(
  built('sandbox/workspace')
)) as typeof import('../../src/sandbox/workspace.ts');

test('reverts a call whose worker is lost while it saves, and reports it with the next flush', async () => {
  const settings = { runtime: 'python', auto_persist_globals: true, preload: [], policy: {} } as const;
  const timeline = await SessionTimeline.open(memoryStore(), { ...settings, session_id: 'lost' });
  const workspace = new Workspace(Date.now, { maxBytes: 1000, maxFiles: 10 });
  const transaction = await Transaction.begin(timeline, workspace, { in: 'x' });
  const entry = { path: 'out', kind: 'file', mode: 0o644, mtimeMs: 0, data: new Uint8Array(1) } as const;
  const changes = { created: ['out'], modified: [], deleted: [], removed: [], entries: [entry] };
  const outcome = {
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
    filesTruncated: false,
    imports: [],
    declared: [],
  } as const;
  transaction.answer({ ...outcome, changes });
  expect(workspace.list().map(({ path }) => path)).toEqual(['in', 'out']);
  transaction.settle(undefined);
  expect(workspace.list()).toEqual([]);
  expect(timeline.state).toMatchObject({ version: 0, delta: undefined });
  await expect(timeline.flush()).rejects.toMatchObject({
    code: 'store_failed',
    message: expect.stringContaining('call 1'),
  });
  await timeline.close();
});
