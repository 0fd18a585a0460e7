/** The memory limit of a guest. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code } from '../support/sandbox.ts';

const MiB = 1024 * 1024;

describe.each(['python', 'javascript'] as const)('the memory limit: %s', (runtime) => {
  const policy = { memory_bytes: 64 * MiB, fuel_budget: 20e9 };

  // guarantee: memory-limit
  test('raises an error that the program can catch', async () => {
    await using sandbox = await createSandbox({ runtime, policy });
    const programs = {
      python: code`
        held = []
        try:
            while True: held.append(bytes(1_000_000))
        except MemoryError:
            count = len(held); held = None
        print(count > 10, len(bytes(1_000_000)))
      `,
      javascript: code`
        let held = []; let count = 0;
        try { for (;;) held.push(new Uint8Array(1_000_000)); }
        catch (error) { count = held.length; held = null; }
        console.log(count > 10, new Uint8Array(1_000_000).length);
      `,
    };
    const result = await sandbox.execute(programs[runtime]);
    expect(result.stdout.toLowerCase()).toBe('true 1000000\n');
    expect(result).toMatchObject({ success: true });
    expect(result.memory_used_bytes).toBeLessThanOrEqual(64 * MiB);
  });

  // guarantee: memory-limit
  test('is never exceeded, not even by a page', async () => {
    for (const memory_bytes of [48 * MiB, 48 * MiB + 1, 50_000_000, 100 * MiB + 65_535]) {
      await using sandbox = await createSandbox({ runtime, policy: { ...policy, memory_bytes } });
      const fill = {
        python: 'x = []\nwhile True: x.append(bytes(100_000))',
        javascript: 'const x = []; for (;;) x.push(new Uint8Array(100_000).fill(1));',
      };
      const result = await sandbox.execute(fill[runtime]);
      expect(result.success).toBe(false);
      expect(result.memory_used_bytes).toBeLessThanOrEqual(memory_bytes);
      expect(await sandbox.execute('6 * 7')).toMatchObject({ metadata: { result: 42 } });
    }
  });

  // guarantee: memory-limit
  test('cannot be set below the minimum that the runtime needs, and that minimum works', async () => {
    const refusal = createSandbox({ runtime, policy: { memory_bytes: 100_000 } });
    const { message, code: errorCode } = await refusal.then(
      () => ({ message: '', code: '' }),
      (error: { message: string; code: string }) => error,
    );
    expect(errorCode).toBe('invalid_argument');
    const minimum = Number(/the minimum is (\d+)\./.exec(message)?.[1]);
    await using sandbox = await createSandbox({ runtime, policy: { memory_bytes: minimum } });
    expect((await sandbox.execute('6 * 7')).metadata.trap_reason).not.toBe('unreachable');
    await expect(createSandbox({ runtime, policy: { memory_bytes: minimum - 65_536 } })).rejects.toThrow(
      String(minimum),
    );
  });
});

describe('the end of a program that has filled its memory', () => {
  const policy = { memory_bytes: 40 * MiB, fuel_budget: 20e9 };

  // guarantee: outcome
  // proves: A program that reaches its memory limit and then calls os.abort() has the trap reason unreachable, not memory_limit.
  test.each([
    ['after an allocation that is larger than the free memory', 'bytes(10**9)'],
    ['after the memory was filled', '\n    while True: held.append(bytearray(4096))'],
  ])('by os.abort() %s is reported as unreachable', async (_, allocation) => {
    await using sandbox = await createSandbox({ runtime: 'python', policy });
    const result = await sandbox.execute(
      `import os\nheld = []\ntry: ${allocation}\nexcept MemoryError: os.abort()`,
    );
    expect(result).toMatchObject({ exit_code: 134, metadata: { trap_reason: 'unreachable' } });
    expect(result.metadata.trap_message).toContain(
      'abort() was called; the memory limit had been reached earlier',
    );
  });

  const FILL = 'globalThis.list = null; globalThis.items = [];';

  // guarantee: outcome
  // proves: A program that reaches its memory limit and then throws null has the error null and no trap reason.
  test('by throwing null is reported as null', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy });
    const result = await sandbox.execute(code`
      ${FILL}
      try { for (;;) items.push(new Uint8Array(100_000).fill(1)); } catch {}
      try { for (;;) list = { list }; } catch {}
      throw null;
    `);
    expect(result.metadata).toMatchObject({
      trap_reason: null,
      error: { type: 'null', message: expect.stringMatching(/^null was thrown, either by the program or/) },
    });
    expect(result).toMatchObject({ success: false, stderr: 'Uncaught null\n', memory_used_bytes: 40 * MiB });
  });

  test.each([
    ['as an error', 'for (;;) items.push(new Uint8Array(1_000_000).fill(1));', 'InternalError'],
    ['as null, if there is no memory for an error', 'for (;;) list = { list };', 'null'],
  ])('by an allocation is reported %s, with guidance about memory', async (_, fill, type) => {
    await using sandbox = await createSandbox({ runtime: 'javascript', policy });
    const { metadata } = await sandbox.execute(`${FILL} ${fill}`);
    expect(metadata.error).toMatchObject({ type });
    expect(metadata.error?.raised).not.toBe(true);
    expect(metadata.error_guidance?.error_type).toBe('MemoryExhausted');
  });
});
