/** The handle that `execute` returns: streams, cancellation, standard input. */
import { Readable } from 'node:stream';
import { createSandbox, type SandboxResult } from 'llm-wasm-sandbox';
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
    const result = await sandbox.execute('1', { stdin: waiting, signal: AbortSignal.timeout(50) });
    expect(result.metadata.trap_reason).toBe('cancelled');
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
    const broken = (async function* () {
      yield 'x';
      throw new Error('connection lost');
    })();
    await expect(sandbox.execute(READ_ALL, { stdin: broken })).rejects.toThrow('connection lost');
  });

  it('stops waiting for a stream when the call is cancelled', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const endless = new ReadableStream<Uint8Array>();
    const result = await sandbox.execute(READ_ALL, { stdin: endless, signal: AbortSignal.timeout(50) });
    expect(result.metadata.trap_reason).toBe('cancelled');
  });

  it('refuses a stream that does not end', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const chunk = new Uint8Array(64 * 1024 * 1024);
    const flood = (async function* () {
      for (;;) yield chunk;
    })();
    await expect(sandbox.execute(READ_ALL, { stdin: flood })).rejects.toThrow('options.stdin: longer than');
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
