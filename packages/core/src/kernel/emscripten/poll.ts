/**
 * poll(2). Pipes are ready if they have data or room; other open files always are. If nothing is ready, other processes run.
 */
import type { OpenFile } from '../descriptors.ts';
import type { GuestMemory } from '../guest-memory.ts';
import { hasRoomForWrites, MAX_PIPE_BYTES } from '../pipe.ts';
import { syscallError } from '../syscall-error.ts';
import type { Kernel } from '../syscalls.ts';
import { POLL, POLLFD } from './abi.ts';

/** Descriptors in one call of poll. */
const MAX_POLLED = 4096;

function readiness(file: OpenFile | undefined, events: number): number {
  if (file === undefined) return POLL.NVAL;
  if (file.kind !== 'pipe') return events & (POLL.IN | POLL.OUT);
  const { pipe, end } = file;
  if (end === 'write') {
    if (pipe.readers === 0) return POLL.ERR;
    return hasRoomForWrites(pipe) ? events & POLL.OUT : 0;
  }
  const isReadable = pipe.length > 0 || (pipe.writers === 0 && pipe.isCutOff);
  return (isReadable ? events & POLL.IN : 0) | (pipe.writers === 0 ? POLL.HUP : 0);
}

/** Whether a pipe can grow, so that a process can write to it whose reader does not run before it. */
const canGrow = (file: OpenFile | undefined, events: number) =>
  file?.kind === 'pipe' &&
  file.end === 'write' &&
  (events & POLL.OUT) !== 0 &&
  file.pipe.length < MAX_PIPE_BYTES;

export function pollDescriptors(
  kernel: Kernel,
  memory: GuestMemory,
  pointer: number,
  count: number,
  timeout: number,
): number {
  if (count > MAX_POLLED) throw syscallError('EINVAL');
  const entries = Array.from({ length: count }, (_, i) => {
    const at = pointer + i * POLLFD.size;
    const fd = memory.i32(at + POLLFD.at.fd);
    return { at, fd, file: kernel.fds.slots[fd], events: memory.u16(at + POLLFD.at.events) };
  });
  const results = () => entries.map(({ fd, file, events }) => (fd < 0 ? 0 : readiness(file, events)));
  const isReady = () => entries.some(({ fd, file, events }) => fd >= 0 && readiness(file, events) !== 0);
  let ready = results();
  if (timeout !== 0 && !isReady()) {
    const grows = entries.map(({ file, events }) => (canGrow(file, events) ? POLL.OUT : 0));
    ready = waitForAny(kernel, isReady, { canGrow: grows.some(Boolean), isEmpty: count === 0 }, timeout)
      ? results()
      : grows;
  }
  entries.forEach(({ at }, i) => {
    memory.setU16(at + POLLFD.at.revents, ready[i]!);
  });
  return ready.filter(Boolean).length;
}

/** Waits until a descriptor is ready or the time is over. Returns false if a pipe is to grow. */
function waitForAny(
  kernel: Kernel,
  isReady: () => boolean,
  { canGrow, isEmpty }: { canGrow: boolean; isEmpty: boolean },
  timeout: number,
): boolean {
  const { processes } = kernel.call;
  const milliseconds = timeout < 0 ? Number.POSITIVE_INFINITY : timeout;
  if (processes === undefined || (isEmpty && !processes.canLeave)) {
    kernel.host.sleep(milliseconds);
    return true;
  }
  if (canGrow && !processes.canLeave && !processes.runSuspendable(isReady)) return false;
  if (!processes.waitFor(isReady, milliseconds) && timeout < 0) return processes.deadlock();
  return true;
}
