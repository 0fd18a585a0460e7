/**
 * Processes as guests see them. A child is another guest in the same thread, on the same file tree. It does not run beside its
 * parent: it runs while the parent waits for it, for a pipe or for a time, or when the parent has ended. The worker implements
 * this. A call that has to wait fails with EINPROGRESS if the caller can leave its stack, and is repeated later.
 */
import type { BaseDirectory } from '../fs/resolve-path.ts';
import type { Volume } from '../fs/volume.ts';
import type { DescriptorTable } from './descriptors.ts';
import type { PipeAccount, PipeBuffer } from './pipe.ts';

/** Numbers of the signals that the kernel sends or treats in a special way. */
export const SIGNAL = {
  HUP: 1,
  ILL: 4,
  ABRT: 6,
  KILL: 9,
  SEGV: 11,
  PIPE: 13,
  ALRM: 14,
  CHLD: 17,
  CONT: 18,
  STOP: 19,
  TSTP: 20,
  URG: 23,
  WINCH: 28,
} as const;
export const MAX_SIGNAL = 64;

/** Children whose status is kept from one call of a session to the next. */
export const MAX_ENDED_CHILDREN = 256;

/** Argument and environment texts of a process, with their ends, in bytes. */
export const MAX_ARGUMENT_BYTES = 1024 * 1024;
export const MAX_ARGUMENTS = 16_384;

export interface ExecRequest {
  /** With a slash, a path relative to the working directory of the process; otherwise the name of a command. */
  readonly path: string;
  readonly argv: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
}

export interface SpawnRequest extends ExecRequest {
  /** The working directory; undefined for that of the caller. */
  readonly cwd?: string | undefined;
  /** Whether the child gets the descriptors of the caller that have no close-on-exec flag. */
  readonly inheritsAll: boolean;
  /** Descriptors of the child, set one after the other to what `parent` is in the caller. -1 closes the descriptor. */
  readonly fds: readonly { readonly child: number; readonly parent: number }[];
  /** After this time it ends by SIGALRM. Undefined or 0: never. */
  readonly timeoutMs?: number | undefined;
}

/** A process that has ended. The status is that of waitpid: `code << 8`, or the number of a signal. */
export interface EndedProcess {
  readonly pid: number;
  readonly status: number;
}

/** What refers to directories by path: a kernel, or a process that has not started. */
export interface DirectoryUser {
  cwd: BaseDirectory;
  fds: DescriptorTable;
}

/** With what the guest of a child process begins. The file tree and the memory of pipes are those of the call. */
export interface InheritedState extends DirectoryUser {
  readonly umask: number;
  readonly volume: Volume;
  readonly pipeAccount: PipeAccount;
}

/** The processes of a call, as one of them uses them. Failures are system call errors. */
export interface Processes {
  readonly pid: number;
  readonly parentPid: number;
  /** Creates a process and returns its number. Fails with EAGAIN, E2BIG, ENOENT, EACCES or ENOEXEC. */
  spawn(request: SpawnRequest): number;
  /** Stops the caller. Its process continues with another program. */
  exec(request: ExecRequest): never;
  /** Waits for a child, or for any child if the number is -1. Undefined: none has ended yet. Fails with ECHILD. */
  wait(pid: number, options: { noHang?: boolean; timeoutMs?: number | undefined }): EndedProcess | undefined;
  /** Sends a signal to a process. Fails with ESRCH or EINVAL. */
  kill(pid: number, signal: number): void;
  /** Stops the caller by a signal. */
  die(signal: number): never;
  /** Waits until an empty pipe has bytes or no writers. Returns true at the end of the input. Fails with EDEADLK. */
  fill(pipe: PipeBuffer): boolean;
  /** Up to how many bytes the caller may write to a pipe. Waits for room. Fails with EDEADLK. */
  capacityOf(pipe: PipeBuffer): number;
  /** Waits at most this time. Returns whether it is ready. `isReady` must not read the memory of the guest. */
  waitFor(isReady: () => boolean, timeoutMs: number): boolean;
  /** Whether the caller leaves its stack to wait. */
  readonly canLeave: boolean;
  /** Waits this time. */
  sleep(milliseconds: number): void;
  /** Runs processes that can leave their stack until it is ready or none can run. Returns whether it is ready. */
  runSuspendable(isReady: () => boolean): boolean;
  /** The caller would wait forever. */
  deadlock(): never;
  /** All kernels and processes of the call that refer to directories by path. */
  readonly directoryUsers: Iterable<DirectoryUser>;
}
