import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CLI } from '../support/cli.ts';
import { temporarySessionStore } from '../support/cli-sessions.ts';

const { folder, store, cli, cliHere, run, runHere, json, execute } = temporarySessionStore();

describe('run --session', () => {
  it('preserves variables and files across processes', { tags: 'full' }, async () => {
    expect(await run('preserved', 'x = [1]; open("f.txt", "w").write("file")')).toEqual({
      status: 0,
      stdout: '',
      stderr: '',
    });
    expect((await run('preserved', 'x.append(2); print(x, open("f.txt").read())')).stdout).toBe(
      '[1, 2] file\n',
    );
  });

  it('uses the language of the session and rejects a program in another language', async () => {
    await runHere('script', 'let n = 41', '--language', 'javascript');
    expect((await runHere('script', 'console.log(n + 1)')).stdout).toBe('42\n');
    const wrong = join(folder, 'wrong.py');
    writeFileSync(wrong, 'print(1)');
    const { status, stdout, stderr } = await cliHere(['run', wrong, '--session', 'script']);
    expect([status, stdout]).toEqual([69, '']);
    expect(stderr).toContain('Session script runs javascript, but the program is python. Omit --language');
  });

  it('keeps the limits of a session until a call changes them', async () => {
    await runHere('limited', 'x = 1', '--fuel', '30M', '--seed', '3');
    expect((await runHere('limited', 'while True: pass')).status).toBe(152);
    expect((await json('session', 'show', 'limited')).policy).toMatchObject({
      fuel_budget: 30_000_000,
      timeout_seconds: 30,
      deterministic: { seed: 3 },
    });
    await runHere('limited', 'x = 1', '--timeout', '7');
    expect((await json('session', 'show', 'limited')).policy).toMatchObject({
      fuel_budget: 30_000_000,
      timeout_seconds: 7,
    });
  });

  it("stores sessions in --store, or else in the user's data folder", { tags: 'full' }, async () => {
    const elsewhere = join(folder, 'elsewhere');
    await runHere('here', 'x = 1', '--store', elsewhere);
    expect(readdirSync(elsewhere)).toContain('here');
    expect(existsSync(join(store, 'here'))).toBe(false);
    const home = {
      HOME: folder,
      LOCALAPPDATA: join(folder, 'data'),
      XDG_DATA_HOME: join(folder, 'data'),
      LLM_WASM_SANDBOX_STORE: '',
      LLM_WASM_SANDBOX_CACHE: join(folder, 'cache'),
    };
    await cli(['run', '--session', 'mine', '-c', '1'], home);
    const data =
      process.platform === 'darwin' ? join(folder, 'Library', 'Application Support') : home.XDG_DATA_HOME;
    expect(readdirSync(join(data, 'llm-wasm-sandbox', 'sessions'))).toContain('mine');
    expect((await cli(['session', 'list'], home)).stdout).toContain('mine');
  });

  it('commits the call when the reader of its output goes away', { tags: 'full' }, async () => {
    const loud =
      'x = 1\nimport sys\nfor i in range(20000): print("line", i); print("line", i, file=sys.stderr)\nx = 2';
    for (const gone of ['stdout', 'stderr'] as const) {
      const child = spawn(process.execPath, [CLI, 'run', '--session', gone, '--store', store, '-c', loud]);
      child[gone === 'stdout' ? 'stderr' : 'stdout'].resume();
      child[gone].once('data', () => child[gone].destroy());
      expect(await once(child, 'exit')).toEqual([0, null]);
      await execute(gone, 'assert x == 2');
    }
  });

  it('rejects session names that are unsafe as folder names, and --store without --session', async () => {
    expect(await runHere('../up', '1')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('session id'),
    });
    expect(await cliHere(['run', '-c', '1', '--store', store])).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('require --session ID'),
    });
  });
});
