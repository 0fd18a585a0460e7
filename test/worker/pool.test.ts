import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { createPool, createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { runProcess, runScript } from '../support/cli.ts';
import { ThreadMemoryReader } from '../support/thread-memory.ts';

const PACKAGE = new URL('../../packages/core/dist/index.js', import.meta.url).href;
const POOL = new URL('../../packages/core/dist/worker/pool/pool.js', import.meta.url).href;

/** Runs a script in a process of its own and returns what it printed; it must end by itself. */
async function inProcess(script: string): Promise<string> {
  const { stdout, stderr, status } = await runScript(script);
  expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
  return stdout.trim();
}

/** Runs a command in which the system call setpriority fails with EPERM. The filter is a list of BPF instructions. */
const WITHOUT_SETPRIORITY = `import ctypes, os, platform, struct, sys
number = {'x86_64': 141, 'aarch64': 140}[platform.machine()]
code = struct.pack('HBBI' * 4, 0x20, 0, 0, 0, 0x15, 0, 1, number, 0x06, 0, 0, 0x00050001, 0x06, 0, 0, 0x7fff0000)
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])`;

describe('workers', () => {
  test('let the process end, with or without close', { tags: 'full' }, async () => {
    const start = `import { createSandbox } from '${PACKAGE}'; const s = await createSandbox({ runtime: 'python' });`;
    expect(
      await inProcess(`${start} console.log((await s.execute('1 + 1')).metadata.result); await s.close();`),
    ).toBe('2');
    expect(await inProcess(`${start} console.log((await s.execute('1 + 1')).metadata.result);`)).toBe('2');
  });

  test.runIf(process.platform === 'linux')('have a lower priority than the main thread', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    await sandbox.execute('1');
    // The 19th field; the second one is a name in parentheses.
    const niceOf = (thread: string) =>
      Number(readFileSync(`/proc/self/task/${thread}/stat`, 'latin1').split(') ').at(-1)!.split(' ')[16]);
    const values = readdirSync('/proc/self/task').map(niceOf);
    expect(values).toContain(Math.min(19, getPriority() + 5));
  });

  test.runIf(process.platform === 'linux')(
    'run where a system call filter forbids priorities',
    { tags: 'full' },
    async () => {
      const program = `import { createSandbox } from '${PACKAGE}';
      const s = await createSandbox({ runtime: 'javascript' });
      console.log((await s.execute('1 + 1')).metadata.result);
      await s.close();`;
      const args = ['-c', WITHOUT_SETPRIORITY, process.execPath, '--input-type=module', '-e', program];
      const { stdout, stderr } = await runProcess('python3', args);
      expect([stdout, stderr]).toEqual(['2\n', '']);
    },
  );

  test('keep nothing of a job that has ended', { tags: 'full' }, async () => {
    await using pool = createPool({ maxWorkers: 1, optimization: 'demand' });
    const run = async (codeChars: number) => {
      await using sandbox = await createSandbox({ runtime: 'javascript', pool });
      const { success } = await sandbox.execute(`1 // ${'x'.repeat(codeChars)}`);
      expect(success).toBe(true);
    };
    const memory = await ThreadMemoryReader.open();
    const bytesAfter = async (codeChars: number) => {
      await run(codeChars);
      return (await memory.ofThisThread()).bytes;
    };
    const before = await bytesAfter(1);
    const after = await bytesAfter(32_000_000);
    memory.close();
    expect(after - before).toBeLessThan(16_000_000);
  });

  test('end when they are idle, and the last one much later', { tags: 'full' }, async () => {
    const script = `
      import { availableParallelism } from 'node:os';
      import { WorkerPool } from '${POOL}';
      let check;
      globalThis.setInterval = (run) => {
        check = run;
        return { unref() { return this; } };
      };
      let elapsed = 0;
      const now = performance.now.bind(performance);
      performance.now = () => now() + elapsed;
      const workers = () => {
        check();
        return pool.workers;
      };
      const pool = new WorkerPool({ optimization: 'demand' });
      const keys = availableParallelism() > 1 ? ['a', 'b'] : ['a'];
      const turns = await Promise.all(keys.map((key) => pool.acquire({ tenant: 't', key })));
      elapsed = 60_000;
      const counts = [workers() === keys.length];
      for (const turn of turns) turn.release();
      await new Promise((resolve) => setImmediate(resolve));
      counts.push(workers() === keys.length);
      elapsed += 60_000;
      counts.push(workers());
      elapsed += 1_200_000;
      counts.push(workers());
      console.log(JSON.stringify(counts));`;
    expect(JSON.parse(await inProcess(script))).toEqual([true, true, 1, 0]);
  });

  test('leave no listener on a signal when a call is over', { tags: 'full' }, async () => {
    const script = `
      import { getEventListeners } from 'node:events';
      import { sharedPool } from '${POOL}';
      const { signal } = new AbortController();
      for (let i = 0; i < 3; i++) {
        const turn = await sharedPool().acquire({ tenant: 't', key: 'k', signal });
        const job = turn.run({ type: 'build', runtime: 'none' }, undefined, { limitMs: 1000, signal });
        await job.result.catch(() => {});
        await job.saved;
        turn.release();
      }
      await new Promise((resolve) => setImmediate(resolve));
      console.log(getEventListeners(signal, 'abort').length);`;
    expect(await inProcess(script)).toBe('0');
  });

  test('are started up to the maximum of the pool', { tags: 'full' }, async () => {
    const script = `
      import { availableParallelism } from 'node:os';
      import { createPool, createSandbox } from '${PACKAGE}';
      const pool = createPool({ maxWorkers: availableParallelism(), optimization: 'demand' });
      const sandboxes = await Promise.all(Array.from({ length: 12 }, () => createSandbox({ runtime: 'python', pool })));
      const results = await Promise.all(sandboxes.map((s, i) => s.execute(String(i))));
      console.log(results.map((r) => r.metadata.result).join(), pool.workers === availableParallelism());
    `;
    expect(await inProcess(script)).toBe('0,1,2,3,4,5,6,7,8,9,10,11 true');
  });

  test('run a short program of a third sandbox while two others are in endless loops', {
    tags: 'full',
  }, async () => {
    const script = `
      import { availableParallelism } from 'node:os';
      import { createSandbox } from '${PACKAGE}';
      const create = () => createSandbox({ runtime: 'python', policy: { timeout_seconds: 50, fuel_budget: 1e12 } });
      const busy = await Promise.all(Array.from({ length: availableParallelism() }, create));
      const endless = busy.map((sandbox) => sandbox.execute('while True: pass'));
      const third = await create();
      console.log((await third.execute('1 + 1')).metadata.result);
      for (const run of endless) run.cancel();
      console.log((await Promise.all(endless)).every((result) => result.metadata.trap_reason === 'cancelled'));
    `;
    expect(await inProcess(script)).toBe('2\ntrue');
  });

  test('exceed the number of cores, where that is allowed, while long-running programs occupy them all', {
    tags: 'full',
  }, async () => {
    const script = `
      import { availableParallelism } from 'node:os';
      import { createPool, createSandbox } from '${PACKAGE}';
      const cores = availableParallelism();
      const pool = createPool({ maxWorkers: cores + 2, optimization: 'demand' });
      const stop = new AbortController();
      const make = (count) =>
        Promise.all(Array.from({ length: count }, () => createSandbox({ runtime: 'python', pool })));
      const endless = (sandbox) =>
        sandbox.execute('while True: pass', { fuel_budget: 1e12, timeout_seconds: 300, signal: stop.signal });
      let ended = 0;
      const running = (await make(cores + 1)).map((one) => endless(one).finally(() => ended++));
      const [short, ...more] = await make(4);
      const { metadata } = await short.execute('1 + 1');
      const workers = [pool.workers];
      // One more gets the last worker; the others wait.
      running.push(...more.map((one) => endless(one)));
      await new Promise((resolve) => setTimeout(resolve, 1000));
      workers.push(pool.workers);
      console.log(JSON.stringify([metadata.result, ended, workers.every((count) => count <= pool.maxWorkers)]));
      stop.abort();
      await Promise.all(running);
    `;
    expect(JSON.parse(await inProcess(script))).toEqual([2, 0, true]);
  });

  test('with long-running programs yield to short ones, and the wait does not count as their time', {
    tags: 'full',
  }, async () => {
    const script = `
      import { availableParallelism } from 'node:os';
      import { createPool, createSandbox } from '${PACKAGE}';
      const cores = availableParallelism();
      const pool = createPool({ maxWorkers: cores + 2, optimization: 'demand' });
      const make = (count) =>
        Promise.all(Array.from({ length: count }, () => createSandbox({ runtime: 'python', pool })));
      const limits = { fuel_budget: 1e12, timeout_seconds: 2 };
      let isOver = false;
      const running = Promise.all((await make(cores + 1)).map((one) => one.execute('while True: pass', limits)));
      running.then(() => { isOver = true; });
      const [short] = await make(1);
      while (!isOver) await short.execute('1 + 1');
      const ended = (await running).map(({ duration_ms, metadata: { trap_reason, queue_ms } }) =>
        [trap_reason, duration_ms >= 2000, queue_ms > 0]);
      console.log(JSON.stringify(ended.every((one) => one.join() === 'timeout,true,true') || ended));
    `;
    expect(JSON.parse(await inProcess(script))).toBe(true);
  });

  test('never block the main thread', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const stop = new AbortController();
    let ticks = 0;
    const timer = setInterval(() => {
      if (++ticks === 5) stop.abort();
    }, 10);
    const limits = { fuel_budget: 1e12, timeout_seconds: 200 };
    const { metadata } = await sandbox.execute('while True: pass', { ...limits, signal: stop.signal });
    clearInterval(timer);
    expect(metadata.trap_reason).toBe('cancelled');
  });

  test('that die are replaced, and their run is reported as lost', { tags: 'full' }, async () => {
    const script = `
      import { createSandbox } from '${PACKAGE}';
      import { sharedPool } from '${POOL}';
      const sandbox = await createSandbox({ runtime: 'python' });
      await sandbox.writeFile('kept', 'x');
      let running;
      await new Promise((onStdout) => {
        const code = 'open("half", "w").close()\\nprint("runs", flush=True)\\nwhile True: pass';
        running = sandbox.execute(code, { onStdout, timeout_seconds: 200, fuel_budget: 1e12 });
      });
      await sharedPool().close();
      const { metadata, exit_code } = await running;
      const next = await sandbox.execute('import os\\nos.listdir()');
      console.log(JSON.stringify([metadata.trap_reason, metadata.trap_message, exit_code, next.metadata.result]));
      await sandbox.close();
    `;
    expect(JSON.parse(await inProcess(script))).toEqual([
      'worker_lost',
      'Execution trapped: WorkerLost (the worker thread ended)',
      143,
      ['kept'],
    ]);
  });

  test('are shared fairly: a long queue of one sandbox does not hold up another', async () => {
    // With one worker, the order of the results is that of the queue.
    await using pool = createPool({ maxWorkers: 1, optimization: 'demand' });
    await using greedy = await createSandbox({ runtime: 'javascript', pool });
    await using modest = await createSandbox({ runtime: 'javascript', pool });
    const order: string[] = [];
    const note = (name: string) => (result: SandboxResult) => {
      order.push(name);
      return result;
    };
    const many = Array.from({ length: 20 }, () => greedy.execute('1').then(note('greedy')));
    const one = modest.execute('1').then(note('modest'));
    await Promise.all([...many, one]);
    // It would be the last one in a single queue.
    expect(order.indexOf('modest')).toBeLessThan(3);
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
    const cancel = new AbortController();
    const result = await sandbox.execute('import time\nprint("asleep", flush=True); time.sleep(3600)', {
      signal: cancel.signal,
      timeout_seconds: 200,
      onStdout: () => cancel.abort(),
    });
    expect(result.metadata).toMatchObject({
      trap_reason: 'cancelled',
      error: { type: 'Cancelled', line: 2 },
    });
  });

  test('removes a call from the queue before it starts', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const first = sandbox.execute('import time\ntime.sleep(0.5)');
    const cancel = new AbortController();
    const waiting = sandbox.execute("open('never', 'w')", { signal: cancel.signal });
    cancel.abort();
    const second = await waiting;
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
