/**
 * CPython 3.14 from the binary that Pyodide ships, without Pyodide: its JavaScript is never loaded and its bridge is
 * not linked. The C API, exported by name, is all that the host side needs.
 */
import type { Guest } from '../../engine/guest.ts';
import type { LimitReason } from '../../engine/run-context.ts';
import { wasiFunctions } from '../../kernel/wasi.ts';
import {
  allocate,
  type GuestRequest,
  type Handles,
  LIMIT_ERRORS,
  type LimitFacts,
  MAX_REPORT_BYTES,
  type Runtime,
} from '../runtime.ts';
import { compiled, guestFile, layerOf, OWN_PACKAGES, pythonLayers } from './build-layers.ts';
import { withText } from './c-string.ts';
import { currentLocation } from './current-location.ts';
import { emscriptenFunctions } from './syscalls/emscripten-imports.ts';

/** Size of the boot script's buffer for the words of a limit. */
const LIMIT_TEXT_BYTES = 200;
/** Signals that no program uses; the boot script has handlers for them that raise. */
const LIMIT_SIGNALS: Record<LimitReason, number> = { out_of_fuel: 60, timeout: 61, cancelled: 62 };
const BINARY_SHA256 = 'cc36e3cab04fdfc9a63ff13eb52eae2b911bf46c025cc7b281f394bd3de1d5e6';
const BOOT_ENV = {
  PYTHONHOME: '/',
  PYTHONHASHSEED: '0',
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUTF8: '1',
  HOME: '/app',
  TZ: 'UTC',
  LANG: 'C.UTF-8',
};

const encoder = new TextEncoder();

function boot(guest: Guest): void {
  guest.call('emscripten_stack_init');
  guest.call('__wasm_call_ctors');
  guest.call('Py_InitializeEx', 0);
}

function importModule(guest: Guest, name: string): number {
  const module = withText(guest, name, (pointer) => guest.call('PyImport_ImportModule', pointer));
  return checked(guest, module, `the guest could not import ${name}`);
}

/** ctypes may look at memory but call nothing: the C code around this call reports the exception it finds set. */
function refuseForeignCall(guest: Guest): void {
  const type = guest.view.u32((guest.exports['PyExc_OSError'] as WebAssembly.Global).value);
  withText(guest, 'ctypes cannot call C functions in the sandbox', (text) =>
    guest.call('PyErr_SetString', type, text),
  );
}

/** A result of the C API that must not be null; otherwise the exception is printed and the guest ends. */
function checked(guest: Guest, object: number, failure: string): number {
  if (object !== 0) return object;
  guest.call('PyErr_Print');
  return guest.abort(failure);
}

type RunningRequest = LimitFacts & { readonly call: number };

/** What a guest runs now, for the words of a limit. */
const running = new WeakMap<Guest, { readonly handles: Handles; readonly request: RunningRequest }>();

/** Leaves the words where the boot script's handler looks for them, and lets the interpreter call it. */
function interrupt(guest: Guest, reason: LimitReason): void {
  const program = running.get(guest);
  if (program === undefined) return;
  const words = encoder.encode(LIMIT_ERRORS[reason].message(program.request)).subarray(0, LIMIT_TEXT_BYTES);
  guest.view.bytes(program.handles['limit_text']!, LIMIT_TEXT_BYTES).fill(0).set(words);
  guest.call('PyErr_SetInterruptEx', LIMIT_SIGNALS[reason]);
}

/** Calls a function of the boot script with JSON text. */
function callWith(guest: Guest, target: number, request: unknown): number {
  const bytes = encoder.encode(JSON.stringify(request));
  const buffer = allocate(guest, bytes, 'malloc');
  const payload = guest.call('PyBytes_FromStringAndSize', buffer, bytes.length);
  guest.call('free', buffer);
  const argument = checked(guest, payload, 'the guest has no memory left for its own program');
  const answer = guest.call('PyObject_CallOneArg', target, argument);
  guest.call('Py_DecRef', argument);
  return checked(guest, answer, 'the runtime could not prepare the program');
}

/** The text of a bytes object that the boot script answered with; the object is let go. */
function textOf(guest: Guest, answer: number): string {
  const size = guest.call('PyBytes_Size', answer);
  const start = guest.call('PyBytes_AsString', answer);
  if (size < 0 || size > MAX_REPORT_BYTES || start === 0) return '{}';
  const text = new TextDecoder().decode(guest.view.bytes(start, size));
  guest.call('Py_DecRef', answer);
  return text;
}

function run(guest: Guest, handles: Handles, request: GuestRequest): string {
  running.set(guest, { handles, request });
  const { code, env, call, keep, inject_setup } = request;
  const program = { code, env, call, keep, inject_setup };
  guest.call('Py_DecRef', callWith(guest, handles['prepare']!, program));
  guest.resetFuel();
  const report = guest.call('PyObject_CallNoArgs', handles['run']!);
  return textOf(guest, checked(guest, report, 'the runtime could not report how the program ended'));
}

export const python: Runtime = {
  name: 'python',
  binary: {
    specifier: 'pyodide/pyodide.asm.wasm',
    sha256: BINARY_SHA256,
  },
  prepare: {
    exports: [
      '__indirect_function_table',
      '__wasm_call_ctors',
      'emscripten_stack_init',
      'emscripten_stack_get_current',
      'emscripten_stack_get_end',
      'emscripten_get_sbrk_ptr',
      'Py_InitializeEx',
      'PyImport_ImportModule',
      'PyObject_GetAttrString',
      'PyObject_CallNoArgs',
      'PyObject_CallOneArg',
      'PyBytes_FromStringAndSize',
      'PyBytes_AsString',
      'PyBytes_Size',
      'PyByteArray_AsString',
      'PyErr_Print',
      'PyErr_SetInterruptEx',
      'PyErr_SetString',
      'PyEval_RestoreThread',
      'PyExc_OSError',
      'PyFrame_GetBack',
      'PyFrame_GetCode',
      'PyFrame_GetLineNumber',
      'PyGILState_GetThisThreadState',
      'PyThreadState_GetFrame',
      'PyThreadState_GetUnchecked',
      'PyUnicode_AsUTF8',
      'Py_DecRef',
      'malloc',
      'free',
    ],
    hostOverrides: ['emscripten_thread_sleep'],
  },
  linkage: {
    interrupt,
    imports: (guest) => ({
      env: {
        ...emscriptenFunctions(guest.kernel, guest.view, guest),
        ffi_call_js: () => refuseForeignCall(guest),
      },
      wasi_snapshot_preview1: wasiFunctions(guest.kernel, guest.view, (code) => guest.exit(code)),
    }),
    overrides: [
      {
        // The C library's only way to sleep; as compiled it burns instructions until the clock has moved.
        signature: { params: ['f64'], results: [] },
        call: (guest, milliseconds) => {
          guest.sleep(milliseconds!);
          return undefined;
        },
      },
    ],
  },
  bootEnv: BOOT_ENV,
  layers: (build, warn) =>
    pythonLayers(
      BINARY_SHA256,
      (layers, at) =>
        build(layers, (guest) => {
          guest.kernel.env = { ...BOOT_ENV, COMPILE_ROOT: at };
          boot(guest);
          importModule(guest, '_sandbox_compile');
        }),
      warn,
    ),
  unusedMemory(guest) {
    // The stack below its pointer, and everything above the end of the heap.
    const stackEnd = guest.call('emscripten_stack_get_end');
    const stackPointer = guest.call('emscripten_stack_get_current');
    const heapEnd = guest.view.u32(guest.call('emscripten_get_sbrk_ptr'));
    return [
      { start: stackEnd, end: stackPointer },
      { start: heapEnd, end: guest.memory.buffer.byteLength },
    ];
  },
  boot(guest) {
    boot(guest);
    const module = importModule(guest, '_sandbox');
    const attribute = (name: string) =>
      withText(guest, name, (pointer) => guest.call('PyObject_GetAttrString', module, pointer));
    const limitText = guest.call('PyByteArray_AsString', attribute('limit_text'));
    const [prepare, run, warm] = ['prepare', 'run', 'warm'].map(attribute) as [number, number, number];
    return { prepare, run, warm, limit_text: limitText };
  },
  run,
  currentLocation: (guest) => currentLocation(guest, running.get(guest)?.request.call ?? 1),
  extend: {
    packages(files, build, limits) {
      const at = OWN_PACKAGES;
      const sources = files.map(({ path, data }) => ({ path, data: data! }));
      const code = new TextDecoder().decode(guestFile('compile_layer.py'));
      const env = { COMPILE_ROOT: at };
      const request = { ...limits, code, env, call: 1, keep: false, inject_setup: false };
      const compile = () =>
        build([layerOf(at, sources)], (guest, handles) => void run(guest, handles, request));
      return layerOf(at, compiled(at, sources, BINARY_SHA256, compile));
    },
    warm(guest, handles, request) {
      running.set(guest, { handles, request: { ...request, call: 1 } });
      const { modules, packages } = request;
      return textOf(guest, callWith(guest, handles['warm']!, { modules, packages }));
    },
  },
};
