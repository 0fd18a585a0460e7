import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CLI } from '../support/cli.ts';
import { temporarySessionStore } from '../support/cli-sessions.ts';

const { folder, store, cli, cliHere, run, runHere, json, execute, at } = temporarySessionStore();

describe('session', () => {
  it('lists sessions, and shows the variables, files and checkpoints of one', async () => {
    await execute('seen', 'total = 3.5\nopen("out.txt", "w").write("12345")');
    await cliHere(['session', 'checkpoint', 'seen', 'first']);
    const { stdout: listed } = await cliHere(['session', 'list']);
    expect(listed).toMatch(/^SESSION +LANGUAGE +CALLS +FUEL +SIZE +LAST USED$/m);
    expect(listed).toMatch(/^seen +python +1 +[\d.]+K +[\d.]+ KiB +\d+ (s|min) ago$/m);
    const { stdout: shown } = await cliHere(['session', 'show', 'seen']);
    expect(shown).toMatch(/^limits +10B fuel, 256 MiB, 30 s per call$/m);
    expect(shown).toMatch(/^total +float +3\.5$/m);
    expect(shown).toMatch(/^5 bytes +\S+ +out\.txt$/m);
    expect(shown).toMatch(/^first +[\d.]+ KiB/m);
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

  it('lists, prints and copies files, and escapes control characters in their names', async () => {
    await execute(
      'files',
      "import os; os.makedirs('d'); open('d/a', 'wb').write(b'\\x00\\xff'); open('b\\x1b[2J', 'w').write('B')",
    );
    const { stdout } = await cliHere(['session', 'files', 'files']);
    expect(stdout).toContain('b\\x1b[2J');
    expect(stdout).not.toContain('\x1b');
    expect((await json('session', 'files', 'files', 'd/a')).content_base64).toBe('AP8=');
    await cliHere(['session', 'files', 'files', '/app/d/a', '--out', at('one.bin')]);
    expect(readFileSync(join(folder, 'one.bin'))).toEqual(Buffer.from([0, 255]));
    expect((await cliHere(['session', 'files', 'files', '--out', at('all')])).stdout).toBe(
      `Copied 2 files to ${at('all')}\n`,
    );
    expect(readFileSync(join(folder, 'all', 'd', 'a'))).toEqual(Buffer.from([0, 255]));
    expect(await cliHere(['session', 'files', 'files', 'nope'])).toMatchObject({ status: 69 });
    expect(await cliHere(['session', 'files', 'files', '../../etc/passwd'])).toMatchObject({ status: 2 });
  });

  it('creates, lists, restores and deletes checkpoints, undoes calls and forks', async () => {
    await execute('past', 'x = 1');
    expect((await cliHere(['session', 'checkpoint', 'past', 'one'])).stdout).toMatch(
      /^Created checkpoint one \(/,
    );
    await execute('past', 'x = 2');
    expect((await cliHere(['session', 'fork', 'past', 'branch'])).stdout).toBe('branch\n');
    expect(await cliHere(['session', 'fork', 'past', 'branch'])).toMatchObject({ status: 69 });
    await execute('past', 'x = 3');
    await cliHere(['session', 'rollback', 'past']);
    await execute('past', 'assert x == 2');
    await cliHere(['session', 'rollback', 'past', 'one']);
    expect((await runHere('past', 'print(x)')).stdout).toBe('1\n');
    await execute('branch', 'assert x == 2');
    expect((await json('session', 'checkpoint', 'past', '--list')).checkpoints).toMatchObject([
      { name: 'one' },
    ]);
    await cliHere(['session', 'checkpoint', 'past', 'one', '--delete']);
    expect((await json('session', 'checkpoint', 'past', '--list')).checkpoints).toEqual([]);
    const missing = await cliHere(['session', 'rollback', 'past', 'one']);
    expect(missing).toMatchObject({ status: 69, stderr: expect.stringContaining('no checkpoint "one"') });
  });

  it('uses the sessions of one tenant of an MCP server', async () => {
    await execute('mine', 'x = 1', at('server/caller-local'));
    await execute('hers', 'x = 2', at('server/caller-ann'));
    const names = async (...args: string[]) =>
      (await json('session', 'list', '--store', at('server'), '--tenant', ...args)).sessions.map(
        (one: { session_id: string }) => one.session_id,
      );
    expect(await names('local')).toEqual(['mine']);
    expect(await names('ann')).toEqual(['hers']);
    const ofAnn = ['--session', 'hers', '--store', at('server'), '--tenant', 'ann'];
    expect((await cliHere(['run', '-c', 'print(x)', ...ofAnn])).stdout).toBe('2\n');
    for (const [args, message] of [
      [['--store', at('server'), '--tenant', '../x'], 'Pass --tenant with one of: ann, local'],
      [['--store', folder, '--tenant', 'ann'], 'does not contain sessions of a server'],
    ] as const)
      expect(await cliHere(['session', 'list', ...args])).toMatchObject({
        status: 2,
        stderr: expect.stringContaining(message),
      });
  });

  it('restores an exported and deleted session with import', async () => {
    await execute(
      'moved',
      'import random\nr = random.Random(1); r.random()\ng = (n for n in range(9)); next(g)',
    );
    expect(await json('session', 'export', 'moved', at('moved.session'))).toMatchObject({
      session_id: 'moved',
    });
    expect(await cliHere(['session', 'export', 'moved', at('moved.session')])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--force'),
    });
    expect(await cliHere(['session', 'import', at('moved.session')])).toMatchObject({
      status: 69,
      stderr: expect.stringContaining('with --session ID'),
    });
    expect((await cliHere(['session', 'rm', 'moved'])).stdout).toMatch(/^Deleted moved \(/);
    expect(await cliHere(['session', 'show', 'moved'])).toMatchObject({ status: 69 });
    expect((await cliHere(['session', 'import', at('moved.session')])).stdout).toMatch(/^limits +10B fuel/m);
    expect((await json('session', 'import', at('moved.session'), '--session', 'copy')).session_id).toBe(
      'copy',
    );
    const check =
      'twin = random.Random(1); twin.random()\nassert next(g) == 1 and r.random() == twin.random()';
    await execute('moved', check);
    await execute('copy', check);
    const bytes = readFileSync(at('moved.session'));
    writeFileSync(at('cut.session'), bytes.subarray(0, -40));
    expect(await cliHere(['session', 'import', at('cut.session'), '--session', 'cut'])).toMatchObject({
      status: 69,
      stderr: expect.stringContaining('digest'),
    });
  });

  it('prunes old sessions, or only lists them with --dry-run', async () => {
    const otherStore = join(folder, 'pruned');
    await execute('old', 'x = 1', otherStore);
    const dry = await cliHere(['session', 'prune', '--older-than', '0', '--dry-run', '--store', otherStore]);
    expect(dry).toMatchObject({ status: 0, stdout: expect.stringMatching(/^Would delete 1 session \(/m) });
    expect((await json('session', 'prune', '--older-than', '1', '--store', otherStore)).pruned).toEqual([]);
    expect((await json('session', 'list', '--store', otherStore)).sessions).toHaveLength(1);
    expect(await json('session', 'prune', '--older-than', '0', '--store', otherStore)).toMatchObject({
      pruned: [{ session_id: 'old' }],
      dry_run: false,
    });
    expect((await cliHere(['session', 'list', '--store', otherStore])).stdout).toMatch(/^No sessions in /);
  });

  it('lists a damaged session, reads its files and deletes it', async () => {
    const otherStore = join(folder, 'damaged');
    await execute('broken', 'open("f", "w").write("still here")', otherStore);
    await execute('intact', 'x = 1', otherStore);
    writeFileSync(join(otherStore, 'broken', 'session.json'), '{"format": 2}');
    const listed = await cliHere(['session', 'list', '--store', otherStore]);
    expect(listed).toMatchObject({ status: 0, stderr: expect.stringContaining('session rm ID') });
    expect(listed.stdout).toMatch(/^broken +DAMAGED/m);
    expect(listed.stdout).toMatch(/^intact +python/m);
    expect(await runHere('broken', 'print(1)', '--store', otherStore)).toMatchObject({
      status: 69,
      stdout: '',
      stderr: expect.stringContaining('is damaged'),
    });
    expect(await cliHere(['session', 'files', 'broken', 'f', '--store', otherStore])).toMatchObject({
      status: 0,
      stdout: 'still here',
    });
    expect(await cliHere(['session', 'prune', '--older-than', '9', '--store', otherStore])).toMatchObject({
      status: 69,
    });
    expect(await cliHere(['session', 'rm', 'broken', '--store', otherStore])).toMatchObject({ status: 0 });
    expect((await json('session', 'list', '--store', otherStore)).damaged).toEqual([]);
  });

  it('names the process that uses a session, and still shows and exports the session', {
    tags: 'full',
  }, async () => {
    await execute('busy', 'x = 1');
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
      const { status, stderr } = args[0] === 'run' ? await cli(args) : await cliHere(args);
      expect({ args, status, stderr }).toEqual({
        args,
        status: 69,
        stderr: expect.stringContaining(`pid ${child.pid}`),
      });
    }
    const shown = await cliHere(['session', 'show', 'busy']);
    expect(shown).toMatchObject({
      status: 0,
      stderr: expect.stringContaining('The variables are not available'),
    });
    expect(await cliHere(['session', 'export', 'busy', at('busy.session')])).toMatchObject({ status: 0 });
    child.kill('SIGINT');
    expect(await ended).toEqual([130, null]);
    expect((await run('busy', 'print(x)')).stdout).toBe('1\n');
  });

  it('sends no control characters of a tampered session to the terminal', async () => {
    await execute('tampered', 'x = 1');
    await cliHere(['session', 'checkpoint', 'tampered', 'mark']);
    const file = join(store, 'tampered', 'session.json');
    const text = readFileSync(file, 'utf8').replace('"mark"', '"a\\u001b]0;title\\u0007"');
    expect(text).toContain('u001b');
    writeFileSync(file, text);
    for (const args of [
      ['session', 'checkpoint', 'tampered', '--list'],
      ['session', 'rollback', 'tampered', 'mark'],
      ['session', 'files', 'tampered'],
    ]) {
      const { stdout, stderr } = await cliHere(args);
      expect(stdout + stderr).toContain('damaged');
      expect(stdout + stderr).not.toContain('\x1b');
    }
  });

  it.each([
    [['session'], 'Usage:'],
    [['session', 'show'], "missing required argument 'ID'"],
    [['session', 'prune'], '--older-than'],
    [['session', 'prune', '--older-than', 'old'], 'number of hours'],
    [['session', 'checkpoint', 'x', '--delete'], 'checkpoint to delete'],
    [['session', 'show', '..'], 'session id'],
    [['session', 'import', 'no-such-file'], 'Cannot read'],
    [['session', 'list', '--what'], 'unknown option'],
    [['session', 'export', 'x', '-', '--json'], 'specify a FILE'],
    [['session', 'checkpoint', 'x', 'y', '--list', '--delete'], 'cannot be used with'],
  ])('reports %j as a usage error and says what to do', async (args, message) => {
    expect(await cliHere(args)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining(message),
    });
  });

  it('sets the exit code and writes errors to standard error', async () => {
    expect(await cliHere(['session', 'show'])).toMatchObject({ status: 2, stdout: '' });
    expect(await cliHere(['session', 'show', '..'])).toMatchObject({ status: 2, stdout: '' });
    expect(await cliHere(['session', 'rollback', 'absent'])).toMatchObject({
      status: 69,
      stdout: '',
      stderr: expect.stringContaining('Session "absent" does not exist'),
    });
    const file = at('plain-file');
    writeFileSync(file, '');
    expect(await cliHere(['run', '--session', 'x', '--store', file, '-c', '1'])).toMatchObject({
      status: 69,
      stdout: '',
      stderr: expect.stringContaining(file),
    });
    expect(JSON.parse((await cliHere(['session', 'list', '--json'])).stdout)).toHaveProperty('sessions');
  });

  it('sees files that the user edited in the session folder', async () => {
    await execute('by-hand', 'open("old", "w").write("1"); open("gone", "w").write("1")');
    const workspace = join(store, 'by-hand', 'workspace');
    writeFileSync(join(workspace, 'new'), 'mine');
    writeFileSync(join(workspace, 'old'), 'changed');
    rmSync(join(workspace, 'gone'));
    const paths = (files: readonly { path: string }[]) => files.map(({ path }) => path);
    for (const name of ['show', 'files'])
      expect(paths((await json('session', name, 'by-hand')).files)).toEqual(['new', 'old']);
    expect((await cliHere(['session', 'files', 'by-hand', 'old'])).stdout).toBe('changed');
    await cliHere(['session', 'fork', 'by-hand', 'by-hand-2']);
    await cliHere(['session', 'checkpoint', 'by-hand', 'with']);
    await execute('by-hand', 'open("new", "w").write("overwritten")');
    await cliHere(['session', 'rollback', 'by-hand', 'with']);
    expect(readFileSync(join(workspace, 'new'), 'utf8')).toBe('mine');
    expect(paths((await json('session', 'files', 'by-hand-2')).files)).toEqual(['new', 'old']);
  });

  it('refuses to fork to a name that differs only by case', async () => {
    await execute('twin', 'x = 1');
    expect(await cliHere(['session', 'fork', 'twin', 'TWIN'])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('case'),
    });
  });

  it.each(['show', 'files', 'checkpoint', 'rollback', 'fork', 'rm'])(
    '%s reports a missing session and says how to list sessions',
    async (name) => {
      expect(await cliHere(['session', name, 'absent'])).toMatchObject({
        status: 69,
        stdout: '',
        stderr: expect.stringContaining('"llm-wasm-sandbox session list"'),
      });
    },
  );
});
