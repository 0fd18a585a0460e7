/** `batch run` and `runBatch`. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type BatchResult, runBatch } from 'llm-wasm-sandbox';
import { describe, expect, it, vi } from 'vitest';
import { BatchProgress } from '../../packages/cli/src/cli/batch-progress.ts';
import { CLI, runCli } from '../support/cli.ts';

const ndjson = (...lines: readonly unknown[]) =>
  lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
const results = (stdout: string) =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as BatchResult);

describe('batch run', () => {
  it('prints one result per program, in order, and an error for each invalid line', async () => {
    const input = ndjson(
      { id: 'slow', code: 'print(sum(range(300_000)))' },
      { id: 2, code: 'console.log(6 * 7)', language: 'javascript' },
      'not JSON',
      { id: 'unknown field', code: '1', colour: 'red' },
      '',
      {
        code: 'import sys; print(sys.stdin.read(), sys.argv[1], open("f").read())',
        stdin: 'in',
        args: ['a'],
        files: { f: 'file' },
      },
      { id: 'endless', code: 'while True: pass', fuel_budget: 20_000_000 },
      { id: 'nothing shared', code: 'import os; print(os.listdir())' },
    );
    const { status, stdout, stderr } = await runCli(['batch', 'run', '--jobs', '2'], { input });
    expect(status).toBe(1);
    expect(stderr).toMatch(/^7 programs, 1 failed, 2 could not be run, .*\n$/);
    expect(results(stdout)).toMatchObject([
      { index: 0, id: 'slow', result: { success: true, stdout: '44999850000\n' } },
      { index: 1, id: 2, result: { stdout: '42\n' } },
      { index: 2, error: { code: 'invalid_argument', message: expect.stringContaining('not valid JSON') } },
      {
        index: 3,
        id: 'unknown field',
        error: { code: 'invalid_argument', message: expect.stringContaining('colour') },
      },
      { index: 4, result: { stdout: 'in a file\n' } },
      { index: 5, id: 'endless', result: { success: false, metadata: { trap_reason: 'out_of_fuel' } } },
      { index: 6, result: { stdout: '[]\n' } },
    ]);
  });

  it('cancels the running programs on a signal and reports it', { tags: 'full' }, async () => {
    const child = spawn(process.execPath, [CLI, 'batch', 'run'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const programs = [
      { code: '1' },
      ...Array.from({ length: 40 }, () => ({ code: 'import time; time.sleep(25)' })),
    ];
    // Standard input stays open.
    child.stdin.write(`${ndjson(...programs)}\n`);
    while (!output.includes('"index":0')) await new Promise((resolve) => setTimeout(resolve, 20));
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([130, null]);
    expect(errors).toContain('Cancelled: ');
  });

  it('reports a file that does not exist', { tags: 'full' }, async () => {
    const { status, stderr } = await runCli(['batch', 'run', 'absent.ndjson']);
    expect(status).toBe(2);
    expect(stderr).toContain('Cannot read absent.ndjson: ENOENT');
    const folder = await runCli(['batch', 'run', '.']);
    expect([folder.status, folder.stderr]).toEqual([2, expect.stringContaining('. is a folder.')]);
  });
});

describe('runBatch', () => {
  it('reads programs only as fast as they run', async () => {
    let read = 0;
    function* programs() {
      for (; read < 1000; read++) yield { id: read, code: `${read}` };
    }
    let first: BatchResult | undefined;
    for await (const result of runBatch(programs(), { jobs: 1 })) {
      first = result;
      break;
    }
    expect(first).toMatchObject({ index: 0, id: 0, result: { metadata: { result: 0 } } });
    expect(read).toBeLessThan(50);
  });

  it('yields results while the input waits', async () => {
    const yielded: number[] = [];
    let release = () => {};
    async function* programs() {
      for (let i = 0; i < 3; i++) {
        const seen = new Promise<void>((resolve) => {
          release = resolve;
        });
        yield { code: `${i}` };
        // The next program exists only after the result of this one.
        await seen;
      }
    }
    for await (const { index } of runBatch(programs(), { jobs: 2 })) {
      yielded.push(index);
      release();
    }
    expect(yielded).toEqual([0, 1, 2]);
  });

  it('ends when it is cancelled while the input waits', async () => {
    const cancel = new AbortController();
    async function* programs() {
      yield { code: '1' };
      await new Promise(() => {});
    }
    const yielded: number[] = [];
    for await (const { index } of runBatch(programs(), { jobs: 1, signal: cancel.signal })) {
      yielded.push(index);
      setTimeout(() => cancel.abort(), 10);
    }
    expect(yielded).toEqual([0]);
  });

  it('throws the error of an input that fails', async () => {
    async function* programs() {
      yield { code: '1' };
      throw new Error('unreadable');
    }
    const batch = async () => {
      for await (const _ of runBatch(programs(), { jobs: 1 }));
    };
    await expect(batch()).rejects.toThrow('unreadable');
  });

  it('reads only a few large programs ahead', async () => {
    const large = ' '.repeat(33 * 1024 * 1024);
    let read = 0;
    function* programs() {
      for (; read < 14; read++) yield read === 0 ? { code: '1' } : { files: { large } };
    }
    for await (const { index } of runBatch(programs(), { jobs: 1 })) {
      if (index === 0) expect(read).toBeLessThan(4);
    }
    expect(read).toBe(14);
  });

  it('applies the policy to every program, which cannot raise its limits', async () => {
    const policy = { fuel_budget: 20_000_000 };
    const batch: BatchResult[] = [];
    for await (const one of runBatch([{ code: 'while True: pass', fuel_budget: 10 ** 12 }, { code: '1' }], {
      jobs: 1,
      policy,
    }))
      batch.push(one);
    expect(batch.map(({ result }) => result!.success)).toEqual([false, true]);
  });
});

describe('progress', () => {
  it('is a bar on a terminal and a summary at the end', () => {
    const written: string[] = [];
    const write = vi
      .spyOn(process.stderr, 'write')
      .mockImplementation((text) => written.push(String(text)) > 0);
    const { isTTY } = process.stderr;
    process.stderr.isTTY = true;
    vi.stubEnv('TERM', 'xterm');
    vi.useFakeTimers();
    try {
      const progress = new BatchProgress(() => 0.42);
      progress.count({});
      vi.advanceTimersByTime(1100);
      progress.end(false);
    } finally {
      vi.useRealTimers();
      vi.unstubAllEnvs();
      process.stderr.isTTY = isTTY;
      write.mockRestore();
    }
    expect(written[0]).toMatch(/\[######## {12}\] {2}42% 1 program, 0 failed, 1 could not be run, /);
    expect(written.at(-1)).toMatch(/^1 program, 0 failed, 1 could not be run, .*\n$/);
  });
});
