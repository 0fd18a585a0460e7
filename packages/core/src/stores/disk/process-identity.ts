/**
 * Identifies this process among all processes that share a store, and checks whether another one is still running. A
 * process id is only meaningful on the same machine, during the same boot, and in the same PID namespace.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

/** Fields are empty strings where the system does not provide the information. */
interface ProcessIdentity {
  readonly pid: number;
  /** Start time; distinguishes the process from a later one with the same id. */
  readonly started: string;
  readonly host: string;
  readonly boot: string;
  /** PID namespace in which the id is valid; containers have their own. */
  readonly pid_space: string;
}

function orEmpty(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return '';
  }
}

/** Reads state and start time from /proc; both are empty on systems other than Linux. */
function readProcessStatus(pid: number): { readonly state: string; readonly started: string } {
  const stat = orEmpty(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // The process name in parentheses can contain anything, so count fields after the last parenthesis: state is field 3,
  // start time is field 22.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', started: fields[19] ?? '' };
}

let self: ProcessIdentity | undefined;

export function thisProcess(): ProcessIdentity {
  self ??= {
    pid: process.pid,
    started: readProcessStatus(process.pid).started,
    host: hostname(),
    boot: orEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')),
    pid_space: orEmpty(() => readlinkSync('/proc/self/ns/pid')),
  };
  return self;
}

/** Whether a process is still running; undefined if this process cannot determine it. */
export function isRunning(other: ProcessIdentity): boolean | undefined {
  const { host, boot, pid_space } = thisProcess();
  if (other.host !== host || other.boot !== boot || other.pid_space !== pid_space) return undefined;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    // EPERM means that the process runs as another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const { state, started } = readProcessStatus(other.pid);
  // A zombie has ended even if its parent has not read its exit code yet.
  if (state === 'Z' || state === 'X') return false;
  return started === '' || other.started === '' || started === other.started;
}
