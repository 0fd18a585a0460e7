import { createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

describe('file_name', () => {
  test('is the name of a Python program in tracebacks, __file__ and sys.argv', async () => {
    await using sandbox = await createSandbox({ runtime: 'python' });
    const { stdout, stderr, metadata } = await sandbox.execute(
      'import sys\nprint(__file__, sys.argv)\n1 / 0',
      {
        file_name: 'report.py',
      },
    );
    expect(stdout).toBe("/app/report.py ['/app/report.py']\n");
    expect(stderr).toContain('File "/app/report.py", line 3, in <module>\n    1 / 0');
    expect(metadata.stopped_at).toMatchObject({ file: '/app/report.py', line: 3 });
    expect(await sandbox.listFiles()).toEqual([]);
  });

  test('is the name of a JavaScript program in stack traces, import.meta and process.argv', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const program =
      'import fs from "node:fs";\nconsole.log(import.meta.url, process.argv[1], __filename);\nfs.readFileSync("x")';
    const result = await sandbox.execute(program, { file_name: 'a.b-c.mjs' });
    expect(result.stdout).toBe('file:///app/a.b-c.mjs /app/a.b-c.mjs /app/a.b-c.mjs\n');
    expect(result.stderr).toContain('at <eval> (/app/a.b-c.mjs:3:');
    expect(result.metadata.stopped_at).toMatchObject({ file: '/app/a.b-c.mjs', line: 3 });
    const typed = await sandbox.execute('const n: number = 1;\nthrow new Error(String(n))', {
      language: 'typescript',
      file_name: 'typed.ts',
    });
    expect(typed.stderr).toContain('(/app/typed.ts:2:');
  });

  test('is the name of a program that reaches a limit, also in its profile', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const { metadata } = await sandbox.execute('let n = 0;\nfor (;;) {\n  n = (n + 1) % 7;\n}', {
      file_name: 'spin.js',
      fuel_budget: 50_000_000,
    });
    expect(metadata).toMatchObject({ stopped_at: { file: '/app/spin.js', line: 3 } });
    expect(metadata.fuel_profile?.lines[0]).toMatchObject({
      line: 3,
      source: expect.stringContaining('% 7'),
    });
  });

  test('applies to the first call of a session, and to the rest of that call after a pause', async () => {
    const tools = { wait: { needsApproval: true, execute: () => 0 } };
    await using session = await createSandbox({ runtime: 'python', store: memoryStore(), tools });
    const program =
      'def divide(n):\n    return 1 / n\ntry:\n    divide(await tools.wait())\nfinally:\n    print(__file__)';
    const { metadata } = await session.execute(program, { file_name: 'first.py' });
    expect(await session.paused()).toMatchObject({ file_name: 'first.py' });
    const { id } = metadata.pending![0]!;
    const resumed = await session.resume(metadata.execution_id!, { resolutions: [{ id, approve: true }] });
    expect(resumed.stdout).toBe('/app/first.py\n');
    expect(resumed.metadata.stopped_at).toMatchObject({ file: '/app/first.py', line: 2 });
    const later = await session.execute('divide(0)', { file_name: 'first.py' });
    expect(later.stderr).toContain('File "/app/call-2.py", line 1, in <module>\n    divide(0)');
    expect(later.stderr).toContain('File "/app/first.py", line 2, in divide\n    return 1 / n');
  });

  test.each([
    '',
    '.hidden',
    '-x',
    '../x.py',
    'a/b.py',
    'a b.py',
    'x\n.py',
    'call-2.py',
    'é.py',
    'x'.repeat(101),
  ])('is rejected if it is %j', async (file_name) => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    await expect(sandbox.execute('1', { file_name })).rejects.toMatchObject({
      code: 'invalid_argument',
      message: expect.stringContaining('is not a valid program name'),
    });
  });
});
