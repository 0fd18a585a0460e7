/** Output beyond its limit is dropped as it arrives, counted and flagged. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

const size = (text: string) => new TextEncoder().encode(text).length;

const FLOODS = {
  python: {
    'in one write': "import os\nos.write(1, b'x' * 5_000_000)",
    'in tiny writes': "import os\nfor i in range(5000): os.write(1, b'x')",
    'in lines': "for i in range(20000): print('line', i)",
    'of wide characters': "print('☃' * 100_000)",
    'that is not UTF-8': "import os\nos.write(1, b'\\xff' * 100_000)",
  },
  javascript: {
    'in one write': "console.log('x'.repeat(5_000_000));",
    'in tiny writes':
      "import * as std from 'std'; for (let i = 0; i < 5000; i++) { std.out.puts('x'); std.out.flush(); }",
    'in lines': "for (let i = 0; i < 5000; i++) console.log('line', i);",
    'of wide characters': "console.log('☃'.repeat(100_000));",
    'through a descriptor':
      "import * as os from 'os'; os.write(1, new Uint8Array(100_000).fill(120).buffer, 0, 100_000);",
  },
} as const;

describe.each(['python', 'javascript'] as const)('the output limit: %s', (runtime) => {
  // guarantee: output-limit
  test.each(Object.entries(FLOODS[runtime]))('truncates output: %s', async (_, code) => {
    for (const cap of [0, 1, 1000]) {
      await using sandbox = await createSandbox({ runtime, policy: { stdout_max_bytes: cap } });
      const result = await sandbox.execute(code);
      expect(result.success).toBe(true);
      expect(size(result.stdout)).toBeLessThanOrEqual(cap);
      expect(result.metadata).toMatchObject({ stdout_truncated: true, stderr_truncated: false });
      expect(result.metadata.stdout_dropped_bytes).toBeGreaterThan(1000);
    }
  });

  test('keeps output that fits', async () => {
    const say = { python: "print('x' * 999)", javascript: "console.log('x'.repeat(999))" }[runtime];
    await using sandbox = await createSandbox({ runtime, policy: { stdout_max_bytes: 1000 } });
    const result = await sandbox.execute(say);
    expect(result.stdout).toBe(`${'x'.repeat(999)}\n`);
    expect(result.metadata).toMatchObject({ stdout_truncated: false, stdout_dropped_bytes: 0 });
  });

  // guarantee: output-limit
  test('counts every dropped byte', async () => {
    const say = {
      python: "import os, sys\nos.write(1, b'a' * 12345)\nos.write(2, b'b' * 54321)",
      javascript:
        "import * as std from 'std'; std.out.puts('a'.repeat(12345)); std.err.puts('b'.repeat(54321));",
    }[runtime];
    await using sandbox = await createSandbox({
      runtime,
      policy: { stdout_max_bytes: 100, stderr_max_bytes: 200 },
    });
    const { stdout, stderr, metadata } = await sandbox.execute(say);
    expect([stdout, stderr]).toEqual(['a'.repeat(100), 'b'.repeat(200)]);
    expect([metadata.stdout_dropped_bytes, metadata.stderr_dropped_bytes]).toEqual([12_245, 54_121]);
  });

  test('stops neither the program nor the streamed output below the limit', async () => {
    const say = {
      python: "import os\nfor i in range(500): os.write(1, b'0123456789')\nopen('done', 'w')",
      javascript:
        "import * as std from 'std'; for (let i = 0; i < 500; i++) { std.out.puts('0123456789'); std.out.flush(); } std.open('done', 'w').close();",
    }[runtime];
    await using sandbox = await createSandbox({ runtime, policy: { stdout_max_bytes: 1234 } });
    let live = '';
    const result = await sandbox.execute(say, {
      onStdout: (text) => {
        live += text;
      },
    });
    expect(result).toMatchObject({ success: true, files_created: ['done'] });
    expect(live).toBe(result.stdout);
    expect(live).toHaveLength(1234);
  });
});

test('lists of changed files are truncated and flagged when their paths are too long', async () => {
  await using sandbox = await createSandbox({ runtime: 'python' });
  const long = `import os
name = 'x' * 200
os.makedirs('/'.join([name] * 15))
os.chdir('/'.join([name] * 15))
for i in range(600): open(f'{i}', 'w').close()`;
  const { success, files_created, metadata } = await sandbox.execute(long);
  expect({ success, files_truncated: metadata.files_truncated, omitted: metadata.files_omitted }).toEqual({
    success: true,
    files_truncated: true,
    omitted: 600 - files_created.length,
  });
  expect(files_created.join('').length).toBeLessThanOrEqual(1 << 20);
  expect(await sandbox.listFiles()).toHaveLength(600);
  const next = await sandbox.execute('open("/app/one", "w").close()');
  expect(next.files_created).toEqual(['one']);
  expect(next.metadata).not.toHaveProperty('files_truncated');
});

// guarantee: output-limit
test('streamed output stays within the limit and equals the output of the result', async () => {
  await using sandbox = await createSandbox({ runtime: 'python', policy: { stdout_max_bytes: 10_000 } });
  for (const code of [
    "import os\nfor _ in range(100): os.write(1, b'\\xff' * 1000)",
    "import os\nos.write(1, b'\\xef\\xbb\\xbftext\\xe2\\x98')",
    "import os\nfor byte in '☃é😀'.encode() * 3000: os.write(1, bytes([byte]))",
  ]) {
    let streamed = '';
    const result = await sandbox.execute(code, {
      onStdout: (text) => {
        streamed += text;
      },
    });
    expect(streamed).toBe(result.stdout);
    expect(size(streamed)).toBeLessThanOrEqual(10_000);
  }
});

test('a byte order mark is part of the output', async () => {
  await using sandbox = await createSandbox({ runtime: 'python' });
  let streamed = '';
  const result = await sandbox.execute("import os\n_ = os.write(1, b'\\xef\\xbb\\xbfa')", {
    onStdout: (text) => {
      streamed += text;
    },
  });
  expect([streamed, result.stdout]).toEqual(['\ufeffa', '\ufeffa']);
});
