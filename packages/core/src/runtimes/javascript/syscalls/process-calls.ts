/** The system calls with which child_process.js starts processes. They fail with ENOSYS if the guest has none. */
import { integer, list, nullable, object, text } from '../../../framing/json-checks.ts';
import { MAX_ARGUMENT_BYTES, MAX_ARGUMENTS } from '../../../kernel/processes.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import { int32, lenientDecoder, type SystemCall, toText } from './call-arguments.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';

/** JSON has up to six characters for a byte. */
const MAX_TEXT_BYTES = 6 * MAX_ARGUMENT_BYTES + 65_536;
const MAX_PAIRS = 512;
const NO_HANG = 1;

const texts = list(text(), MAX_ARGUMENTS);
const int = integer(-(2 ** 31), 2 ** 31 - 1);
const request = object({
  path: text(),
  argv: texts,
  env: texts,
  cwd: nullable(text()),
  fds: list(list(int, 2, 2), MAX_PAIRS),
});

const processesOf = ({ kernel }: QuickJsGuest) => {
  if (kernel.call.processes === undefined) throw syscallError('ENOSYS');
  return kernel.call.processes;
};

function parse(guest: QuickJsGuest, json: Uint8Array) {
  if (json.length > MAX_TEXT_BYTES) throw syscallError('E2BIG');
  guest.kernel.chargeHostTime(5 + json.length / 100);
  let value: unknown;
  try {
    value = JSON.parse(lenientDecoder.decode(json));
  } catch {
    throw syscallError('EINVAL');
  }
  if (request(value) !== undefined) throw syscallError('EINVAL');
  return value as NonNullable<(typeof request)['matched']>;
}

export const processCalls: Record<string, SystemCall> = {
  getpid: (guest) => processesOf(guest).pid,
  getppid: (guest) => processesOf(guest).parentPid,
  spawn: (guest, [json]) => {
    const processes = processesOf(guest);
    const { path, argv, env, cwd, fds } = parse(guest, toText(json).bytes);
    return processes.spawn({
      path,
      argv,
      env,
      cwd: cwd ?? undefined,
      inheritsAll: false,
      fds: fds.map(([child, parent]) => ({ child: child!, parent: parent! })),
    });
  },
  /** Returns the status of the process, or EAGAIN if it has not ended. A negative time is no limit. */
  wait: (guest, [pid, options, milliseconds]) => {
    const time = Number(milliseconds);
    const ended = processesOf(guest).wait(int32(pid), {
      noHang: (int32(options) & NO_HANG) !== 0,
      timeoutMs: time >= 0 ? time : undefined,
    });
    if (ended === undefined) throw syscallError('EAGAIN');
    return ended.status;
  },
  kill: (guest, [pid, signal]) => {
    processesOf(guest).kill(int32(pid), int32(signal));
    return 0;
  },
};
