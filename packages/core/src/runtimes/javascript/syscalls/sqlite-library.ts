/** Loads SQLite, a library whose code and memory are those of the guest, so that the state of a session contains databases. */
import { LinkFailure } from '../../../engine/link-failure.ts';
import { descriptorCalls, pathCalls } from '../../../kernel/emscripten/file-calls.ts';
import { guard, type HostFunctions } from '../../../kernel/syscall-guard.ts';
import type { Result } from './call-arguments.ts';
import { NODE_MODULES_PATH } from './package-loader.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';

/** The stub of the library in the folder of the Node.js modules. */
export const SQLITE_FILE = 'sqlite.wasm';
/** Identifies the library to the linker; a guest loads no other. */
const HANDLE = 1;
/** The system calls that the library imports. */
const CALLS = ['openat', 'faccessat', 'unlinkat', 'fstat64', 'ftruncate64', 'getcwd', 'readlinkat', 'poll'];

export function sqliteImports({ kernel, view }: QuickJsGuest): HostFunctions {
  const all = { ...pathCalls(kernel, view), ...descriptorCalls(kernel, view) };
  const used = CALLS.map((name) => [`__syscall_${name}`, all[`__syscall_${name}`]!] as const);
  return guard(kernel.host, Object.fromEntries(used), -1);
}

/** The functions of SQLite in an object; undefined if the guest has no memory for it. */
export function loadSqlite(guest: QuickJsGuest): Result {
  return () => {
    let start: number;
    try {
      guest.linker.open(`${NODE_MODULES_PATH}/${SQLITE_FILE}`, false, HANDLE);
      start = guest.linker.symbol(HANDLE, 'sandbox_library');
    } catch (cause) {
      // The guest has no memory for it.
      if (cause instanceof LinkFailure) return guest.call('qjs_get_undefined');
      throw cause;
    }
    const library = guest.callTable(start, guest.call('qjs_get_context_ptr'));
    return library === 0 ? guest.call('qjs_get_undefined') : library;
  };
}
