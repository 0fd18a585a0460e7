/**
 * Sessions on the command line. Where it matters that processes differ, each step is one of its own; the other commands
 * are parsed and run in this one, because most of the time of a short command is the start of its process.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { diskStore, openSessions } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { SESSION_COMMANDS } from '../../src/cli/session.ts';

// What runs guests lies beside the built code.
const built = (name: string) => new URL(`../../dist/cli/${name}.js`, import.meta.url).href;
const { addSessionCommands } = (await import(built('session'))) as typeof import('../../src/cli/session.ts');
const { exitCodeOf } = (await import(built('flags'))) as typeof import('../../src/cli/flags.ts');

const CLI = new URL('../../dist/cli/main.js', import.meta.url).pathname;
let folder = '';
let store = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cli-session-'));
  store = join(folder, 'store');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs with the store of this file unless told otherwise. */
function cli(args: readonly string[], env: Record<string, string> = { LLM_WASM_SANDBOX_STORE: store }) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], {
    encoding: 'utf8',
    cwd: folder,
    env: { ...process.env, ...env },
  });
  return { status, stdout, stderr };
}

const at = (name: string) => join(folder, name);

const run = (session: string, code: string, ...more: string[]) =>
  cli(['run', '--session', session, '-c', code, ...more]);

/** Makes a session, or runs a further call in it, without a process of its own. */
async function make(session_id: string, code: string, dir = store): Promise<void> {
  await using sessions = openSessions({ store: diskStore(dir) });
  const sandbox = await sessions.create({ runtime: 'python', session_id });
  expect(await sandbox.execute(code)).toMatchObject({ success: true });
}

/** What a command does and says, as in a process of its own that is in the folder of this file. */
async function inside(args: readonly string[]) {
  const said = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((text) => {
      said[stream] += typeof text === 'string' ? text : Buffer.from(text).toString();
      return true;
    }),
  );
  const write = (text: string) => process.stderr.write(text);
  const program = new Command('llm-wasm-sandbox').exitOverride().configureOutput({ writeErr: write });
  addSessionCommands(program);
  vi.stubEnv('LLM_WASM_SANDBOX_STORE', store);
  let status = 0;
  try {
    await program.parseAsync(args, { from: 'user' });
    status = Number(process.exitCode ?? 0);
  } catch (cause) {
    status = cause instanceof CommanderError ? (cause.exitCode === 0 ? 0 : 2) : exitCodeOf(cause);
    if (!(cause instanceof CommanderError)) said.stderr += (cause as Error).message;
  } finally {
    process.exitCode = undefined;
    for (const spy of spies) spy.mockRestore();
    vi.unstubAllEnvs();
  }
  return { status, ...said };
}

const json = async (...args: string[]) => {
  const { status, stdout, stderr } = await inside([...args, '--json']);
  expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' });
  return JSON.parse(stdout);
};

describe('run --session', () => {
  test('keeps variables and files from process to process', () => {
    expect(run('kept', 'x = [1]; open("f.txt", "w").write("file")')).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
    expect(run('kept', 'x.append(2); print(x, open("f.txt").read())').stdout).toBe('[1, 2] file\n');
  });

  test('takes the language of the session, and says so when the program has another', () => {
    run('script', 'let n = 41', '--language', 'javascript');
    expect(run('script', 'console.log(n + 1)').stdout).toBe('42\n');
    writeFileSync(join(folder, 'wrong.py'), 'print(1)');
    const { status, stdout, stderr } = cli(['run', 'wrong.py', '--session', 'script']);
    expect([status, stdout]).toEqual([69, '']);
    expect(stderr).toContain('Session script is in javascript, the program in python. Leave --language out');
  });

  test('keeps the limits of a session unless others are given, and those then', async () => {
    run('limited', 'x = 1', '--fuel', '30M', '--seed', '3');
    expect(run('limited', 'while True: pass').status).toBe(152);
    expect((await json('session', 'show', 'limited')).policy).toMatchObject({
      fuel_budget: 30_000_000,
      timeout_seconds: 30,
      deterministic: { seed: 3 },
    });
    run('limited', 'x = 1', '--timeout', '7');
    expect((await json('session', 'show', 'limited')).policy).toMatchObject({
      fuel_budget: 30_000_000,
      timeout_seconds: 7,
    });
  });

  test('is kept where --store says, else in the data folder of the user', () => {
    const elsewhere = join(folder, 'elsewhere');
    run('here', 'x = 1', '--store', elsewhere);
    expect(readdirSync(elsewhere)).toContain('here');
    expect(existsSync(join(store, 'here'))).toBe(false);
    const home = {
      HOME: folder,
      LOCALAPPDATA: join(folder, 'data'),
      XDG_DATA_HOME: join(folder, 'data'),
      LLM_WASM_SANDBOX_STORE: '',
      LLM_WASM_SANDBOX_CACHE: join(folder, 'cache'),
    };
    cli(['run', '--session', 'mine', '-c', '1'], home);
    const data =
      process.platform === 'darwin' ? join(folder, 'Library', 'Application Support') : home.XDG_DATA_HOME;
    expect(readdirSync(join(data, 'llm-wasm-sandbox', 'sessions'))).toContain('mine');
    expect(cli(['session', 'list'], home).stdout).toContain('mine');
  });

  test('keeps what a call did although nobody reads its output to the end', async () => {
    const loud =
      'x = 1\nimport sys\nfor i in range(20000): print("line", i); print("line", i, file=sys.stderr)\nx = 2';
    for (const gone of ['stdout', 'stderr'] as const) {
      const child = spawn(process.execPath, [CLI, 'run', '--session', gone, '--store', store, '-c', loud]);
      child[gone === 'stdout' ? 'stderr' : 'stdout'].resume();
      child[gone].once('data', () => child[gone].destroy());
      expect(await once(child, 'exit')).toEqual([0, null]);
      await make(gone, 'assert x == 2');
    }
  });

  test('refuses names that a file system could misread, and --store without --session', () => {
    expect(run('../up', '1')).toMatchObject({ status: 2, stderr: expect.stringContaining('no session id') });
    expect(cli(['run', '-c', '1', '--store', store])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--store goes with --session'),
    });
  });
});

describe('session', () => {
  test('list and show tell sizes, ages, variables, files and checkpoints', async () => {
    await make('seen', 'total = 3.5\nopen("out.txt", "w").write("12345")');
    await inside(['session', 'checkpoint', 'seen', 'first']);
    const { stdout: listed } = await inside(['session', 'list']);
    expect(listed).toMatch(/^SESSION +LANGUAGE +CALLS +FUEL +SIZE +LAST USED$/m);
    expect(listed).toMatch(/^seen +python +1 +[\d.]+K +[\d.]+ KiB +\d+ (s|min) ago$/m);
    const { stdout: shown } = await inside(['session', 'show', 'seen']);
    expect(shown).toMatch(/^limits +10B fuel, 256 MiB, 30 s a call$/m);
    expect(shown).toMatch(/^total +float +3\.5$/m);
    expect(shown).toMatch(/^5 B +\S+ +out\.txt$/m);
    expect(shown).toMatch(/^first +\d+\.\d KiB/m);
    expect(await json('session', 'show', 'seen')).toMatchObject({
      session_id: 'seen',
      calls: 1,
      variables: [{ name: 'total', type: 'float', repr: '3.5' }],
      files: [{ path: 'out.txt', size_bytes: 5 }],
      checkpoints: [{ name: 'first' }],
    });
    expect(
      (await json('session', 'list')).sessions.map((one: { session_id: string }) => one.session_id),
    ).toContain('seen');
  });

  test('files prints one, copies one, copies all, and sends no escape sequence to the terminal', async () => {
    await make(
      'files',
      "import os; os.makedirs('d'); open('d/a', 'wb').write(b'\\x00\\xff'); open('b\\x1b[2J', 'w').write('B')",
    );
    const { stdout } = await inside(['session', 'files', 'files']);
    expect(stdout).toContain('b\\x1b[2J');
    expect(stdout).not.toContain('\x1b');
    expect((await json('session', 'files', 'files', 'd/a')).content_base64).toBe('AP8=');
    await inside(['session', 'files', 'files', '/app/d/a', '--out', at('one.bin')]);
    expect(readFileSync(join(folder, 'one.bin'))).toEqual(Buffer.from([0, 255]));
    expect((await inside(['session', 'files', 'files', '--out', at('all')])).stdout).toBe(
      `2 files copied to ${at('all')}\n`,
    );
    expect(readFileSync(join(folder, 'all', 'd', 'a'))).toEqual(Buffer.from([0, 255]));
    expect(await inside(['session', 'files', 'files', 'nope'])).toMatchObject({ status: 69 });
    expect(await inside(['session', 'files', 'files', '../../etc/passwd'])).toMatchObject({ status: 2 });
  });

  test('checkpoint, rollback and fork work on what is stored', async () => {
    await make('past', 'x = 1');
    expect((await inside(['session', 'checkpoint', 'past', 'one'])).stdout).toMatch(
      /^checkpoint one made \(/,
    );
    await make('past', 'x = 2');
    expect((await inside(['session', 'fork', 'past', 'branch'])).stdout).toBe('branch\n');
    expect(await inside(['session', 'fork', 'past', 'branch'])).toMatchObject({ status: 69 });
    await make('past', 'x = 3');
    await inside(['session', 'rollback', 'past']);
    await make('past', 'assert x == 2');
    await inside(['session', 'rollback', 'past', 'one']);
    expect(run('past', 'print(x)').stdout).toBe('1\n');
    await make('branch', 'assert x == 2');
    expect((await json('session', 'checkpoint', 'past', '--list')).checkpoints).toMatchObject([
      { name: 'one' },
    ]);
    await inside(['session', 'checkpoint', 'past', 'one', '--delete']);
    expect((await json('session', 'checkpoint', 'past', '--list')).checkpoints).toEqual([]);
    const missing = await inside(['session', 'rollback', 'past', 'one']);
    expect(missing).toMatchObject({ status: 69, stderr: expect.stringContaining('no checkpoint "one"') });
  });

  test('export, rm and import bring a session back as it was', async () => {
    await make(
      'moved',
      'import random\nr = random.Random(1); r.random()\ng = (n for n in range(9)); next(g)',
    );
    expect(await json('session', 'export', 'moved', at('moved.session'))).toMatchObject({
      session_id: 'moved',
    });
    expect(await inside(['session', 'export', 'moved', at('moved.session')])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--force'),
    });
    expect(await inside(['session', 'import', at('moved.session')])).toMatchObject({
      status: 69,
      stderr: expect.stringContaining('Add --session with another name'),
    });
    expect((await inside(['session', 'rm', 'moved'])).stdout).toMatch(/^moved deleted \(/);
    expect(await inside(['session', 'show', 'moved'])).toMatchObject({ status: 69 });
    expect((await inside(['session', 'import', at('moved.session')])).stdout).toMatch(/^limits +10B fuel/m);
    expect((await json('session', 'import', at('moved.session'), '--session', 'copy')).session_id).toBe(
      'copy',
    );
    const same =
      'twin = random.Random(1); twin.random()\nassert next(g) == 1 and r.random() == twin.random()';
    await make('moved', same);
    await make('copy', same);
    const whole = readFileSync(at('moved.session'));
    writeFileSync(at('cut.session'), whole.subarray(0, -40));
    expect(await inside(['session', 'import', at('cut.session'), '--session', 'cut'])).toMatchObject({
      status: 69,
      stderr: expect.stringContaining('was changed or cut off'),
    });
  });

  test('prune says what it would delete, and deletes it', async () => {
    const own = join(folder, 'pruned');
    await make('old', 'x = 1', own);
    const dry = await inside(['session', 'prune', '--older-than', '0', '--dry-run', '--store', own]);
    expect(dry).toMatchObject({ status: 0, stdout: expect.stringMatching(/1 sessions would be deleted/) });
    expect((await json('session', 'prune', '--older-than', '1', '--store', own)).pruned).toEqual([]);
    expect((await json('session', 'list', '--store', own)).sessions).toHaveLength(1);
    expect(await json('session', 'prune', '--older-than', '0', '--store', own)).toMatchObject({
      pruned: [{ session_id: 'old' }],
      dry_run: false,
    });
    expect((await inside(['session', 'list', '--store', own])).stdout).toMatch(/^There are no sessions/);
  });

  test('a damaged session is listed, its files can be had, and it can be deleted', async () => {
    const own = join(folder, 'damaged');
    await make('broken', 'open("f", "w").write("still here")', own);
    await make('whole', 'x = 1', own);
    writeFileSync(join(own, 'broken', 'session.json'), '{"format": 2}');
    const listed = await inside(['session', 'list', '--store', own]);
    expect(listed).toMatchObject({ status: 0, stderr: expect.stringContaining('session rm ID') });
    expect(listed.stdout).toMatch(/^broken +DAMAGED/m);
    expect(listed.stdout).toMatch(/^whole +python/m);
    expect(run('broken', 'print(1)', '--store', own)).toMatchObject({
      status: 69,
      stdout: '',
      stderr: expect.stringContaining('is damaged'),
    });
    expect(await inside(['session', 'files', 'broken', 'f', '--store', own])).toMatchObject({
      status: 0,
      stdout: 'still here',
    });
    expect(await inside(['session', 'prune', '--older-than', '9', '--store', own])).toMatchObject({
      status: 69,
    });
    expect(await inside(['session', 'rm', 'broken', '--store', own])).toMatchObject({ status: 0 });
    expect((await json('session', 'list', '--store', own)).damaged).toEqual([]);
  });

  test('a session in use says by whom, and can still be looked at and exported', async () => {
    await make('busy', 'x = 1');
    const child = spawn(
      process.execPath,
      [CLI, 'run', '--session', 'busy', '--store', store, '-c', 'print("go")\nimport time; time.sleep(100)'],
      { stdio: ['ignore', 'pipe', 'ignore'] },
    );
    const ended = once(child, 'exit');
    await once(child.stdout, 'data');
    for (const args of [
      ['run', '--session', 'busy', '-c', 'x'],
      ['session', 'rollback', 'busy'],
      ['session', 'rm', 'busy'],
    ]) {
      const { status, stderr } = args[0] === 'run' ? cli(args) : await inside(args);
      expect({ args, status, stderr }).toEqual({
        args,
        status: 69,
        stderr: expect.stringContaining(`pid ${child.pid}`),
      });
    }
    const shown = await inside(['session', 'show', 'busy']);
    expect(shown).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('variables cannot be told now'),
    });
    expect(await inside(['session', 'export', 'busy', at('busy.session')])).toMatchObject({ status: 0 });
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expect(run('busy', 'print(x)').stdout).toBe('1\n');
  });

  test('a checkpoint with a name from elsewhere does no harm on a terminal', async () => {
    await make('named', 'x = 1');
    const disk = diskStore(store);
    const stored = (await disk.read('named'))!;
    const name = 'a\x1b]0;title\x07';
    const checkpoints = [{ name, created_at: stored.record.created_at, state: stored.state }];
    await disk.write({ ...stored, checkpoints });
    for (const args of [
      ['session', 'checkpoint', 'named', '--list'],
      ['session', 'rollback', 'named', 'nope'],
    ]) {
      const { stdout, stderr } = cli(args);
      expect(stdout + stderr).toContain('a\\x1b]0;title\\x07');
      expect(stdout + stderr).not.toContain('\x1b');
    }
  });

  test.each([
    [['session'], 'Usage:'],
    [['session', 'show'], "missing required argument 'ID'"],
    [['session', 'prune'], '--older-than'],
    [['session', 'prune', '--older-than', 'old'], 'number of hours'],
    [['session', 'checkpoint', 'x', '--delete'], 'which checkpoint'],
    [['session', 'show', '..'], 'no session id'],
    [['session', 'import', 'no-such-file'], 'Cannot read'],
    [['session', 'list', '--what'], 'unknown option'],
    [['session', 'export', 'x', '-', '--json'], 'give a FILE'],
    [['session', 'checkpoint', 'x', 'y', '--list', '--delete'], 'cannot be used with'],
  ])('%j is a usage error that says what to do', async (args, message) => {
    expect(await inside(args)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });

  test('ends with its code, and says what is wrong on standard error, as a process', () => {
    expect(cli(['session', 'show'])).toMatchObject({ status: 2, stdout: '' });
    expect(cli(['session', 'show', '..'])).toMatchObject({ status: 2, stdout: '' });
    expect(cli(['session', 'rollback', 'absent'])).toMatchObject({
      status: 69,
      stdout: '',
      stderr: expect.stringContaining('There is no session "absent"'),
    });
    const file = at('plain-file');
    writeFileSync(file, '');
    expect(cli(['run', '--session', 'x', '--store', file, '-c', '1'])).toMatchObject({
      status: 69,
      stdout: '',
      stderr: expect.stringContaining('Check that the folder of the store is usable'),
    });
    expect(JSON.parse(cli(['session', 'list', '--json']).stdout)).toHaveProperty('sessions');
  });

  test('show, files, checkpoint and fork see what a person did to the files', async () => {
    await make('by-hand', 'open("old", "w").write("1"); open("gone", "w").write("1")');
    const workspace = join(store, 'by-hand', 'workspace');
    writeFileSync(join(workspace, 'new'), 'mine');
    writeFileSync(join(workspace, 'old'), 'changed');
    rmSync(join(workspace, 'gone'));
    const paths = (files: readonly { path: string }[]) => files.map(({ path }) => path);
    for (const name of ['show', 'files'])
      expect(paths((await json('session', name, 'by-hand')).files)).toEqual(['new', 'old']);
    expect((await inside(['session', 'files', 'by-hand', 'old'])).stdout).toBe('changed');
    await inside(['session', 'fork', 'by-hand', 'by-hand-2']);
    await inside(['session', 'checkpoint', 'by-hand', 'with']);
    await make('by-hand', 'open("new", "w").write("overwritten")');
    await inside(['session', 'rollback', 'by-hand', 'with']);
    expect(readFileSync(join(workspace, 'new'), 'utf8')).toBe('mine');
    expect(paths((await json('session', 'files', 'by-hand-2')).files)).toEqual(['new', 'old']);
  });

  test('fork takes no name that differs by case only, and says why', async () => {
    await make('twin', 'x = 1');
    expect(await inside(['session', 'fork', 'twin', 'TWIN'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('differs by case'),
    });
  });

  test.each(['show', 'files', 'checkpoint', 'rollback', 'fork', 'rm'])(
    '%s of no session says where to look',
    async (name) => {
      expect(await inside(['session', name, 'absent'])).toMatchObject({
        status: 69,
        stdout: '',
        stderr: expect.stringContaining('"llm-wasm-sandbox session list"'),
      });
    },
  );

  test('every command has help with examples that it understands', async () => {
    for (const [name, { examples }] of Object.entries(SESSION_COMMANDS)) {
      const { status, stdout } = await inside(['session', name, '--help']);
      expect(status).toBe(0);
      for (const example of examples) {
        expect(stdout).toContain(`llm-wasm-sandbox ${example}`);
        expect(example).toMatch(new RegExp(`^session ${name}( |$)`));
      }
    }
  });
});
