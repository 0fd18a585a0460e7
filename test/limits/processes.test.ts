/** The limits of a call hold for all of its processes together. */
import fc from 'fast-check';
import { createSandbox, type PolicyInput, type RuntimeName } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import '../support/property-seed.ts';
import { repetitions } from '../support/repetitions.ts';
import { code } from '../support/sandbox.ts';

const MiB = 1024 * 1024;

async function run(program: string, policy: PolicyInput = {}, runtime: RuntimeName = 'python') {
  await using sandbox = await createSandbox({
    runtime,
    policy: { timeout_seconds: 100, fuel_budget: 50e9, ...policy },
  });
  return await sandbox.execute(program);
}

const size = (length: number) => ({ minLength: length, maxLength: length });

const IMPORTS = 'import os, sys, subprocess\nfrom subprocess import PIPE, Popen, run\n';

describe('the limits of processes', () => {
  // guarantee: fuel-limit
  test('are one budget of fuel', async () => {
    const program = `${IMPORTS}run(['python3', '-c', 'while True: pass'])\nprint('after')`;
    const { metadata, stdout, fuel_consumed } = await run(program, { fuel_budget: 400_000_000 });
    expect(metadata.trap_reason).toBe('out_of_fuel');
    expect(stdout).toBe('');
    expect(fuel_consumed).toBeLessThanOrEqual(600_000_000);
    expect(metadata.error).toMatchObject({ type: 'OutOfFuel', line: 3 });
  });

  // guarantee: time-limit
  test('are one time limit', async () => {
    const { metadata } = await run(`${IMPORTS}run(['python3', '-c', 'while True: pass'])`, {
      timeout_seconds: 1,
      fuel_budget: 1e15,
    });
    expect(metadata.trap_reason).toBe('timeout');
  });

  // guarantee: memory-limit
  test('are one sum of memory', async () => {
    const { stdout, memory_used_bytes } = await run(
      code`
        ${IMPORTS.split('\n').join('\n        ')}
        held = bytes(30_000_000)
        print(run(['python3', '-c', 'print(len(bytes(10_000_000)))\\ntry: held = bytes(70_000_000)\\nexcept MemoryError: print("no memory")'], capture_output=True, text=True).stdout)
      `,
      { memory_bytes: 128 * MiB },
    );
    expect(stdout).toBe('10000000\nno memory\n\n');
    expect(memory_used_bytes).toBeLessThanOrEqual(128 * MiB);
    expect(memory_used_bytes).toBeGreaterThan(70 * MiB);
  });

  // guarantee: memory-limit
  test('are one sum of memory for copies of a shell that wait', async () => {
    const { metadata, memory_used_bytes } = await run(
      code`
        grow() { printf -v x '%*s' 10000000 ''; }
        for i in {1..6}; do { grow; sleep 0.01; echo "\${#x}"; } & done
        grow; sleep 0.02; echo "\${#x}"; wait
      `,
      { memory_bytes: 64 * MiB },
      'bash',
    );
    // A shell that has no memory for `sleep` would go on.
    expect(metadata.trap_reason).toBe('process_limit');
    expect(memory_used_bytes).toBeLessThanOrEqual(64 * MiB);
    expect(memory_used_bytes).toBeGreaterThan(60 * MiB);
  });

  // guarantee: memory-limit
  test('include the memory of pipes', async () => {
    const { stdout, memory_used_bytes } = await run(
      code`
        ${IMPORTS.split('\n').join('\n        ')}
        p = Popen(['python3', '-c', 'import os; [os.write(1, bytes(1 << 20)) for _ in range(15)]'], stdout=PIPE, stderr=PIPE)
        held = bytes(57_000_000)
        count = 0
        try:
            while chunk := p.stdout.read(65536): count += len(chunk)
        except OSError as error: print(count, error.errno)
        print(p.stderr.read().decode())
      `,
      { memory_bytes: 112 * MiB },
    );
    expect(stdout).toContain(`${4 * MiB} 29\nTraceback`);
    expect(memory_used_bytes).toBeLessThanOrEqual(112 * MiB);
  });

  // guarantee: memory-limit
  test('include the memory of pipes when JavaScript grows', async () => {
    const { stdout, stderr, memory_used_bytes } = await run(
      code`
        node -e "
        const { spawnSync } = require('child_process');
        spawnSync('head', ['-c', '16000000', '/dev/zero'], { stdio: 'inherit' });
        const held = [];
        try { for (;;) held.push(new Uint8Array(1_000_000).fill(1)); } catch (error) { console.error(error.name); }
        " | wc -c
      `,
      { memory_bytes: 64 * MiB },
      'bash',
    );
    expect([stdout, stderr]).toEqual(['16000000\n', 'InternalError\n']);
    expect(memory_used_bytes).toBeLessThanOrEqual(64 * MiB);
    expect(memory_used_bytes).toBeGreaterThan(60 * MiB);
  });

  test('give their memory back when they end', async () => {
    const program = `for i in {1..8}; do (printf -v x '%*s' 12000000 ''; echo \${#x}); done`;
    const { stdout } = await run(program, { memory_bytes: 64 * MiB }, 'bash');
    expect(stdout).toBe('12000000\n'.repeat(8));
  });

  // guarantee: memory-limit
  test('leave no memory for another interpreter', async () => {
    const { stdout, stderr } = await run(
      `${IMPORTS}held = bytes(30_000_000)\nprint(run(['python3', '-c', '1']).returncode)`,
      { memory_bytes: 80 * MiB },
    );
    expect(stdout).toBe('-9\n');
    expect(stderr).toMatch(/^sandbox: there is not enough memory for another process/);
  });

  test('end a recursion of processes', async () => {
    const { stdout } = await run(
      code`
        import subprocess, sys
        open('deeper.py', 'w').write('''
        import subprocess, sys
        depth = int(sys.argv[1])
        try: subprocess.run(['python3', 'deeper.py', str(depth + 1)])
        except BlockingIOError: print(depth)
        ''')
        subprocess.run(['python3', 'deeper.py', '1'])
      `,
      { memory_bytes: 1024 * MiB },
    );
    expect(stdout).toBe('15\n');
  });

  test('end a loop that starts processes', { tags: 'full' }, async () => {
    const { stdout } = await run(
      code`
        import os
        count = 0
        try:
            while True:
                pid = os.posix_spawn('/bin/sh', ['sh', '-c', 'nope'], {}, file_actions=[(os.POSIX_SPAWN_CLOSE, 2)])
                os.waitpid(pid, 0)
                count += 1
        except BlockingIOError as error: print(count, error.errno)
      `,
      { max_processes: 1000 },
    );
    expect(stdout).toBe('1000 6\n');
  });

  test('end a pipe that is not read', async () => {
    const { stdout } = await run(
      code`
        import subprocess
        p = subprocess.Popen(['python3', '-c', 'import sys\\nwhile True: sys.stdout.write("x" * 100000)'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        total = 0
        try:
            while chunk := p.stdout.read(1 << 20): total += len(chunk)
        except OSError as error: print(total, error.errno)
        print(p.wait() != 0)
      `,
    );
    expect(stdout).toBe(`${16 * MiB} 29\nTrue\n`);
  });

  test('let the reader of a full pipe run', async () => {
    const { stdout, stderr } = await run(
      code`
        import os
        print(os.system('seq 300000 | wc -l'))
      `,
    );
    expect([stdout, stderr]).toEqual(['300000\n0\n', '']);
  });

  test('end a writer whose error messages would go into the same full pipe', async () => {
    const { stdout, fuel_consumed } = await run(
      code`
        from subprocess import PIPE, STDOUT, Popen
        a = Popen(['python3', '-c', 'import os\\nwhile True: os.write(1, bytes(1 << 20))'], stdout=PIPE, stderr=STDOUT)
        b = Popen(['python3', '-c', 'import sys; print(len(sys.stdin.buffer.read()))'], stdin=a.stdout, stdout=PIPE)
        a.stdout.close()
        print(a.wait(), b.communicate()[0])
      `,
    );
    expect(stdout).toBe("1 b''\n");
    expect(fuel_consumed).toBeLessThan(1e9);
  });

  test('end processes that would run inside each other too deeply', { tags: 'full' }, async () => {
    const { stdout, stderr } = await run(
      code`
        import subprocess, time
        open('deepest', 'w').write('0')
        open('level.py', 'w').write('''
        import subprocess, sys, time
        level = int(open('level').read()) + 1
        open('level', 'w').write(str(level))
        if level > int(open('deepest').read()): open('deepest', 'w').write(str(level))
        if level == 12:
            held = [subprocess.Popen(['python3', 'level.py']) for _ in range(9)]
        time.sleep(0.001)
        open('level', 'w').write(str(level - 1))
        ''')
        open('level', 'w').write('0')
        started = [subprocess.Popen(['python3', 'level.py']) for _ in range(13)]
        time.sleep(0.001)
        print([process.wait() for process in started].count(0), open('deepest').read(), open('level').read())
      `,
      { memory_bytes: 1024 * MiB },
    );
    expect({ stdout, stderr }).toEqual({ stdout: '13 15 0\n', stderr: '' });
  });

  // guarantee: fuel-limit
  test('end a process that would continue with another program', async () => {
    const { stdout, metadata } = await run(
      code`
        import subprocess
        open('next.py', 'w').write('''
        import os
        try:
            while True: pass
        except BaseException: os.execv('/bin/echo', ['echo', 'next'])
        ''')
        subprocess.run(['python3', 'next.py'])
      `,
      { fuel_budget: 200_000_000 },
    );
    expect(stdout).toBe('');
    expect(metadata.trap_reason).toBe('out_of_fuel');
  });

  test('hold for all programs that a process runs one after the other', async () => {
    const { stdout } = await run(
      code`
        import os, subprocess
        open('again.py', 'w').write('import os; os.execv("/usr/bin/python3", ["python3", "again.py"])')
        try: subprocess.run(['python3', 'again.py'], timeout=0.5)
        except subprocess.TimeoutExpired: print('timeout')
      `,
      { deterministic: true },
    );
    expect(stdout).toBe('timeout\n');
  });

  // guarantee: determinism
  test('keep runs deterministic', async () => {
    const program = code`
      import random, subprocess, time
      print(random.random(), time.time())
      print(subprocess.run(['python3', '-c', 'import random, time; time.sleep(5); print(random.random(), time.time())'], capture_output=True).stdout)
      print(subprocess.run(['node', '-p', 'Math.random() + Date.now()'], capture_output=True).stdout)
      try: subprocess.run(['python3', '-c', 'while True: pass'], timeout=0.5)
      except subprocess.TimeoutExpired: print('timeout')
      print(random.random(), time.time())
    `;
    const policy = { deterministic: true } as const;
    const [one, other] = [await run(program, policy), await run(program, policy)];
    expect(one.stderr).toBe('');
    expect(one.stdout.split('\n')).toHaveLength(6);
    expect(other.stdout).toBe(one.stdout);
    expect(other.fuel_consumed).toBe(one.fuel_consumed);
  });

  test('are those of a call: no process lives on in a session', async () => {
    await using session = await createSandbox({
      runtime: 'python',
      auto_persist_globals: true,
      policy: { timeout_seconds: 100 },
    });
    const first = await session.execute(
      `${IMPORTS}p = Popen(['python3', '-c', 'import sys; print(sys.stdin.read(), 1)'], stdin=PIPE)\nr, w = os.pipe()\nq = Popen(['python3', '-c', 'print(2)'], stdout=w)`,
    );
    expect(first).toMatchObject({ success: true, stdout: ' 1\n' });
    const second = await session.execute('os.close(w); print(os.read(r, 9), q.wait())');
    expect(second.stdout).toBe("b'2\\n' 0\n");
  });

  // guarantee: time-limit
  test('end with a cancellation, whenever it happens', { tags: 'full' }, async () => {
    await using session = await createSandbox({
      runtime: 'python',
      auto_persist_globals: true,
      policy: { timeout_seconds: 100, fuel_budget: 100e9 },
    });
    const before = `${IMPORTS}kept = 1\nopen('file', 'w').write('before')`;
    const program = code`
      kept = 2
      open('file', 'w').write('during')
      while True:
          p = Popen('echo a | cat > file; sleep 0.001; (exit 3) & wait', shell=True, stderr=subprocess.DEVNULL)
          try: p.wait(0.02)
          except subprocess.TimeoutExpired: p.kill()
          try: run(['python3', '-c', 'import os; os.execv("/bin/true", ["true"])'])
          except BaseException: Popen(['true']); raise
    `;
    const [instants] = fc.sample(fc.array(fc.nat(400), size(repetitions(15, 200))), 1);
    for (const delayMs of instants!) {
      await session.execute(before);
      const running = session.execute(program);
      setTimeout(() => running.cancel(), delayMs);
      const { metadata } = await running;
      expect(metadata.trap_reason).toBe('cancelled');
      const after = await session.execute(
        "print(kept, open('file').read(), run(['echo', '-n', 'x']).returncode)",
      );
      expect(after).toMatchObject({ success: true, stderr: '' });
      // The program is interrupted and its changes stay, or it takes too long to end and all of them are undone.
      const left =
        metadata.state === 'committed' ? /^x?(1 before|2 (during|a\n)?) 0\nx?$/ : /^x?1 before 0\nx?$/;
      expect(after.stdout).toMatch(left);
    }
    // The threads that ran them serve others.
    const others = Array.from({ length: 4 }, () => run(`${IMPORTS}print(run(['true']).returncode)`));
    for (const { stdout } of await Promise.all(others)) expect(stdout).toBe('0\n');
  });

  test('do not add up over the calls of a session: a full pipe takes no room after its call', async () => {
    await using session = await createSandbox({
      runtime: 'python',
      auto_persist_globals: true,
      policy: { timeout_seconds: 100, fuel_budget: 50e9 },
    });
    const program = `${IMPORTS}p = Popen(['head', '-c', '16000000', '/dev/zero'], stdout=PIPE)\np.wait()`;
    for (let i = 0; i < 5; i++) await session.execute(`${program}\nheld${i} = p`);
    const { stdout } = await session.execute(
      "print(len(run(['head', '-c', '1000000', '/dev/zero'], stdout=PIPE).stdout))",
    );
    expect(stdout).toBe('1000000\n');
  });

  test('leave no files of other languages in a session', async () => {
    await using session = await createSandbox({
      runtime: 'python',
      auto_persist_globals: true,
      policy: { timeout_seconds: 100 },
    });
    const look = "print(sorted(os.listdir('/lib')), os.getcwd())";
    const node = `${IMPORTS}print(run(['node', '-p', '1'], stdout=-3).returncode)\n`;
    const first = await session.execute(`${IMPORTS}${look}`);
    await session.execute(`${node}os.chdir('/lib/javascript')\nheld = os.open('.', os.O_RDONLY)`);
    await using fork = await session.fork();
    for (const each of [session, fork]) {
      expect(await each.execute(look)).toMatchObject({ stdout: first.stdout, stderr: '' });
      expect((await each.execute(node)).stdout).toBe('0\n');
      const listed = await each.execute(
        "try: print(os.listdir('/lib/javascript'))\nexcept OSError as e: print(e.errno)",
      );
      expect(listed.stdout).toBe('44\n');
    }
  });

  test('keep the exit codes of children, also if the session is restored', async () => {
    const options = { runtime: 'python', auto_persist_globals: true } as const;
    await using session = await createSandbox({ ...options, policy: { timeout_seconds: 100 } });
    await session.execute(`${IMPORTS}p = Popen(['python3', '-c', 'raise SystemExit(7)'])`);
    await using fork = await session.fork();
    for (const each of [session, fork])
      expect(await each.execute('print(p.wait())')).toMatchObject({ stdout: '7\n', stderr: '' });
  });
});
