import { spawnSync } from 'node:child_process';
import { createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const PACKAGE = new URL('../../dist/index.js', import.meta.url).href;
const POOL = new URL('../../dist/worker/guest-assets.js', import.meta.url).href;

/** Runs a script in a process of its own and returns what it printed; it must end by itself. */
function inProcess(script: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.trim();
}

describe('workers', () => {
  test('let the process end after close, and also without it', () => {
    const start = `import { createSandbox } from '${PACKAGE}'; const s = await createSandbox({ runtime: 'python' });`;
    expect(
      inProcess(`${start} console.log((await s.execute('1 + 1')).metadata.result); await s.close();`),
    ).toBe('2');
    expect(inProcess(`${start} console.log((await s.execute('1 + 1')).metadata.result);`)).toBe('2');
  });

  test('forget a job when it is over, whoever still holds its signal', () => {
    const script = `
      import { getEventListeners } from 'node:events';
      import { sharedPool } from '${POOL}';
      const { signal } = new AbortController();
      const prepare = async () => { throw new Error('no'); };
      for (let i = 0; i < 3; i++)
        await sharedPool().submit({ key: 'k', signal, limitMs: 1000, prepare }).catch(() => {});
      console.log(getEventListeners(signal, 'abort').length);`;
    expect(inProcess(script)).toBe('0');
  });

  test('are as many as the machine has cores, and no more', () => {
    const script = `
      import { availableParallelism } from 'node:os';
      import { createSandbox } from '${PACKAGE}';
      import { sharedPool } from '${POOL}';
      const sandboxes = await Promise.all(Array.from({ length: 12 }, () => createSandbox({ runtime: 'python' })));
      const results = await Promise.all(sandboxes.map((s, i) => s.execute(String(i))));
      console.log(results.map((r) => r.metadata.result).join(), sharedPool().workers === availableParallelism());
    `;
    expect(inProcess(script)).toBe('0,1,2,3,4,5,6,7,8,9,10,11 true');
  });

  test('are more, where that is allowed, while long programs hold them: nobody waits for those to end', () => {
    const script = `
      import { createSandbox } from '${PACKAGE}';
      import { sharedPool } from '${POOL}';
      const pool = sharedPool();
      const most = pool.size + 2;
      pool.allow(most);
      const stop = new AbortController();
      const make = (count) => Promise.all(Array.from({ length: count }, () => createSandbox({ runtime: 'python' })));
      const endless = (sandbox) =>
        sandbox.execute('while True: pass', { fuel_budget: 1e12, timeout_seconds: 300, signal: stop.signal });
      let ended = 0;
      const burning = (await make(pool.size + 1)).map((one) => endless(one).finally(() => ended++));
      const [short, ...more] = await make(4);
      const { metadata } = await short.execute('1 + 1');
      const workers = [pool.workers];
      // One more has the last place, the others wait: there are never more than were allowed.
      burning.push(...more.map((one) => endless(one)));
      await new Promise((resolve) => setTimeout(resolve, 1000));
      workers.push(pool.workers);
      console.log(JSON.stringify([metadata.result, ended, workers.every((count) => count <= most)]));
      stop.abort();
      await Promise.all(burning);
    `;
    expect(JSON.parse(inProcess(script))).toEqual([2, 0, true]);
  });

  test('that run long programs stand aside for short ones, and what they wait is not their time', () => {
    const script = `
      import { createSandbox } from '${PACKAGE}';
      import { sharedPool } from '${POOL}';
      const pool = sharedPool();
      pool.allow(pool.size + 2);
      const make = (count) => Promise.all(Array.from({ length: count }, () => createSandbox({ runtime: 'python' })));
      const limits = { fuel_budget: 1e12, timeout_seconds: 3 };
      let isOver = false;
      const burning = Promise.all((await make(pool.size + 1)).map((one) => one.execute('while True: pass', limits)));
      burning.then(() => { isOver = true; });
      const [short] = await make(1);
      while (!isOver) await short.execute('1 + 1');
      const ended = (await burning).map(({ duration_ms, metadata: { trap_reason, queue_ms } }) =>
        [trap_reason, duration_ms >= 3000, queue_ms > 0, queue_ms < 2 * duration_ms]);
      console.log(JSON.stringify(ended.every((one) => one.join() === 'timeout,true,true,true') || ended));
    `;
    expect(JSON.parse(inProcess(script))).toBe(true);
  });

  test('never block the main thread', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { timeout_seconds: 1 } });
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    await sandbox.execute('while True: pass');
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(10);
  });

  test('that die are replaced, and their run is reported as lost', () => {
    const script = `
      import { createSandbox } from '${PACKAGE}';
      import { sharedPool } from '${POOL}';
      const sandbox = await createSandbox({ runtime: 'python' });
      await sandbox.writeFile('kept', 'x');
      const running = sandbox.execute('open("half", "w").close()\\nwhile True: pass');
      await new Promise((resolve) => setTimeout(resolve, 1000));
      await sharedPool().close();
      const { metadata, exit_code } = await running;
      const next = await sandbox.execute('import os\\nos.listdir()');
      console.log(JSON.stringify([metadata.trap_reason, metadata.trap_message, exit_code, next.metadata.result]));
      await sandbox.close();
    `;
    expect(JSON.parse(inProcess(script))).toEqual([
      'worker_lost',
      'Execution trapped: WorkerLost (the worker thread ended)',
      143,
      ['kept'],
    ]);
  });

  test('are shared fairly: a long queue of one sandbox does not hold up another', async () => {
    await using greedy = await createSandbox({ runtime: 'python' });
    await using modest = await createSandbox({ runtime: 'python' });
    // Both workers are up before the race, so that only the queue decides.
    await Promise.all([greedy.execute('1'), modest.execute('1')]);
    const order: string[] = [];
    const note = (name: string) => (result: SandboxResult) => {
      order.push(name);
      return result;
    };
    const many = Array.from({ length: 20 }, () => greedy.execute('sum(range(200_000))').then(note('greedy')));
    const one = modest.execute('1').then(note('modest'));
    await Promise.all([...many, one]);
    expect(order.indexOf('modest')).toBeLessThan(5);
  });
});

describe('cancellation', () => {
  test('ends a running program', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('while True: pass', { signal: AbortSignal.timeout(300) });
    expect(result).toMatchObject({ success: false, exit_code: 130, metadata: { trap_reason: 'cancelled' } });
  });

  test('wakes a sleeping program', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('import time\ntime.sleep(25)', { signal: AbortSignal.timeout(300) });
    expect(result.metadata).toMatchObject({
      trap_reason: 'cancelled',
      error: { type: 'Cancelled', line: 2 },
    });
    expect(result.duration_ms).toBeLessThan(20_000);
  });

  test('takes a call out of the queue before it starts', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const first = sandbox.execute('import time\ntime.sleep(0.5)');
    const second = await sandbox.execute("open('never', 'w')", { signal: AbortSignal.timeout(50) });
    expect(second.metadata).toMatchObject({ trap_reason: 'cancelled' });
    expect(second.fuel_consumed).toBe(0);
    await first;
    expect(await sandbox.listFiles()).toEqual([]);
  });

  test('of a call that is given an aborted signal is immediate', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result = await sandbox.execute('1', { signal: AbortSignal.abort() });
    expect(result.metadata.trap_reason).toBe('cancelled');
  });
});
