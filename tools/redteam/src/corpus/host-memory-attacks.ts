/** Attacks that make the host allocate memory. The runner measures the resident memory of the process while they run. */
import type { AttackTable, PackageAttack, ProgramAttack, SessionAttack } from '../attack.ts';
import { zipBytes } from '../hostile-zip.ts';

const MiB = 1024 * 1024;

/** A guest takes up to 256 MiB and the workspace 16 MiB; the rest is a margin for the host. */
const ONE_GUEST = 450 * MiB;

const POLICY = {
  workspace_max_files: 2_000,
  workspace_max_bytes: 16 * MiB,
  timeout_seconds: 30,
  fuel_budget: 5e9,
};

const greedy = (name: string, code: string, repeat = 1): ProgramAttack => ({
  name,
  code,
  policy: POLICY,
  maxGrowthBytes: ONE_GUEST,
  ...(repeat > 1 && { repeat }),
});

const python: readonly (ProgramAttack | SessionAttack)[] = [
  greedy(
    'descriptors',
    'import os\nwhile True:\n    try: os.open("/lib/python3.14", os.O_RDONLY)\n    except OSError: break\nfor fd in range(3, 256): os.listdir(fd)',
  ),
  greedy(
    'pipes',
    'import os\ntry:\n    while True:\n        r, w = os.pipe(); os.write(w, bytes(65536))\nexcept OSError: pass',
  ),
  greedy('files', 'try:\n    i = 0\n    while True: open(str(i), "w").close(); i += 1\nexcept OSError: pass'),
  greedy(
    'long-names',
    'try:\n    i = 0\n    while True: open(f"{i:0>250}", "w").close(); i += 1\nexcept OSError: pass',
  ),
  greedy(
    'deleted-open-files',
    'import os\nheld = []\ntry:\n    while True:\n        f = open("x", "wb", buffering=0); held.append(f); f.truncate(5_000_000); os.remove("x")\nexcept OSError: pass',
  ),
  greedy(
    'output',
    'import os\nblock = bytes(10_000_000)\nfor i in range(50): os.write(1, block); os.write(2, block)',
  ),
  greedy('random-bytes', 'import os\nfor i in range(20): os.urandom(5_000_000)'),
  greedy('report', "['x' * 1_000_000] * 100"),
  greedy('error-message', "raise ValueError('x' * 50_000_000)"),
  greedy('rewritten-file', 'import os\nopen("f", "wb").write(os.urandom(15_000_000))', 5),
  {
    name: 'idle-session-with-large-memory',
    policy: { memory_bytes: 256 * MiB, fuel_budget: 20e9, timeout_seconds: 60 },
    maxGrowthBytes: 600 * MiB,
    steps: [
      { run: 'import os\nheld = [os.urandom(1_000_000) for _ in range(40)]\nlen(held)' },
      ...Array.from({ length: 6 }, (_, i) => ({ run: `held[${i}] = os.urandom(1_000_000)` })),
    ],
  },
  {
    name: 'short-calls-in-large-session',
    policy: { memory_bytes: 256 * MiB, fuel_budget: 20e9, timeout_seconds: 60 },
    maxGrowthBytes: 450 * MiB,
    steps: [
      { run: 'import os\nheld = [os.urandom(1_000_000) for _ in range(60)]\nlen(held)' },
      ...Array.from({ length: 12 }, (_, i) => ({ run: `x = ${i}` })),
    ],
  },
  {
    name: 'many-checkpoints',
    policy: { memory_bytes: 256 * MiB, fuel_budget: 20e9, timeout_seconds: 60 },
    maxGrowthBytes: 500 * MiB,
    steps: Array.from({ length: 5 }, (_, i) => [
      { run: 'import os\nheld = [os.urandom(1_000_000) for _ in range(20)]\nlen(held)' },
      { checkpoint: `c${i}` },
    ]).flat(),
  },
];

const packages: readonly PackageAttack[] = [
  {
    name: 'wheel-that-promises-much',
    wheel: () => zipBytes(['a', 'b'].map((name) => ({ name, data: 'x', method: 8, size: 200 * MiB }))),
    refused: /50 times its size/,
    maxGrowthBytes: 100 * MiB,
  },
];

const javascript: readonly (ProgramAttack | SessionAttack)[] = [
  greedy('timers', 'for (let i = 0; i < 100000; i++) setTimeout(() => {}, 1e9); throw 1;'),
  greedy('promises', 'for (let i = 0; i < 50000; i++) new Promise(() => {}); 1'),
  greedy('output', "const block = 'x'.repeat(1e6); for (let i = 0; i < 60; i++) console.log(block);"),
  greedy('report', "Array.from({ length: 100 }, () => 'x'.repeat(500000))"),
  greedy(
    'rewritten-file',
    "import * as os from 'os'; const fd = os.open('f', os.O_WRONLY | os.O_CREAT, 0o644); const block = new Uint8Array(15e6).fill(7).buffer; os.write(fd, block, 0, 15e6);",
    5,
  ),
  {
    name: 'large-programs-inside-each-other',
    code: `const { spawnSync } = require('child_process');
for (const bytes of [16e6, 4e6]) {
  const code = "require('child_process').spawnSync('node', ['deeper.js']); //";
  require('fs').writeFileSync('deeper.js', code.padEnd(bytes, 'x'));
  spawnSync('node', ['deeper.js']);
}`,
    policy: { ...POLICY, workspace_max_bytes: 20 * MiB, timeout_seconds: 60, fuel_budget: 100e9 },
    maxGrowthBytes: 340 * MiB,
  },
];

export const HOST_MEMORY: AttackTable = { python: [...python, ...packages], javascript };
