/**
 * The functions that the Python binary imports from `env`: Emscripten's system calls, its time functions and a few
 * callbacks of CPython. The engine denies all other imports, in particular the bridge to JavaScript.
 */
import type { MemoryLimit } from '../../../engine/memory-limit.ts';
import { O } from '../../../kernel/abi.ts';
import { descriptorCalls, pathCalls } from '../../../kernel/emscripten/file-calls.ts';
import { timeCalls } from '../../../kernel/emscripten/time-calls.ts';
import { WASI_ERRNO } from '../../../kernel/errno.ts';
import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import { guard, type HostFunctions } from '../../../kernel/syscall-guard.ts';
import type { Kernel } from '../../../kernel/syscalls.ts';
import { libraryCalls } from './native-library-calls.ts';
import { packageRequests } from './package-requests.ts';
import { processRequests } from './process-requests.ts';
import { toolExchange } from './tool-exchange.ts';

/** The guest as these functions use it. */
export interface EmscriptenGuest {
  /** Calls an entry of the guest's function table. Stops the guest if there is none. */
  callTable(index: number, ...args: number[]): number;
  readonly memoryLimit: Pick<MemoryLimit, 'grow' | 'maxBytes'>;
  /** Calls an export. */
  call(name: string, ...args: number[]): number;
  readonly exports: WebAssembly.Exports;
  exit(code: number): never;
  abort(reason: string): never;
  /** Stops the guest because it called abort(), which is not attributed to a limit that was reached before. */
  abortedItself(): never;
}

/** "Name does not resolve" in musl. */
const EAI_NONAME = -2;
/** Status of libffi for an unknown calling convention. */
const FFI_BAD_ABI = 2;

/** Handles a request of ioctl that the boot script makes to the runtime. Returns false for any other request. */
type RuntimeRequest = (request: number, varargs: number) => boolean;

export function emscriptenFunctions(
  kernel: Kernel,
  memory: GuestMemory,
  guest: EmscriptenGuest,
  runtimeRequest: RuntimeRequest = () => false,
): HostFunctions {
  const exchange = toolExchange(kernel, memory);
  const findPackages = packageRequests(kernel, memory);
  const processes = processRequests(kernel, memory);
  const handleIoctl = (request: number, varargs: number) => {
    if (runtimeRequest(request, varargs)) return 0;
    return exchange(request, varargs) ?? findPackages(request, varargs) ?? processes(request, varargs);
  };
  const address = (name: string) => (guest.exports[name] as WebAssembly.Global).value as number;
  // The interpreter does not import this call.
  const { __syscall_pipe2: _, ...descriptors } = descriptorCalls(kernel, memory, handleIoctl);
  const guarded = {
    ...pathCalls(kernel, memory),
    ...descriptors,
    ...deniedCalls(),
    ...socketCalls(kernel),
    ...timeCalls(kernel, memory, {
      environ: () => address('environ'),
      tzname: () => address('tzname'),
    }),
    ...libraryCalls(kernel, memory),
    ...processCalls(kernel, memory, guest),
  };
  return { ...guard(kernel.host, guarded, -1), ...guestCalls(guest) };
}

const refuse = (code: Parameters<typeof syscallError>[0]) => () => {
  throw syscallError(code);
};

/** Address families of sockets: IPv4 and IPv6. */
const INTERNET = [2, 10];
/** O_CLOEXEC and O_NONBLOCK in the type of a socket. */
const TYPE_FLAGS = 0o2004000;
const STREAM_OR_DATAGRAM = [1, 2];

/**
 * Sockets that reach nothing. Libraries create sockets when they are imported, so that must not fail; connecting does. A socket is
 * a descriptor of /dev/null.
 */
function socketCalls(kernel: Kernel): HostFunctions {
  const group = (names: string, code: Parameters<typeof syscallError>[0]) =>
    Object.fromEntries(names.split(' ').map((name) => [`__syscall_${name}`, refuse(code)]));
  return {
    __syscall_socket: (family: number, type: number) => {
      if (!INTERNET.includes(family) || !STREAM_OR_DATAGRAM.includes(type & ~TYPE_FLAGS))
        throw syscallError('EAFNOSUPPORT');
      return kernel.open('/', '/dev/null', O.RDWR, 0);
    },
    ...group('connect bind listen accept4', 'ENETUNREACH'),
    ...group('getpeername getsockname recvfrom recvmsg sendmsg sendto', 'ENOTCONN'),
    ...group('getsockopt', 'ENOTSOCK'),
  };
}

/** Calls that always fail with an errno, which Python raises as an OSError. */
function deniedCalls(): HostFunctions {
  return {
    __syscall_mknodat: refuse('EPERM'),
    _mmap_js: refuse('EOPNOTSUPP'),
    _munmap_js: refuse('EINVAL'),
    _msync_js: refuse('EINVAL'),
    _setitimer_js: refuse('ENOSYS'),
  };
}

/** Calls that stop the guest or call back into it. They are not guarded, because anything they throw is a trap. */
function guestCalls(guest: EmscriptenGuest): HostFunctions {
  return {
    exit: (code: number) => guest.exit(code),
    _abort_js: () => guest.abortedItself(),
    __assert_fail: () => guest.abort('an assertion in the interpreter failed'),
    // CPython uses this for calls to C functions that may have fewer parameters than arguments.
    _PyEM_TrampolineCall_JS: (target: number, a: number, b: number, c: number) =>
      guest.callTable(target, a, b, c),
    __call_sighandler: (handler: number, signal: number) => guest.callTable(handler, signal),
  };
}

function processCalls(kernel: Kernel, memory: GuestMemory, guest: EmscriptenGuest): HostFunctions {
  const zero = () => 0;
  return {
    // guest/processes.py replaces os.system.
    _emscripten_system: refuse('ENOSYS'),
    emscripten_resize_heap: (bytes: number) => (guest.memoryLimit.grow(bytes >>> 0) ? 1 : 0),
    emscripten_get_heap_max: () => guest.memoryLimit.maxBytes,
    _emscripten_get_progname: (out: number, size: number) => {
      memory.writeText(out, Math.min(size >>> 0, 32), 'python', true);
    },
    __syscall_getuid32_js: zero,
    __syscall_umask_js: (mask: number) => {
      const previous = kernel.umask;
      kernel.umask = mask & 0o777;
      return previous;
    },
    _Py_emscripten_runtime: zero,
    _Py_CheckEmscriptenSignals_Helper: zero,
    _try_fcntl64: zero,
    _try_shutdown: zero,
    // Asynchronous variants of the bridge. Null makes C code use the regular system call.
    ...Object.fromEntries(
      ['_maybe_connect_async', '_maybe_recvfrom_async', '_maybe_sendto_async', '_maybe_poll_async'].map(
        (name) => [name, () => null],
      ),
    ),
    __hiwire_deduplicate_new: () => null,
    emscripten_runtime_keepalive_push: zero,
    emscripten_runtime_keepalive_pop: zero,
    _emscripten_runtime_keepalive_clear: zero,
    _emscripten_lookup_name: zero,
    getaddrinfo: () => EAI_NONAME,
    getnameinfo: () => EAI_NONAME,
    getprotobyname: zero,
    // ctypes cannot create closures. C code raises a Python exception for it.
    ffi_closure_alloc_js: (size: number, code: number) => {
      const closure = guest.call('malloc', size);
      if (closure !== 0) memory.setU32(code, closure);
      return closure;
    },
    ffi_closure_free_js: (closure: number) => guest.call('free', closure),
    ffi_prep_closure_loc_js: () => FFI_BAD_ABI,
    emscripten_log_impl_js: zero,
    _emscripten_log_formatted: zero,
    emscripten_debugger: zero,
    emscripten_set_up_async_input_device_js: () => -WASI_ERRNO.ENOSYS,
  };
}
