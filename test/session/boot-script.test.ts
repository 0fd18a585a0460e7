/** Programs that change what the boot script uses. A later program can fail because of it, but its call must not. */
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';

async function run(runtime: 'python' | 'javascript', ...programs: string[]) {
  await using session = await createSandbox({ runtime, auto_persist_globals: true });
  const results = [];
  for (const program of programs) results.push(await session.execute(program));
  return results.slice(1).map(({ exit_code, stdout, metadata: { trap_reason, error } }) => ({
    exit_code,
    stdout,
    trap_reason,
    error: error?.type,
  }));
}

describe('the boot script', () => {
  test.each([
    ['SystemExit', 'RuntimeError'],
    ['SystemExit(0)', 'RuntimeError'],
    ['KeyboardInterrupt', 'KeyboardInterrupt'],
    ['MemoryError', 'MemoryError'],
  ])('of Python reports %s in the preparation as %s of the program', async (raised, error) => {
    const sabotage = `import os\ndef fail(*_): raise ${raised}\nos.environ.update = fail`;
    const failed = { exit_code: 1, stdout: '', trap_reason: null, error };
    expect(await run('python', sabotage, 'print(1)', 'print(2)')).toEqual([failed, failed]);
  });

  test('of Python that cannot report stops the guest', async () => {
    const sabotage = `import _sandbox
def fail(*_): raise SystemExit(7)
prepare = _sandbox.prepare
cells = dict(zip(prepare.__code__.co_freevars, prepare.__closure__))
cells['prepare_program'].cell_contents = fail
cells['current'].cell_contents = type('Current', (), {'__setitem__': fail})()`;
    expect(await run('python', sabotage, 'print(1)')).toEqual([
      { exit_code: 134, stdout: '', trap_reason: 'unreachable', error: undefined },
    ]);
  });

  test('of JavaScript reports what it throws as a failure of the program', async () => {
    const sabotage =
      "for (const name of ['push', 'map', 'join', 'slice', 'shift', Symbol.iterator]) Array.prototype[name] = () => { throw null; };";
    const [failed] = await run('javascript', sabotage, 'console.log(1)');
    expect(failed).toMatchObject({ exit_code: 1, trap_reason: null });
  });

  test('of Python reports a program that is too long for the memory as a MemoryError', async () => {
    await using sandbox = await createSandbox({ runtime: 'python', policy: { memory_bytes: 40 << 20 } });
    const { metadata } = await sandbox.execute('x = 1\n'.repeat(100_000));
    expect([metadata.trap_reason, metadata.error?.type]).toEqual([null, 'MemoryError']);
  });
});
