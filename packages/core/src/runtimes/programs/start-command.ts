/** Starts a C program as a process. */
import type { ChildProgram } from '../../engine/child-program.ts';
import type { Guest } from '../../engine/guest.ts';
import type { MemoryAccount } from '../../engine/memory-account.ts';
import type { ExecRequest } from '../../kernel/processes.ts';
import { syscallError } from '../../kernel/syscall-error.ts';
import { findProgram } from './program-files.ts';
import { PROGRAM_LINKAGE } from './program-linkage.ts';
import { commandLine } from './run-program.ts';
import { guestFromImage, SuspendableProgram } from './suspendable-program.ts';

/** A guest that runs the program of a command. Fails with ENOENT if there is none, and with ENOMEM if it needs more memory. */
export function startCommand(
  name: string,
  request: Pick<ExecRequest, 'argv' | 'env'>,
  account: MemoryAccount,
): ChildProgram<Guest> {
  const found = findProgram(name);
  if (found === undefined) throw syscallError('ENOENT');
  const program = new SuspendableProgram(found.compiled, PROGRAM_LINKAGE, account, (guest) =>
    commandLine(guest, name, request),
  );
  program.guest = guestFromImage(found, PROGRAM_LINKAGE, account);
  return program;
}
