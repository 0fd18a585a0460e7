/**
 * The calls of guest/processes.py, made with an ioctl request. The buffer starts with the length of its JSON text, in 32 bits.
 * `wait` stores the status there and returns the number of the process, or 0.
 */
import { boolean, byKind, integer, list, nullable, number, text } from '../../../framing/json-checks.ts';
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { MAX_ARGUMENT_BYTES, MAX_ARGUMENTS } from '../../../kernel/processes.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { PROCESS_IOCTL } from './abi.ts';

const LENGTH_BYTES = 4;
/** JSON has up to six characters for a byte. */
const MAX_TEXT_BYTES = 6 * MAX_ARGUMENT_BYTES + 65_536;
const MAX_PAIRS = 512;

const texts = list(text(), MAX_ARGUMENTS);
const int = integer(-(2 ** 31), 2 ** 31 - 1);
const program = { path: text(), argv: texts, env: texts };
const request = byKind({
  spawn: { ...program, cwd: nullable(text()), all: boolean, fds: list(list(int, 2, 2), MAX_PAIRS) },
  exec: program,
  wait: { pid: int, no_hang: boolean, timeout_ms: nullable(number(0, Number.MAX_VALUE)) },
  kill: { pid: int, signal: int },
});

const decoder = new TextDecoder();

function parse(bytes: Uint8Array) {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch {
    throw syscallError('EINVAL');
  }
  if (request(value) !== undefined) throw syscallError('EINVAL');
  return value as NonNullable<(typeof request)['matched']>;
}

/** The returned function handles the request. It returns undefined for other requests, or if there are no processes. */
export function processRequests(kernel: Kernel, memory: GuestMemory) {
  return (code: number, varargs: number): number | undefined => {
    const { processes } = kernel.call;
    if (code !== PROCESS_IOCTL || processes === undefined) return undefined;
    const buffer = memory.u32(varargs);
    const length = memory.u32(buffer);
    if (length > MAX_TEXT_BYTES) throw syscallError('E2BIG');
    kernel.chargeHostTime(5 + length / 100);
    const made = parse(memory.bytes(buffer + LENGTH_BYTES, length));
    switch (made.kind) {
      case 'spawn':
        return processes.spawn({
          path: made.path,
          argv: made.argv,
          env: made.env,
          cwd: made.cwd ?? undefined,
          inheritsAll: made.all,
          fds: made.fds.map(([child, parent]) => ({ child: child!, parent: parent! })),
        });
      case 'exec':
        return processes.exec(made);
      case 'kill':
        processes.kill(made.pid, made.signal);
        return 0;
      default: {
        const ended = processes.wait(made.pid, {
          noHang: made.no_hang,
          timeoutMs: made.timeout_ms ?? undefined,
        });
        memory.setU32(buffer, ended?.status ?? 0);
        return ended?.pid ?? 0;
      }
    }
  };
}
