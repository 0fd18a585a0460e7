/** Starts one process for a call whose program is a command: a small program that passes on streams and the exit code. */
import type { RuntimeName } from '../schema/runtime-names.ts';

/** The runtime of the program, the one that starts fastest. */
export const LAUNCHER_RUNTIME: RuntimeName = 'javascript';

interface LaunchedProcess {
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Variables in addition to those of the sandbox. */
  readonly env: Readonly<Record<string, string>>;
}

/** The program. The values are data in it, never code. */
export function launcherProgram({ argv, cwd, env }: LaunchedProcess): string {
  const given = JSON.stringify(JSON.stringify({ argv, cwd, env }));
  return `{
const { argv, cwd, env } = JSON.parse(${given});
const { spawnSync } = require('child_process');
const { status, signal, error } = spawnSync(argv[0], argv.slice(1), { stdio: 'inherit', cwd, env: { ...process.env, ...env } });
if (error) process.stderr.write(error.message + '\\n');
process.exit(status ?? (signal ? 128 + require('os').constants.signals[signal] : 127));
}`;
}
