/** Attacks with processes: on the limits of a call, which hold for all its processes together, and on what a child may reach. */
import type { ProgramAttack } from '../attack.ts';

const MiB = 1024 * 1024;
const POLICY = { fuel_budget: 20e9, timeout_seconds: 60, memory_bytes: 256 * MiB } as const;

/** A script that starts itself again and again. */
const BOMB = `import subprocess
while True:
    subprocess.Popen(['python3', 'bomb.py'])`;

const prints = (stdout: string | RegExp) => ({ policy: POLICY, expect: { success: true, stdout } });

export const PROCESS_ATTACKS_PYTHON: readonly ProgramAttack[] = [
  {
    name: 'processes-spawn-bomb',
    code: `open('bomb.py', 'w').write(${JSON.stringify(BOMB)})\nimport subprocess\nsubprocess.run(['python3', 'bomb.py'])`,
    policy: { ...POLICY, fuel_budget: 0.4e9 },
    outcomes: ['out_of_fuel', 'finished'],
  },
  {
    name: 'processes-without-wait',
    code: "import subprocess\nwhile True: subprocess.Popen(['nope', '-c', '1'], executable='/bin/sh', stderr=subprocess.DEVNULL)",
    policy: { ...POLICY, fuel_budget: 0.4e9 },
    outcomes: ['BlockingIOError', 'out_of_fuel'],
  },
  {
    name: 'processes-pipe-bomb',
    code: "import subprocess\np = subprocess.Popen(['python3', '-c', 'import os\\nwhile True: os.write(1, bytes(1 << 20))'], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\nn = 0\ntry:\n    while chunk := p.stdout.read(1 << 20): n += len(chunk)\nexcept OSError: print(n)",
    ...prints(`${16 * MiB}\n`),
  },
  {
    name: 'processes-errors-into-a-full-pipe',
    code: "from subprocess import *\na = Popen(['head', '-c', '20000000', '/dev/zero'], stdout=PIPE, stderr=STDOUT)\nb = Popen(['wc', '-c'], stdin=a.stdout)\na.stdout.close()\na.wait()",
    ...prints(`20000000\n`),
  },
  {
    name: 'processes-pipes-in-sum',
    code: "import os\nfrom subprocess import Popen, PIPE, DEVNULL\nheld = [Popen(['python3', '-c', 'import os\\nwhile True: os.write(1, bytes(1 << 20))'], stdout=PIPE, stderr=DEVNULL) for _ in range(6)]\nfor p in held: p.wait()\nprint(len(held))",
    ...prints('6\n'),
  },
  {
    name: 'processes-thousands-of-descriptors',
    code: "import os, subprocess\nfds = []\ntry:\n    while True: fds += os.pipe()\nexcept OSError: pass\nos.close(fds.pop()); os.close(fds.pop())\nfor fd in fds: os.set_inheritable(fd, True)\nprint(subprocess.run(['python3', '-c', 'import os; print(len(os.listdir(\".\")))'], close_fds=False, stdout=1).returncode)",
    policy: POLICY,
    outcomes: ['finished', 'OSError'],
  },
  {
    name: 'processes-memory-of-many-children',
    code: "import subprocess\nopen('m.py', 'w').write('import subprocess, sys\\nheld = bytes(15_000_000)\\nn = int(sys.argv[1])\\nif n: sys.exit(subprocess.run([\"python3\", \"m.py\", str(n - 1)]).returncode)')\nprint(subprocess.run(['python3', 'm.py', '7']).returncode)",
    policy: POLICY,
    outcomes: ['finished'],
    expect: { stdout: /^(247|1|-9)\n$/ },
  },
  {
    name: 'processes-megabytes-of-arguments',
    code: "import subprocess\ntry: subprocess.run(['python3', '-c', '', 'x' * 5_000_000])\nexcept OSError as e: print(e.errno)",
    ...prints('1\n'),
  },
  {
    name: 'processes-thousands-of-variables',
    code: "import subprocess\ntry: subprocess.run(['python3', '-c', ''], env={str(i): '' for i in range(20_000)})\nexcept OSError as e: print(e.errno)",
    policy: POLICY,
    expect: { success: true, stdout: /^(1|28)\n$/ },
  },
  {
    name: 'processes-in-the-grace-period',
    code: "import subprocess\ntry:\n    while True: pass\nexcept BaseException:\n    while True:\n        try: subprocess.run(['python3', '-c', 'print(1)'])\n        except OSError: pass",
    policy: { fuel_budget: 50_000_000, timeout_seconds: 60 },
    outcomes: ['out_of_fuel'],
    expect: { stdout: '' },
  },
  {
    name: 'processes-replaced-in-the-grace-period',
    code: "import subprocess\nopen('g.py', 'w').write('import os\\ntry:\\n    while True: pass\\nexcept BaseException: os.execv(\"/bin/echo\", [\"echo\", \"1\"])')\nsubprocess.run(['python3', 'g.py'])",
    policy: { fuel_budget: 100_000_000, timeout_seconds: 60 },
    outcomes: ['out_of_fuel'],
    expect: { stdout: '' },
  },
  {
    name: 'processes-loop-of-interpreters',
    // With bash, /bin/sh -c runs the script again and again; the timeout holds for all its programs together.
    code: "import os, subprocess\nfor name, line in {'a': '#!/app/b', 'b': '#!/app/a', 'c': '#!/bin/sh -c', 'd': '#!/usr/bin/env -S /app/d'}.items():\n    open(name, 'w').write(line + '\\n'); os.chmod(name, 0o755)\n    try: subprocess.run(['/app/' + name], stderr=subprocess.DEVNULL, timeout=0.3)\n    except (OSError, subprocess.TimeoutExpired) as e: print(type(e).__name__)",
    policy: POLICY,
    outcomes: ['finished', 'out_of_fuel'],
  },
  {
    name: 'processes-rename-of-the-working-directory',
    code: "import os, subprocess\nos.makedirs('a/b'); os.chdir('a/b')\nsubprocess.run(['python3', '-c', 'import os; os.rename(\"/app/a\", \"/app/c\")'])\nprint(os.getcwd())\nsubprocess.run(['python3', '-c', 'import os; os.rmdir(\"/app/c/b\")'])\ntry: os.getcwd()\nexcept OSError as e: print(type(e).__name__)",
    ...prints('/app/c/b\nFileNotFoundError\n'),
  },
  {
    name: 'processes-forged-program',
    code: "import os, subprocess\nos.makedirs('bin')\nfor name, data in {'python3': b'\\0asm\\1\\0\\0\\0', 'node': b'\\x7fELF', 'sh': b'#!/app/bin/sh\\n'}.items():\n    open('bin/' + name, 'wb').write(data); os.chmod('bin/' + name, 0o755)\n    try: subprocess.run([name], env={'PATH': '/app/bin'})\n    except OSError as e: print(e.errno)\ntry: open('/usr/bin/python3', 'w')\nexcept OSError as e: print(e.errno)",
    ...prints('45\n45\n32\n69\n'),
  },
  {
    name: 'processes-forged-exit-code',
    code: "import subprocess\nprint([subprocess.run(['python3', '-c', c]).returncode for c in ('import os; os._exit(300)', 'raise SystemExit(-1)', 'import os; os.kill(os.getpid(), 63)')])",
    policy: POLICY,
    expect: { success: true, stdout: /^\[44, 255, -?\d+\]\n$/ },
  },
  {
    name: 'processes-results-and-tools-of-a-child',
    code: "import subprocess\nprint(subprocess.run(['python3', '-c', 'open(\"/dev/results\", \"wb\")'], stderr=subprocess.DEVNULL).returncode)",
    ...prints('1\n'),
  },
  {
    name: 'processes-kill-others',
    code: 'import os\nfor pid in (0, 1, 2, 41, 43, -1, 99999):\n    try: os.kill(pid, 9); print(pid)\n    except OSError as e: print(e.errno)',
    policy: POLICY,
    expect: { success: true, stdout: /^(71\n){7}$/ },
  },
];

export const PROCESS_ATTACKS_JAVASCRIPT: readonly ProgramAttack[] = [
  {
    name: 'processes-spawn-bomb',
    code: "const { spawn, spawnSync } = require('child_process'); require('fs').writeFileSync('b.js', \"const { spawn } = require('child_process'); for (;;) spawn('node', ['b.js'])\"); spawnSync('node', ['b.js'])",
    policy: { ...POLICY, fuel_budget: 0.4e9 },
    outcomes: ['out_of_fuel', 'finished', 'Error'],
  },
  {
    name: 'processes-descriptor-of-nobody',
    code: "console.log(require('child_process').spawnSync('node', ['-p', '1'], { stdio: [200, 201, 202] }).error.code)",
    ...prints('EBADF\n'),
  },
];
