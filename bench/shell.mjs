/**
 * The test suites of bash and toybox, run by bash in the sandbox. `--data=FOLDER` names a folder with the unpacked sources in
 * `bash` and `toybox` (programs/build/sources.json names the archives). `--only=TEXT` selects files by their name.
 * `--details=FILE` receives the missing lines of each file.
 */
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from '../dist/index.js';
import { markdown } from './measure.mjs';

const POLICY = { fuel_budget: 2e10, timeout_seconds: 60, memory_bytes: 2 ** 28, stdout_max_bytes: 2 ** 20 };
const MAX_FILE_BYTES = 300_000;

const flag = (name) => {
  const prefix = `--${name}=`;
  return process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length);
};

function sourceFolder(name) {
  const folder = join(flag('data') ?? '', name);
  if (flag('data') === undefined || !existsSync(join(folder, 'tests')))
    throw new Error('--data=FOLDER must name a folder with the sources of bash and toybox.');
  return folder;
}

/** The files below a folder, as `files` of a call. */
function filesIn(folder, parts) {
  const files = {};
  for (const part of parts)
    for (const entry of readdirSync(join(folder, part), { recursive: true })) {
      const path = join(folder, part, entry);
      const facts = statSync(path);
      if (facts.isFile() && facts.size <= MAX_FILE_BYTES) files[join(part, entry)] = readFileSync(path);
    }
  return files;
}

/** The helpers of bash's tests, as scripts. They show arguments with control characters as ^X. */
const HELPERS = {
  'tests/recho': `#!/bin/bash
LC_ALL=C
n=0
for a; do
  n=$((n + 1)) out=
  for ((i = 0; i < \${#a}; i++)); do
    c=\${a:i:1}
    printf -v code %d "'$c"
    if ((code < 0)); then code=$((code + 256)); fi
    if ((code < 32)); then printf -v c '^\\\\x%x' $((code + 64)); printf -v c "$c"; elif ((code == 127)); then c='^?'; fi
    out+=$c
  done
  printf 'argv[%d] = <%s>\\n' $n "$out"
done
`,
  'tests/zecho': '#!/bin/bash\nIFS=" "\nprintf "%s\\n" "$*"\n',
  'tests/xcase': '#!/bin/bash\nif [ "$1" = -u ]; then tr a-z A-Z; else tr A-Z a-z; fi\n',
};

async function run(files, code) {
  const sandbox = await createSandbox({ runtime: 'bash', policy: POLICY, auto_persist_globals: false });
  try {
    return await sandbox.execute(code, { files });
  } finally {
    await sandbox.close();
  }
}

/** Expected lines that the output has in the same order, as diff counts them. */
function missingLines(expected, actual) {
  const folder = mkdtempSync(join(tmpdir(), 'bench-shell-'));
  try {
    writeFileSync(join(folder, 'expected'), expected);
    writeFileSync(join(folder, 'actual'), actual);
    execFileSync('diff', ['-a', '-U0', 'expected', 'actual'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return [];
  } catch ({ stdout }) {
    return stdout
      .toString('latin1')
      .split('\n')
      .slice(2)
      .filter((line) => line.startsWith('-'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Why a file of bash's suite differs, from what it uses. The first that applies counts. */
const CAUSES = [
  [
    'job control, signals between processes, terminals',
    /\b(jobs|fg|bg|suspend|disown|coproc|kill|trap|history|fc|bind)\b|set -m/,
  ],
  ['other locales', /LC_ALL=|LANG=|locale/],
  [
    'files and users of the host, /proc, network',
    /\/etc\/passwd|\/proc|\/dev\/tcp|ulimit|umask|mkfifo|\bln\b/,
  ],
];
const causeOf = (text) => CAUSES.find(([, pattern]) => pattern.test(text))?.[0] ?? 'other';

async function bashSuite() {
  const folder = sourceFolder('bash');
  const shared = { ...filesIn(folder, ['tests']), ...HELPERS };
  const names = readdirSync(join(folder, 'tests'))
    .filter((name) => name.endsWith('.tests'))
    .map((name) => name.replace(/\.tests$/, ''))
    .filter((name) => existsSync(join(folder, `tests/${name}.right`)) && name.includes(flag('only') ?? ''));
  const rows = [];
  for (const name of names) {
    const expected = readFileSync(join(folder, `tests/${name}.right`), 'latin1');
    const script = existsSync(join(folder, `tests/run-${name}`))
      ? readFileSync(join(folder, `tests/run-${name}`), 'latin1')
      : '';
    const filter = /\.tests[^\n]*\|\s*(cat -v|grep -v '[^']+')/.exec(script)?.[1];
    const code = `cd tests; chmod +x recho zecho xcase; export THIS_SH=/bin/bash PATH="/app/tests:$PATH" TMPDIR=/tmp BUILD_DIR=/app; exec 3>&1; bash ./${name}.tests 2>&1 < /dev/null ${filter === undefined ? '' : `| ${filter}`} > /tmp/out; cat /tmp/out`;
    const { stdout, metadata } = await run(shared, code);
    const missing = missingLines(Buffer.from(expected, 'latin1'), Buffer.from(stdout));
    const total = expected.split('\n').length - 1;
    const trap = metadata.trap_reason;
    rows.push({
      name,
      total,
      missing: missing.length,
      trap,
      cause: causeOf(readFileSync(join(folder, `tests/${name}.tests`), 'latin1')),
    });
    process.stderr.write(`${name}: ${total - missing.length} of ${total}${trap ? ` (${trap})` : ''}\n`);
    if (flag('details') !== undefined)
      appendFileSync(flag('details'), `### ${name}\n${missing.join('\n')}\n`);
  }
  return rows;
}

async function toyboxSuite() {
  const folder = sourceFolder('toybox');
  const files = { ...filesIn(folder, ['tests', 'scripts']) };
  const names = readdirSync(join(folder, 'tests'))
    .filter((name) => name.endsWith('.test') && name.includes(flag('only') ?? ''))
    .map((name) => name.replace(/\.test$/, ''));
  const rows = [];
  for (const name of names) {
    const code = `command -v ${name} > /dev/null || exit 99
mkdir -p work; export FILES=/app/tests/files LC_COLLATE=C VERBOSE=all,quiet CMDNAME=${name} C=/usr/bin/${name} TESTDIR=/app/work TOPDIR=/app
. scripts/runtest.sh; cd work; . ../tests/${name}.test < /dev/null 2> /dev/null`;
    const { stdout, exit_code, metadata } = await run(files, code);
    if (exit_code === 99) continue;
    const count = (word) => stdout.split('\n').filter((line) => line.startsWith(`${word}: `)).length;
    rows.push({
      name,
      pass: count('PASS'),
      fail: count('FAIL'),
      skip: count('SKIP'),
      trap: metadata.trap_reason,
    });
    const { pass, fail, skip, trap } = rows.at(-1);
    process.stderr.write(
      `${name}: ${pass} passed, ${fail} failed, ${skip} skipped${trap ? ` (${trap})` : ''}\n`,
    );
    if (flag('details') !== undefined)
      appendFileSync(
        flag('details'),
        `### toybox ${name}\n${stdout
          .split('\n')
          .filter((line) => line.startsWith('FAIL'))
          .join('\n')}\n`,
      );
  }
  return rows;
}

const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);
const percent = (part, whole) => `${((100 * part) / Math.max(whole, 1)).toFixed(1)} %`;

export async function table() {
  const bash = await bashSuite();
  const total = sum(bash, 'total');
  const equal = total - sum(bash, 'missing');
  const toybox = await toyboxSuite();
  const differing = bash.filter(({ missing }) => missing > 0);
  const causes = [...new Set(differing.map(({ cause }) => cause))].map((cause) => [
    cause,
    differing.filter((row) => row.cause === cause),
  ]);
  const toyboxPass = sum(toybox, 'pass');
  const toyboxAll = toyboxPass + sum(toybox, 'fail');
  const suites = markdown(
    'Shell: the test suites of bash and toybox',
    'bash runs the files of both suites in the sandbox. Of bash, the lines of the expected output that diff finds in the output count; recho, zecho and xcase are scripts.',
    ['suite', 'files', 'without a difference', 'result'],
    [
      [
        'bash 5.2.37, expected lines',
        bash.length,
        bash.filter(({ missing }) => missing === 0).length,
        `${equal} of ${total} (${percent(equal, total)})`,
      ],
      [
        'toybox 0.8.9, tests',
        toybox.length,
        toybox.filter(({ fail, trap }) => fail === 0 && !trap).length,
        `${toyboxPass} of ${toyboxAll} (${percent(toyboxPass, toyboxAll)}), ${sum(toybox, 'skip')} skipped`,
      ],
    ],
  );
  const differences = markdown(
    'Shell: lines that differ',
    "Missing lines of bash's suite, by what the file uses.",
    ['cause', 'missing lines by file', 'lines'],
    causes.map(([cause, rows]) => [
      cause,
      rows.map(({ name, missing }) => `${name} ${missing}`).join(', '),
      sum(rows, 'missing'),
    ]),
  );
  return `${suites}\n${differences}`;
}
