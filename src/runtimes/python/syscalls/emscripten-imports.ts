/**
 * The face that Python's binary sees: Emscripten's system calls, its libc time functions, and the few callbacks of
 * CPython's port. Everything else the binary imports, the JavaScript bridge above all, is not here and therefore
 * denied by the engine.
 */
import { WASI_ERRNO } from '../../../kernel/errno.ts';
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import { guard, type HostFunctions } from '../../../kernel/syscall-guard.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { descriptorCalls, pathCalls } from './file-calls.ts';
import { timeCalls } from './time-calls.ts';

/** What these doors need of the guest they belong to. */
export interface EmscriptenGuest {
  /** Calls an entry of the guest's function table; ends the guest when there is none. */
  callTable(index: number, ...args: number[]): number;
  /** Grows memory to hold `bytes`; false when the policy's limit is in the way. */
  grow(bytes: number): boolean;
  readonly maxBytes: number;
  /** Calls an export. */
  call(name: string, ...args: number[]): number;
  exit(code: number): never;
  abort(reason: string): never;
}

/** EAI_FAIL of musl: "non-recoverable failure in name resolution". */
const EAI_FAIL = -4;
/** libffi's answer for a calling convention it does not know. */
const FFI_BAD_ABI = 2;

export function emscriptenFunctions(
  kernel: Kernel,
  memory: GuestMemory,
  guest: EmscriptenGuest,
): HostFunctions {
  const guarded = {
    ...pathCalls(kernel, memory),
    ...descriptorCalls(kernel, memory),
    ...deniedCalls(),
    ...timeCalls(kernel, memory),
    ...processCalls(kernel, memory, guest),
  };
  return { ...guard(kernel.host, guarded, -1), ...guestCalls(guest) };
}

/** Refusals that C code turns into an ordinary exception. */
function deniedCalls(): HostFunctions {
  const refuse = (code: Parameters<typeof syscallError>[0]) => () => {
    throw syscallError(code);
  };
  const sockets =
    'accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmsg sendmsg sendto';
  return {
    __syscall_socket: refuse('EAFNOSUPPORT'),
    ...Object.fromEntries(sockets.split(' ').map((name) => [`__syscall_${name}`, refuse('ENOTSOCK')])),
    __syscall_mknodat: refuse('EPERM'),
    _mmap_js: refuse('ENOTSUP'),
    _munmap_js: refuse('EINVAL'),
    _msync_js: refuse('EINVAL'),
    _emscripten_system: refuse('ENOSYS'),
    _setitimer_js: refuse('ENOSYS'),
  };
}

/** Calls that end the guest or go back into it: what comes out of those is on its way to the engine. */
function guestCalls(guest: EmscriptenGuest): HostFunctions {
  return {
    exit: guest.exit,
    _abort_js: () => guest.abort('abort() was called'),
    __assert_fail: () => guest.abort('an assertion of the interpreter failed'),
    // CPython calls through this where a C function may have fewer parameters than its caller passes.
    _PyEM_TrampolineCall_JS: (target: number, a: number, b: number, c: number) =>
      guest.callTable(target, a, b, c),
    __call_sighandler: (handler: number, signal: number) => guest.callTable(handler, signal),
  };
}

function processCalls(kernel: Kernel, memory: GuestMemory, guest: EmscriptenGuest): HostFunctions {
  const nothing = () => 0;
  return {
    emscripten_resize_heap: (bytes: number) => (guest.grow(bytes >>> 0) ? 1 : 0),
    emscripten_get_heap_max: () => guest.maxBytes,
    _emscripten_get_progname: (out: number, size: number) => {
      memory.writeText(out, Math.min(size >>> 0, 32), 'python', true);
    },
    __syscall_getuid32_js: nothing,
    __syscall_umask_js: (mask: number) => {
      const previous = kernel.umask;
      kernel.umask = mask & 0o777;
      return previous;
    },
    _Py_emscripten_runtime: nothing,
    _Py_CheckEmscriptenSignals_Helper: nothing,
    _try_fcntl64: nothing,
    _try_shutdown: nothing,
    // The bridge's asynchronous variants: null sends C code on to the ordinary system call.
    ...Object.fromEntries(
      ['_maybe_connect_async', '_maybe_recvfrom_async', '_maybe_sendto_async', '_maybe_poll_async'].map(
        (name) => [name, () => null],
      ),
    ),
    __hiwire_deduplicate_new: () => null,
    emscripten_runtime_keepalive_push: nothing,
    emscripten_runtime_keepalive_pop: nothing,
    _emscripten_runtime_keepalive_clear: nothing,
    _emscripten_lookup_name: nothing,
    getaddrinfo: () => EAI_FAIL,
    getnameinfo: () => EAI_FAIL,
    getprotobyname: nothing,
    // ctypes: no closure memory and no foreign calls; C code reports both as Python exceptions.
    ffi_closure_alloc_js: (size: number, code: number) => {
      const closure = guest.call('malloc', size);
      if (closure !== 0) memory.setU32(code, closure);
      return closure;
    },
    ffi_closure_free_js: (closure: number) => guest.call('free', closure),
    ffi_prep_closure_loc_js: () => FFI_BAD_ABI,
    // dlopen fails as it would for a file that is not there.
    _dlopen_js: nothing,
    _dlsym_js: nothing,
    emscripten_log_impl_js: nothing,
    _emscripten_log_formatted: nothing,
    emscripten_debugger: nothing,
    emscripten_set_up_async_input_device_js: () => -WASI_ERRNO.ENOSYS,
  };
}
