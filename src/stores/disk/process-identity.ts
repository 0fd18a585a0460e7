/**
 * Who we are among all processes that may share a folder, and whether another one still lives. Numbers of processes mean
 * something only on the same machine, since the same boot, and in the same container; elsewhere nothing can be said.
 */
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';

export interface ProcessName {
  readonly pid: number;
  /** Tells a process from a later one with the same number; empty where the system does not say. */
  readonly started: string;
  readonly host: string;
  readonly boot: string;
  /** The space in which the number is valid; containers have their own. */
  readonly pid_space: string;
}

function ask(question: () => string): string {
  try {
    return question().trim();
  } catch {
    return '';
  }
}

/** State and start time of a process as Linux tells them, empty when it does not. */
function look(pid: number): { readonly state: string; readonly started: string } {
  const stat = ask(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // The name in parentheses may hold anything, so fields are counted from the last one: state is the 3rd, start the 22nd.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', started: fields[19] ?? '' };
}

let self: ProcessName | undefined;

/** The name of this process. */
export function thisProcess(): ProcessName {
  self ??= {
    pid: process.pid,
    started: look(process.pid).started,
    host: hostname(),
    boot: ask(() => readFileSync('/proc/sys/kernel/random/boot_id', 'latin1')),
    pid_space: ask(() => readlinkSync('/proc/self/ns/pid')),
  };
  return self;
}

/** Whether a process still runs; undefined when that cannot be seen from here. */
export function isRunning(other: ProcessName): boolean | undefined {
  const { host, boot, pid_space } = thisProcess();
  if (other.host !== host || other.boot !== boot || other.pid_space !== pid_space) return undefined;
  try {
    process.kill(other.pid, 0);
  } catch (error) {
    // EPERM: it lives, as somebody else.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const { state, started } = look(other.pid);
  // A zombie has ended, even if nobody has asked for its exit code.
  if (state === 'Z' || state === 'X') return false;
  return started === '' || other.started === '' || started === other.started;
}
