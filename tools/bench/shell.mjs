/**
 * The test suites of bash and toybox, run by bash in the sandbox. `--data=FOLDER` names a folder with the unpacked sources in
 * `bash` and `toybox` (programs/build/sources.json names the archives). `--only=TEXT` selects files by their name.
 * `--details=FILE` keeps the outcome of each file, one JSON object per line: the same command continues a run that ended early.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { markdown } from './measure.mjs';
import { flag, outcomesOf, share } from './suites.mjs';

const POLICY = { fuel_budget: 2e10, timeout_seconds: 150, memory_bytes: 2 ** 28, stdout_max_bytes: 2 ** 20 };
/** Time for one file of bash's suite. */
const SECONDS = 120;
const MAX_FILE_BYTES = 300_000;

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

/** The helpers of bash's tests, as scripts. `recho` shows control characters as ^X; `diff` keeps the output of a test. */
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
  'tests/diff': `#!/bin/bash
case "\${*: -2}" in
  *.right\\ *.right) ;;
  *.right) cat "\${@: -2:1}" >> /app/compared; exit 1 ;;
esac
exec /usr/bin/diff "$@"
`,
  'tests/xcase': '#!/bin/bash\nif [ "$1" = -u ]; then tr a-z A-Z; else tr A-Z a-z; fi\n',
};

/** Lines that only the expected output has (-) and that only the output has (+), as diff finds them. */
function lineDifferences(expected, actual) {
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
      .filter((line) => /^[-+]/.test(line));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The names of the files that start tests, and of the files with the expected output of each. */
function bashTests(folder) {
  const all = {};
  for (const file of readdirSync(join(folder, 'tests'))) {
    const [, name] = /^run-([\w-]+)$/.exec(file) ?? [];
    if (
      name === undefined ||
      ['all', 'minimal', 'gprof'].includes(name) ||
      !name.includes(flag('only') ?? '')
    )
      continue;
    const script = readFileSync(join(folder, 'tests', file), 'latin1').replaceAll(/\$\{TEST_NAME\}/g, name);
    all[name] = [...script.matchAll(/^diff.* ([\w-]+\.right)/gm)].map(([, right]) => right);
  }
  return all;
}

/** Runs one of these files and returns what it compares with the expected output, or has written when its time is over. */
async function bashOutput(name, { files, executable }) {
  const sandbox = await createSandbox({ runtime: 'bash', policy: POLICY, auto_persist_globals: false });
  const code = `cd tests; chmod +x recho zecho xcase diff ${executable.join(' ')}
export THIS_SH=/bin/bash PATH="/app/tests:$PATH" TMPDIR=/tmp BUILD_DIR=/app BASH_TSTOUT=/app/output
timeout ${SECONDS} sh ./run-${name} > /dev/null 2>&1 < /dev/null`;
  try {
    const { exit_code, metadata } = await sandbox.execute(code, { files });
    const { stdout } = await sandbox.execute(
      'if [ -e compared ]; then base64 compared; else base64 output; fi',
    );
    const stopped = metadata.trap_reason ?? (exit_code > 128 ? 'timeout' : undefined);
    return { output: Buffer.from(stdout, 'base64'), stopped };
  } finally {
    await sandbox.close();
  }
}

async function bashSuite() {
  const folder = sourceFolder('bash');
  const tests = join(folder, 'tests');
  const shared = {
    files: { ...filesIn(folder, ['tests']), ...HELPERS },
    executable: readdirSync(tests).filter(
      (name) => /\.sub$/.test(name) && statSync(join(tests, name)).mode & 0o111,
    ),
  };
  const all = bashTests(folder);
  return outcomesOf('bash', Object.keys(all), async (name) => {
    const text = Buffer.concat(all[name].map((file) => readFileSync(join(tests, file))));
    const { output, stopped } = await bashOutput(name, shared);
    const differences = lineDifferences(text, output);
    return {
      total: text.toString('latin1').split('\n').length - 1,
      missing: differences.filter((line) => line.startsWith('-')).length,
      stopped,
      differences,
    };
  });
}

/** Runs the tests of one command. Undefined if there is no such command. */
async function toyboxOutcome(name, files) {
  const code = `command -v ${name} > /dev/null || exit 99
mkdir -p work; export FILES=/app/tests/files LC_COLLATE=C VERBOSE=all,quiet CMDNAME=${name} C=/usr/bin/${name} TESTDIR=/app/work TOPDIR=/app
. scripts/runtest.sh; cd work; . ../tests/${name}.test < /dev/null 2> /dev/null`;
  const sandbox = await createSandbox({ runtime: 'bash', policy: POLICY, auto_persist_globals: false });
  try {
    const { stdout, exit_code, metadata } = await sandbox.execute(code, { files });
    const lines = (word) => stdout.split('\n').filter((line) => line.startsWith(`${word}: `));
    return {
      exists: exit_code !== 99,
      pass: lines('PASS').length,
      fail: lines('FAIL').length,
      skip: lines('SKIP').length,
      stopped: metadata.trap_reason ?? undefined,
      differences: lines('FAIL'),
    };
  } finally {
    await sandbox.close();
  }
}

async function toyboxSuite() {
  const folder = sourceFolder('toybox');
  const files = { ...filesIn(folder, ['tests', 'scripts']) };
  const names = readdirSync(join(folder, 'tests'))
    .filter((name) => name.endsWith('.test') && name.includes(flag('only') ?? ''))
    .map((name) => name.replace(/\.test$/, ''));
  const outcomes = await outcomesOf('toybox', names, (name) => toyboxOutcome(name, files));
  return outcomes.filter(({ exists }) => exists);
}

/** Why files of bash's suite differ. */
const CAUSES = {
  'history, completion and line editing are not part of the shell': [
    'complete',
    'histexpand',
    'history',
    'new-exp',
    'shopt',
  ],
  'processes run one after the other': ['coproc', 'jobs'],
  'a call starts at most 1,000 processes': ['ifs-posix', 'procsub', 'redir'],
  'no terminal, named pipes, hard links, other users or binary files': [
    'builtins',
    'execscript',
    'read',
    'test',
  ],
  'limits of the process cannot be changed (ulimit)': ['vredir'],
  'regular expressions of musl have no collating symbols and equivalence classes': ['cond'],
  'locales other than UTF-8, and files that root cannot read': ['glob-test', 'intl'],
  'sed and ls of toybox print some names in another way': ['exp-tests', 'globstar'],
  'a program does not inherit ignored signals': ['trap'],
};

function causes(rows) {
  const named = Object.entries(CAUSES).map(([cause, names]) => [
    cause,
    rows.filter(({ name }) => names.includes(name)),
  ]);
  const explained = Object.values(CAUSES).flat();
  const all = [...named, ['not explained', rows.filter(({ name }) => !explained.includes(name))]];
  return all
    .map(([cause, files]) => [cause, files.filter(({ missing }) => missing > 0)])
    .filter(([, files]) => files.length > 0)
    .map(([cause, files]) => [
      cause,
      files.map(({ name, missing }) => `${name} ${missing}`).join(', '),
      sum(files, 'missing'),
    ]);
}

const sum = (rows, key) => rows.reduce((total, row) => total + row[key], 0);

export async function table() {
  const bash = await bashSuite();
  const total = sum(bash, 'total');
  const toybox = await toyboxSuite();
  const pass = sum(toybox, 'pass');
  const suites = markdown(
    'Shell: the test suites of bash and toybox',
    'bash runs the files of both suites in the sandbox. Of bash, the lines of the expected output that diff finds in the output count; recho, zecho and xcase are scripts.',
    ['suite', 'files', 'without a difference', 'result'],
    [
      [
        'bash 5.2.37, expected lines',
        bash.length,
        bash.filter(({ missing }) => missing === 0).length,
        share(total - sum(bash, 'missing'), total),
      ],
      [
        'toybox 0.8.9, tests',
        toybox.length,
        toybox.filter(({ fail, stopped }) => fail === 0 && !stopped).length,
        `${share(pass, pass + sum(toybox, 'fail'))}, ${sum(toybox, 'skip')} skipped`,
      ],
    ],
  );
  const differences = markdown(
    'Shell: files that differ',
    "Expected lines of bash's suite that are missing in the output. The tests of toybox that fail are listed below.",
    ['cause', 'missing lines by file', 'lines'],
    causes(bash),
  );
  const failed = markdown(
    'Shell: tests of toybox that fail',
    '`date` expects times of files to the nanosecond, and dates that GNU does not read; `wc` other columns than those of GNU; `link`, `ln` and `mv` need hard links, `mkfifo` named pipes, and `tar` a group named sys. The tests of `sh` are those of another shell.',
    ['command', 'passed', 'failed'],
    toybox.filter(({ fail }) => fail > 0).map(({ name, pass, fail }) => [name, pass, fail]),
  );
  return [suites, differences, failed].join('\n');
}
