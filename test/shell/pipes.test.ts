/** Pipes in both directions: writers and readers run in turns, and a reader that ends stops its writer. */
import { createSandbox, type Sandbox } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

let shell: Sandbox;
beforeAll(async () => {
  shell = await createSandbox({ runtime: 'bash', policy: { timeout_seconds: 100, fuel_budget: 2e9 } });
});
afterAll(() => shell.close());

/** Programs with what they print, and the most fuel that they may use. */
const PROGRAMS: readonly (readonly [program: string, stdout: string, fuel: number])[] = [
  ['yes | head -n 2; echo ${PIPESTATUS[@]}', 'y\ny\n141 0\n', 30e6],
  ['yes | cat -n | head -n 1; echo ${PIPESTATUS[@]}', '     1\ty\n141 141 0\n', 100e6],
  ['while true; do echo x; done | head -n 2; echo ${PIPESTATUS[@]}', 'x\nx\n141 0\n', 100e6],
  ['while true; do echo x; done | { read -r x; echo "<$x>"; }', '<x>\n', 30e6],
  ['set -o pipefail; yes | head -n 1; echo $?', 'y\n141\n', 30e6],
  ['yes | python3 -c "print(input())"; echo ${PIPESTATUS[@]}', 'y\n141 0\n', 100e6],
  ['head -c 3000000 /dev/zero | { sleep 0.01; cat; } | wc -c', '3000000\n', 100e6],
  ['python3 -c "print(\'x\' * 3000000)" | wc -c', '3000001\n', 100e6],
  ['seq 20000 | python3 -c "import sys; print(sum(map(int, sys.stdin)))" | cat', '200010000\n', 200e6],
  ['python3 -c "print(\'x\' * 3000000)" | python3 -c "print(len(input()))"', '3000000\n', 300e6],
  [
    'coproc bc; for i in 6*7 2^10; do echo $i >&${COPROC[1]}; read -r x <&${COPROC[0]}; echo $x; done',
    '42\n1024\n',
    50e6,
  ],
  [
    'coproc { while read -r l; do echo "<$l>"; done; }; for i in 1 2; do echo $i >&${COPROC[1]}; read -r x <&${COPROC[0]}; echo $x; done',
    '<1>\n<2>\n',
    50e6,
  ],
  ['seq 3 | tee >(tac > copy) | wc -l; sleep 0.01; cat copy', '3\n3\n2\n1\n', 100e6],
  ['exec 3< <(seq 2); while read -r -u 3 l; do echo $l; done', '1\n2\n', 50e6],
  ['{ while true; do sleep 1; done; } & sleep 0.01; kill $!; wait $!; echo $?', '143\n', 50e6],
  [
    '( trap "echo got; exit 3" TERM; while true; do sleep 0.01; done ) & sleep 0.05; kill $!; wait $!; echo $?',
    'got\n3\n',
    100e6,
  ],
  ['sleep 0.1 & sleep 0.02; echo first; wait; echo second', 'first\nsecond\n', 50e6],
  ['{ sleep 0.05; echo two; } & echo one; wait', 'one\ntwo\n', 50e6],
];

describe('a pipe', () => {
  test.each(PROGRAMS)('%s', async (program, stdout, fuel) => {
    const result = await shell.execute(program);
    expect(result).toMatchObject({ success: true, stdout, stderr: '' });
    expect(result.fuel_consumed).toBeLessThan(fuel);
  });

  test('carries a dialogue between Python and a command', async () => {
    await using python = await createSandbox({ runtime: 'python', policy: { timeout_seconds: 100 } });
    const { stdout } = await python.execute(`
from subprocess import PIPE, Popen
p = Popen(['bc'], stdin=PIPE, stdout=PIPE, text=True)
for question in ['6*7', '2^10']:
    p.stdin.write(question + '\\n')
    p.stdin.flush()
    print(p.stdout.readline().strip())
p.stdin.close()
print(p.wait())`);
    expect(stdout).toBe('42\n1024\n0\n');
  });

  // guarantee: determinism
  test('is the same in every run', async () => {
    const run = async () => {
      await using sandbox = await createSandbox({
        runtime: 'bash',
        policy: { timeout_seconds: 100, deterministic: true },
      });
      const program =
        'yes | cat -n | head -n 500 | tail -n 1; for i in {1..8}; do { sleep 0.0$i; echo $i $RANDOM; } & done; wait; echo $SECONDS';
      const { stdout, fuel_consumed } = await sandbox.execute(program);
      return { stdout, fuel_consumed };
    };
    const one = await run();
    expect(one.stdout).toMatch(/^ {3}500\ty\n1 \d+\n2 /);
    expect(await run()).toEqual(one);
  });

  test('that nobody empties ends the call instead of a success', async () => {
    const { metadata } = await shell.execute('mkdir d; coproc cat; yes >&${COPROC[1]}; echo wrong');
    expect(metadata.trap_reason).toBe('process_limit');
    expect(metadata.error_guidance?.actionable_guidance.join('\n')).toContain('Write all input and close it');
  });
});

describe('processes', () => {
  const fib =
    'fib() { if (($1 < 2)); then echo $1; else echo $(($(fib $(($1 - 1))) + $(fib $(($1 - 2))))); fi; }\n';

  test('that substitute commands recursively are right', async () => {
    expect(await shell.execute(`${fib}fib 10`)).toMatchObject({ success: true, stdout: '55\n' });
  });

  // guarantee: memory-limit
  test('nest 100 levels deep within 64 MiB', async () => {
    const memory_bytes = 64 * 1024 * 1024;
    await using sandbox = await createSandbox({
      runtime: 'bash',
      policy: { memory_bytes, timeout_seconds: 100 },
    });
    const programs = {
      'f() { (($1 > 0)) && echo $(f $(($1 - 1)))x || echo x; }; x=$(f 100); echo ${#x}': '101\n',
      'f() { if (($1 > 0)); then (f $(($1 - 1))); else echo end; fi; }; f 100': 'end\n',
      'f() { if (($1 > 0)); then f $(($1 - 1)) | cat; else echo end; fi; }; f 100': 'end\n',
    };
    for (const [program, stdout] of Object.entries(programs)) {
      const result = await sandbox.execute(program);
      expect(result).toMatchObject({ success: true, stdout, stderr: '' });
      expect(result.memory_used_bytes).toBeLessThanOrEqual(memory_bytes);
    }
  });

  test('that a limit stops end the call', async () => {
    await using sandbox = await createSandbox({
      runtime: 'bash',
      policy: { max_processes: 20, max_process_depth: 5, timeout_seconds: 100 },
    });
    for (const program of [
      `${fib}fib 8; echo wrong`,
      'for i in {1..30}; do x=$(echo $i); done; echo wrong',
    ]) {
      const { metadata, stdout } = await sandbox.execute(program);
      expect(metadata.trap_reason).toBe('process_limit');
      expect(metadata.error_guidance?.actionable_guidance.join('\n')).toMatch(
        /max_processes \(default 50000\)/,
      );
      expect(stdout).toBe('');
    }
    const python =
      "import subprocess\ntry:\n  for i in range(30): subprocess.run(['true'])\nexcept BlockingIOError: print(i)";
    expect((await sandbox.execute(`python3 -c "${python}"`)).stdout).toBe('19\n');
  });

  // guarantee: fuel-limit
  test.each([
    'f() { f | f & }; f',
    'f() { x=$(f); }; f',
    'while true; do sleep 100 & done',
    'f() { yes | f; }; f',
  ])('without end reach a limit: %s', async (program) => {
    const { metadata } = await shell.execute(program);
    expect(metadata.trap_reason).toMatch(/^(process_limit|out_of_fuel|timeout)$/);
  });

  // guarantee: time-limit
  test('are cancelled while they wait for each other', async () => {
    for (const delayMs of [1, 5, 20, 50, 100]) {
      const running = shell.execute(
        'yes | cat | while read -r x; do sleep 0.001; echo $x | cat > /dev/null; done',
      );
      setTimeout(() => running.cancel(), delayMs);
      expect((await running).metadata.trap_reason).toBe('cancelled');
    }
    expect((await shell.execute('echo a | cat')).stdout).toBe('a\n');
  });
});
