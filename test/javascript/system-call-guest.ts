/** A guest for tests of system calls that compute on the host: a fuel budget, buffers in its memory, and what was charged. */
import { isSyscallError } from '../../packages/core/src/kernel/syscall-error.ts';
import {
  type Argument,
  GuestBytes,
} from '../../packages/core/src/runtimes/javascript/syscalls/call-arguments.ts';
import type { QuickJsGuest } from '../../packages/core/src/runtimes/javascript/syscalls/quickjs-guest.ts';
import { testKernel } from '../kernel/test-kernel.ts';

type SystemCall = (guest: QuickJsGuest, args: Argument[], results: never[]) => unknown;

/**
 * `outAt` is the address of the buffer for results; the arguments are stored below it. The memory limit is 1 MiB. `run.unchecked`
 * is the most fuel that was charged between two checks of the limits.
 */
export function systemCallGuest(
  calls: Readonly<Record<string, SystemCall>>,
  outAt: number,
  budget = Number.POSITIVE_INFINITY,
) {
  const { kernel, memory } = testKernel();
  const run = { charged: 0, checks: 0, unchecked: 0 };
  let sinceCheck = 0;
  kernel.host.check = () => {
    run.checks++;
    sinceCheck = 0;
  };
  // A charge precedes the check of the limits and the work that it is for.
  kernel.host.charge = (fuel) => {
    run.charged += fuel;
    sinceCheck += fuel;
    run.unchecked = Math.max(run.unchecked, sinceCheck);
  };
  const guest = {
    kernel,
    view: memory,
    memoryLimit: { maxBytes: 1 << 20, admits: (bytes: number) => bytes <= 1 << 20 },
    get limitReached() {
      return run.charged > budget ? 'out_of_fuel' : undefined;
    },
  } as unknown as QuickJsGuest;
  let end = 0;
  const store = (bytes: Uint8Array, isText = false) => {
    memory.all.set(bytes, end);
    end += bytes.length;
    return new GuestBytes(memory, end - bytes.length, bytes.length, isText);
  };
  const numbers = (...values: number[]) => store(new Uint8Array(new Float64Array(values).buffer));
  const out = (length: number) => new GuestBytes(memory, outAt, length, false);
  /** The result of a system call, or the code of its error. */
  const call = (name: string, ...args: Argument[]) => {
    try {
      return calls[name]!(guest, args, []);
    } catch (cause) {
      if (isSyscallError(cause)) return cause.code;
      throw cause;
    }
  };
  return { run, kernel, memory, store, numbers, out, call };
}
