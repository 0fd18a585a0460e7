/** A temporary session store and short ways to use it, through the command line and through the library. */
import { join } from 'node:path';
import { diskStore, openSessions } from 'llm-wasm-sandbox';
import { expect } from 'vitest';
import { runCli, runCliHere } from './cli.ts';
import { folderOfFile } from './folders.ts';

export function temporarySessionStore() {
  const folder = folderOfFile();
  const store = join(folder, 'store');

  /** Runs a command in a process of its own. */
  const cli = (args: readonly string[], env: Record<string, string> = { LLM_WASM_SANDBOX_STORE: store }) =>
    runCli(args, { cwd: folder, env });

  /** Runs a command in this process. Relative paths on its command line refer to the project folder. */
  const cliHere = (args: readonly string[]) => runCliHere(args, store);

  /** Runs a program in a session, in a process of its own. */
  const run = (session: string, code: string, ...more: string[]) =>
    cli(['run', '--session', session, '-c', code, ...more]);

  /** Runs a program in a session, in this process. */
  const runHere = (session: string, code: string, ...more: string[]) =>
    runCliHere(['run', '--session', session, '-c', code, ...more], store, folder);

  /** Runs a command in this process and returns its JSON output. */
  async function json(...args: string[]) {
    const { status, stdout, stderr } = await cliHere([...args, '--json']);
    expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' });
    return JSON.parse(stdout);
  }

  /** Runs a program in a session with the library; creates the session if needed. */
  async function execute(session_id: string, code: string, dir = store): Promise<void> {
    await using sessions = openSessions({ store: diskStore(dir) });
    const session = await sessions.create({ runtime: 'python', session_id });
    expect(await session.execute(code)).toMatchObject({ success: true });
  }

  const at = (name: string) => join(folder, name);

  return { folder, store, cli, cliHere, run, runHere, json, execute, at };
}
