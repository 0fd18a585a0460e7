/**
 * The functions that native libraries expect from Emscripten although the interpreter does not use them: console output, stack
 * traces (always empty) and asctime.
 */
import { TM } from '../../../kernel/emscripten/abi.ts';
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import type { HostFunctions } from '../../../kernel/syscall-guard.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';

/** The result of _Unwind_Backtrace when there are no more frames. */
const URC_END_OF_STACK = 5;
const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** Size of the buffer of asctime. */
const ASCTIME_BYTES = 26;

export function libraryCalls(kernel: Kernel, memory: GuestMemory): HostFunctions {
  const zero = () => 0;
  const print = (fd: 1 | 2) => (text: number) => {
    kernel.write(fd, new TextEncoder().encode(`${memory.path(text)}\n`));
    return 0;
  };
  return {
    emscripten_out: print(1),
    emscripten_console_log: print(1),
    emscripten_err: print(2),
    emscripten_console_warn: print(2),
    emscripten_console_error: print(2),
    emscripten_console_trace: print(2),
    emscripten_return_address: zero,
    emscripten_get_callstack: (_flags: number, out: number, size: number) => {
      if (size > 0) memory.setU8(out, 0);
      return 1;
    },
    _Unwind_Backtrace: () => URC_END_OF_STACK,
    _Unwind_GetIPInfo: zero,
    _Unwind_FindEnclosingFunction: zero,
    __asctime_r: (tm: number, out: number) => {
      const field = (name: keyof typeof TM.at) => memory.i32(tm + TM.at[name]);
      const clock = [field('hour'), field('min'), field('sec')];
      const time = clock.map((value) => String(value).padStart(2, '0')).join(':');
      const month = `${MONTHS[field('mon')] ?? '???'}${String(field('mday')).padStart(3)}`;
      const day = `${DAYS[field('wday')] ?? '???'} ${month}`;
      memory.writeText(out, ASCTIME_BYTES, `${day} ${time} ${field('year') + 1900}\n`, true);
      return out;
    },
  };
}
