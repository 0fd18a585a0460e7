import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { diskStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { runCliHere } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';
import { ESCAPE, Terminal, withoutColors } from '../support/terminal.ts';
import { writeToolsConfig } from '../tools/tool-server.ts';

const folder = folderOfFile();
const config = writeToolsConfig(folder, { tools: ['echo'] });

const store = join(folder, 'store');
const cli = (...args: string[]) => runCliHere(args, store);
const PROGRAM = `import asyncio
async def echo(text):
    try:
        return await tools.demo.echo(text=text)
    except ToolError as error:
        return f"{error.code}: {error}"
print(await asyncio.gather(echo("a"), echo("b\\x1b"), echo("c")))`;

interface Paused {
  readonly session_id: string;
  readonly execution_id: string;
  readonly paused_at: string;
  readonly pending: { readonly id: number; readonly name: string }[];
}

async function listPaused(...args: string[]): Promise<Paused[]> {
  const { stdout, status } = await cli('pending', '--json', ...args);
  expect(status).toBe(0);
  return JSON.parse(stdout).paused;
}

/** Leaves a paused session as a process does that is killed while an approved tool runs. */
async function loseAnswer(session_id: string): Promise<void> {
  const disk = diskStore(store);
  const release = await disk.acquire(session_id);
  const stored = (await disk.read(session_id))!;
  const paused = stored.state.paused!;
  const tool_calls = paused.tool_calls.map((record) => ({ ...record, status: 'unknown' as const }));
  await disk.write({ ...stored, state: { ...stored.state, paused: { ...paused, tool_calls } } });
  await release();
}

describe('pending and resume', () => {
  test('report sessions that cannot be read', async () => {
    const damaged = join(folder, 'damaged');
    await cli('run', '-c', 'x = 1', '--session', 'broken', '--store', damaged);
    writeFileSync(join(damaged, 'broken', 'session.json'), '{"format": 2}');
    const problem = expect.stringContaining(`Session broken in ${damaged} is damaged.`);
    expect(await cli('pending', '--store', damaged)).toMatchObject({ status: 69, stderr: problem });
    expect(await cli('resume', 'unknown', '--store', damaged)).toMatchObject({ stderr: problem });
  });

  test('list the calls of a paused program, and answer them in several steps', async () => {
    expect((await cli('pending')).stdout).toBe('No paused programs.\n');
    await cli('run', '-c', 'x = 1', '--session', 'other');
    const started = await cli('run', '-c', PROGRAM, '--session', 'shop', '--tools-config', config);
    expect(started).toMatchObject({ status: 75, stdout: '' });
    expect(started.stderr).toContain('the program is paused and is waiting for 3 tool calls (demo.echo)');

    const [paused, ...others] = await listPaused();
    const id = paused!.execution_id;
    expect(started.stderr).toContain(`llm-wasm-sandbox resume ${id}`);
    expect(paused).toMatchObject({
      session_id: 'shop',
      language: 'python',
      paused_at: expect.stringMatching(/^20\d\d-/),
      pending: [
        { id: 1, name: 'demo.echo', arguments: { text: 'a' }, reason: 'approval' },
        { id: 2, arguments: { text: 'b\u001b' } },
        { id: 3 },
      ],
    });
    expect(others).toEqual([]);
    const { stdout } = await cli('pending');
    expect(stdout).toContain(`shop: execution ${id}, paused `);
    expect(stdout).toContain('  call 1 needs approval: demo.echo with the arguments {"text":"a"}\n');
    expect(stdout).not.toContain('\u001b');

    for (const [args, problem] of [
      [[], 'Answer at least one call with --approve'],
      [['--approve', 'x'], ''],
      [['--value', '1=x'], ''],
      [['--approve', '9', '--tools-config', config], 'call 9 is not pending; pending calls: 1, 2, 3'],
      [['--approve', '1', '--deny', '1', '--tools-config', config], 'more than one answer'],
      [['--approve', '1'], 'add --tools-config'],
      [['--session', 'other', '--deny', '1'], 'There is no paused program with execution id'],
    ] as const) {
      const { status, stderr } = await cli('resume', id, ...args);
      expect([status, stderr]).toEqual([expect.toBeOneOf([2, 69]), expect.stringContaining(problem)]);
    }

    const second = await cli('resume', id, '--deny', '2');
    expect(second).toMatchObject({ status: 75, stdout: '' });
    const [again] = await listPaused();
    expect(again!.pending.map((call) => call.id)).toEqual([1, 3]);
    expect(second.stderr).toContain(`llm-wasm-sandbox resume ${again!.execution_id}`);
    const left = ['--value', '1={"n":1}', '--approve-all', '--tools-config', config];
    expect((await cli('resume', id, ...left)).status).toBe(69);
    const third = await cli('resume', again!.execution_id, ...left);
    expect(third).toMatchObject({
      status: 0,
      stdout: "[{'n': 1}, 'denied: The call was not approved. Reason: a person denied the call.', 'c']\n",
    });
    expect((await cli('resume', id, '--deny', '2')).status).toBe(69);
    expect(await listPaused()).toEqual([]);
  });

  test('find a program by its session if a fork has the same execution, and print the result as JSON', async () => {
    await cli(
      'run',
      '-c',
      'y = await tools.demo.echo(text="q")',
      '--session',
      'one',
      '--tools-config',
      config,
    );
    await cli('session', 'fork', 'one', 'two');
    const [{ execution_id }] = (await listPaused()) as [Paused];
    expect(await listPaused()).toHaveLength(2);
    const answer = ['--error', '1=no', '--json'];
    expect((await cli('resume', execution_id, ...answer)).stderr).toContain(
      'Several sessions have a paused program',
    );
    const failed = await cli('resume', execution_id, ...answer, '--session', 'two');
    expect(JSON.parse(failed.stdout)).toMatchObject({
      exit_code: 1,
      metadata: {
        session_id: 'two',
        error: { type: 'ToolError', code: 'failed', tool: 'demo.echo' },
        error_guidance: { error_type: 'ToolError' },
      },
    });
    expect(await listPaused()).toMatchObject([{ session_id: 'one' }]);
    await cli('session', 'rollback', 'one');
    expect(await listPaused()).toEqual([]);
  });

  test('warn of calls that may already have run, and do not approve them with --approve-all', async () => {
    const code = 'print(await tools.demo.echo(text="q"))';
    await cli('run', '-c', code, '--session', 'lost', '--tools-config', config);
    await loseAnswer('lost');
    const warning =
      'was already approved in an earlier resume of the program. That resume is still in progress, or was rolled back, undone or interrupted';
    expect((await cli('pending')).stdout).toContain(`  call 1 needs approval (${warning}`);
    const [first] = (await listPaused()) as [Paused];
    const all = ['--approve-all', '--tools-config', config];
    expect(await cli('resume', first.execution_id, ...all)).toMatchObject({
      status: 75,
      stderr: expect.stringMatching(`Call 1 ${warning}.*use --approve 1`),
    });
    const [second] = (await listPaused()) as [Paused];
    const approved = await cli('resume', second.execution_id, '--approve', '1', '--tools-config', config);
    expect(approved).toMatchObject({ status: 0, stdout: 'q\n' });
  });

  test('ask the person at the terminal about each call, and leave unanswered ones open', {
    tags: 'full',
  }, async () => {
    const env = { LLM_WASM_SANDBOX_STORE: store };
    await cli('run', '-c', PROGRAM, '--session', 'asked', '--tools-config', config);
    const [{ execution_id }] = (await listPaused()) as [Paused];
    {
      // The end of input leaves all calls unanswered.
      using terminal = new Terminal(['resume', execution_id, '--tools-config', config], env);
      await terminal.shows(/wants to call demo\.echo with the arguments {"text":"a"}/);
      for (const _ of [1, 2, 3]) {
        await terminal.shows(/anything else to deny it: /);
        terminal.type('\x04');
      }
      await terminal.shows(/No call was answered, so the program remains paused/);
      expect(await terminal.exitCode()).toBe(2);
    }
    expect((await listPaused())[0]!.pending).toHaveLength(3);
    using terminal = new Terminal(['resume', execution_id, '--tools-config', config], env);
    const [, code] = await terminal.shows(/Type (\d{4}) to allow this call to demo\.echo/);
    terminal.type(`${code}\n`);
    await terminal.shows(/"b\\u001b".*\s+Type \d{4} to allow/);
    terminal.type('no\n');
    const [, last] = await terminal.shows(/"c".*\s+Type (\d{4}) to allow/);
    terminal.type(`${last}\n`);
    await terminal.shows(
      /\['a', 'denied: The call was not approved\. Reason: a person denied the call.', 'c'\]/,
    );
    expect(await terminal.exitCode()).toBe(0);
    expect(withoutColors(terminal.output)).not.toContain(ESCAPE);
    expect(await listPaused()).toEqual([]);
  });

  test('reject a data folder without sessions', async () => {
    expect(await cli('pending', '--store', folder, '--tenant', 'local')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('does not contain sessions of a server'),
    });
  });
});
