/**
 * How C programs are linked to the kernel: system calls of Emscripten, WASI, and the calls for processes. A shell can be
 * interrupted; at a limit, other programs are stopped when the grace period is over.
 */
import type { Guest } from '../../engine/guest.ts';
import type { Linkage } from '../../engine/host-imports.ts';
import { descriptorCalls, pathCalls } from '../../kernel/emscripten/file-calls.ts';
import { programProcessCalls } from '../../kernel/emscripten/process-calls.ts';
import { timeCalls } from '../../kernel/emscripten/time-calls.ts';
import { syscallError } from '../../kernel/syscall-error.ts';
import { guard, type HostFunctions } from '../../kernel/syscall-guard.ts';
import { wasiFunctions } from '../../kernel/wasi.ts';
import { leaveStack } from './suspendable-program.ts';

const refuse = (code: Parameters<typeof syscallError>[0]) => () => {
  throw syscallError(code);
};
const zero = () => 0;
/** Export of a program that can be interrupted: it leaves what it is doing at the next safe place. */
const INTERRUPT = 'bash_interrupt';

/** Calls that concern neither files nor processes. The user is the only one there is. */
function otherCalls(guest: Guest, poll: (...args: number[]) => number): HostFunctions {
  const { kernel, memoryLimit } = guest;
  return {
    __syscall_getuid32: zero,
    __syscall_geteuid32: zero,
    __syscall_getgid32: zero,
    __syscall_getegid32: zero,
    __syscall_umask: (mask: number) => {
      const previous = kernel.umask;
      kernel.umask = mask & 0o777;
      return previous;
    },
    __syscall_poll_nonblocking: (entries: number, count: number) => poll(entries, count, 0),
    __syscall_linkat: refuse('EPERM'),
    __syscall_mknodat: refuse('EPERM'),
    _mmap_js: refuse('EOPNOTSUPP'),
    _munmap_js: refuse('EINVAL'),
    _setitimer_js: refuse('ENOSYS'),
    emscripten_resize_heap: (bytes: number) => (memoryLimit.grow(bytes >>> 0) ? 1 : 0),
    emscripten_get_heap_max: () => memoryLimit.maxBytes,
  };
}

function programFunctions(guest: Guest): HostFunctions {
  const { kernel, view } = guest;
  const descriptors = descriptorCalls(kernel, view);
  const guarded = {
    ...pathCalls(kernel, view),
    ...descriptors,
    ...timeCalls(kernel, view),
    ...programProcessCalls(kernel, view),
    ...otherCalls(guest, descriptors['__syscall_poll']!),
  };
  return {
    ...guard(kernel.host, guarded, -1),
    __sb_fork: leaveStack(guest, 'fork'),
    __sb_suspend: leaveStack(guest, 'wait'),
  };
}

export const PROGRAM_LINKAGE: Linkage<Guest> = {
  imports: (guest) => ({
    env: programFunctions(guest),
    wasi_snapshot_preview1: wasiFunctions(guest.kernel, guest.view, (code) => guest.exit(code)),
  }),
  overrides: [],
  goesOn: true,
  interrupt: (guest) => {
    if (INTERRUPT in guest.exports) guest.call(INTERRUPT);
  },
};
