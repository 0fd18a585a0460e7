import { readdirSync, readFileSync } from 'node:fs';

/** The processes that this process or thread has started. Only on Linux. */
export function childProcesses(): number[] {
  return readdirSync('/proc/self/task').flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
