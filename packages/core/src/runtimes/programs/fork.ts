/**
 * fork for programs that are built with Asyncify: the stack of the program is unwound into its memory, the memory is copied to a
 * second guest, and both guests rewind. The parent gets the number of the child, the child gets 0.
 */
import type { ChildProgram } from '../../engine/child-program.ts';
import { Guest } from '../../engine/guest.ts';
import { PAGE_BYTES } from '../../engine/image-identity.ts';
import { dropMemory, type MemoryAccount } from '../../engine/memory-account.ts';
import { WASI_ERRNO } from '../../kernel/errno.ts';
import { isSyscallError, syscallError } from '../../kernel/syscall-error.ts';
import type { HostFunction } from '../../kernel/syscall-guard.ts';

/** Bytes that are copied for one unit of fuel, as for bulk operations of guests. */
const BYTES_PER_FUEL = 8;

/** A call of fork that has not returned: where the stack is saved, and what fork returns when the stack is back. */
interface ForkCall {
  readonly state: number;
  result?: number;
}

const forkCalls = new WeakMap<Guest, ForkCall>();

/** The import `__sb_fork`. It is called twice: to leave the stack, and when the stack has been rewound. */
export function forkCall(guest: Guest): HostFunction {
  return (state: number) => {
    const result = forkCalls.get(guest)?.result;
    if (result === undefined) {
      forkCalls.set(guest, { state });
      guest.call('asyncify_start_unwind', state);
      return 0;
    }
    forkCalls.delete(guest);
    guest.call('asyncify_stop_rewind');
    return result;
  };
}

/** Calls an export of a program that may fork. Its calls of fork happen here, where none of its frames is on the stack. */
export function callForking(guest: Guest, name: string, args: readonly number[]): number {
  for (;;) {
    const result = guest.call(name, ...args);
    const call = forkCalls.get(guest);
    if (call === undefined) return result;
    guest.call('asyncify_stop_unwind');
    rewind(guest, call, fork(guest, name, args, call));
  }
}

function rewind(guest: Guest, call: ForkCall, result: number): void {
  forkCalls.set(guest, { ...call, result });
  guest.call('asyncify_start_rewind', call.state);
}

/** Returns the number of the child or a negative errno. */
function fork(guest: Guest, name: string, args: readonly number[], call: ForkCall): number {
  try {
    if (guest.fork === undefined) throw syscallError('ENOSYS');
    return guest.fork((account): ChildProgram<Guest> => {
      const child = copyOf(guest, account);
      return {
        guest: child,
        startFuel: guest.memory.buffer.byteLength / BYTES_PER_FUEL,
        run: () => {
          rewind(child, call, 0);
          return callForking(child, name, args);
        },
        release: () => dropMemory(child.memory),
      };
    });
  } catch (cause) {
    if (isSyscallError(cause)) return -WASI_ERRNO[cause.code];
    if (cause instanceof RangeError) return -WASI_ERRNO.ENOMEM;
    throw cause;
  }
}

function copyOf(guest: Guest, account: MemoryAccount): Guest {
  const { compiled, linkage, kernel, memory } = guest;
  const { byteLength } = memory.buffer;
  if (!account.admits(byteLength)) throw syscallError('ENOMEM');
  const [pages, maxPages] = [byteLength / PAGE_BYTES, Math.floor(account.maxBytes / PAGE_BYTES)];
  const child = new Guest(compiled, linkage, { pages, maxPages }, kernel.volume);
  child.view.all.set(guest.view.all);
  child.setGlobals(guest.globals());
  return child;
}
