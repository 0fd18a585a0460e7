/** @module-tag full */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createPool, createSandbox, memoryStore, type Pool, type SandboxResult } from 'llm-wasm-sandbox';
import { afterAll, describe, expect, test } from 'vitest';
import { findAssets } from '../../packages/core/dist/runtimes/artifacts/guest-artifacts.js';
import {
  fromPortableExtension,
  isNewImageOf,
  parseFromIsolated,
} from '../../packages/core/dist/worker/isolation/isolation-protocol.js';
import { permissionFlags } from '../../packages/core/dist/worker/isolation/permissions.js';
import type { DrawPicture } from '../../packages/core/dist/worker/pool/auxiliary-jobs.js';
import { ThreadHost } from '../../packages/core/dist/worker/pool/thread-host.js';
import { childProcesses } from '../support/child-processes.ts';
import { folderOfFile } from '../support/folders.ts';

const PACKAGE = new URL('../../packages/core/dist/index.js', import.meta.url).href;
const root = fileURLToPath(new URL('../../', import.meta.url));
const folder = folderOfFile();
writeFileSync(join(folder, 'data.txt'), 'from the host');
// Images are built here, not read from the cache of the user.
process.env['LLM_WASM_SANDBOX_CACHE'] = join(folder, 'cache');

/** A result without what differs between two runs. */
const comparable = ({ duration_ms, metadata: { queue_ms, ...metadata }, ...rest }: SandboxResult) => ({
  ...rest,
  metadata,
});

const deterministic = { deterministic: true } as const;
const endless = { fuel_budget: 1e12, timeout_seconds: 60 } as const;

/** What a pool must do with either kind of isolation. Each function returns the same data with both. */
const CONTRACT: Record<string, (pool: Pool) => Promise<unknown>> = {
  'runs programs with input, files, mounts and limits': async (pool) => {
    const mounts = [{ host_path: join(folder, 'data.txt'), guest_path: '/external/data.txt' }];
    await using python = await createSandbox({
      runtime: 'python',
      pool,
      policy: { ...deterministic, mounts },
    });
    await using javascript = await createSandbox({ runtime: 'javascript', pool, policy: deterministic });
    await python.writeFile('kept.bin', new Uint8Array([0, 255, 7]));
    const program = [
      'import sys',
      'print(sys.stdin.read(), open("/external/data.txt").read(), list(open("kept.bin", "rb").read()))',
      'open("made.txt", "w").write("x" * 100_000)',
      'print("warning", file=sys.stderr)',
      '{"answer": 42}',
    ].join('\n');
    const results = [
      await python.execute(program, { stdin: 'input' }),
      await python.execute('import os\nos.remove("kept.bin")\nlen(open("made.txt").read())'),
      await python.execute('1 / 0'),
      await python.execute('import no_such_module'),
      await python.execute('while True: pass', { fuel_budget: 50_000_000 }),
      await python.execute('b = bytearray(10**9)'),
      await javascript.execute('[1, 2].map((x) => x * 2)'),
    ];
    return [results.map(comparable), await python.listFiles()];
  },
  'draws images of programs': async (pool) => {
    await using sandbox = await createSandbox({ runtime: 'javascript', pool });
    const { drawPicture } = sandbox as unknown as { drawPicture: DrawPicture };
    const size = { maxEdge: 100, maxBytes: 100_000 } as const;
    const drawn = await drawPicture('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="7"/>', size);
    if ('problem' in drawn) throw new Error(drawn.problem);
    return [{ ...drawn, image: [...drawn.image] }, await drawPicture(new Uint8Array([1]), size)];
  },
  'streams output and progress while a program runs': async (pool) => {
    await using sandbox = await createSandbox({ runtime: 'python', pool });
    const chunks: string[] = [];
    const stop = new AbortController();
    let hasProgress = false;
    const { metadata, stdout } = await sandbox.execute('print("first", flush=True)\nwhile True: pass', {
      ...endless,
      signal: stop.signal,
      onStdout: (text) => chunks.push(text),
      // The output arrived and fuel is reported before the program ends.
      onProgress: ({ fuel_consumed }) => {
        hasProgress ||= fuel_consumed > 0;
        if (hasProgress && chunks.length > 0) stop.abort();
      },
    });
    return [chunks, hasProgress, stdout, metadata.trap_reason];
  },
  'cancels sleeping programs and enforces time limits': async (pool) => {
    await using sandbox = await createSandbox({ runtime: 'python', pool });
    const stop = new AbortController();
    const onStdout = () => stop.abort();
    const sleep = 'import time\nprint("asleep", flush=True)\ntime.sleep(50)';
    const cancelled = await sandbox.execute(sleep, { ...endless, signal: stop.signal, onStdout });
    const late = await sandbox.execute('while True: pass', { fuel_budget: 1e12, timeout_seconds: 0.3 });
    return [cancelled, late].map(({ metadata: { trap_reason, error } }) => [trap_reason, error?.type]);
  },
  'keeps, restores and forks sessions': async (pool) => {
    const store = memoryStore();
    const open = () =>
      createSandbox({ runtime: 'python', pool, store, session_id: 's', policy: deterministic });
    const values: unknown[] = [];
    let session = await open();
    const run = async (code: string) => values.push((await session.execute(code)).metadata.result);
    await run('x = 1\nopen("/tmp/t", "w").write("tmp")\nopen("f", "w").write("1")');
    await session.checkpoint('one');
    await run('x += 1\nopen("f", "w").write("2")\nx');
    const fork = await session.fork('fork');
    await session.rollback('one');
    await session.writeFile('host.txt', 'edit');
    await run('[x, open("f").read(), open("host.txt").read(), open("/tmp/t").read()]');
    await session.close();
    session = await open();
    await run('x += 10\nx');
    values.push((await fork.execute('x')).metadata.result, await session.variables());
    await Promise.all([session.close(), fork.close()]);
    return values;
  },
  'calls tools, whose arguments and results are limited, and withdraws calls': async (pool) => {
    const aborted: string[] = [];
    let hasStarted = () => {};
    const started = new Promise<void>((resolve) => {
      hasStarted = resolve;
    });
    const tools = {
      twice: async ({ text }: { text: string }) => text + text,
      fails: async () => {
        throw new Error('a failure of the tool');
      },
      started: () => started,
      never: (_: object, { signal }: { signal: AbortSignal }) =>
        new Promise((_resolve, reject) => {
          hasStarted();
          signal.addEventListener('abort', () => {
            aborted.push('never');
            reject(signal.reason);
          });
        }),
    };
    await using python = await createSandbox({ runtime: 'python', pool, tools });
    await using javascript = await createSandbox({ runtime: 'javascript', pool, tools });
    const codes = [
      'import asyncio',
      'seen = []',
      'async def attempt(call):',
      '    try:',
      '        seen.append(len(await call))',
      '    except ToolError as error:',
      '        seen.append(error.code)',
      '    except asyncio.CancelledError:',
      '        seen.append("withdrawn")',
      'await attempt(tools.twice(text="x" * 1_000_000))',
      'await attempt(tools.twice(text="x" * 1_100_000))',
      'await attempt(tools.twice(text="x" * 5_000_000))',
      'await attempt(tools.fails())',
      'never = asyncio.create_task(attempt(tools.never()))',
      'await tools.started()',
      'never.cancel()',
      'await never',
      'seen',
    ];
    const inPython = await python.execute(codes.join('\n'));
    expect(inPython.metadata.result).toEqual([
      2_000_000,
      'invalid_arguments',
      'invalid_arguments',
      'failed',
      'withdrawn',
    ]);
    expect(aborted).toEqual(['never']);
    const inJavaScript = await javascript.execute(
      "(await Promise.all(['a', 'b', 'c'].map((text) => tools.twice({ text })))).join()",
    );
    return [inPython, inJavaScript].map(({ stderr, metadata: { result, tool_calls } }) => ({
      stderr,
      result,
      aborted,
      calls: tool_calls?.map(({ name, status, bytes_in, bytes_out }) => [name, status, bytes_in, bytes_out]),
    }));
  },
  'pauses a program at a tool call and resumes it': async (pool) => {
    const tools = { wait: async (_: object, ctx: { suspend(): never }) => ctx.suspend() };
    const store = memoryStore();
    await using session = await createSandbox({
      runtime: 'javascript',
      pool,
      session_id: 'paused',
      store,
      tools,
    });
    const { metadata } = await session.execute('const x = await tools.wait({}); x + 1');
    const { execution_id = '', pending = [], state } = metadata;
    const resolutions = pending.map(({ id }) => ({ id, value: 41 }));
    const resumed = await session.resume(execution_id, { resolutions });
    expect([pending.length, resumed.metadata.result]).toEqual([1, 42]);
    return { state, pending: pending.length, result: resumed.metadata.result };
  },
  'runs programs at the same time': async (pool) => {
    const sandboxes = await Promise.all(
      Array.from({ length: 4 }, () => createSandbox({ runtime: 'javascript', pool })),
    );
    const results = await Promise.all(sandboxes.map((sandbox, i) => sandbox.execute(`${i} + 1`)));
    return results.map(({ metadata }) => metadata.result);
  },
};

describe('isolation', () => {
  const pools = {
    thread: createPool({ maxWorkers: 2, optimization: 'demand' }),
    process: createPool({ maxWorkers: 2, isolation: 'process', optimization: 'demand' }),
  };
  afterAll(() => Promise.all([pools.thread.close(), pools.process.close()]));

  for (const [name, check] of Object.entries(CONTRACT)) {
    test(`"process" ${name}, with the same results as "thread"`, async () => {
      const [inThread, inProcess] = await Promise.all([check(pools.thread), check(pools.process)]);
      expect(inProcess).toEqual(inThread);
      expect(JSON.stringify(inProcess)).not.toContain('worker_lost');
    });
  }

  test('"process" builds images with preloaded modules, and loads them', async () => {
    for (const pool of [pools.process, pools.thread]) {
      await using sandbox = await createSandbox({ runtime: 'python', pool, preload: ['colorsys'] });
      const { metadata } = await sandbox.execute('import sys\n"colorsys" in sys.modules');
      expect(metadata).toMatchObject({ trap_reason: null, result: true });
    }
  });

  test.runIf(process.platform === 'linux')(
    '"process" builds an image in a process that has run no other guest, and ends it',
    async () => {
      await using earlier = await createSandbox({ runtime: 'python', pool: pools.process });
      await earlier.execute('1');
      const before = childProcesses();
      const seen = new Set<number>();
      const watch = setInterval(() => {
        for (const child of childProcesses()) seen.add(child);
      }, 5);
      const preload = ['colorsys', 'this'];
      await using sandbox = await createSandbox({ runtime: 'python', pool: pools.process, preload });
      clearInterval(watch);
      expect([...seen].filter((child) => !before.includes(child))).toHaveLength(1);
      expect((await sandbox.execute('import sys\n"this" in sys.modules')).metadata.result).toBe(true);
      await expect.poll(childProcesses, { timeout: 60_000 }).toEqual(before);
    },
  );

  test.runIf(process.platform === 'linux')(
    '"process" reports a killed process as a lost worker and starts another',
    async () => {
      await using pool = createPool({ maxWorkers: 1, isolation: 'process', optimization: 'demand' });
      const before = new Set(childProcesses());
      await using session = await createSandbox({ runtime: 'javascript', pool, session_id: 'killed' });
      await session.execute('let x = 1');
      await session.flush();
      const [pid, ...others] = childProcesses().filter((child) => !before.has(child));
      expect(others).toEqual([]);
      const lost = await session.execute('x = 2; console.log("running"); for (;;);', {
        ...endless,
        onStdout: () => process.kill(pid!, 'SIGKILL'),
      });
      expect(lost.metadata).toMatchObject({ trap_reason: 'worker_lost', state: 'rolled_back' });
      expect((await session.execute('x')).metadata.result).toBe(1);
      await session.flush();
      await pool.close();
      expect(childProcesses().filter((child) => !before.has(child))).toEqual([]);
    },
  );

  // guarantee: separate-process
  // proves: Process isolation denies files outside the installation, child processes, threads and addons.
  test('"process" denies files outside the installation, child processes, threads and addons', () => {
    const probes = `
      const denied = {};
      const probe = async (name, act) => {
        try { await act(); denied[name] = 'allowed'; } catch (cause) { denied[name] = cause.code; }
      };
      await probe('read', async () => (await import('node:fs')).readFileSync('/etc/passwd'));
      await probe('list', async () => (await import('node:fs')).readdirSync('/etc'));
      await probe('binary', async () => (await import('node:fs')).readFileSync(${JSON.stringify(process.execPath)}));
      await probe('dependency', async () => (await import('node:fs')).readFileSync(${JSON.stringify(join(root, 'node_modules/zod/package.json'))}));
      await probe('write', async () => (await import('node:fs')).writeFileSync(${JSON.stringify(join(folder, 'x'))}, 'x'));
      await probe('child', async () => (await import('node:child_process')).spawnSync('id'));
      await probe('addon', async () => process.dlopen({ exports: {} }, '/nowhere/addon.node'));
      await probe('wasi', async () => new (await import('node:wasi')).WASI({ version: 'preview1' }));
      await probe('thread', async () => void new (await import('node:worker_threads')).Worker('', { eval: true }).unref());
      if (process.allowedNodeEnvironmentFlags.has('--allow-net'))
        await probe('network', async () => new Promise((resolve, reject) => {
          import('node:net').then(({ connect }) => connect(9, '127.0.0.1').on('error', reject).on('connect', resolve));
        }));
      const report = () => denied;`;
    const script = `
      import { Worker } from 'node:worker_threads';
      ${probes}
      const inThread = ${JSON.stringify(`(async () => { ${probes}
        (await import('node:worker_threads')).parentPort.postMessage(report()); })()`)};
      const thread = new Worker(inThread, { eval: true, execArgv: ${JSON.stringify(permissionFlags().thread)} });
      thread.on('message', (found) => console.log(JSON.stringify([report(), found])));`;
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [...permissionFlags().process, '--input-type=module', '-e', script],
      { encoding: 'utf8', timeout: 250_000 },
    );
    expect(stderr).toBe('');
    const [main, thread] = JSON.parse(stdout);
    expect(Object.values(thread).filter((code) => code !== 'ERR_DLOPEN_DISABLED')).toEqual(
      Array.from({ length: Object.keys(thread).length - 1 }, () => 'ERR_ACCESS_DENIED'),
    );
    expect(Object.keys(thread)).toEqual(
      expect.arrayContaining([
        'read',
        'list',
        'binary',
        'dependency',
        'write',
        'child',
        'addon',
        'wasi',
        'thread',
      ]),
    );
    // The main thread of the process runs no guest and starts the threads.
    expect(main).toEqual({ ...thread, thread: 'allowed' });
  });

  // guarantee: separate-process
  // proves: Process isolation starts no thread without the restrictions.
  test('"process" starts no thread without the restrictions', async () => {
    const ended = await new Promise<string>((resolve) => {
      const thread = new ThreadHost(['--no-warnings']).start({
        message: (message) => resolve(message.type),
        exit: () => resolve('exit'),
      });
      thread.setRef(true);
      thread.send({ type: 'job', id: 1, job: { type: 'phases' } });
    });
    expect(ended).toBe('exit');
  });

  // guarantee: separate-process
  // proves: Process isolation accepts only messages that match the protocol.
  test('"process" accepts only messages that match the protocol', () => {
    const outcome = {
      state: 'fresh',
      trap: undefined,
      report: { exit_code: 0, result: [1] },
      fuelConsumed: 1,
      chartFuel: 0,
      memoryUsedBytes: 1,
      durationMs: 1,
      yieldedMs: 0,
      stdout: '',
      stderr: '',
      stdoutDroppedBytes: 0,
      stderrDroppedBytes: 0,
      changes: { created: [], modified: [], deleted: [], edit: [] as unknown[] },
      filesOmitted: 0,
      otherUsage: { bytes: 0, files: 0 },
      imports: [],
      resultsOmitted: 0,
      declared: [],
    };
    const done = (changed: object, ...results: object[]) =>
      parseFromIsolated({
        type: 'message',
        thread: 1,
        message: { type: 'done', id: 1, outcome: { ...outcome, ...changed }, results },
      });
    const part = { rows: '[[],[]]', small: new Uint8Array(1), large: [new Uint8Array(1)] };
    const withPart = (change: object) =>
      done({ changes: { ...outcome.changes, edit: [{ ...part, ...change }] } });
    const cyclic: unknown[] = [];
    cyclic.push(cyclic);
    expect(done({})).toMatchObject({ message: { outcome } });
    expect(withPart({})).toBeDefined();
    const shown = { id: 'r1', is_main_result: true, mime: 'text/plain', size_bytes: 1 };
    const withResult = (result: object) =>
      parseFromIsolated({ type: 'message', thread: 1, message: { type: 'result', id: 1, result } });
    expect(withResult({ ...shown, json: '[1]', path: 'results/a.png' })).toBeDefined();
    expect(done({}, shown, shown)).toBeDefined();
    expect(parseFromIsolated({ type: 'started', thread: 1, job: 1 })).toBeDefined();
    const withRequest = (request: object) =>
      parseFromIsolated({
        type: 'message',
        thread: 1,
        message: { type: 'request', id: 1, number: 1, request },
      });
    const toolCall = { type: 'tool_call', id: 1, name: 'n'.repeat(1000), arguments: ' '.repeat(2 ** 20) };
    const withdrawal = { type: 'tool_withdraw', ids: [1], reason: 'r'.repeat(1000) };
    const failed = { type: 'failed', id: 1, code: 'internal', message: 'm'.repeat(16_384) };
    expect(withRequest(toolCall)).toBeDefined();
    expect(withRequest(withdrawal)).toBeDefined();
    expect(parseFromIsolated({ type: 'message', thread: 1, message: failed })).toBeDefined();
    const withPicture = (picture: object) =>
      parseFromIsolated({ type: 'message', thread: 1, message: { type: 'picture', id: 1, picture } });
    const picture = { image: new Uint8Array(1), width: 1, height: 1 };
    expect(withPicture(picture)).toBeDefined();
    expect(withPicture({ problem: 'p' })).toBeDefined();
    const extension = {
      origin: { runtime: 'python', module: 'm', layers: 'l' },
      image: new Uint8Array(1),
      minMemoryBytes: 1,
    };
    const layer = { at: '/data/packages', index: new Uint8Array(1), data: new Uint8Array(1) };
    const extended = (...addedLayers: object[]) =>
      parseFromIsolated({ type: 'extended', thread: 1, id: 1, extension: { ...extension, addedLayers } });
    expect(extended(layer)).toBeDefined();
    const forged = [
      done({}, { ...shown, json: cyclic }),
      done({}, { ...shown, path: '../a' }),
      done({}, ...new Array(1000).fill(shown)),
      withPicture({ ...picture, png: 'text' }),
      withPicture({ ...picture, width: 100_000 }),
      withPicture({ ...picture, problem: 'p' }),
      extended({ ...layer, at: '/app/x' }),
      extended({ ...layer, at: '/data/../app' }),
      extended({ ...layer, at: '/' }),
      extended(layer, layer),
      withPart({ rows: [] }),
      withPart({ small: 'text' }),
      withPart({ large: ['text'] }),
      done({ changes: { ...outcome.changes, created: ['..'] } }),
      done({}, { ...shown, json: ' '.repeat(2_000_000) }),
      done({ fuelConsumed: Number.NaN }),
      done({ stdout: { toString: () => 'x' } }),
      done({ extra: 1 }),
      done({ report: { exit_code: 0, result: cyclic } }),
      parseFromIsolated({ type: 'message', thread: 1, message: { type: 'built', id: 1, guest: {} } }),
      withResult({ ...shown, path: '../../etc/passwd' }),
      withResult({ ...shown, json: cyclic }),
      withResult({ ...shown, png: new Uint8Array(1) }),
      withResult({ ...shown, extra: 1 }),
      withRequest({ ...toolCall, name: 'n'.repeat(1001) }),
      withRequest({ ...toolCall, arguments: ' '.repeat(6 * 2 ** 20 + 1) }),
      withRequest({ ...toolCall, id: 0.5 }),
      withRequest({ type: 'tool_resume', id: -1 }),
      withRequest({ ...withdrawal, ids: Array.from({ length: 10_001 }, (_, i) => i) }),
      withRequest({ ...withdrawal, reason: 'r'.repeat(1001) }),
      parseFromIsolated({ type: 'message', thread: 1, message: { ...failed, message: 'm'.repeat(70_000) } }),
      parseFromIsolated({ type: 'exit' }),
      parseFromIsolated(null),
    ];
    // Their indexes, because to print the messages would take minutes.
    const accepted = forged.flatMap((message, i) => (message === undefined ? [] : [i]));
    expect(accepted).toEqual([]);
  });

  test('"process" accepts an image only as an extension of the image it was built from', () => {
    const base = findAssets('python');
    const extend = (origin: object, ...addedLayers: { at: string; index: Uint8Array; data: Uint8Array }[]) =>
      fromPortableExtension(base, {
        origin: { ...base.origin, ...origin },
        image: new Uint8Array(1),
        minMemoryBytes: 1,
        addedLayers,
      });
    expect(extend({})?.layers.length).toBe(base.layers.length);
    const forged = [extend({ module: 'other' }), extend({ runtime: 'javascript' })];
    expect(forged.map((image) => image === undefined)).toEqual([true, true]);
    const layer = { at: '/data/packages', index: new Uint8Array(1), data: new Uint8Array(1) };
    const built = [extend({}), extend({ layers: 'other' }), extend({}, layer)];
    expect(built.map((image) => isNewImageOf(base, image!))).toEqual([true, false, false]);
    const packagesOnly = { ...extend({}, layer)!, image: undefined };
    expect(isNewImageOf(base, packagesOnly)).toBe(true);
    expect(isNewImageOf(base, { ...packagesOnly, origin: { ...base.origin, layers: 'other' } })).toBe(false);
  });

  test('"process" lets the process end after close, and also without it', () => {
    const script = `
      import { createPool, createSandbox } from '${PACKAGE}';
      const run = async (pool) => {
        const sandbox = await createSandbox({ runtime: 'javascript', pool });
        console.log((await sandbox.execute('1 + 1')).metadata.result);
      };
      const closed = createPool({ isolation: 'process' });
      await run(closed);
      await closed.close();
      await run(closed);`;
    const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: 250_000,
    });
    expect({ stdout, stderr, status }).toEqual({ stdout: '2\n2\n', stderr: '', status: 0 });
  });

  test('is refused if it is unknown or the permission model is missing', () => {
    expect(() => createPool({ isolation: 'container' as never })).toThrow('options.isolation');
    expect(() => permissionFlags(new Set(['--allow-fs-read']))).toThrow(/permission model.*does not have/);
    expect(permissionFlags(new Set(['--permission', '--allow-fs-read'])).thread[0]).toBe('--permission');
  });
});
