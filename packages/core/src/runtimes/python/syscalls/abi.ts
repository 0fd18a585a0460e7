/** Constants and struct layouts that only the Python runtime uses. Those of Emscripten are in kernel/emscripten. */
import { structLayout } from '../../../kernel/abi.ts';

/**
 * Requests of ioctl, valid on any descriptor, with which the boot script reports the modules that a program imports.
 * guest/import_tracker.py has the same numbers.
 */
export const IMPORT_IOCTL = {
  begin: 0x4c570001,
  end: 0x4c570002,
  loaded: 0x4c570003,
  failed: 0x4c570004,
} as const;

/** ioctl requests, valid on any descriptor, with which guest/tool_calls.py calls the tools of the caller. */
export const TOOL_IOCTL = { SEND: 0x4c570011, TAKE: 0x4c570012 } as const;

/** ioctl request, valid on any descriptor, with which guest/pip_commands.py asks for packages. */
export const PACKAGE_IOCTL = 0x4c570031;

/** ioctl request, valid on any descriptor, with which guest/processes.py makes its calls. */
export const PROCESS_IOCTL = 0x4c570041;

/**
 * ioctl requests, valid on any descriptor, with which guest/threads.py switches between threads: find the start of the
 * running main loop, return into another thread, enter a new thread, exchange the fields of the thread state, release the
 * variables of a thread that ends, exchange the context of context variables.
 */
export const THREAD_IOCTL = {
  FIND: 0x4c570021,
  LEAVE: 0x4c570022,
  ENTER: 0x4c570023,
  SWAP: 0x4c570024,
  END: 0x4c570025,
  CONTEXT: 0x4c570026,
} as const;

/** `struct dso` of Emscripten 5.0.3, an open library. Its name follows. */
export const DSO = structLayout([
  ['next', 'u32'],
  ['flags', 'u32'],
  ['mem_allocated', 'u8'],
  ['mem_addr', 'u32'],
  ['mem_size', 'u32'],
  ['table_addr', 'u32'],
  ['table_size', 'u32'],
  ['file_data', 'u32'],
  ['file_data_size', 'u32'],
  ['name', 'u8'],
]);
export const RTLD_GLOBAL = 0x100;
