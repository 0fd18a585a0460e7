import { createSandbox } from 'llm-wasm-sandbox';
import { afterEach, describe, expect, it, test, vi } from 'vitest';
import { hasColor, paint, readColorMode } from '../../packages/cli/src/cli/color.ts';
import { guidanceText } from '../../packages/cli/src/cli/failure-text.ts';
import { pausedText } from '../../packages/cli/src/cli/report-run.ts';
import type { SandboxResult } from '../../packages/core/src/schema.ts';
import { runCli, runCliHere } from '../support/cli.ts';
import { ESCAPE, Terminal, withoutColors } from '../support/terminal.ts';

const TERMINAL = { isTTY: true };
const PIPE = {};
const ERROR_PREFIX = `${ESCAPE}[0;1;31mllm-wasm-sandbox:${ESCAPE}[0m`;

describe('colours', () => {
  afterEach(() => readColorMode([]));

  test.each([
    ['are used on a terminal', [], {}, TERMINAL, true],
    ['are not used in a pipe', [], {}, PIPE, false],
    ['are turned off by NO_COLOR', [], { NO_COLOR: '1' }, TERMINAL, false],
    ['are not affected by an empty NO_COLOR', [], { NO_COLOR: '' }, TERMINAL, true],
    ['are turned on by FORCE_COLOR', [], { FORCE_COLOR: '1' }, PIPE, true],
    ['are turned off by FORCE_COLOR=0', [], { FORCE_COLOR: '0' }, TERMINAL, false],
    ['are turned on by FORCE_COLOR and NO_COLOR', [], { FORCE_COLOR: '1', NO_COLOR: '1' }, PIPE, true],
    ['are not used on a dumb terminal', [], { TERM: 'dumb' }, TERMINAL, false],
    ['are turned on by --color always', ['run', '--color', 'always'], { NO_COLOR: '1' }, PIPE, true],
    ['are turned off by --color=never', ['--color=never', 'run'], { FORCE_COLOR: '1' }, TERMINAL, false],
    ['do not depend on arguments of the program', ['run', '--', '--color=always'], {}, PIPE, false],
  ] as const)('%s', (_, args, env, stream, expected) => {
    readColorMode(args);
    expect(hasColor(stream, env)).toBe(expected);
    vi.stubEnv('FORCE_COLOR', '');
    expect(paint('error', 'text', stream).includes(ESCAPE)).toBe(hasColor(stream));
    vi.unstubAllEnvs();
  });

  it('are in messages and help with --color always, and never in JSON', { tags: 'full' }, async () => {
    const failed = await runCli(['run', '--color', 'always', 'nothing.py']);
    expect(failed).toMatchObject({ status: 2, stdout: '' });
    expect(failed.stderr.startsWith(`${ERROR_PREFIX} Cannot read`)).toBe(true);
    expect((await runCli(['--help', '--color', 'always'])).stdout).toContain(`${ESCAPE}[0;1mUsage:`);
    expect((await runCli(['--help'])).stdout).not.toContain(ESCAPE);
    const json = await runCli(['run', '--json', '-c', 'raise ValueError("\\x1b[2J")', '--color', 'always']);
    expect(JSON.parse(json.stdout)).toMatchObject({ exit_code: 1 });
    expect(json.stdout + json.stderr).not.toContain(ESCAPE);
  });

  it('are used on a real terminal, where a program cannot add control sequences to messages', {
    tags: 'full',
  }, async () => {
    // The message of the error reaches the guidance.
    const code = 'raise KeyError("\\x1b[2Jkey")';
    using terminal = new Terminal(['run', '-c', code]);
    await terminal.shows(/How to fix \w+:/);
    expect(await terminal.exitCode()).toBe(1);
    const messages = terminal.output.slice(terminal.output.indexOf(ERROR_PREFIX));
    expect(messages).toContain(`${ERROR_PREFIX} exit code 1: KeyError`);
    expect(messages).toContain(`${ESCAPE}[0;1mHow to fix `);
    expect(withoutColors(messages)).not.toContain(ESCAPE);
  });

  it('depend on the stream of the guidance', async () => {
    await using sandbox = await createSandbox({ runtime: 'javascript' });
    const result = await sandbox.execute('null.x');
    vi.stubEnv('FORCE_COLOR', '').stubEnv('NO_COLOR', '').stubEnv('TERM', 'xterm');
    expect(guidanceText(result, TERMINAL)).toContain(`${ESCAPE}[0;1mHow to fix `);
    expect(guidanceText(result, PIPE)).toBe(withoutColors(guidanceText(result, TERMINAL)));
    vi.unstubAllEnvs();
  });
});

describe('name of an exception', () => {
  test.each([
    ['python', 'raise type("E\\x1b]0;title\\x07", (Exception,), {})()'],
    ['javascript', 'throw Object.assign(new Error(), { name: "E\\x1b]0;title\\x07" })'],
  ])('from %s cannot add control sequences to messages', async (language, code) => {
    const { status, stderr } = await runCliHere(['run', '-l', language, '--guidance', '-c', code], '');
    expect(status).toBe(1);
    // Above it is the output of the program.
    const messages = stderr.slice(stderr.indexOf('llm-wasm-sandbox:'));
    expect(messages).toContain('exit code 1: E\\x1b]0;title\\x07');
    expect(messages).not.toContain(ESCAPE);
  });
});

describe('a misspelt word', () => {
  test.each([
    ['command', ['rum'], 'run'],
    ['subcommand', ['session', 'lsit'], 'list'],
    ['subcommand of a command with its own action', ['packages', 'lst'], 'list'],
    ['flag', ['run', '--sesion', 'x'], '--session'],
    ['flag of a subcommand', ['session', 'list', '--jsn'], '--json'],
    ['setting of a server', ['serve', '--prot', '1'], '--port'],
    ['value of an option', ['run', '--language', 'pyhton'], 'python'],
    ['value of a repeatable option', ['redteam', '--category', 'escpae'], 'escape'],
    ['value of an option of all commands', ['doctor', '--color', 'allways'], 'always'],
  ])('gets a suggestion: %s', async (_, args, suggestion) => {
    const { status, stderr } = await runCliHere(args, '');
    expect(status).toBe(2);
    expect(stderr).toContain(`Did you mean ${suggestion}?`);
  });

  it('gets no suggestion if nothing is similar, and its control characters are escaped', async () => {
    const { status, stderr } = await runCliHere(['\x1b[2J'], '');
    expect([status, stderr]).toEqual([2, expect.not.stringContaining('Did you mean')]);
    expect(stderr).toContain("unknown command '\\x1b[2J'");
  });
});

describe('the note about a paused program', () => {
  it('repeats the store and the tools of a paused program', () => {
    const result = {
      metadata: { execution_id: 'x1', state: 'paused', pending: [{ name: 'a.b' }] },
    } as unknown as SandboxResult;
    const text = pausedText(result, { store: 'my store', toolsConfig: 'tools.json' });
    expect(text).toContain("llm-wasm-sandbox pending --store 'my store'\n");
    expect(text).toContain("llm-wasm-sandbox resume x1 --store 'my store' --tools-config tools.json");
    expect(pausedText(result, {})).toContain('llm-wasm-sandbox resume x1');
    expect(pausedText(result, { store: 'postgres://u:secret@h/d' })).not.toContain('secret');
  });
});
