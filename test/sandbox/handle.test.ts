/** The handle that `execute` returns: streams, cancellation, standard input. */
import { Readable } from 'node:stream';
import { createPool, createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';

const collect = async (stream: AsyncIterable<string>) => {
  const chunks: string[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
};

describe('output streams', () => {
  it('deliver output while the program runs', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const run = sandbox.execute('print("first", flush=True)\nimport time\ntime.sleep(30)');
    for await (const chunk of run.stdout) {
      expect(chunk).toBe('first\n');
      run.cancel();
    }
    expect((await run).metadata.trap_reason).toBe('cancelled');
  });

  it('separate standard output from standard error', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const run = sandbox.execute('console.log("out"); console.error("err")');
    const [stdout, stderr] = await Promise.all([collect(run.stdout), collect(run.stderr)]);
    expect([stdout.join(''), stderr.join('')]).toEqual(['out\n', 'err\n']);
  });

  it('yield the whole output if they are read after the run has started', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const run = sandbox.execute('print(1)\nprint(2)');
    await run;
    expect(await collect(run.stdout)).toEqual(['1\n2\n']);
  });

  it('throw the error of the call, and do not leave an unhandled rejection', async () => {
    const sandbox = await createSandbox({ runtime: 'python' });
    await sandbox.close();
    await expect(collect(sandbox.execute('1').stdout)).rejects.toMatchObject({ code: 'sandbox_closed' });
  });

  it('yield the whole output to every reader', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const run = sandbox.execute(
      'import time\nfor i in range(3):\n    print(i, flush=True); time.sleep(0.05)',
    );
    const { stdout } = run;
    for await (const chunk of stdout) if (chunk !== '') break;
    const texts = (await Promise.all([collect(stdout), collect(stdout)])).map((chunks) => chunks.join(''));
    expect([...texts, (await collect(stdout)).join('')]).toEqual(['0\n1\n2\n', '0\n1\n2\n', '0\n1\n2\n']);
  });

  it('keep a byte order mark, as the result does', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const run = sandbox.execute('print("\\ufefftext")');
    expect((await collect(run.stdout)).join('')).toBe((await run).stdout);
  });

  it('do not split characters', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const code =
      'import sys\nfor byte in "ü€𝄞".encode():\n    sys.stdout.buffer.write(bytes([byte])); sys.stdout.flush()';
    expect((await collect(sandbox.execute(code).stdout)).join('')).toBe('ü€𝄞');
  });
});

describe('cancel', () => {
  it('removes a call from the queue', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const first = sandbox.execute('import time\ntime.sleep(0.5)');
    const second = sandbox.execute('open("never", "w")');
    second.cancel();
    expect((await second).metadata).toMatchObject({ trap_reason: 'cancelled' });
    expect((await first).success).toBe(true);
    expect(await sandbox.listFiles()).toEqual([]);
  });

  it('has no effect after the end of the run', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const run = sandbox.execute('1');
    expect((await run).success).toBe(true);
    run.cancel();
    expect((await sandbox.execute('2')).metadata.result).toBe(2);
  });
});

describe('stdin', () => {
  const READ_ALL = 'import sys\nsys.stdin.buffer.read().decode()';

  it('accepts text, bytes, Node streams, web streams and generators', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const sources = [
      'grüße',
      new TextEncoder().encode('grüße'),
      Readable.from([Buffer.from('grü'), Buffer.from('ße')]),
      new Blob(['grüße']).stream(),
      (async function* () {
        yield 'grü';
        yield 'ße';
      })(),
    ];
    for (const stdin of sources)
      expect((await sandbox.execute(READ_ALL, { stdin })).metadata.result).toBe('grüße');
  });

  it('rejects anything else', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const wrong = (stdin: unknown) => sandbox.execute(READ_ALL, { stdin: stdin as string });
    await expect(wrong(42)).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(wrong(Readable.from([{ not: 'bytes' }]))).rejects.toMatchObject({
      code: 'invalid_argument',
    });
    await expect(wrong(Readable.from([42]))).rejects.toThrow('must yield strings or bytes');
  });

  it('accepts an iterator whose methods are not asynchronous', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const chunks = ['a', 'b'];
    const iterator = {
      next: () => (chunks.length > 0 ? { value: chunks.shift() } : { done: true }),
      return: () => ({ done: true }),
    };
    const stdin = { [Symbol.asyncIterator]: () => iterator } as unknown as AsyncIterable<string>;
    expect((await sandbox.execute(READ_ALL, { stdin })).metadata.result).toBe('ab');
    const endless = { ...iterator, next: () => new Promise(() => {}) };
    const waiting = { [Symbol.asyncIterator]: () => endless } as unknown as AsyncIterable<string>;
    const result = await sandbox.execute(READ_ALL, { stdin: waiting, signal: AbortSignal.timeout(50) });
    expect(result.metadata.trap_reason).toBe('cancelled');
  });

  it('is not read from a stream before the program asks for it', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const endless = new ReadableStream<Uint8Array>();
    expect(await sandbox.execute('1', { stdin: endless })).toMatchObject({ metadata: { result: 1 } });
    let read = 0;
    const lines = (async function* () {
      for (; ; read++) yield `line ${read}\n`;
    })();
    const result = await sandbox.execute('[input(), input()]', { stdin: lines });
    expect(result.metadata.result).toEqual(['line 0', 'line 1']);
    expect(read).toBeLessThan(10);
  });

  it.each(['python', 'javascript'] as const)('answers prompts of a %s program', async (runtime) => {
    await using sandbox = await createSandbox({ runtime });
    const code = {
      python: "name = input('name? ')\nprint('hello', name)\nage = input('age? ')\n[name, age]",
      javascript: `import * as readline from 'node:readline/promises';
const terminal = readline.createInterface({ input: process.stdin, output: process.stdout });
const name = await terminal.question('name? ');
console.log('hello', name);
const age = await terminal.question('age? ');
terminal.close();
[name, age]`,
    }[runtime];
    const answers: string[] = [];
    let wake = () => {};
    const stdin = (async function* () {
      for (;;) {
        while (answers.length === 0)
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        yield `${answers.shift()}\n`;
      }
    })();
    const shown: string[] = [];
    const onStdout = (text: string) => {
      shown.push(text);
      for (const [question, answer] of [
        ['name? ', 'Ada'],
        ['age? ', '36'],
      ] as const)
        if (text.endsWith(question)) answers.push(answer);
      wake();
    };
    const result = await sandbox.execute(code, { stdin, onStdout });
    expect(result.stderr).toBe('');
    expect(result.metadata.result).toEqual(['Ada', '36']);
    expect(shown.join('')).toBe('name? hello Ada\nage? ');
  });

  it('is new in every call of a JavaScript session', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', auto_persist_globals: true });
    const code = 'let text = "";\nfor await (const chunk of process.stdin) text += chunk;\ntext';
    for (const stdin of ['first', 'second'])
      expect((await sandbox.execute(code.replaceAll('text', stdin), { stdin })).metadata.result).toBe(stdin);
  });

  it('may arrive in empty and in large chunks', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { timeout_seconds: 1 } });
    const large = (async function* () {
      yield '';
      yield Buffer.alloc(20_000_000, 'x');
    })();
    const count =
      'import sys\nsum(len(part) for part in iter(lambda: sys.stdin.buffer.read(1_000_000), b""))';
    const options = { stdin: large, timeout_seconds: 60 };
    expect((await sandbox.execute(count, options)).metadata.result).toBe(20_000_000);
    const empty = (async function* () {
      for (;;) yield '';
    })();
    expect((await sandbox.execute('input()', { stdin: empty })).metadata.trap_reason).toBe('timeout');
  });

  it('that never arrives ends with the time limit', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { timeout_seconds: 0.2 } });
    const result = await sandbox.execute('input()', { stdin: new ReadableStream<Uint8Array>() });
    expect(result.metadata.trap_reason).toBe('timeout');
    expect(result.metadata.error?.line).toBe(1);
  });

  it('is copied, so that the caller can reuse or transfer its buffer', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const stdin = new TextEncoder().encode('input');
    const run = sandbox.execute(READ_ALL, { stdin });
    structuredClone(stdin.buffer, { transfer: [stdin.buffer] });
    expect((await run).metadata.result).toBe('input');
  });

  it('reports the error of a stream', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const broken = async function* (cause: unknown) {
      yield 'x';
      throw cause;
    };
    const run = (cause: unknown) => sandbox.execute(READ_ALL, { stdin: broken(cause) });
    await expect(run(new Error('connection lost'))).rejects.toThrow('connection lost');
    await expect(run(undefined)).rejects.toBeUndefined();
  });

  it('stops waiting for a stream when the call is cancelled', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const endless = new ReadableStream<Uint8Array>();
    const result = await sandbox.execute(READ_ALL, { stdin: endless, signal: AbortSignal.timeout(50) });
    expect(result.metadata.trap_reason).toBe('cancelled');
  });

  it('from a stream that does not end fills the memory of the guest, not of the host', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const chunk = new Uint8Array(4 * 1024 * 1024);
    const flood = (async function* () {
      for (;;) yield chunk;
    })();
    const result = await sandbox.execute('import sys\nsys.stdin.buffer.read()', { stdin: flood });
    expect(result.metadata.error?.type).toBe('MemoryError');
  });

  it('is refused as text or bytes beyond the maximum', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const stdin = new Uint8Array(256 * 1024 * 1024 + 1);
    await expect(sandbox.execute('1', { stdin })).rejects.toThrow('options.stdin: longer than');
  });
});

describe('onOutput', () => {
  const received = () => {
    const bytes: Record<'stdout' | 'stderr', Uint8Array[]> = { stdout: [], stderr: [] };
    const onOutput = (stream: 'stdout' | 'stderr', chunk: Uint8Array) => {
      bytes[stream].push(chunk);
    };
    return { onOutput, read: (stream: 'stdout' | 'stderr') => Buffer.concat(bytes[stream]) };
  };

  for (const isolation of ['thread', 'process'] as const)
    it(`receives all bytes beyond the limits (${isolation})`, {
      ...(isolation === 'process' && { tags: 'full' }),
    }, async () => {
      await using pool = createPool({ isolation, maxWorkers: 1, optimization: 'demand' });
      const policy = { stdout_max_bytes: 1000, stderr_max_bytes: 1000 };
      await using sandbox = await createSandbox({ runtime: 'python', policy, pool });
      const { onOutput, read } = received();
      const code = `
import sys
sys.stdout.buffer.write(bytes(range(256)) * 20000)
sys.stderr.write('e' * 5000)`;
      const result = await sandbox.execute(code, { onOutput });
      expect(result.metadata.stdout_truncated).toBe(true);
      const expected = Buffer.alloc(256 * 20000, Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
      expect(read('stdout').equals(expected)).toBe(true);
      expect(read('stderr').toString()).toBe('e'.repeat(5000));
    });

  it('makes the program wait', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    let unread = 0;
    let most = 0;
    const onOutput = async (_: string, chunk: Uint8Array) => {
      unread += chunk.length;
      most = Math.max(most, unread);
      await new Promise((resolve) => setImmediate(resolve));
      unread -= chunk.length;
    };
    let last = 0;
    const result = await sandbox.execute("for i in range(800): print('x' * 32000)", {
      onOutput: async (stream, chunk) => {
        await onOutput(stream, chunk);
        last += chunk.length;
      },
    });
    expect(result.success).toBe(true);
    expect(last).toBe(800 * 32001);
    expect(most).toBeLessThan(4 * 1024 * 1024);
  });

  it('does not block the session after the program has ended', { tags: 'full' }, async () => {
    const policy = { timeout_seconds: 1 };
    await using sandbox = await createSandbox({ runtime: 'python', policy, auto_persist_globals: true });
    const code = 'import os\nfor i in range(32): n = os.write(1, bytes(32768))';
    const onOutput = () => new Promise<void>((resolve) => setTimeout(resolve, 60));
    expect((await sandbox.execute(code, { onOutput })).success).toBe(true);
    expect((await sandbox.execute('n + 1')).metadata.result).toBe(32769);
  });

  it('does not delay a cancelled call if it never returns', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const run = sandbox.execute('print(1)', {
      onOutput: () => {
        setTimeout(() => run.cancel(), 10);
        return new Promise<void>(() => {});
      },
    });
    expect((await run).stdout).toBe('1\n');
  });

  it('does not delay a call beyond its time limit if it never returns, and the result counts the undelivered bytes', {
    tags: 'full',
  }, async () => {
    const policy = { timeout_seconds: 1 };
    await using sandbox = await createSandbox({ runtime: 'python', policy, auto_persist_globals: true });
    const hang = () => new Promise<void>(() => {});
    const ended = await sandbox.execute("x = 1\nprint('four')", { onOutput: hang });
    expect(ended).toMatchObject({ success: true, stdout: 'four\n' });
    expect(ended.metadata).toMatchObject({ state: 'committed', output_undelivered_bytes: 5 });
    const code = "while True: print('x' * 100_000)";
    const stopped = await sandbox.execute(code, { onOutput: hang });
    expect(stopped.metadata.trap_reason).toBe('timeout');
    expect(stopped.metadata.output_undelivered_bytes).toBeGreaterThan(1_000_000);
    const { metadata } = await sandbox.execute('x', { onOutput: () => {} });
    expect(metadata.result).toBe(1);
    expect(metadata).not.toHaveProperty('output_undelivered_bytes');
  });

  it('can neither be combined with other callbacks nor lose an exception', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const onOutput = () => {
      throw new Error('disk full');
    };
    await expect(sandbox.execute('print(1)', { onOutput })).rejects.toThrow('disk full');
    await expect(sandbox.execute('1', { onOutput, onStdout: () => {} })).rejects.toThrow('options.onOutput');
  });
});

describe('args', () => {
  it.each([
    ['python', 'import sys; sys.argv[1:]'],
    ['javascript', 'process.argv.slice(2)'],
  ] as const)('are the arguments of a %s program', async (runtime, code) => {
    await using sandbox = await createSandbox({ runtime, auto_persist_globals: true });
    const args = ['a b', '--flag', 'grüße'];
    expect((await sandbox.execute(code, { args })).metadata.result).toEqual(args);
    expect((await sandbox.execute(code)).metadata.result).toEqual([]);
    expect((await sandbox.execute(code, { args: ['x'] })).metadata.result).toEqual(['x']);
  });
});

describe('the result', () => {
  it('is narrowed by success', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const result: SandboxResult = await sandbox.execute('1');
    if (!result.success) throw new Error('failed');
    // These two lines are also a test of the types.
    const exitCode: 0 = result.exit_code;
    const reason: null = result.metadata.trap_reason;
    expect([exitCode, reason]).toEqual([0, null]);
  });
});
