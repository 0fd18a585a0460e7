/**
 * The calls with which C programs start, replace, wait for and end processes. programs/build/README.md has their
 * contract. Texts and lists come from the guest, so their number and size are bounded.
 */
import { argumentText } from '../argument-text.ts';
import type { GuestMemory } from '../guest-memory.ts';
import { MAX_ARGUMENT_BYTES, MAX_ARGUMENTS, type Processes, type SpawnRequest } from '../processes.ts';
import { isSyscallError, syscallError } from '../syscall-error.ts';
import type { HostFunctions } from '../syscall-guard.ts';
import type { Kernel } from '../syscalls.ts';

/** Descriptors that one call sets. */
const MAX_DESCRIPTOR_PAIRS = 1024;
/** Runs scripts that do not name their interpreter. */
const SHELL = '/bin/bash';
/** Option of wait: do not wait. */
const WNOHANG = 1;

/** A list of texts that ends with a null pointer. */
function textList(memory: GuestMemory, pointer: number): string[] {
  const texts: string[] = [];
  let left = MAX_ARGUMENT_BYTES;
  if (pointer === 0) return texts;
  for (let at = pointer >>> 0; ; at += 4) {
    const text = memory.u32(at);
    if (text === 0) return texts;
    if (texts.length === MAX_ARGUMENTS) throw syscallError('E2BIG');
    const bytes = memory.untilNul(text, left);
    left -= bytes.length + 1;
    if (left < 0) throw syscallError('E2BIG');
    texts.push(argumentText(bytes));
  }
}

function descriptorPairs(memory: GuestMemory, pointer: number, count: number): SpawnRequest['fds'] {
  if (count >>> 0 > MAX_DESCRIPTOR_PAIRS) throw syscallError('EINVAL');
  return Array.from({ length: count }, (_, i) => {
    const at = (pointer >>> 0) + i * 8;
    return { child: memory.i32(at), parent: memory.i32(at + 4) };
  });
}

export function programProcessCalls(kernel: Kernel, memory: GuestMemory): HostFunctions {
  const processes = (): Processes => {
    if (kernel.call.processes === undefined) throw syscallError('ENOSYS');
    return kernel.call.processes;
  };
  return {
    __sb_spawn: (
      path: number,
      argv: number,
      env: number,
      cwd: number,
      fds: number,
      count: number,
      timeout: number,
    ) =>
      processes().spawn({
        path: memory.path(path),
        argv: textList(memory, argv),
        env: textList(memory, env),
        cwd: cwd === 0 ? undefined : memory.path(cwd),
        inheritsAll: true,
        fds: descriptorPairs(memory, fds, count),
        timeoutMs: timeout > 0 ? timeout : undefined,
      }),
    __sb_exec: (path: number, argv: number, env: number) => {
      const request = {
        path: memory.path(path),
        argv: textList(memory, argv),
        env: textList(memory, env),
      };
      try {
        return processes().exec(request);
      } catch (cause) {
        if (!isSyscallError(cause) || cause.code !== 'ENOEXEC') throw cause;
        // A script without a first line that names its interpreter. A shell would run it in a copy of itself.
        return processes().exec({
          ...request,
          path: SHELL,
          argv: [SHELL, request.path, ...request.argv.slice(1)],
        });
      }
    },
    __sb_wait: (pid: number, status: number, options: number) => {
      const ended = processes().wait(pid, { noHang: (options & WNOHANG) !== 0 });
      if (ended === undefined) return 0;
      if (status !== 0) memory.setU32(status, ended.status);
      return ended.pid;
    },
    __sb_kill: (pid: number, signal: number) => {
      processes().kill(pid, signal);
      return 0;
    },
    __sb_die: (signal: number) => processes().die(signal),
    __sb_getpid: () => kernel.call.processes?.pid ?? 1,
    __sb_getppid: () => kernel.call.processes?.parentPid ?? 0,
  };
}
