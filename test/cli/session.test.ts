/** Sessions on the command line, each step in a process of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { diskStore } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SESSION_COMMANDS } from '../../src/cli/session.ts';

const CLI = new URL('../../dist/cli.js', import.meta.url).pathname;
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

const run = (session: string, code: string, ...more: string[]) =>
  cli(['run', '--session', session, '-c', code, ...more]);
const json = (...args: string[]) => {
  const { status, stdout, stderr } = cli([...args, '--json']);
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

  test('keeps the limits of a session unless others are given, and those then', () => {
    run('limited', 'x = 1', '--fuel', '30M', '--seed', '3');
    expect(run('limited', 'while True: pass').status).toBe(152);
    expect(json('session', 'show', 'limited').policy).toMatchObject({
      fuel_budget: 30_000_000,
      timeout_seconds: 30,
      deterministic: { seed: 3 },
    });
    run('limited', 'x = 1', '--timeout', '7');
    expect(json('session', 'show', 'limited').policy).toMatchObject({
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

  test('refuses names that a file system could misread, and --store without --session', () => {
    expect(run('../up', '1')).toMatchObject({ status: 2, stderr: expect.stringContaining('no session id') });
    expect(cli(['run', '-c', '1', '--store', store])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--store goes with --session'),
    });
  });
});

describe('session', () => {
  test('list and show tell sizes, ages, variables, files and checkpoints', () => {
    run('seen', 'total = 3.5\nopen("out.txt", "w").write("12345")');
    cli(['session', 'checkpoint', 'seen', 'first']);
    const { stdout: listed } = cli(['session', 'list']);
    expect(listed).toMatch(/^SESSION +LANGUAGE +CALLS +FUEL +SIZE +LAST USED$/m);
    expect(listed).toMatch(/^seen +python +1 +\d+\.\d M +\d+\.\d KiB +\d+ (s|min) ago$/m);
    const { stdout: shown } = cli(['session', 'show', 'seen']);
    expect(shown).toMatch(/^limits +10\.0 G fuel, 256\.0 MiB, 30 s a call$/m);
    expect(shown).toMatch(/^total +float +3\.5$/m);
    expect(shown).toMatch(/^5 B +\S+ +out\.txt$/m);
    expect(shown).toMatch(/^first +\d+\.\d KiB/m);
    expect(json('session', 'show', 'seen')).toMatchObject({
      session_id: 'seen',
      calls: 1,
      variables: [{ name: 'total', type: 'float', repr: '3.5' }],
      files: [{ path: 'out.txt', size_bytes: 5 }],
      checkpoints: [{ name: 'first' }],
    });
    expect(json('session', 'list').sessions.map((one: { session_id: string }) => one.session_id)).toContain(
      'seen',
    );
  });

  test('files prints one, copies one, copies all, and sends no escape sequence to the terminal', () => {
    run(
      'files',
      "import os; os.makedirs('d'); open('d/a', 'wb').write(b'\\x00\\xff'); open('b\\x1b[2J', 'w').write('B')",
    );
    const { stdout } = cli(['session', 'files', 'files']);
    expect(stdout).toContain('b\\x1b[2J');
    expect(stdout).not.toContain('\x1b');
    expect(json('session', 'files', 'files', 'd/a').content_base64).toBe('AP8=');
    cli(['session', 'files', 'files', '/app/d/a', '--out', 'one.bin']);
    expect(readFileSync(join(folder, 'one.bin'))).toEqual(Buffer.from([0, 255]));
    expect(cli(['session', 'files', 'files', '--out', 'all']).stdout).toBe('2 files copied to all\n');
    expect(readFileSync(join(folder, 'all', 'd', 'a'))).toEqual(Buffer.from([0, 255]));
    expect(cli(['session', 'files', 'files', 'nope'])).toMatchObject({ status: 69 });
    expect(cli(['session', 'files', 'files', '../../etc/passwd'])).toMatchObject({ status: 2 });
  });

  test('checkpoint, rollback and fork work on what is stored', () => {
    run('past', 'x = 1');
    expect(cli(['session', 'checkpoint', 'past', 'one']).stdout).toMatch(/^checkpoint one made \(/);
    run('past', 'x = 2');
    expect(cli(['session', 'fork', 'past', 'branch']).stdout).toBe('branch\n');
    expect(cli(['session', 'fork', 'past', 'branch'])).toMatchObject({ status: 69 });
    run('past', 'x = 3');
    cli(['session', 'rollback', 'past']);
    expect(run('past', 'print(x)').stdout).toBe('2\n');
    cli(['session', 'rollback', 'past', 'one']);
    expect(run('past', 'print(x)').stdout).toBe('1\n');
    expect(run('branch', 'print(x)').stdout).toBe('2\n');
    expect(json('session', 'checkpoint', 'past', '--list').checkpoints).toMatchObject([{ name: 'one' }]);
    cli(['session', 'checkpoint', 'past', 'one', '--delete']);
    expect(json('session', 'checkpoint', 'past', '--list').checkpoints).toEqual([]);
    const missing = cli(['session', 'rollback', 'past', 'one']);
    expect(missing).toMatchObject({ status: 69, stderr: expect.stringContaining('no checkpoint "one"') });
  });

  test('export, rm and import bring a session back as it was', () => {
    run('moved', 'import random\nr = random.Random(1); r.random()\ng = (n for n in range(9)); next(g)');
    expect(json('session', 'export', 'moved', 'moved.session')).toMatchObject({ session_id: 'moved' });
    expect(cli(['session', 'export', 'moved', 'moved.session'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--force'),
    });
    expect(cli(['session', 'import', 'moved.session'])).toMatchObject({
      status: 69,
      stderr: expect.stringContaining('Add --session with another name'),
    });
    expect(cli(['session', 'rm', 'moved']).stdout).toMatch(/^moved deleted \(/);
    expect(cli(['session', 'show', 'moved'])).toMatchObject({ status: 69 });
    expect(cli(['session', 'import', 'moved.session']).stdout).toMatch(/^limits +10\.0 G fuel/m);
    expect(json('session', 'import', 'moved.session', '--session', 'copy').session_id).toBe('copy');
    const same = 'twin = random.Random(1); twin.random()\nprint(next(g), r.random() == twin.random())';
    expect(run('moved', same).stdout).toBe('1 True\n');
    expect(run('copy', same).stdout).toBe('1 True\n');
    const whole = readFileSync(join(folder, 'moved.session'));
    writeFileSync(join(folder, 'cut.session'), whole.subarray(0, -40));
    expect(cli(['session', 'import', 'cut.session', '--session', 'cut'])).toMatchObject({
      status: 69,
      stderr: expect.stringContaining('was changed or cut off'),
    });
  });

  test('prune says what it would delete, and deletes it', () => {
    const own = join(folder, 'pruned');
    run('old', 'x = 1', '--store', own);
    const dry = cli(['session', 'prune', '--older-than', '0', '--dry-run', '--store', own]);
    expect(dry).toMatchObject({ status: 0, stdout: expect.stringMatching(/1 sessions would be deleted/) });
    expect(json('session', 'prune', '--older-than', '1', '--store', own).pruned).toEqual([]);
    expect(json('session', 'list', '--store', own).sessions).toHaveLength(1);
    expect(json('session', 'prune', '--older-than', '0', '--store', own)).toMatchObject({
      pruned: [{ session_id: 'old' }],
      dry_run: false,
    });
    expect(cli(['session', 'list', '--store', own]).stdout).toMatch(/^There are no sessions/);
  });

  test('a damaged session is listed, its files can be had, and it can be deleted', () => {
    const own = join(folder, 'damaged');
    run('broken', 'open("f", "w").write("still here")', '--store', own);
    run('whole', 'x = 1', '--store', own);
    writeFileSync(join(own, 'broken', 'session.json'), '{"format": 2}');
    const listed = cli(['session', 'list', '--store', own]);
    expect(listed).toMatchObject({ status: 0, stderr: expect.stringContaining('session rm ID') });
    expect(listed.stdout).toMatch(/^broken +DAMAGED/m);
    expect(listed.stdout).toMatch(/^whole +python/m);
    expect(run('broken', 'print(1)', '--store', own)).toMatchObject({
      status: 69,
      stdout: '',
      stderr: expect.stringContaining('is damaged'),
    });
    expect(cli(['session', 'files', 'broken', 'f', '--store', own])).toMatchObject({
      status: 0,
      stdout: 'still here',
    });
    expect(cli(['session', 'prune', '--older-than', '9', '--store', own])).toMatchObject({ status: 69 });
    expect(cli(['session', 'rm', 'broken', '--store', own])).toMatchObject({ status: 0 });
    expect(json('session', 'list', '--store', own).damaged).toEqual([]);
  });

  test('a session in use says by whom, and can still be looked at and exported', async () => {
    run('busy', 'x = 1');
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
      const { status, stderr } = cli(args);
      expect({ args, status, stderr }).toEqual({
        args,
        status: 69,
        stderr: expect.stringContaining(`pid ${child.pid}`),
      });
    }
    const shown = cli(['session', 'show', 'busy']);
    expect(shown).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('variables cannot be told now'),
    });
    expect(cli(['session', 'export', 'busy', 'busy.session'])).toMatchObject({ status: 0 });
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expect(run('busy', 'print(x)').stdout).toBe('1\n');
  });

  test('a checkpoint with a name from elsewhere does no harm on a terminal', async () => {
    run('named', 'x = 1');
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
  ])('%j is a usage error that says what to do', (args, message) => {
    expect(cli(args)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining(message) });
  });

  test.each(['show', 'files', 'checkpoint', 'rollback', 'fork', 'rm'])(
    '%s of no session says where to look',
    (name) => {
      expect(cli(['session', name, 'absent'])).toMatchObject({
        status: 69,
        stdout: '',
        stderr: expect.stringContaining('"llm-wasm-sandbox session list"'),
      });
    },
  );

  test('every command has help with examples that it understands', () => {
    for (const [name, { examples }] of Object.entries(SESSION_COMMANDS)) {
      const { status, stdout } = cli(['session', name, '--help']);
      expect(status).toBe(0);
      for (const example of examples) {
        expect(stdout).toContain(`llm-wasm-sandbox ${example}`);
        expect(example).toMatch(new RegExp(`^session ${name}( |$)`));
      }
    }
  });
});
