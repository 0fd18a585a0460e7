/** A program that runs in a child process: what a command provides and what the process table uses. */
import type { BaseDirectory } from '../fs/resolve-path.ts';
import type { Volume } from '../fs/volume.ts';
import type { DescriptorTable } from '../kernel/descriptors.ts';
import type { ExecRequest } from '../kernel/processes.ts';
import type { MemoryAccount } from './memory-account.ts';

/** A program in a guest of its own. The type parameter avoids an import cycle with guest.ts. The process table connects the guest with the call before it runs. */
export interface ChildProgram<Guest> {
  readonly guest: Guest;
  /** Fuel for what was copied to create the guest. */
  readonly startFuel: number;
  /** Runs the program to its end and returns its exit code. Throws `GuestStopped` if the guest does not return. */
  run(): number;
  /** Called once, when the process has ended or was ended before it ran. */
  release(): void;
}

/** A program that was found, and that can be started later. */
export interface ResolvedProgram<Guest> {
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
  perform(runner: Guest, fds: DescriptorTable): UnavailableProgram | ResolvedProgram<Guest>;
}

/** What a process runs. */
export type ProcessProgram<Guest> = ResolvedProgram<Guest> | HostProgram<Guest> | UnavailableProgram;

/** Copies a guest that forks. Fails with ENOMEM if the call has not enough memory left. */
export type ForkedProgram<Guest> = (memory: MemoryAccount) => ChildProgram<Guest>;

/** Finds a program. Fails with ENOENT, EACCES or ENOEXEC. */
export type ResolveProgram<Guest> = (
  volume: Volume,
  cwd: BaseDirectory,
  request: ExecRequest,
) => ProcessProgram<Guest>;
