/**
 * poll(2). Pipes are ready if they have data or room; other open files always are. If nothing is ready, the processes that can
 * write to the pipes run first.
 */
import type { OpenFile } from '../descriptors.ts';
import type { GuestMemory } from '../guest-memory.ts';
import { MAX_PIPE_BYTES, type PipeBuffer } from '../pipe.ts';
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
    return pipe.length < MAX_PIPE_BYTES ? events & POLL.OUT : 0;
  }
  const isReadable = pipe.length > 0 || (pipe.writers === 0 && pipe.isCutOff);
  return (isReadable ? events & POLL.IN : 0) | (pipe.writers === 0 ? POLL.HUP : 0);
}

export function pollDescriptors(
  kernel: Kernel,
  memory: GuestMemory,
  pointer: number,
  count: number,
  timeout: number,
): number {
  if (count > MAX_POLLED) throw syscallError('EINVAL');
  const pipes: PipeBuffer[] = [];
  const check = () => {
    let ready = 0;
    pipes.length = 0;
    for (let i = 0; i < count; i++) {
      const entry = pointer + i * POLLFD.size;
      const fd = memory.i32(entry + POLLFD.at.fd);
      const file = kernel.fds.slots[fd];
      const result = fd < 0 ? 0 : readiness(file, memory.u16(entry + POLLFD.at.events));
      memory.setU16(entry + POLLFD.at.revents, result);
      if (result !== 0) ready++;
      else if (file?.kind === 'pipe' && file.end === 'read') pipes.push(file.pipe);
    }
    return ready;
  };
  const milliseconds = timeout < 0 ? Number.POSITIVE_INFINITY : timeout;
  const end = kernel.host.monotonic() + milliseconds;
  for (let ready = check(); ; ready = check()) {
    const left = end - kernel.host.monotonic();
    if (ready !== 0 || left <= 0) return ready;
    if (pipes.length > 0 && kernel.call.processes?.runFor(pipes, left) === true) continue;
    if (pipes.length > 0 && timeout < 0 && kernel.call.processes?.isWaitedFor(pipes) === true)
      throw syscallError('EDEADLK');
    kernel.host.sleep(left);
    return 0;
  }
}
