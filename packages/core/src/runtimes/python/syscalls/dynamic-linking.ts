/**
 * The parts of dlopen and dlsym that Emscripten's C library leaves to the host. The C library reads the file, which is a stub,
 * keeps the list of open libraries and reports errors through dlerror.
 */
import { LinkFailure } from '../../../engine/link-failure.ts';
import type { Linker } from '../../../engine/linker.ts';
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { isSyscallError } from '../../../kernel/syscall-error.ts';
import type { HostFunctions } from '../../../kernel/syscall-guard.ts';
import { DSO, RTLD_GLOBAL } from './abi.ts';

/** The guest as these functions use it. */
interface LinkingGuest {
  readonly linker: Linker;
  readonly view: GuestMemory;
  call(name: string, ...args: number[]): number;
}

/** Not guarded: a load runs code of the library, and anything that this throws is an exception of the guest or a trap. */
export function linkingCalls(guest: LinkingGuest): HostFunctions {
  const { view: memory } = guest;
  return {
    _dlopen_js: (dso: number) =>
      orDlerror(guest, () => {
        const isGlobal = (memory.u32(dso + DSO.at.flags) & RTLD_GLOBAL) !== 0;
        const { at, side } = guest.linker.open(memory.path(dso + DSO.at.name), isGlobal, dso >>> 0);
        memory.setU8(dso + DSO.at.mem_allocated, 1);
        memory.setU32(dso + DSO.at.mem_addr, at.memoryBase);
        memory.setU32(dso + DSO.at.mem_size, side.facts.memoryBytes);
        memory.setU32(dso + DSO.at.table_addr, at.tableBase);
        memory.setU32(dso + DSO.at.table_size, side.facts.tableSize);
        // The C library frees the contents of the file only if the load fails.
        guest.call('free', memory.u32(dso + DSO.at.file_data));
        memory.setU32(dso + DSO.at.file_data, 0);
        return 1;
      }),
    _dlsym_js: (handle: number, name: number) =>
      orDlerror(guest, () => guest.linker.symbol(handle >>> 0, memory.path(name))),
  };
}

/** Reports a failure through dlerror and returns 0. */
function orDlerror(guest: LinkingGuest, action: () => number): number {
  try {
    return action();
  } catch (cause) {
    if (!(cause instanceof LinkFailure) && !isSyscallError(cause)) throw cause;
    setDlerror(guest, cause instanceof LinkFailure ? cause.message : 'the name is not valid');
    return 0;
  }
}

/** Calls __dl_seterr("%s", message), whose variable arguments are in memory. */
function setDlerror(guest: LinkingGuest, message: string): void {
  const text = new TextEncoder().encode(message.slice(0, 1000));
  const block = guest.call('malloc', 8 + text.length + 1) >>> 0;
  if (block === 0) return;
  const target = guest.view.bytes(block, 8 + text.length + 1).fill(0);
  // Bytes 0 to 3: the arguments, a pointer to the message. Bytes 4 to 7: the format.
  guest.view.setU32(block, block + 8);
  target.set([0x25, 0x73, 0], 4);
  target.set(text, 8);
  guest.call('__dl_seterr', block + 4, block);
  guest.call('free', block);
}
