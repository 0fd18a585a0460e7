/**
 * The bash runtime: GNU bash as a shell that stays alive between programs. Its commands are processes: copies of the shell that
 * fork creates, other programs, and the interpreters of the other runtimes. The program of a call runs in the shell itself.
 */
import type { Guest } from '../../engine/guest.ts';
import type { OpenFile } from '../../kernel/descriptors.ts';
import { copyToGuest } from '../memory/copy-to-guest.ts';
import { USER_ENV } from '../programs/account.ts';
import { PROGRAM_LINKAGE } from '../programs/program-linkage.ts';
import { copyTexts } from '../programs/run-program.ts';
import { callForking } from '../programs/suspendable-program.ts';
import type { GuestRequest, Handles, Runtime } from '../runtime.ts';
import { quote } from './quote.ts';
import { bashSource } from './source-reader.ts';
import { BashStackReader } from './stack-reader.ts';
import { variablesOf } from './variables.ts';
import { VARIABLES_PROGRAM } from './variables-program.ts';

/** Flags of `bash_setup` (see programs/build/shims/bash-session.c). */
const FIRST = 1;
const KEPT = 2;
const IS_FILE = 4;
/** The name of programs that are not files. */
const SHELL_NAME = 'bash';

/** Bit of what `bash_eval` returns: exec has replaced the shell by a program. In a session, the shell goes on. */
const REPLACED = 0x200;

const encoder = new TextEncoder();

/** Evaluates a program in the shell and returns its status. */
function evaluate(guest: Guest, program: string): number {
  const streams = guest.kernel.fds.slots.slice(0, 3);
  const text = copyToGuest(guest, encoder.encode(program.replaceAll('\0', '')), 'malloc');
  const status = callForking(guest, 'bash_eval', [text]);
  if ((status & REPLACED) !== 0) restoreStreams(guest, streams);
  return status & 0xff;
}

/** Takes redirections of `exec program > file` back, which end with the program. */
function restoreStreams({ kernel }: Guest, before: readonly (OpenFile | undefined)[]): void {
  for (const [fd, file] of before.entries()) {
    if (file?.kind !== 'stream' || kernel.fds.slots[fd] === file) continue;
    if (kernel.fds.slots[fd] !== undefined) kernel.close(fd);
    kernel.fds.installAt({ ...file, refs: 1 }, fd);
  }
}

/** What `$0` is: relative in the folder of the program, so that messages are short, and valid in others. */
function nameOf({ kernel }: Guest, { file, file_name }: GuestRequest): string {
  if (file_name === null) return SHELL_NAME;
  return kernel.cwd === kernel.volume.home ? file.slice(file.lastIndexOf('/') + 1) : file;
}

/** Sets the name, the arguments and the exported variables of the next program. */
function setUp(guest: Guest, request: GuestRequest): void {
  const { env, args, call, keep, file_name } = request;
  const seed = new Uint8Array(4);
  if (call === 1) guest.random(seed);
  // The shell knows the folder in which its image was built.
  const folder = call === 1 ? guest.kernel.getcwd() : USER_ENV.HOME;
  if (folder !== USER_ENV.HOME) evaluate(guest, `builtin cd -- ${quote(folder)}; unset OLDPWD`);
  guest.call(
    'bash_setup',
    copyTexts(guest, [nameOf(guest, request), ...args]),
    copyTexts(
      guest,
      Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ),
    (call === 1 ? FIRST : 0) | (keep ? KEPT : 0) | (file_name === null ? 0 : IS_FILE),
    new DataView(seed.buffer).getInt32(0),
  );
}

/** The file of the program that each guest is running. */
const runningFiles = new WeakMap<Guest, string>();

function run(guest: Guest, _handles: Handles, request: GuestRequest): string {
  runningFiles.set(guest, request.file);
  // Before the first program, only the runtime has run.
  if (request.call === 1) guest.preparing(() => setUp(guest, request));
  else setUp(guest, request);
  if (request.code === VARIABLES_PROGRAM) return JSON.stringify({ exit_code: 0, result: variablesOf(guest) });
  const status = evaluate(guest, request.code);
  // Without a session, the shell ends with the program: a trap for EXIT runs.
  return JSON.stringify({
    exit_code: request.keep ? status : callForking(guest, 'bash_end', [status]) & 0xff,
  });
}

export const bash: Runtime = {
  name: 'bash',
  source: bashSource,
  linkage: PROGRAM_LINKAGE,
  unusedMemory: (guest) => [guest.stack.unused],
  optimizationPrograms: ['for ((i = 0; i < 200; i++)); do x=$i$x; done; [[ $x =~ 1+ ]]'],
  stackReader: (guest, handles) => new BashStackReader(guest, handles, runningFiles.get(guest) ?? ''),
  run,
  // Shell programs cannot call tools, so they are never paused.
  resume: () => JSON.stringify({ exit_code: 1 }),
  // Processes start bash as a program (see runtimes/programs), with its own arguments.
  commands: [],
  runCommand: () => JSON.stringify({ exit_code: 1 }),
  preload: (_guest, _handles, { modules: [module = ''] }) =>
    JSON.stringify({ error: { module, message: 'shell programs have no modules' } }),
};
