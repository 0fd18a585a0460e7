/** Attacks on the limits of fuel, time, memory, output, files and recursion. */

import type { PolicyInput, RuntimeName } from '@llm-wasm-sandbox/core/internal';
import type { AttackRow, AttackTable, Pattern, ProgramAttack } from '../attack.ts';
import type { Limit, LimitProgram } from '../programs/attack-programs.ts';
import { ATTACK_PROGRAMS } from '../programs/index.ts';
import { CHART_ATTACKS } from './chart-attacks.ts';
import { GIT_ATTACKS } from './git-attacks.ts';
import { PROCESS_ATTACKS_JAVASCRIPT, PROCESS_ATTACKS_PYTHON } from './process-attacks.ts';
import { knownFrom, slug } from './rows.ts';

const MiB = 1024 * 1024;
const OUTPUT_CAP = 10_000;

/** The limit under attack, with all other limits far above what the program uses. */
const POLICIES: Record<Limit, PolicyInput> = {
  fuel: { fuel_budget: 50_000_000, memory_bytes: 128 * MiB, timeout_seconds: 60 },
  time: { fuel_budget: 1e15, timeout_seconds: 0.1 },
  memory: { fuel_budget: 30e9, timeout_seconds: 60 },
  output: {
    stdout_max_bytes: OUTPUT_CAP,
    stderr_max_bytes: OUTPUT_CAP,
    fuel_budget: 400_000_000,
    timeout_seconds: 60,
  },
};

const OUTCOMES: Record<Exclude<Limit, 'memory'>, readonly string[]> = {
  fuel: ['out_of_fuel'],
  time: ['timeout'],
  output: ['finished', 'out_of_fuel'],
};

/** One attack for each limit that a program breaks. */
const attacksOf = (runtime: RuntimeName): ProgramAttack[] =>
  ATTACK_PROGRAMS[runtime].limitPrograms.flatMap((program) => attacksWith(program, runtime));

const attacksWith = (
  { name, breaks, code, reference }: LimitProgram,
  runtime: RuntimeName,
): ProgramAttack[] =>
  breaks.map((limit) => ({
    name: `${limit}-${name}`,
    code,
    policy:
      limit === 'memory'
        ? { ...POLICIES.memory, memory_bytes: ATTACK_PROGRAMS[runtime].memory.bytes }
        : POLICIES[limit],
    outcomes: limit === 'memory' ? ATTACK_PROGRAMS[runtime].memory.outcomes : OUTCOMES[limit],
    ...(limit === 'output' && { expect: truncated(name.startsWith('errors') ? 'stderr' : 'stdout') }),
    ...knownFrom(reference),
  }));

const truncated = (stream: 'stdout' | 'stderr'): Pattern => ({
  [stream]: /^.{3000}/s,
  metadata: { [`${stream}_truncated`]: true },
});

const DEPTH_FUEL = 400_000_000;

const depthAttacks = (runtime: RuntimeName): ProgramAttack[] =>
  Object.entries(ATTACK_PROGRAMS[runtime].recursion).map(([name, [code, end, fuel = DEPTH_FUEL]]) => ({
    name: `depth-${slug(name)}`,
    code,
    policy: { fuel_budget: fuel, timeout_seconds: 60 },
    outcomes: [end],
    ...knownFrom(ATTACK_PROGRAMS[runtime].recursionReferences[name]),
  }));

/** Attacks with processes. */
const shellAttacks: readonly ProgramAttack[] = [
  {
    name: 'processes-without-end',
    code: 'while (:); do :; done; echo wrong',
    policy: { fuel_budget: 1e12, timeout_seconds: 60, max_processes: 1000 },
    outcomes: ['process_limit'],
  },
  {
    name: 'deep-processes',
    code: 'f() { bash -c "echo deeper; $(declare -f f); f"; }; f 2>/dev/null | wc -l',
    policy: { timeout_seconds: 60 },
    outcomes: ['process_limit'],
  },
  {
    name: 'pipes-full-of-data',
    code: "for i in 1 2 3; do head -c 20000000 /dev/zero | (sleep 1; wc -c); done 2>/dev/null | awk '$1 != 20000000 { bad = 1 } END { exit bad }'",
    policy: { fuel_budget: 1e12, timeout_seconds: 60 },
    outcomes: ['finished'],
  },
  {
    name: 'memory-of-many-shells',
    code: 'x=$(head -c 3000000 /dev/zero | tr "\\0" a); f() { (echo ${#x}; [ $1 -gt 0 ] && f $(($1 - 1))); }; f 30',
    policy: { memory_bytes: 32 * MiB, timeout_seconds: 60 },
    outcomes: ['finished', 'memory_limit', 'process_limit', 'out_of_fuel'],
  },
  {
    name: 'memory-of-copies-inside-each-other',
    // All copies exist before one of them grows, and each starts the next one when it reads from the common pipe.
    code: `grow() { printf -v x '%*s' 20000000 ''; }
coproc C { for i in {1..9}; do echo line; done; }
exec {w}>&\${C[1]} {r}<&\${C[0]}
for i in {1..8}; do { grow; read -r line <&$r; echo "\${#x}"; } & done
grow; read -r line <&$r; echo "\${#x}"`,
    policy: { memory_bytes: 128 * MiB, fuel_budget: 1e12, timeout_seconds: 60 },
    outcomes: ['finished', 'memory_limit', 'process_limit'],
  },
  {
    name: 'workspace-file-as-program',
    code: 'printf "\\0asm\\1\\0\\0\\0" > ls; chmod +x ls; ./ls; echo $?',
    outcomes: ['finished'],
    expect: { stdout: /^126\n$/ },
  },
  {
    name: 'argument-of-a-megabyte',
    code: 'x=$(head -c 1100000 /dev/zero | tr "\\0" a); /usr/bin/echo "$x" > /dev/null; echo $?',
    policy: { timeout_seconds: 60 },
    outcomes: ['finished'],
    expect: { stdout: /^126\n$/ },
  },
  {
    name: 'thousands-of-descriptors',
    code: 'for ((i = 3; i < 3000; i++)); do eval "exec $i< /dev/null" || break; done 2>/dev/null; echo $((i < 300))',
    policy: { timeout_seconds: 60 },
    outcomes: ['finished'],
    expect: { stdout: /^1\n$/ },
  },
  {
    name: 'background-job-that-outlives',
    code: '(sleep 0.1; echo late > /app/late) & echo started',
    outcomes: ['finished'],
    expect: { stdout: /^started\n$/ },
  },
  {
    name: 'rename-of-working-directory',
    code: 'mkdir a; cd a; (cd ..; mv a b; rmdir b); pwd; ls; cd /app; echo here',
    outcomes: ['finished'],
    expect: { stdout: /here\n$/ },
  },
  {
    name: 'forged-exit-status',
    code: 'kill() { :; }; exit() { :; }; trap "" EXIT; (builtin exit 300); echo $?; builtin exit 511',
    outcomes: ['finished'],
    expect: { stdout: /^44\n$/ },
  },
];

const WORKSPACE_LIMIT = 1_000_000;

const FILLERS: Record<string, string> = {
  'one large write': "open('x', 'wb').write(bytes(1_000_001))",
  'many small writes': "f = open('x', 'wb', buffering=0)\nwhile True: f.write(bytes(1000))",
  'a sparse file': "f = open('x', 'wb', buffering=0)\nf.seek(10**9)\nf.write(b'x')",
  'extending a file with truncate()': "f = open('x', 'wb')\nf.truncate(2**40)",
  'extending a file with os.truncate()': "open('x', 'w').close()\nimport os\nos.truncate('x', 2**40)",
  'many files': "for i in range(100): open(str(i), 'w').close()",
  'many folders': 'import os\nfor i in range(100): os.mkdir(str(i))',
  'many links': "import os\nfor i in range(100): os.symlink('x', str(i))",
  'long links':
    "import os\nfor i in range(45): os.symlink('x' * 4000, str(i))\nopen('x', 'wb', buffering=0).write(bytes(900_000))",
  'the other writable folder': "open('/tmp/x', 'wb').write(bytes(1_000_001))",
  'both folders':
    "open('/tmp/x', 'wb', buffering=0).write(bytes(600_000))\nopen('y', 'wb', buffering=0).write(bytes(600_000))",
  'deleted files that are open':
    "import os\nheld = []\nfor i in range(5):\n    f = open('x', 'wb', buffering=0); held.append(f); f.write(bytes(300_000)); os.remove('x')",
  copies:
    "import shutil\nopen('a', 'wb').write(bytes(400_000))\nshutil.copy('a', 'b')\nshutil.copy('a', 'c')",
  'a database':
    "import sqlite3\nc = sqlite3.connect('d.db')\nc.execute('create table t (x)')\nwhile True: c.execute('insert into t values (zeroblob(100000))'); c.commit()",
};
const workspaceAttacks = Object.entries(FILLERS).map(
  ([name, code]): ProgramAttack => ({
    name: `workspace-${slug(name)}`,
    code,
    policy: { workspace_max_bytes: WORKSPACE_LIMIT, workspace_max_files: 50 },
    expect: {
      success: false,
      metadata: { error: { message: /No space left on device|disk is full|disk I\/O/ } },
    },
  }),
);

/** The signals by which the host reports a limit to Python, disabled by the program. */
const signalAttacks = Object.entries({
  ignored: 'signal.signal(n, signal.SIG_IGN)',
  'reset-to-default': 'signal.signal(n, signal.SIG_DFL)',
  caught: 'signal.signal(n, lambda *a: None)',
  'handled-with-exit': 'signal.signal(n, lambda *a: os._exit(0))',
  blocked: 'signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))',
  'redirected-to-descriptor': 'signal.set_wakeup_fd(os.open("w", os.O_CREAT | os.O_WRONLY | os.O_NONBLOCK))',
}).map(
  ([name, act]): ProgramAttack => ({
    name: `signal-${name}`,
    code: `import os, signal
for n in (60, 61, 62):
    try: ${act}
    except (AttributeError, OSError, ValueError): pass
while True:
    try:
        while True: pass
    except BaseException: pass`,
    policy: POLICIES.fuel,
    outcomes: ['out_of_fuel'],
  }),
);

/** Programs of which preparing takes more than running. */
function longPrograms(runtime: RuntimeName): ProgramAttack[] {
  const { longPrograms: long, memory } = ATTACK_PROGRAMS[runtime];
  return [
    { name: 'fuel-long-program', code: long.fuel, policy: POLICIES.fuel, outcomes: ['out_of_fuel'] },
    {
      name: 'memory-long-program',
      code: long.memory,
      policy: { ...POLICIES.memory, memory_bytes: memory.bytes },
      outcomes: [...memory.outcomes, ...(long.memoryOutcomes ?? [])],
    },
  ];
}

const python: readonly AttackRow[] = [
  ...longPrograms('python'),
  ...attacksOf('python'),
  ...depthAttacks('python'),
  ...workspaceAttacks,
  ...PROCESS_ATTACKS_PYTHON,
  ...signalAttacks,
  {
    name: 'signal-that-is-caught',
    code: `try:
    while True: pass
except BaseException as error:
    print(type(error).__name__, flush=True)
print('and on', flush=True)`,
    policy: POLICIES.fuel,
    outcomes: ['out_of_fuel'],
    expect: { stdout: 'OutOfFuel\nand on\n', success: false },
  },
  {
    name: 'output-swapped-descriptors',
    code: `import os\nkeep = os.dup(1); os.dup2(2, 1)\nprint('x' * 5000, flush=True)\nos.dup2(keep, 1)\nprint('back', flush=True)`,
    policy: { stderr_max_bytes: 100 },
    expect: {
      stdout: 'back\n',
      stderr: 'x'.repeat(100),
      metadata: { stderr_truncated: true, stderr_dropped_bytes: 4901 },
    },
  },
  {
    name: 'time-in-idna-codec',
    code: "('\\u4e2d' * 200000).encode('idna')",
    policy: POLICIES.time,
    outcomes: ['timeout', 'UnicodeError', 'UnicodeEncodeError'],
    reference: 'CVE-2022-45061 (CPython)',
  },
];

const javascript: readonly AttackRow[] = [
  ...longPrograms('javascript'),
  ...attacksOf('javascript'),
  ...depthAttacks('javascript'),
  ...PROCESS_ATTACKS_JAVASCRIPT,
  {
    name: 'workspace-writes',
    code: `
import * as os from 'os';
const fd = os.open('x', os.O_WRONLY | os.O_CREAT, 0o644);
const block = new Uint8Array(300_000).buffer;
const seen = [];
for (let i = 0; i < 5; i++) seen.push(os.write(fd, block, 0, 300_000));
for (let i = 0; i < 100; i++) if (os.mkdir('d' + i) < 0) { seen.push(os.mkdir('last')); break; }
seen`,
    policy: { workspace_max_bytes: WORKSPACE_LIMIT, workspace_max_files: 50 },
    expect: { metadata: { result: [300_000, 300_000, 300_000, -28, -28, -28] } },
  },
  {
    name: 'time-in-finalization-callback',
    code: 'const r = new FinalizationRegistry(() => { for (;;) {} }); (() => { r.register({}, 1); })(); await null; for (let i = 0; i < 1e6; i++) ({});\nfor (;;) {}',
    policy: POLICIES.time,
    outcomes: ['timeout'],
    reference: 'GHSA-r4fx-v8hh-22mv (vm2)',
  },
  {
    name: 'time-in-120000-newlines',
    code: '\n'.repeat(120_000),
    policy: { timeout_seconds: 2 },
    outcomes: ['finished'],
  },
  ...CHART_ATTACKS,
];

const bash: readonly AttackRow[] = [
  ...attacksOf('bash'),
  ...depthAttacks('bash'),
  ...shellAttacks,
  ...GIT_ATTACKS,
];

export const LIMITS: AttackTable = { python, javascript, bash };
