/** Starts one process for a call: the program of the call passes on streams and the exit code. */
import type { RuntimeName } from '../../schema/runtime-names.ts';
import { quote } from '../bash/quote.ts';
import { SHELL_RUNTIME } from '../registry/program-files.ts';

/** The runtime that starts fastest, for processes that are not command lines. */
const LAUNCHER_RUNTIME: RuntimeName = 'javascript';

/** The arguments that run a command line in the shell. */
export const shellCommand = (command: string): readonly string[] => ['/bin/bash', '-c', command];

const SHELLS = ['bash', '/bin/bash', '/usr/bin/bash'];
const COMMAND_OPTIONS = ['-c', '-lc', '-l -c'];

/** The program that starts a process, and its runtime. `cwd` is relative to the workspace. */
export function launch(argv: readonly string[], cwd: string): { runtime: RuntimeName; program: string } {
  const [file = '', ...args] = argv;
  const isCommand = SHELLS.includes(file) && COMMAND_OPTIONS.includes(args.slice(0, -1).join(' '));
  if (!isCommand) return { runtime: LAUNCHER_RUNTIME, program: launcherProgram(argv, cwd) };
  // The program is the command line itself, in which lines keep their numbers. A process of a process would start later.
  const change = cwd === '' ? '' : `cd -- ${quote(`./${cwd}`)}; `;
  return { runtime: SHELL_RUNTIME, program: `${change}${args.at(-1)}` };
}

/** The values are data in the program, never code. */
function launcherProgram(argv: readonly string[], cwd: string): string {
  const given = JSON.stringify(JSON.stringify({ argv, cwd: `./${cwd}` }));
  return `{
const { argv, cwd } = JSON.parse(${given});
const { spawnSync } = require('child_process');
const { status, signal, error } = spawnSync(argv[0], argv.slice(1), { stdio: 'inherit', cwd });
if (error) process.stderr.write(error.message + '\\n');
process.exit(status ?? (signal ? 128 + require('os').constants.signals[signal] : 127));
}`;
}
