/**
 * The Python runtime: CPython 3.14 from the binary of the Pyodide package. Pyodide's JavaScript is never loaded and its
 * bridge is not linked; the host uses only the C API that the binary exports.
 */
import type { Guest } from '../../engine/guest.ts';
import type { LimitReason } from '../../engine/run-context.ts';
import { wasiFunctions } from '../../kernel/wasi.ts';
import { copyToGuest } from '../memory/copy-to-guest.ts';
import {
  type CommandRequest,
  type GuestRequest,
  type Handles,
  LIMIT_ERRORS,
  MAX_REPORT_BYTES,
  type MessageLimits,
  type Runtime,
} from '../runtime.ts';
import { compileScript, layerOf, USER_PACKAGES, withBytecode } from './bytecode-layers.ts';
import { checkedObject, withCString } from './c-api.ts';
import { commandSource } from './command-source.ts';
import { ImportObserver } from './memory/import-observer.ts';
import { PythonStackReader } from './memory/stack-reader.ts';
import { resetRecursion, switchThreads } from './memory/switch-threads.ts';
import { OPTIMIZATION_PROGRAMS } from './optimization-programs.ts';
import { pythonSource } from './source-reader.ts';
import { linkingCalls } from './syscalls/dynamic-linking.ts';
import { emscriptenFunctions } from './syscalls/emscripten-imports.ts';
import { HOST_SIGNATURES } from './syscalls/host-signatures.ts';

/** Size of the boot script's buffer for the message of a limit. */
const LIMIT_TEXT_BYTES = 200;
/** Signal numbers that programs do not use. The boot script installs handlers that raise an exception. */
const LIMIT_SIGNALS: Record<LimitReason, number> = { out_of_fuel: 60, timeout: 61, cancelled: 62 };
/** The boot script installs a handler that raises a RuntimeError. */
const ENDLESS_WAIT_SIGNAL = 63;
/** Result of a wait in CPython: handle signals, and wait again for the rest of the time. */
const PARK_INTERRUPTED = -3;

/** Functions of the boot script that are running while a program runs, and while the program of a command line runs. */
const BOOT_FRAMES = 6;
const COMMAND_FRAMES = 12;

const encoder = new TextEncoder();

/**
 * Sets an OSError, which ctypes raises when this call returns: it may read memory, but not call functions. For functions that
 * are not part of the C API, ctypes has released the thread state; it raises a SystemError with the OSError as its cause.
 */
function refuseForeignCall(guest: Guest): void {
  const isReleased = guest.call('PyThreadState_GetUnchecked') === 0;
  const thread = isReleased
    ? guest.call('PyInterpreterState_ThreadHead', guest.call('PyInterpreterState_Main'))
    : 0;
  if (isReleased) guest.call('PyEval_RestoreThread', thread);
  const type = guest.view.u32((guest.exports['PyExc_OSError'] as WebAssembly.Global).value);
  withCString(guest, 'ctypes cannot call C functions in the sandbox', (text) =>
    guest.call('PyErr_SetString', type, text),
  );
  if (isReleased) guest.call('PyEval_SaveThread');
}

interface PythonRun {
  readonly handles: Handles;
  readonly request: MessageLimits;
  readonly imports: ImportObserver;
}

/** The program that each guest is running. */
const runningPrograms = new WeakMap<Guest, PythonRun>();

function setRunning(guest: Guest, handles: Handles, request: MessageLimits): void {
  runningPrograms.set(guest, { handles, request, imports: new ImportObserver(guest, handles) });
}

/** Handles the requests that the boot script makes with ioctl. */
function runtimeRequest(guest: Guest, request: number, varargs: number): boolean {
  const program = runningPrograms.get(guest);
  if (program === undefined) return false;
  return program.imports.record(request) || switchThreads(guest, program.handles, request, varargs);
}

/** Stores the message where the boot script's signal handler reads it, and raises the signal. */
function interrupt(guest: Guest, reason: LimitReason): void {
  const program = runningPrograms.get(guest);
  if (program === undefined) return;
  const message = encoder.encode(LIMIT_ERRORS[reason].message(program.request));
  const target = guest.view.bytes(program.handles['limit_text']!, LIMIT_TEXT_BYTES);
  target.fill(0).set(message.subarray(0, LIMIT_TEXT_BYTES));
  guest.call('PyErr_SetInterruptEx', LIMIT_SIGNALS[reason]);
  guest.kernel.imports.isInterrupted ||= new PythonStackReader(guest, program.handles).isImporting();
}

/** There is one thread, so nothing can end the wait: it lasts until its time is up, or fails if it has no limit. */
function waitForSemaphore(guest: Guest, nanoseconds: number): number {
  if (nanoseconds < 0) guest.call('PyErr_SetInterruptEx', ENDLESS_WAIT_SIGNAL);
  guest.sleep(Math.max(0, nanoseconds) / 1e6);
  return PARK_INTERRUPTED;
}

/** Calls a function of the boot script with a JSON text as a bytes object. */
function callBootScript(guest: Guest, target: number, request: unknown): number {
  const bytes = encoder.encode(JSON.stringify(request));
  const buffer = copyToGuest(guest, bytes, 'malloc');
  const argument = guest.call('PyBytes_FromStringAndSize', buffer, bytes.length);
  guest.call('free', buffer);
  if (argument === 0) return guest.outOfMemory();
  const result = guest.call('PyObject_CallOneArg', target, argument);
  guest.call('Py_DecRef', argument);
  return checkedObject(guest, result, 'the boot script failed to prepare the program');
}

/** Reads a bytes object as text and releases it. */
function takeText(guest: Guest, object: number): string {
  const size = guest.call('PyBytes_Size', object);
  const start = guest.call('PyBytes_AsString', object);
  if (size < 0 || size > MAX_REPORT_BYTES || start === 0) return '{}';
  const text = new TextDecoder().decode(guest.view.bytes(start, size));
  guest.call('Py_DecRef', object);
  return text;
}

function run(guest: Guest, handles: Handles, request: GuestRequest, frames = BOOT_FRAMES): string {
  setRunning(guest, handles, request);
  const { code, file, file_name, env, args, call, keep, inject_setup, tools, network } = request;
  const program = {
    code,
    file,
    env,
    args,
    call,
    keep,
    inject_setup,
    ...(file_name === null && { is_cell: true }),
    ...(tools !== undefined && { tools }),
    ...(network && { network }),
  };
  const prepare = () => guest.call('Py_DecRef', callBootScript(guest, handles['prepare']!, program));
  // Before the first program, only the runtime has run. Later, hooks of earlier programs may run in `prepare`.
  if (call === 1) guest.preparing(prepare);
  else prepare();
  return callProgram(guest, handles, 'run', frames);
}

/** Calls a function of the boot script that runs a program and returns the report. Its own `frames` do not count as recursion. */
function callProgram(guest: Guest, handles: Handles, name: 'run' | 'resume', frames: number): string {
  resetRecursion(guest, handles, frames);
  const report = guest.call('PyObject_CallNoArgs', handles[name]!);
  resetRecursion(guest, handles, 0);
  return takeText(guest, checkedObject(guest, report, 'the boot script returned no report'));
}

/** The program that runs a command line. */
const COMMAND_PROGRAM = '__import__("_sandbox_processes").main()';

function runCommand(guest: Guest, handles: Handles, request: CommandRequest): string {
  const { argv, env, pid, others, ...common } = request;
  const program: GuestRequest = {
    ...common,
    code: COMMAND_PROGRAM,
    language: 'python',
    file: '/usr/bin/python3',
    env: {},
    args: [JSON.stringify({ argv, env, pid, others })],
    call: 1,
    keep: false,
  };
  return run(guest, handles, program, COMMAND_FRAMES);
}

function resume(guest: Guest, handles: Handles, request: GuestRequest): string {
  setRunning(guest, handles, request);
  return callProgram(guest, handles, 'resume', BOOT_FRAMES);
}

export const python: Runtime = {
  name: 'python',
  source: pythonSource,
  linkage: {
    interrupt,
    imports: (guest) => ({
      env: {
        ...emscriptenFunctions(guest.kernel, guest.view, guest, (request, varargs) =>
          runtimeRequest(guest, request, varargs),
        ),
        ...linkingCalls(guest),
        ffi_call_js: () => refuseForeignCall(guest),
      },
      wasi_snapshot_preview1: wasiFunctions(guest.kernel, guest.view, (code) => guest.exit(code)),
    }),
    signatures: HOST_SIGNATURES,
    overrides: [
      {
        // All sleeping goes through this function. The compiled version is a busy loop.
        signature: { params: ['f64'], results: [] },
        call: (guest, milliseconds) => {
          guest.sleep(Number(milliseconds));
          return undefined;
        },
      },
      {
        // Locks, events and queues wait here: semaphore, nanoseconds, whether to detach the thread state.
        signature: { params: ['i32', 'i64', 'i32'], results: ['i32'] },
        call: (guest, _semaphore, nanoseconds) => waitForSemaphore(guest, Number(nanoseconds)),
      },
    ],
  },
  unusedMemory(guest) {
    // The stack below the stack pointer, and everything above the end of the heap.
    const stackEnd = guest.call('emscripten_stack_get_end');
    const stackPointer = guest.call('emscripten_stack_get_current');
    const heapEnd = guest.view.u32(guest.call('emscripten_get_sbrk_ptr'));
    return [
      { start: stackEnd, end: stackPointer },
      { start: heapEnd, end: guest.memory.buffer.byteLength },
    ];
  },
  optimizationPrograms: OPTIMIZATION_PROGRAMS,
  stackReader: (guest, handles) => new PythonStackReader(guest, handles),
  run: (guest, handles, request) => run(guest, handles, request),
  resume,
  commands: ['python3', 'python', 'pip', 'pip3', 'uv'],
  runCommand,
  commandSource,
  preload(guest, handles, request) {
    setRunning(guest, handles, request);
    return takeText(guest, callBootScript(guest, handles['preload']!, { modules: request.modules }));
  },
  buildUserPackages(files, buildInGuest, limits) {
    const at = USER_PACKAGES;
    const sources = files.map(({ path, data }) => ({ path, data: data! }));
    const code = new TextDecoder().decode(compileScript());
    const env = { COMPILE_ROOT: at };
    const request = {
      ...limits,
      code,
      file: '/app/main.py',
      language: 'python' as const,
      env,
      args: [],
      call: 1,
      keep: false,
      inject_setup: false,
    };
    const compile = () =>
      buildInGuest([layerOf(at, sources)], (guest, handles) => void run(guest, handles, request));
    return layerOf(at, withBytecode(at, sources, compile));
  },
};
