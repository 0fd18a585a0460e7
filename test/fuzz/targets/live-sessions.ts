/**
 * Compares live sessions with restored ones: the same random steps with variables and files run in a session that stays open
 * and in one that is closed and opened from the store after every step. Both print the same and use the same fuel.
 */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { createSandbox, memoryStore, type RuntimeName, type Session } from 'llm-wasm-sandbox';
import type { FuzzTarget } from '../target.ts';

/** Defines what the steps use, and `show`, which prints everything that a step may have changed. */
const SETUP: Record<RuntimeName, string> = {
  bash: `
xs=(); declare -A table; f() { echo "f 0 $1"; }
show() { echo "$? \${xs[*]} $(declare -p table) $(pwd) $- $(umask) $(shopt -p nullglob extglob globstar) $(trap)"; ls -lR /app /tmp; }
step() { eval "$1" 2>&1; show; }`,
  python: `
import os, random, time
xs, table, files, folders, scans = [], {}, [], [], []
squares = (n * n for n in range(10**6))
def counter():
    n = 0
    def count():
        nonlocal n
        n += 1
        return n
    return count
count = counter()
def here():
    try: return os.getcwd()
    except OSError as error: return error.errno
def show(result):
    print(repr(result), xs, table, here(), [f.tell() for f in files], __file__)
    for root in '/app', '/tmp':
        s = os.stat(root)
        print(root, oct(s.st_mode), s.st_mtime)
        for folder, folders, names in sorted(os.walk(root)):
            for name in sorted(folders + names):
                s = os.lstat(os.path.join(folder, name))
                print(folder, name, oct(s.st_mode), s.st_size, s.st_mtime, s.st_ino)
def step(action):
    try: result = action()
    except Exception as error: result = type(error).__name__
    show(result)
`,
  javascript: `
import * as std from 'std';
import * as os from 'os';
const xs = [], table = new Map(), files = [];
const squares = (function* () { for (let n = 0; ; n++) yield n * n; })();
const count = (() => { let n = 0; return () => ++n; })();
function walk(folder) {
  for (const name of os.readdir(folder)[0].sort()) {
    if (name === '.' || name === '..') continue;
    const path = folder + '/' + name;
    const [s] = os.lstat(path);
    console.log(path, s.mode.toString(8), s.size, s.mtime, s.ino);
    if ((s.mode & os.S_IFMT) === os.S_IFDIR) walk(path);
  }
}
function step(action) {
  let result;
  try { result = action(); } catch (error) { result = error.name; }
  console.log(String(result), xs.join(), [...table].join(), os.getcwd()[0], files.map((f) => f.tell()).join());
  walk('/app');
  walk('/tmp');
}
`,
};

const name = fc.constantFrom('a', 'b', 'c');
const path = fc.oneof(
  name,
  fc.tuple(name, name).map((parts) => parts.join('/')),
  name.map((each) => `/tmp/${each}`),
);
const number = fc.nat(50);
const text = fc.constantFrom('', 'x', 'some text\n', 'é☃');
const quote = JSON.stringify;

const shellQuote = (value: string) => `'${value.replaceAll("'", "'\\''")}'`;

type Template = (path: string, other: string, number: number, text: string) => string;

/** Expressions; `files[n % …]` fails in the same way in both sessions if no file is open. */
const TEMPLATES: Record<RuntimeName, readonly Template[]> = {
  bash: [
    (_p, _o, n) => `xs+=(${n})`,
    (p, _o, n) => `table[${p}]=${n}`,
    (p) => `unset "table[${p}]"`,
    () => 'echo $RANDOM $SRANDOM $EPOCHREALTIME $SECONDS',
    (p, _o, _n, t) => `echo ${shellQuote(t)} > ${shellQuote(p)}`,
    (p) => `cat ${shellQuote(p)}`,
    (p) => `echo x | tee -a ${shellQuote(p)} | wc -c`,
    (p) => `exec 7< ${shellQuote(p)}`,
    () => 'head -c 3 <&7',
    () => 'read -r line <&7; echo "$line"',
    () => 'exec 7<&-',
    (p) => `mkdir ${shellQuote(p)}`,
    (p) => `rm -r ${shellQuote(p)}`,
    (p, o) => `mv ${shellQuote(p)} ${shellQuote(o)}`,
    (p, o) => `ln -s ${shellQuote(p)} ${shellQuote(o)}`,
    (_p, _o, n) => `cd ${['/app', '/tmp', '..'][n % 3]}`,
    (p) => `mkdir ${shellQuote(p)} && cd ${shellQuote(p)}`,
    (_p, _o, n) => `f() { echo "f ${n} $1"; }; f a`,
    (_p, _o, n) => `x=$(f ${n} | tr a-z A-Z); echo "$x"`,
    (_p, _o, n) => `umask ${['022', '077'][n % 2]}; set ${['-u', '+u'][n % 2]}`,
    (_p, _o, n) => `shopt -s ${['nullglob', 'extglob', 'globstar'][n % 3]}; trap 'echo err ${n}' ERR`,
    () => '(sleep 1; echo late) & wait; false',
  ],
  python: [
    (_p, _o, n) => `xs.append(${n})`,
    (p, _o, n) => `table.__setitem__(${quote(p)}, ${n})`,
    (p) => `table.pop(${quote(p)})`,
    () => 'next(squares)',
    () => 'count()',
    () => 'random.random()',
    () => 'time.time()',
    () => "__import__('decimal').Decimal(1) / 7",
    (p, _o, _n, t) => `open(${quote(p)}, 'w').write(${quote(t)})`,
    (p) => `open(${quote(p)}).read()`,
    (p) => `files.append(open(${quote(p)}, 'a+'))`,
    (_p, _o, n) => `files[${n} % len(files)].read(3)`,
    (_p, _o, n) => `files[${n} % len(files)].seek(${n})`,
    (_p, _o, n, t) => `(files[${n} % len(files)].write(${quote(t)}), files[${n} % len(files)].flush())`,
    (_p, _o, n) => `files.pop(${n} % len(files)).close()`,
    (p) => `os.mkdir(${quote(p)})`,
    (p) => `os.rmdir(${quote(p)})`,
    (p) => `os.remove(${quote(p)})`,
    (p, o) => `os.rename(${quote(p)}, ${quote(o)})`,
    (p, o) => `os.symlink(${quote(p)}, ${quote(o)})`,
    (p, _o, n) => `os.chmod(${quote(p)}, ${0o600 + n})`,
    (p, _o, n) => `os.truncate(${quote(p)}, ${n})`,
    (p, _o, n) => `os.utime(${quote(p)}, (${n}, ${n}))`,
    (_p, _o, n) => `os.chdir(${quote(['/app', '/tmp'][n % 2])})`,
    (p) => `(os.mkdir(${quote(p)}), os.chdir(${quote(p)}))`,
    (p) =>
      `(os.mkdir(${quote(p)}), folders.append(os.open(${quote(p)}, 0)), scans.append(os.scandir(${quote(p)})))`,
    (p) => `scans.append(os.scandir(${quote(p)}))`,
    (_p, _o, n) => `next(scans[${n} % len(scans)]).name`,
    (_p, _o, n) => `os.listdir(folders[${n} % len(folders)])`,
    (p, _o, n) => `os.open(${quote(p)}, os.O_CREAT, dir_fd=folders[${n} % len(folders)])`,
    (_p, _o, n) => `os.fchdir(folders[${n} % len(folders)])`,
    (_p, _o, n) => `os.chmod(${quote(['/app', '/tmp', '.'][n % 3])}, ${0o700 + n})`,
    () => 'os.rmdir(os.getcwd())',
  ],
  javascript: [
    (_p, _o, n) => `xs.push(${n})`,
    (p, _o, n) => `table.set(${quote(p)}, ${n})`,
    (p) => `table.delete(${quote(p)})`,
    () => 'squares.next().value',
    () => 'count()',
    () => 'Math.random()',
    () => 'Date.now()',
    (p, _o, _n, t) => `(() => { const f = std.open(${quote(p)}, 'w'); f.puts(${quote(t)}); f.close(); })()`,
    (p) => `std.loadFile(${quote(p)})`,
    (p) => `files.push(...[std.open(${quote(p)}, 'a+')].filter((file) => file !== null))`,
    (_p, _o, n) => `files[${n} % files.length].readAsString(3)`,
    (_p, _o, n) => `files[${n} % files.length].seek(${n}, std.SEEK_SET)`,
    (_p, _o, n, t) => `(files[${n} % files.length].puts(${quote(t)}), files[${n} % files.length].flush())`,
    (p) => `os.mkdir(${quote(p)})`,
    (p) => `os.remove(${quote(p)})`,
    (p, o) => `os.rename(${quote(p)}, ${quote(o)})`,
    (p, o) => `os.symlink(${quote(p)}, ${quote(o)})`,
    (p, _o, n) => `os.utimes(${quote(p)}, ${n}e3, ${n}e3)`,
    (_p, _o, n) => `os.chdir(${quote(['/app', '/tmp'][n % 2])})`,
    (p) => `[os.mkdir(${quote(p)}), os.chdir(${quote(p)})]`,
    () => 'os.remove(os.getcwd()[0])',
  ],
};

const CALLS: Record<RuntimeName, (expression: string) => string> = {
  python: (expression) => `step(lambda: ${expression})`,
  javascript: (expression) => `step(() => ${expression})`,
  bash: (expression) => `step ${shellQuote(expression)}`,
};

const programs = (runtime: RuntimeName) => {
  const step = fc
    .tuple(fc.constantFrom(...TEMPLATES[runtime]), path, path, number, text)
    .map(([template, ...args]) => template(...args));
  const call = (expression: string) => CALLS[runtime](expression);
  return fc.record({
    runtime: fc.constant(runtime),
    steps: fc.array(step.map(call), { minLength: 1, maxLength: 12 }),
  });
};

async function run(session: Session, code: string) {
  const { stdout, stderr, exit_code, fuel_consumed, metadata } = await session.execute(code);
  return { stdout, stderr, exit_code, fuel_consumed, state: metadata.state };
}

export const liveSessions: FuzzTarget = {
  name: 'live-sessions',
  shortRuns: 4,
  open() {
    let committed = 0;
    const policy = { deterministic: { seed: 7 } };
    const property = fc.asyncProperty(
      fc.oneof(programs('python'), programs('javascript'), programs('bash')),
      async ({ runtime, steps }) => {
        const store = memoryStore();
        await using live = await createSandbox({ runtime, auto_persist_globals: true, policy });
        for (const code of [SETUP[runtime], ...steps]) {
          const expected = await run(live, code);
          await using restored = await createSandbox({ runtime, session_id: 'restored', store, policy });
          assert.deepEqual(await run(restored, code), expected);
          assert.deepEqual([expected.exit_code, expected.stderr], [0, ''], code);
          if (expected.state === 'committed') committed++;
        }
      },
    );
    return { property, checkCoverage: () => assert.ok(committed > 8, `${committed} steps were committed`) };
  },
};
