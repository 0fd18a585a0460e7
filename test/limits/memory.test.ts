/** The memory limit of a guest, and the host memory that a guest can cause to be allocated. */
import { createSandbox, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code } from '../support/sandbox.ts';

const MiB = 1024 * 1024;

describe.each(['python', 'javascript'] as const)('memory limit: %s', (runtime) => {
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
  test('is rejected below the minimum that the runtime needs, and that minimum works', async () => {
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

describe('guest that aborts for lack of memory', () => {
  test('is reported as memory_limit', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { memory_bytes: 40 * MiB } });
    // The interpreter aborts where C code cannot report a failed allocation.
    const result = await sandbox.execute(`import os
held = []
while True:
    try: held.append(bytearray(4096))
    except MemoryError:
        os.abort()`);
    expect(result).toMatchObject({ exit_code: 137, metadata: { trap_reason: 'memory_limit' } });
    expect(result.metadata.trap_message).toContain('Execution trapped: MemoryLimit');
  });
});

describe('host memory', () => {
  /** Programs that make the host allocate memory, by the kind of request. */
  const GREEDY: readonly [RuntimeName, string, string][] = [
    [
      'python',
      'descriptors',
      'import os\nwhile True:\n    try: os.open("/lib/python3.14", os.O_RDONLY)\n    except OSError: break\nfor fd in range(3, 256): os.listdir(fd)',
    ],
    [
      'python',
      'pipes',
      'import os\ntry:\n    while True:\n        r, w = os.pipe(); os.write(w, bytes(65536))\nexcept OSError: pass',
    ],
    [
      'python',
      'files',
      'try:\n    i = 0\n    while True: open(str(i), "w").close(); i += 1\nexcept OSError: pass',
    ],
    [
      'python',
      'long names',
      'try:\n    i = 0\n    while True: open(f"{i:0>250}", "w").close(); i += 1\nexcept OSError: pass',
    ],
    [
      'python',
      'deleted files that are open',
      'import os\nheld = []\ntry:\n    while True:\n        f = open("x", "wb", buffering=0); held.append(f); f.truncate(5_000_000); os.remove("x")\nexcept OSError: pass',
    ],
    [
      'python',
      'bytes of output',
      'import os\nblock = bytes(10_000_000)\nfor i in range(50): os.write(1, block); os.write(2, block)',
    ],
    ['python', 'random bytes', 'import os\nfor i in range(20): os.urandom(5_000_000)'],
    ['javascript', 'timers', 'for (let i = 0; i < 100000; i++) setTimeout(() => {}, 1e9); throw 1;'],
    ['javascript', 'promises', 'for (let i = 0; i < 50000; i++) new Promise(() => {}); 1'],
    [
      'javascript',
      'bytes of output',
      "const block = 'x'.repeat(1e6); for (let i = 0; i < 60; i++) console.log(block);",
    ],
  ];

  // guarantee: memory-limit
  test.each(GREEDY)('is bounded whatever a program requests: %s, many %s', async (runtime, _, program) => {
    await using sandbox = await createSandbox({
      runtime,
      policy: {
        workspace_max_files: 2_000,
        workspace_max_bytes: 16 * MiB,
        timeout_seconds: 60,
        fuel_budget: 10e9,
      },
    });
    await sandbox.execute('1');
    const before = process.memoryUsage().rss;
    const result = await sandbox.execute(program);
    const grown = process.memoryUsage().rss - before;
    expect([null, 'out_of_fuel']).toContain(result.metadata.trap_reason);
    // A guest takes up to 256 MiB and the workspace 16 MiB; the rest is a margin for the host.
    expect(grown).toBeLessThan(450 * MiB);
    expect(await sandbox.execute('6 * 7')).toMatchObject({ metadata: { result: 42 } });
  });
});
