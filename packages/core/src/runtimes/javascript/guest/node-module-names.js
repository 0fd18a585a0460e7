/** The Node.js modules that programs can load, with or without the prefix `node:`. */

const names = (text) => text.split(/\s+/);

/** Modules with an implementation in the folder `node`. */
export const IMPLEMENTED =
  names(`assert assert/strict async_hooks buffer child_process console constants crypto diagnostics_channel events fs
fs/promises http https module os path path/posix path/win32 perf_hooks process punycode querystring readline
readline/promises stream stream/consumers stream/promises stream/web string_decoder sys test timers
timers/promises tty url util util/types zlib`);

/** Programs that are commands of the sandbox. They are not listed. */
export const COMMANDS = ['internal/commands/curl'];

/** Modules that can be loaded, but whose functions throw: the sandbox has no processes, network or threads. */
export const UNAVAILABLE =
  names(`cluster dgram dns dns/promises domain http2 inspector inspector/promises net repl sqlite tls trace_events v8 vm
wasi worker_threads`);
