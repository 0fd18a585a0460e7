import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { code, python } from '../support/sandbox.ts';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(createSandbox({ runtime: 'python', policy: { timeout_seconds: 100 } }));

/** The output of a program that must not fail. */
async function outputOf(program: string): Promise<string> {
  const { exit_code, stdout, stderr } = await sandbox.execute(program);
  expect({ exit_code, stderr }).toEqual({ exit_code: 0, stderr: '' });
  return stdout;
}

const IMPORTS = 'import os, sys, subprocess\nfrom subprocess import PIPE, DEVNULL, STDOUT, Popen, run\n';

describe('subprocess', () => {
  test.each<[string, string, string]>([
    [
      'run and capture_output',
      "p = run(['python3', '-c', 'import sys; print(1); print(2, file=sys.stderr)'], capture_output=True, text=True)\nprint(repr(p.stdout), repr(p.stderr), p.returncode)",
      "'1\\n' '2\\n' 0\n",
    ],
    ['bytes', "print(run([sys.executable, '-c', 'print(1)'], stdout=PIPE).stdout)", "b'1\\n'\n"],
    ['inherited output', "run(['python3', '-c', 'print(1)'])\nprint(2)", '1\n2\n'],
    [
      'arguments',
      "run(['python3', '-c', 'import sys; print(sys.argv)', 'a b', 'ü', ''])",
      "['-c', 'a b', 'ü', '']\n",
    ],
    [
      'arguments of any bytes but zero',
      "run(['python3', '-c', 'import os, sys; print(os.fsencode(sys.argv[1]))', b'\\xff\\xc3'])\ntry: run(['python3\\0'])\nexcept ValueError as e: print(e)",
      "b'\\xff\\xc3'\nembedded null byte\n",
    ],
    [
      'the user',
      'print(os.geteuid() == os.getuid(), os.getegid() == os.getgid(), os.getgroups())',
      'True True [0]\n',
    ],
    [
      'input',
      "print(run(['python3', '-c', 'print(input().upper())'], input='abc', text=True, capture_output=True).stdout)",
      'ABC\n\n',
    ],
    [
      'communicate with 300 KB each way',
      "p = Popen(['python3', '-c', 'import sys; sys.stdout.write(sys.stdin.read())'], stdin=PIPE, stdout=PIPE)\nout, err = p.communicate(b'x' * 300_000)\nprint(len(out), err, p.returncode)",
      '300000 None 0\n',
    ],
    [
      'a pipe between two processes',
      "a = Popen(['python3', '-c', 'print(\"b\\\\na\")'], stdout=PIPE)\nb = Popen(['python3', '-c', 'import sys; print(sorted(sys.stdin))'], stdin=a.stdout, stdout=PIPE, text=True)\na.stdout.close()\nprint(b.communicate()[0], a.wait(), b.returncode)",
      "['a\\n', 'b\\n']\n 0 0\n",
    ],
    [
      'stderr=STDOUT',
      "print(run(['python3', '-c', 'import sys; print(1, flush=True); print(2, file=sys.stderr)'], stdout=PIPE, stderr=STDOUT).stdout)",
      "b'1\\n2\\n'\n",
    ],
    ['DEVNULL', "print(run(['python3', '-c', 'print(1)'], stdout=DEVNULL).returncode)", '0\n'],
    [
      'a file as input and output',
      "open('in.txt', 'w').write('line\\n')\nwith open('in.txt') as i, open('out.txt', 'w') as o: run(['python3', '-c', 'print(input() * 2)'], stdin=i, stdout=o)\nprint(open('out.txt').read())",
      'lineline\n\n',
    ],
    ['cwd', "os.makedirs('d')\nrun(['python3', '-c', 'import os; print(os.getcwd())'], cwd='d')", '/app/d\n'],
    [
      'env',
      "run(['python3', '-c', 'import os; print(dict(os.environ))'], env={'A': '1'})\nos.environ['B'] = '2'\nrun(['python3', '-c', 'import os; print(os.environ[\"B\"])'])",
      "{'A': '1'}\n2\n",
    ],
    ['an exit code', "print(run(['python3', '-c', 'raise SystemExit(3)']).returncode)", '3\n'],
    [
      'an end by a signal',
      "print([run(['python3', '-c', f'import os; os.kill(os.getpid(), {n})']).returncode for n in (9, 15)])",
      '[-9, -15]\n',
    ],
    [
      'kill and terminate before it runs',
      "a = Popen(['python3', '-c', 'print(1)'])\na.terminate()\nb = Popen(['python3', '-c', 'print(1)'])\nb.kill()\nprint(a.wait(), b.wait())",
      '-15 -9\n',
    ],
    [
      'poll',
      "import time\np = Popen(['python3', '-c', 'print(1)'])\nwhile p.poll() is None: time.sleep(0.1)\nprint(p.returncode)",
      '1\n0\n',
    ],
    [
      'check_output, check_call and getstatusoutput',
      "print(subprocess.check_output(['python3', '-c', 'print(1)']), subprocess.check_call(['python3', '-c', '']), subprocess.getstatusoutput('python3 -c \"print(2)\"'))",
      "b'1\\n' 0 (0, '2')\n",
    ],
    [
      'a script with modules beside it',
      "os.makedirs('s')\nopen('s/helper.py', 'w').write('x = 7')\nopen('s/main.py', 'w').write('import helper, sys; print(helper.x, sys.argv, __name__)')\nrun(['python3', 's/main.py', 'a'])",
      "7 ['s/main.py', 'a'] __main__\n",
    ],
    [
      'an executable script',
      "open('tool', 'w').write('#!/usr/bin/env python3\\nprint(\"script\")')\nos.chmod('tool', 0o755)\nrun(['./tool'])",
      'script\n',
    ],
    ['-m', "run(['python3', '-m', 'json.tool'], input=b'[1]')", '[\n    1\n]\n'],
    ['a program on standard input', "run(['python3'], input=b'print(6 * 7)')", '42\n'],
    ['node', "run(['node', '-e', 'console.log(process.argv.length, process.cwd())'])", '1 /app\n'],
    [
      'files that both see',
      "run(['node', '-e', 'require(\"fs\").writeFileSync(\"n.txt\", \"from node\")'])\nprint(open('n.txt').read())",
      'from node\n',
    ],
    [
      'processes in processes',
      'run([\'python3\', \'-c\', \'import subprocess; subprocess.run(["node", "-p", "1+1"])\'])',
      '2\n',
    ],
    [
      'descriptors that are passed on',
      "r, w = os.pipe()\nrun(['python3', '-c', f'import os; os.write({w}, b\"x\")'], pass_fds=[w])\nos.close(w)\nprint(os.read(r, 9))",
      "b'x'\n",
    ],
    [
      'os.posix_spawn, os.waitpid and os.wait',
      "pid = os.posix_spawn('/usr/bin/python3', ['python3', '-c', 'raise SystemExit(2)'], os.environ)\nprint(os.waitpid(pid, 0) == (pid, 512))\npid = os.posix_spawnp('python3', ['python3', '-c', 'print(1)'], {}, file_actions=[(os.POSIX_SPAWN_OPEN, 1, 'o', os.O_WRONLY | os.O_CREAT, 0o600)])\nprint(os.wait() == (pid, 0), open('o').read())",
      'True\nTrue 1\n\n',
    ],
    [
      'os.spawnv',
      "print(os.spawnv(os.P_WAIT, '/usr/bin/python3', ['python3', '-c', 'raise SystemExit(4)']))",
      '4\n',
    ],
    ['os.execvp', "os.execvp('python3', ['python3', '-c', 'print(\"new\")'])", 'new\n'],
    [
      'shutil.which',
      "import shutil\nprint(shutil.which('python3'), shutil.which('nope'))",
      '/usr/bin/python3 None\n',
    ],
    ['os.system with plain words', 'print(os.system(\'python3 -c "print(5)"\'))', '5\n0\n'],
    ['os.popen with plain words', "print(os.popen('python3 -V').read().split()[0])", 'Python\n'],
    [
      'pip list',
      code`
        rows = dict(line.split() for line in run(['pip', 'list'], capture_output=True, text=True).stdout.splitlines())
        from importlib.metadata import version
        print([rows[name] == version(name) for name in ('openpyxl', 'charset-normalizer', 'beautifulsoup4', 'pypdf2')], rows.get('bs4'))
      `,
      '[True, True, True, True] None\n',
    ],
    [
      'pip in a shell, which knows what is there',
      code`
        run('pip install openpyxl "requests>=2" Beautifulsoup4', shell=True)
        print(run('pip install requests==1.0 nope', shell=True, capture_output=True, text=True).stderr.split(' The user')[0].split(' The sandbox has requests ')[0])
      `,
      'Requirement already satisfied: openpyxl\nRequirement already satisfied: requests>=2\nRequirement already satisfied: Beautifulsoup4\nERROR: cannot install requests==1.0, nope: the sandbox does not have them.\n',
    ],
  ])('runs programs with %s', async (_, program, expected) => {
    expect(await outputOf(IMPORTS + program)).toBe(expected);
  });

  test.each<[string, string, string]>([
    ['a program that does not exist', "run(['nope'])", "FileNotFoundError(44, 'No such file or directory')"],
    [
      'a directory that does not exist',
      "run(['python3'], cwd='/nope')",
      "FileNotFoundError(44, 'No such file or directory')",
    ],
    [
      'a file that is no program',
      "open('x', 'w').write('MZ')\nos.chmod('x', 0o755)\nrun(['./x'])",
      "OSError(45, 'Exec format error')",
    ],
    [
      'a file that is not executable',
      "open('y', 'w').write('#!/usr/bin/python3')\nrun(['./y'])",
      "PermissionError(2, 'Permission denied')",
    ],
    [
      'check',
      "run(['python3', '-c', 'raise SystemExit(3)'], check=True)",
      "CalledProcessError(3, ['python3', '-c', 'raise SystemExit(3)'])",
    ],
    ['long arguments', "run(['python3', '-c', '', 'x' * 2_000_000])", "OSError(1, 'Argument list too long')"],
    ['preexec_fn', "run(['python3'], preexec_fn=print)", 'RuntimeError'],
    ['a wait without a child', 'os.waitpid(-1, 0)', "ChildProcessError(12, 'No child process')"],
    ['a signal to nobody', 'os.kill(999999, 9)', "ProcessLookupError(71, 'No such process')"],
  ])('raises the usual exception for %s', async (_, program, expected) => {
    const lines = program.split('\n').map((line) => `    ${line}`);
    expect(
      await outputOf(`${IMPORTS}try:\n${lines.join('\n')}\nexcept Exception as e: print(repr(e))`),
    ).toContain(expected);
  });

  test('keeps descriptors from processes unless they are inheritable', async () => {
    const listed = "import os; print([fd for fd in range(3, 40) if os.path.exists(f'/dev/fd/{fd}')])";
    expect(
      await outputOf(code`
        import os, subprocess
        read, write = os.pipe()
        print(os.get_inheritable(read), os.get_inheritable(write))
        count = lambda **options: subprocess.run(['python3', '-c', ${JSON.stringify(listed)}], capture_output=True, text=True, **options).stdout
        print(str(read) in count(close_fds=False))
        os.set_inheritable(read, True)
        print(os.get_inheritable(read), str(read) in count(close_fds=False), str(read) in count(), str(write) in count(pass_fds=[write]))
      `),
    ).toBe('False False\nFalse\nTrue True False True\n');
  });

  test('sets the size of pipes', async () => {
    expect(
      await outputOf(code`
        import fcntl, os, subprocess
        read, write = os.pipe()
        print(fcntl.fcntl(read, fcntl.F_GETPIPE_SZ), fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 5000), fcntl.fcntl(read, fcntl.F_GETPIPE_SZ))
        os.set_blocking(write, False)
        print(os.write(write, bytes(10_000)))
        for size in (4096, 2**21, -1):
            try: fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, size)
            except OSError as error: print(type(error).__name__, error.strerror)
        fcntl.fcntl(write, fcntl.F_SETPIPE_SZ, 2**20)
        print(os.write(write, bytes(2**21)))
        print(len(subprocess.run(['seq', '100000'], capture_output=True, pipesize=4096).stdout))
      `),
    ).toBe(
      '65536 8192 8192\n8192\nOSError Resource busy\nPermissionError Operation not permitted\nOSError Invalid argument\n1040384\n588895\n',
    );
  });

  test('ends a process after a timeout', async () => {
    expect(
      await outputOf(code`
        import subprocess, time
        for options in ({}, {'capture_output': True}):
            try:
                subprocess.run(['python3', '-c', 'print("a", flush=True)\\nwhile True: pass'], timeout=0.3, **options)
            except subprocess.TimeoutExpired as error:
                print(error.timeout, error.stdout)
        p = subprocess.Popen(['python3', '-c', 'import time; time.sleep(60)'])
        try: p.wait(0.1)
        except subprocess.TimeoutExpired: p.terminate()
        print(p.wait())
      `),
    ).toBe("a\n0.3 None\n0.3 b'a\\n'\n-15\n");
  });

  test('reports a dialogue that would wait forever', async () => {
    const { stdout, stderr } = await python(code`
      import subprocess
      p = subprocess.Popen(['python3', '-c', 'print(input()); print(input())'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
      p.stdin.write('one\\n')
      p.stdin.flush()
      print(p.stdout.readline())
      p.stdin.close()
      print(p.wait())
    `);
    expect(stdout).toBe('one\n\n1\n');
    expect(stderr).toMatch(/sandbox: all processes wait for each other/);
  });

  test('shows the traceback of a script as the interpreter does', async () => {
    await sandbox.execute("open('bad.py', 'w').write('def f():\\n    1 / 0\\nf()\\n')");
    const { stderr } = await python(code`
      import subprocess
      open('bad.py', 'w').write('def f():\\n    1 / 0\\nf()\\n')
      subprocess.run(['python3', 'bad.py'])
    `);
    expect(stderr).toMatch(
      /^Traceback \(most recent call last\):\n {2}File "\/app\/bad.py", line 3, in <module>\n {4}f\(\)\n[\s\S]*ZeroDivisionError: division by zero\n$/,
    );
    expect(stderr).not.toContain('_sandbox');
  });

  test('runs commands in a shell, with pipes, redirections, substitutions and exit codes', async () => {
    const { stdout, stderr } = await python(code`
      import os, subprocess
      open('words.txt', 'w').write('b\\na\\nb\\n')
      print(subprocess.check_output('sort words.txt | uniq -c | sort -rn | head -1', shell=True, text=True).split())
      print(os.system('n=$(wc -l < words.txt); echo "$n lines" > count.txt; exit 3') >> 8, open('count.txt').read())
      print(os.popen("python3 -c 'print(6)' | awk '{ print $1 * 7 }'").read())
      print(subprocess.run(['grep', '-c', 'b', 'words.txt'], capture_output=True, text=True).stdout)
      print(subprocess.run('gerp x', shell=True, capture_output=True, text=True))
    `);
    expect({ stdout, stderr }).toEqual({
      stdout: `['2', 'b']\n3 3 lines\n\n42\n\n2\n\nCompletedProcess(args='gerp x', returncode=127, stdout='', stderr='/bin/sh: line 1: gerp: command not found\\n')\n`,
      stderr: '',
    });
  });

  test('runs what was started when the program ends', async () => {
    expect(
      (await python("import subprocess\nsubprocess.Popen(['python3', '-c', 'print(2)'])\nprint(1)")).stdout,
    ).toBe('1\n2\n');
  });
});

describe('asyncio processes', () => {
  /** The output of a program whose function `main` has this body. */
  const outputOfMain = (body: string) =>
    outputOf(
      `import asyncio, sys\nfrom asyncio.subprocess import PIPE, STDOUT\nstart = asyncio.create_subprocess_exec\nasync def main():\n${body.replace(/^/gm, '    ')}\nasyncio.run(main())`,
    );

  test.each<[string, string, string]>([
    [
      'more output than a pipe holds',
      "p = await start('seq', '100000', stdout=PIPE)\nprint(len((await p.communicate())[0]), p.returncode)",
      '588895 0\n',
    ],
    [
      'a command, with its output and exit code',
      "p = await asyncio.create_subprocess_shell('echo hi; echo err >&2; exit 3', stdout=PIPE, stderr=PIPE)\nprint(await p.communicate(), p.returncode)",
      "(b'hi\\n', b'err\\n') 3\n",
    ],
    [
      'input',
      "p = await start(sys.executable, '-c', 'print(input().upper())', stdin=PIPE, stdout=PIPE)\nprint(await p.communicate(b'abc'))",
      "(b'ABC\\n', None)\n",
    ],
    [
      'input that is written and closed',
      "p = await start('wc', '-c', stdin=PIPE, stdout=PIPE)\np.stdin.write(b'x' * 300_000)\nawait p.stdin.drain()\np.stdin.close()\nawait p.stdin.wait_closed()\nprint(await p.stdout.read(), await p.wait())",
      "b'300000\\n' 0\n",
    ],
    [
      'input that the process does not read',
      "p = await start('echo', stdin=PIPE)\nprint(await p.wait())",
      '\n0\n',
    ],
    [
      'lines of output',
      "p = await start('seq', '3', stdout=PIPE)\nasync for line in p.stdout: print(line)\nprint(await p.wait())",
      "b'1\\n'\nb'2\\n'\nb'3\\n'\n0\n",
    ],
    [
      'several at a time',
      "async def run(n):\n    p = await start('echo', str(n), stdout=PIPE)\n    return (await p.communicate())[0]\nprint(await asyncio.gather(*map(run, range(4))))",
      "[b'0\\n', b'1\\n', b'2\\n', b'3\\n']\n",
    ],
    [
      'a time limit',
      "p = await start('sleep', '100')\ntry: await asyncio.wait_for(p.wait(), 0.1)\nexcept TimeoutError:\n    p.kill()\n    print(await p.wait())",
      '-9\n',
    ],
    [
      'a process that outlasts the sleep of a task',
      "task = asyncio.create_task(asyncio.sleep(0.02))\np = await start('sleep', '0.1')\nprint(await p.wait())\nawait task",
      '0\n',
    ],
    [
      'a signal before it runs',
      "p = await start('sleep', '100')\np.terminate()\nprint(await p.wait())",
      '-15\n',
    ],
    [
      'a task that is cancelled while it starts a process',
      "task = asyncio.create_task(start('sleep', '100', stdout=PIPE))\nawait asyncio.sleep(0)\ntask.cancel()\ntry: await task\nexcept asyncio.CancelledError: print('cancelled')",
      'cancelled\n',
    ],
    [
      'options',
      "p = await start('python3', '-c', 'import os; os.write(2, b\"e\"); print(os.getcwd(), dict(os.environ))', stdout=PIPE, stderr=STDOUT, cwd='/tmp', env={'A': '1'})\nprint(await p.communicate())",
      `(b"e/tmp {'A': '1'}\\n", None)\n`,
    ],
    [
      'a program that does not exist',
      "try: await start('nosuch')\nexcept FileNotFoundError as error: print(error)",
      "[Errno 44] No such file or directory: 'nosuch'\n",
    ],
    [
      'pipes of the program',
      "import os\nr, w = os.pipe()\nreader = asyncio.StreamReader()\nawait asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), open(r, 'rb'))\nos.write(w, b'one\\ntwo')\nprint(await reader.readline())\nos.close(w)\nprint(await reader.read())",
      "b'one\\n'\nb'two'\n",
    ],
  ])('%s', async (_, body, expected) => {
    expect(await outputOfMain(body)).toBe(expected);
  });

  test('reads standard input', async () => {
    const { stdout } = await sandbox.execute(
      code`
        import asyncio, sys
        async def main():
            reader = asyncio.StreamReader()
            await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
            print(await reader.readline(), await reader.read())
        asyncio.run(main())
      `,
      { stdin: 'one\ntwo\n' },
    );
    expect(stdout).toBe("b'one\\n' b'two\\n'\n");
  });

  test('may be killed after the program has asked whether it runs', async () => {
    expect(
      await outputOf(
        "import subprocess\np = subprocess.Popen(['sleep', '100'])\nif p.poll() is None: p.kill()\nprint(p.wait())",
      ),
    ).toBe('-9\n');
  });
});
