/**
 * The types of the host functions, which libraries have to import with exactly these types: JavaScript would accept any
 * argument. A test compares the table with the binary of the interpreter and with the functions that exist.
 */

/** Names by type: the parameters, then the results. i and j are integers of 32 and 64 bits, d is a double, E a reference. */
const FUNCTIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  env: {
    '>':
      '_abort_js _emscripten_runtime_keepalive_clear emscripten_debugger emscripten_runtime_keepalive_pop ' +
      'emscripten_runtime_keepalive_push',
    '>E': '__hiwire_deduplicate_new',
    '>d': 'emscripten_date_now emscripten_get_now',
    '>i':
      '_Py_CheckEmscriptenSignals_Helper _Py_emscripten_runtime __syscall_getuid32_js emscripten_get_heap_max ' +
      'emscripten_set_up_async_input_device_js',
    'i>':
      'emscripten_console_error emscripten_console_log emscripten_console_trace emscripten_console_warn emscripten_err ' +
      'emscripten_log_impl_js emscripten_out exit ffi_closure_free_js',
    'i>i':
      '__syscall_chdir __syscall_dup __syscall_fchdir __syscall_fdatasync __syscall_pipe __syscall_rmdir ' +
      '__syscall_umask_js _dlopen_js _emscripten_lookup_name _emscripten_system _Unwind_FindEnclosingFunction ' +
      'emscripten_resize_heap emscripten_return_address getprotobyname',
    'i>j': '_mktime_js _timegm_js',
    'id>i': '_setitimer_js',
    'ii>': '__call_sighandler _emscripten_get_progname _emscripten_log_formatted',
    'ii>i':
      '__asctime_r __syscall_chmod __syscall_fchmod __syscall_fstat64 __syscall_getcwd __syscall_lstat64 ' +
      '__syscall_stat64 _Unwind_Backtrace _Unwind_GetIPInfo ffi_closure_alloc_js',
    'iii>E': '_maybe_connect_async _maybe_poll_async _maybe_recvfrom_async _maybe_sendto_async',
    'iii>i':
      '__syscall_dup3 __syscall_fchown32 __syscall_fcntl64 __syscall_fstatfs64 __syscall_getdents64 __syscall_ioctl ' +
      '__syscall_mkdirat __syscall_poll __syscall_statfs64 __syscall_symlinkat __syscall_unlinkat _dlsym_js ' +
      '_try_shutdown emscripten_get_callstack',
    'iiii>': '__assert_fail _tzset_js ffi_call_js',
    'iiii>i':
      '_PyEM_TrampolineCall_JS __syscall_faccessat __syscall_fchmodat2 __syscall_mknodat __syscall_newfstatat ' +
      '__syscall_openat __syscall_readlinkat __syscall_renameat __syscall_utimensat _try_fcntl64 getaddrinfo',
    'iiiii>i': '__syscall_fchownat ffi_prep_closure_loc_js',
    'iiiiii>i':
      '__syscall_accept4 __syscall_bind __syscall_connect __syscall_getpeername __syscall_getsockname ' +
      '__syscall_getsockopt __syscall_listen __syscall_recvfrom __syscall_recvmsg __syscall_sendmsg __syscall_sendto ' +
      '__syscall_socket',
    'iiiiiii>i': 'getnameinfo',
    'iiiiij>i': '_msync_js _munmap_js',
    'iiiijii>i': '_mmap_js',
    'iijj>i': '__syscall_fallocate',
    'ij>i': '__syscall_ftruncate64 __syscall_truncate64',
    'ijji>i': '__syscall_fadvise64',
    'ji>': '_gmtime_js _localtime_js',
  },
  wasi_snapshot_preview1: {
    'i>': 'proc_exit',
    'i>i': 'fd_close fd_sync',
    'ii>i': 'clock_res_get environ_get environ_sizes_get fd_fdstat_get random_get',
    'iiii>i': 'fd_read fd_write',
    'iiiji>i': 'fd_pread fd_pwrite',
    'iji>i': 'clock_time_get',
    'ijii>i': 'fd_seek',
  },
};

/** By `module.name`. */
export const HOST_SIGNATURES: ReadonlyMap<string, string> = new Map(
  Object.entries(FUNCTIONS).flatMap(([module, byType]) =>
    Object.entries(byType).flatMap(([type, names]) =>
      names.split(' ').map((name) => [`${module}.${name}`, type] as const),
    ),
  ),
);
