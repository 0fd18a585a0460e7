/** A program that runs in a child process: what a command provides and what the process table uses. */
import type { BaseDirectory } from '../fs/resolve-path.ts';
import type { Volume } from '../fs/volume.ts';
import type { DescriptorTable } from '../kernel/descriptors.ts';
import type { ExecRequest } from '../kernel/processes.ts';
import type { MemoryAccount } from './memory-account.ts';
import type { MemoryCopy } from './memory-copy.ts';

/** A program in a guest of its own. The type parameter avoids an import cycle with guest.ts. The process table connects the guest with the call before it runs. */
export interface ChildProgram<Guest> {
  /** Undefined while the memory of the program is only a copy. */
  readonly guest: Guest | undefined;
  /** Fuel for what was copied to create the guest. */
  readonly startFuel: number;
  /**
   * Runs the program to its end and returns its exit code, or until it waits: then the result is undefined, and the next call
   * continues it, with the number of a signal or 0. Throws `GuestStopped` if the guest does not return.
   */
  run(signal: number): number | undefined;
  /** Called once, when the process has ended or was ended before it ran. */
  release(): void;
  /** A program that can wait outside of its guest. */
  readonly suspension?: Suspension<Guest>;
}

/** How a program that waits leaves its guest, and enters another one. */
export interface Suspension<Guest> {
  /** Gives the guest back. Its memory has been copied. */
  leave(): void;
  /** Fails with ENOMEM. */
  enter(copy: MemoryCopy): Guest;
}

/** A program that was found, and that can be started later. */
export interface ResolvedProgram<Guest> {
  /** Whether its process cannot leave its stack: it waits inside of the process that started it. */
  readonly isNested: boolean;
  /** Creates a guest in the memory that the call has left. Fails with ENOMEM if that is not enough. */
  start(memory: MemoryAccount): ChildProgram<Guest>;
}

/** What a process does instead of running a program: it writes a message and exits. */
export interface UnavailableProgram {
  readonly message: string;
  readonly exitCode: number;
}

/**
 * What the host does when a process starts: instead of running a program, or to find the program. `runner` is the guest that waits,
 * and that is charged; `fds` are the descriptors of the process.
 */
export interface HostProgram<Guest> {
  readonly isNested: boolean;
  perform(runner: Guest, fds: DescriptorTable): UnavailableProgram | ResolvedProgram<Guest>;
}

/** What a process runs. */
export type ProcessProgram<Guest> = ResolvedProgram<Guest> | HostProgram<Guest> | UnavailableProgram;

/** Copies a guest that forks: `earlier` is an earlier copy of it. Fails with ENOMEM if the call has not enough memory left. */
export type ForkedProgram<Guest> = (
  memory: MemoryAccount,
  earlier: MemoryCopy | undefined,
) => { readonly program: ChildProgram<Guest>; readonly copy: MemoryCopy };

/** Finds a program. Fails with ENOENT, EACCES or ENOEXEC. */
export type ResolveProgram<Guest> = (
  volume: Volume,
  cwd: BaseDirectory,
  request: ExecRequest,
) => ProcessProgram<Guest>;
