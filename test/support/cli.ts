/** Runs the built command line: as a process, or inside the test process to save its start-up time. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { format } from 'node:util';
import { CommanderError } from 'commander';
import { vi } from 'vitest';

export const CLI = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));

// Guests run from the built files, so the commands must too.
const built = (name: string) => new URL(`../../packages/cli/dist/cli/${name}.js`, import.meta.url).href;
const { createRootCommand } = (await import(
  built('command-table')
)) as typeof import('../../packages/cli/src/cli/command-table.ts');
const { exitCodeOf } = (await import(
  built('exit-codes')
)) as typeof import('../../packages/cli/src/cli/exit-codes.ts');

interface CliOutcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface CliOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** Runs a program and waits for its end, while other work of this process goes on. */
export async function runProcess(
  command: string,
  args: readonly string[],
  { cwd, env, input = '' }: CliOptions = {},
): Promise<CliOutcome> {
  const child = spawn(command, args, {
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { env }),
  });
  const ended = once(child, 'exit');
  // A program that fails does not read its input.
  child.stdin.on('error', () => {}).end(input);
  const [[status], stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { status, stdout, stderr };
}

/** Runs a script of Node.js in a process of its own. It must end by itself. */
export const runScript = (script: string, options?: CliOptions) =>
  runProcess(process.execPath, ['--input-type=module', '-e', script], options);

/** Runs a command in a process of its own. */
export const runCli = (args: readonly string[], { env, ...options }: CliOptions = {}) =>
  runProcess(process.execPath, [CLI, ...args], {
    ...options,
    // Test runners set these variables for their own output.
    env: { ...(process.env as Record<string, string>), FORCE_COLOR: '', NO_COLOR: '', ...env },
  });

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The outcome of a command that runs in this process, with `store` as the default session store. */
export async function runCliHere(
  args: readonly string[],
  store: string,
  cwd = process.cwd(),
): Promise<CliOutcome> {
  const previousFolder = process.cwd();
  const listeners = SIGNALS.map((signal) => new Set(process.listeners(signal)));
  const output = { stdout: '', stderr: '' };
  const spies = (['stdout', 'stderr'] as const).map((stream) =>
    vi.spyOn(process[stream], 'write').mockImplementation((chunk, callback) => {
      output[stream] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString();
      if (typeof callback === 'function') (callback as () => void)();
      return true;
    }),
  );
  // Vitest replaces the console, which does not write to the streams of the process.
  const log = vi.spyOn(console, 'log').mockImplementation((...values) => {
    output.stdout += `${format(...values)}\n`;
  });
  vi.stubEnv('LLM_WASM_SANDBOX_STORE', store);
  let status = 0;
  try {
    process.chdir(cwd);
    const program = await createRootCommand({ version: '0.0.0', description: '' }, args);
    await program.parseAsync(args, { from: 'user' });
    status = Number(process.exitCode ?? 0);
  } catch (cause) {
    status = exitCodeOf(cause);
    if (!(cause instanceof CommanderError)) output.stderr += (cause as Error).message;
  } finally {
    process.exitCode = undefined;
    process.chdir(previousFolder);
    for (const [i, signal] of SIGNALS.entries())
      for (const listener of process.listeners(signal))
        if (!listeners[i]!.has(listener)) process.off(signal, listener);
    for (const spy of [...spies, log]) spy.mockRestore();
    vi.unstubAllEnvs();
  }
  return { status, ...output };
}
