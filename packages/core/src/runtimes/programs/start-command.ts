/** Starts a C program as a process. */
import type { ChildProgram } from '../../engine/child-program.ts';
import { Guest } from '../../engine/guest.ts';
import { writeImage } from '../../engine/image.ts';
import { PAGE_BYTES } from '../../engine/image-identity.ts';
import { dropMemory, type MemoryAccount } from '../../engine/memory-account.ts';
import { Volume } from '../../fs/volume.ts';
import type { ExecRequest } from '../../kernel/processes.ts';
import { syscallError } from '../../kernel/syscall-error.ts';
import { findProgram } from './program-files.ts';
import { PROGRAM_LINKAGE } from './program-linkage.ts';
import { runCommandLine } from './run-program.ts';

/** Bytes that are copied for one unit of fuel. */
const BYTES_PER_FUEL = 8;
/** The process table replaces it. */
const NO_FILES = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);

/** A guest that runs the program of a command. Fails with ENOENT if there is none, and with ENOMEM if it needs more memory. */
export function startCommand(
  name: string,
  request: Pick<ExecRequest, 'argv' | 'env'>,
  account: MemoryAccount,
): ChildProgram<Guest> {
  const program = findProgram(name);
  if (program === undefined) throw syscallError('ENOENT');
  const { pages } = program.image.header;
  if (!account.admits(pages * PAGE_BYTES)) throw syscallError('ENOMEM');
  const maxPages = Math.floor(account.maxBytes / PAGE_BYTES);
  const guest = new Guest(program.compiled, PROGRAM_LINKAGE, { pages, maxPages }, NO_FILES);
  writeImage(guest, program.image);
  return {
    guest,
    startFuel: (pages * PAGE_BYTES) / BYTES_PER_FUEL,
    run: () => runCommandLine(guest, name, request),
    release: () => dropMemory(guest.memory),
  };
}
