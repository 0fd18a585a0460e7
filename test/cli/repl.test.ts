/** @module-tag full */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, it, test } from 'vitest';
import { MAX_SOURCE_CHARS } from '../../packages/cli/src/cli/repl/console.ts';
import { History, MAX_HISTORY_LINES } from '../../packages/cli/src/cli/repl/history.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { runCli, runCliHere } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { ESCAPE, Terminal, withoutColors } from '../support/terminal.ts';
import { writeToolsConfig } from '../tools/tool-server.ts';

const folder = folderOfFile();
const env = { LLM_WASM_SANDBOX_STORE: join(folder, 'store'), LLM_WASM_SANDBOX_STATE: join(folder, 'state') };
const repl = (lines: readonly string[], ...args: string[]) =>
  runCli(['repl', ...args], { env, input: lines.join('\n') });

describe('repl with piped input', () => {
  it('prints values, keeps variables, and ends blocks with an empty line', async () => {
    const lines = [
      'x = 20',
      'x * 2 + 2',
      'def double(n):',
      '    return n * 2',
      '',
      'double(x)',
      '"""a',
      'b"""',
    ];
    const name = ['name = input("name? ")', 'Ann', 'print(name, end="")'];
    const { status, stdout, stderr } = await repl([...lines, ...name, 'None', "'end'"]);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toBe("42\n40\n'a\\nb'\nname? Ann'end'\n");
    expect(existsSync(env.LLM_WASM_SANDBOX_STATE)).toBe(false);
  });

  it('runs bash: blocks end where they are complete, and variables and functions are shown', async () => {
    const lines = [
      'x=5; greet() { echo "hi $1"; }',
      'for i in 1 2; do',
      'greet $i',
      'done',
      ':vars',
      ':undo',
      'echo "[$i]"',
    ];
    const { status, stdout } = await repl(lines, '-l', 'bash');
    expect(status).toBe(0);
    expect(stdout).toMatch(/^hi 1\nhi 2\n/);
    expect(stdout).toMatch(/^x {2,}string {2,}"5"$/m);
    expect(stdout).toMatch(/^greet {2,}function/m);
    expect(stdout).toMatch(/\[\]\n$/);
  });

  it('undoes calls, restores checkpoints, forks, and shows variables and files', {
    tags: 'full',
  }, async () => {
    writeFileSync(join(folder, 'loaded.py'), 'loaded = 7\n');
    const { status, stdout, stderr } = await repl([
      'x = 1',
      ':checkpoint one',
      'x = 2',
      ':undo',
      'x',
      'x = 3; print("hi", file=open("a.txt", "w"), end="")',
      ':vars',
      ':files',
      ':fork branch',
      'x = 4',
      ':switch none',
      ':switch repl',
      'x',
      ':rollback one',
      'x',
      `:load ${join(folder, 'loaded.py')}`,
      'loaded',
      ':quit',
      'print("not reached")',
    ]);
    expect(status).toBe(0);
    const shown = [
      /^Created checkpoint one \(.*\)$/,
      /^Undid the last call of repl$/,
      /^1$/,
      /^VARIABLE +TYPE +VALUE$/,
      /^x +int +3$/,
      /^SIZE +MODIFIED +FILE$/,
      /^2 bytes .* a\.txt$/,
      /^Forked branch from repl; ":switch repl" returns to it$/,
      /^Continuing in repl$/,
      /^3$/,
      /^Restored repl to checkpoint one$/,
      /^1$/,
      /^7$/,
    ];
    const printed = stdout.trimEnd().split('\n');
    expect(printed).toHaveLength(shown.length);
    for (const [i, line] of printed.entries()) expect(line).toMatch(shown[i]!);
    expect(stderr).toContain('Specify one of the sessions: branch, repl.');
  });

  it('reports failures and continues, and exits with the status of the last call', async () => {
    const failing = ['{}["key"]', ':chekpoint', ':undo now', 'raise SystemExit(3)'];
    const { status, stdout, stderr } = await repl(failing, '--session', 'kept', '--guidance');
    expect([status, stdout]).toEqual([3, '']);
    expect(stderr).toContain('KeyError');
    expect(stderr).toMatch(/^hint: \S/m);
    expect(stderr).toContain('Did you mean :checkpoint?');
    expect(stderr).toContain(':undo takes no argument');
    expect((await repl(['x = 5', ':rollback nope'], '--session', 'kept')).status).toBe(69);
    expect((await repl(['x'], '--session', 'kept')).stdout).toBe('5\n');
  });

  it('fails if a line is too long to be read, after the lines before it', { tags: 'full' }, async () => {
    const { status, stdout, stderr } = await repl(['1 + 1', `"${'x'.repeat(70 * 2 ** 20)}"`, '3']);
    expect([status, stdout]).toEqual([2, '2\n']);
    expect(stderr).toBe('llm-wasm-sandbox: A line of the input is longer than 64 MiB.\n');
  });

  it('rejects a source that is too long, and names the command that runs files of any size', {
    tags: 'full',
  }, async () => {
    const long = `x = "${'y'.repeat(MAX_SOURCE_CHARS)}"`;
    expect(await repl([long, '6 * 7'])).toMatchObject({
      status: 0,
      stdout: '42\n',
      stderr: expect.stringContaining(
        'The input is too long. Write it to a file and run it with ":load FILE".',
      ),
    });
  });

  it('rejects a session in another language, and a store without a session', async () => {
    const start = (...args: string[]) => runCliHere(['repl', ...args], env.LLM_WASM_SANDBOX_STORE);
    expect((await start('--session', 'kept', '--language', 'javascript')).status).toBe(69);
    expect(await start('--store', folder)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('require --session ID'),
    });
  });

  it('runs TypeScript, whose sources end where the parser accepts them', { tags: 'full' }, async () => {
    const lines = [
      'interface P {',
      '  n: number',
      '}',
      'const p: P = { n: 6 }',
      'p.n * 7',
      '[1,',
      '2].map(String)',
    ];
    expect(await repl(lines, '-l', 'typescript')).toMatchObject({
      status: 0,
      stdout: '42\n["1","2"]\n',
      stderr: '',
    });
  });
});

describe('source', () => {
  test.each([
    [
      'python',
      ['if x:', 'if x:\n  y', '[1,', '"""a', 'x = \\', 'async def f():\n  await g()', '@d'],
      ['x', 'await f()', 'if x:\n  y\n', 'a b', ')', '"a', 'x = 1\ny = 2', 'for'],
    ],
    [
      'javascript',
      [
        'f(',
        'function f() {',
        '`a',
        '/* a',
        'if (x) {',
        'const x =',
        '[1, // é',
        'class A {',
        '({a: 1',
        'x =>',
        '`${1',
        'if (x) {\n}\nelse',
        'f(  ',
        'f(\n\n',
        '"é" +',
      ],
      [
        '1',
        '',
        'a b',
        '}',
        'f(}',
        '"a',
        'await 1',
        'import fs from "fs"',
        'let x; let x',
        'break',
        'throw new SyntaxError("x")',
        '// f(',
        '"f("',
        '/re',
      ],
    ],
    [
      'typescript',
      ['type X =', 'let x: number = {', 'interface A {'],
      ['let x: number = 1', 'type X = string', 'let x: = 1'],
    ],
  ] as const)(
    'in %s is incomplete only if the parser reaches its end',
    async (language, incomplete, complete) => {
      const runtime = language === 'python' ? 'python' : 'javascript';
      await using sandbox = await createSandbox({ runtime });
      const { parseProgram, isIncomplete } = LANGUAGES[runtime];
      const found: string[] = [];
      for (const code of [...incomplete, ...complete])
        if (isIncomplete(await sandbox.execute(parseProgram(code), { language }), code)) found.push(code);
      expect(found).toEqual(incomplete);
    },
  );
});

describe('history', () => {
  it('keeps the last lines in a file that only the user can read', () => {
    const path = join(folder, 'history', 'lines');
    const first = new History(path);
    first.add('x = 1');
    first.add('  ');
    first.add('y'.repeat(100_000));
    expect(first.lines).toEqual([]);
    expect(new History(path).lines).toEqual(['x = 1']);
    const many = Array.from({ length: MAX_HISTORY_LINES }, (_, i) => `line ${i}\n`);
    writeFileSync(path, `${readFileSync(path, 'utf8')}${many.join('')}`);
    expect(new History(path).lines).toHaveLength(MAX_HISTORY_LINES);
    expect(readFileSync(path, 'utf8')).toBe(many.join(''));
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(new History(folder).lines).toEqual([]);
    new History(folder).add('a folder cannot be written');
  });

  it('has no lines with control characters', () => {
    const path = join(folder, 'hostile-lines');
    writeFileSync(path, `a\n${ESCAPE}]0;title\x07\nb \u202e\n\x9b2J\n\tc\n`);
    expect(new History(path).lines).toEqual(['a', '\tc']);
    new History(path).add(`${ESCAPE}[2J`);
    expect(new History(path).lines).toEqual(['a', '\tc']);
  });

  it('neither reads nor writes links, pipes and devices, and reads the end of a huge file', () => {
    const target = join(folder, 'target');
    const at = (name: string) => join(folder, `history-${name}`);
    writeFileSync(target, 'kept\n');
    symlinkSync(target, at('link'));
    symlinkSync('/dev/zero', at('device'));
    expect(spawnSync('mkfifo', [at('pipe')]).status).toBe(0);
    for (const name of ['link', 'device', 'pipe']) {
      const history = new History(at(name));
      expect(history.lines).toEqual([]);
      history.add('x = 1');
    }
    expect(readFileSync(target, 'utf8')).toBe('kept\n');
    const huge = at('huge');
    writeFileSync(huge, '');
    truncateSync(huge, 2 ** 33);
    appendFileSync(huge, '\nlast\n');
    expect(new History(huge).lines).toEqual(['last']);
    expect(readFileSync(huge, 'utf8')).toBe('last\n');
  });

  it('becomes unreadable for other users when a line is added', () => {
    const path = join(folder, 'readable');
    writeFileSync(path, '', { mode: 0o644 });
    new History(path).add('x = 1');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('is complete and no longer grows if its file cannot be replaced', () => {
    // The path of the file is so long that no file with a longer name can be created beside it.
    const maxPath = process.platform === 'darwin' ? 1024 : 4096;
    let parent = folder;
    while (parent.length < maxPath - 240) parent = join(parent, 'd'.repeat(200));
    parent = join(parent, 'd'.repeat(maxPath - 10 - parent.length));
    mkdirSync(parent, { recursive: true });
    const path = join(parent, 'h');
    const text = Array.from({ length: MAX_HISTORY_LINES + 1 }, (_, i) => `line ${i}\n`).join('');
    writeFileSync(path, text);
    const history = new History(path);
    history.add('x = 1');
    expect([history.lines.length, history.lines[0]]).toEqual([MAX_HISTORY_LINES, 'line 1']);
    expect(readFileSync(path, 'utf8')).toBe(text);
    expect(readdirSync(parent)).toEqual(['h']);
  });
});

describe('repl on a terminal', () => {
  it('edits lines, cancels calls, asks about tool calls, stores the history and escapes what programs show', async () => {
    const config = writeToolsConfig(folder, { tools: ['echo'] });
    const args = ['repl', '--session', 'typed', '--tools-config', config];
    using terminal = new Terminal(args, env);
    await terminal.shows(/Python 3\.\d+, CPython; session typed\. ":help" lists the commands\./);
    await terminal.shows(/python typed> /);
    terminal.type('x = 1\n');
    await terminal.shows(/python typed> /);
    terminal.type('for i in range(10**12): i or print("star" + "ted", flush=True)\n');
    await terminal.shows(/\.\.\. /);
    terminal.type('\n');
    await terminal.shows(/started/);
    terminal.type('\x03');
    await terminal.shows(/python typed> /);
    terminal.type('pri\x03');
    await terminal.shows(/\^C\s+.*python typed> /);
    terminal.type('input("who? ")\n');
    await terminal.shows(/\nwho\? /);
    terminal.type('me\n');
    await terminal.shows(/'me'\s+.*python typed> /);
    terminal.type('class A:\n');
    await terminal.shows(/\.\.\. /);
    terminal.type('  def __repr__(self): return "\\x1b[2J"\n');
    await terminal.shows(/\.\.\. /);
    terminal.type('\n');
    await terminal.shows(/python typed> /);
    terminal.type('A()\n');
    await terminal.shows(/\\x1b\[2J/);
    terminal.type('{}["k"]\n');
    await terminal.shows(/KeyError: 'k'\s+.*hint:/);
    terminal.type('await tools.demo.echo(text="answer") + input("name? ")\n');
    const [, code] = await terminal.shows(/wants to call demo\.echo [\s\S]*?Type (\d{4}) to allow/);
    terminal.type(`${code}\n`);
    await terminal.shows(/name\? /);
    terminal.type('Ann\n');
    await terminal.shows(/'answerAnn'/);
    terminal.type('await tools.demo.echo(text="x")\n');
    await terminal.shows(/Type \d{4} to allow/);
    terminal.type('\x03');
    await terminal.shows(/python typed> /);
    terminal.type(':che\t');
    await terminal.shows(/ckpoint/);
    terminal.type('\n');
    await terminal.shows(/Created checkpoint checkpoint-1/);
    terminal.type('\x04');
    expect(await terminal.exitCode()).toBe(0);
    const [file] = ['repl-history-python'].map((name) => join(env.LLM_WASM_SANDBOX_STATE, name));
    expect(statSync(file!).mode & 0o777).toBe(0o600);
    expect(readFileSync(file!, 'utf8')).toContain('x = 1\nfor i in range(10**12): ');
    expect((await repl(['x'], '--session', 'typed')).stdout).toBe('1\n');
    expect(withoutColors(terminal.output)).not.toContain(`${ESCAPE}[2J`);
  });
});
