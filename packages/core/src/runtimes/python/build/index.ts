/** Builds the guest of the Python runtime from the binary of the Pyodide package. */
import type { Guest } from '../../../engine/guest.ts';
import type { RuntimeBuild } from '../../build/runtime-build.ts';
import { USER_ENV } from '../../programs/account.ts';
import type { Handles } from '../../runtime.ts';
import { BINARY_SHA256 } from '../bytecode-layers.ts';
import { checkedObject, withCString } from '../c-api.ts';
import { python } from '../index.ts';
import { readDebugOffsets } from '../memory/debug-offsets.ts';
import { TYPE_EXPORTS } from '../memory/object-reader.ts';
import { checkThreadState } from '../memory/switch-threads.ts';
import { buildPythonLayers } from './file-layers.ts';

const BOOT_ENV = {
  PYTHONHOME: '/',
  PYTHONHASHSEED: '0',
  PYTHONDONTWRITEBYTECODE: '1',
  PYTHONUTF8: '1',
  TZ: 'UTC',
  ...USER_ENV,
};

/** Stack for code that checks the stack, and additional stack for code that does not. */
const STACK_BYTES = 4 * 1024 * 1024;
const UNCHECKED_STACK_BYTES = 1024 * 1024;

function startInterpreter(guest: Guest): void {
  guest.call('emscripten_stack_init');
  guest.call('__wasm_call_ctors');
  guest.call('Py_InitializeEx', 0);
}

/**
 * Limits recursion. CPython uses 4 MiB of the 10 MiB of stack in guest memory before it raises RecursionError, and C code
 * that does not check the stack may use 1 MiB more. The stack of the thread is large enough for this, so the depth of a
 * recursion depends only on the guest.
 */
function limitStack(guest: Guest): void {
  const start = guest.call('emscripten_stack_get_current') - STACK_BYTES;
  const thread = guest.call('PyThreadState_GetUnchecked');
  if (guest.call('PyUnstable_ThreadState_SetStackProtection', thread, start, STACK_BYTES) !== 0)
    guest.abort('the guest rejected its stack limit');
  guest.stack.setLimit(start - UNCHECKED_STACK_BYTES);
}

function importModule(guest: Guest, name: string): number {
  const module = withCString(guest, name, (pointer) => guest.call('PyImport_ImportModule', pointer));
  return checkedObject(guest, module, `the guest cannot import ${name}`);
}

function boot(guest: Guest): Handles {
  startInterpreter(guest);
  limitStack(guest);
  const module = importModule(guest, '_sandbox');
  const tracker = importModule(guest, '_sandbox_imports');
  // The references are never released, so the objects and their addresses remain valid.
  const attribute = (object: number, name: string) =>
    withCString(guest, name, (pointer) => guest.call('PyObject_GetAttrString', object, pointer));
  const codeOf = (object: number, name: string) => attribute(attribute(object, name), '__code__');
  const offsets = readDebugOffsets(guest);
  checkThreadState(guest, offsets);
  return {
    prepare: attribute(module, 'prepare'),
    run: attribute(module, 'run'),
    resume: attribute(module, 'resume'),
    preload: attribute(module, 'preload'),
    limit_text: guest.call('PyByteArray_AsString', attribute(module, 'limit_text')),
    execute: codeOf(module, 'execute'),
    find_and_load: codeOf(tracker, '_wrapper'),
    record_loaded: codeOf(tracker, 'record_loaded'),
    report_loaded: codeOf(tracker, '_report_loaded'),
    ...offsets,
  };
}

export const build: RuntimeBuild = {
  runtime: python,
  binary: {
    specifier: 'pyodide/pyodide.asm.wasm',
    sha256: BINARY_SHA256,
  },
  prepare: {
    exports: [
      '__indirect_function_table',
      '__stack_pointer',
      '__cpp_exception',
      '__c_longjmp',
      '__dl_seterr',
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
      'PyErr_DisplayException',
      'PyErr_GetRaisedException',
      'PyErr_SetInterruptEx',
      'PyErr_SetString',
      'PyExc_OSError',
      'PyEval_RestoreThread',
      'PyEval_SaveThread',
      'PyInterpreterState_Main',
      'PyInterpreterState_ThreadHead',
      'PyThreadState_GetUnchecked',
      'PyUnstable_ThreadState_SetStackProtection',
      'Py_DecRef',
      '_PyRuntime',
      ...TYPE_EXPORTS,
      'malloc',
      'free',
      // Local time: kernel/emscripten/local-time.ts.
      'environ',
      'tzname',
    ],
    hostOverrides: ['emscripten_thread_sleep', '_PySemaphore_Wait'],
    stackPointer: '__stack_pointer',
    linkable: true,
  },
  bootEnv: BOOT_ENV,
  buildLayers: (buildInGuest, warn) =>
    buildPythonLayers(
      (layers, at) =>
        buildInGuest(layers, (guest) => {
          // Tracebacks need line numbers only. Columns are a quarter of the compressed bytecode.
          guest.kernel.env = { ...BOOT_ENV, COMPILE_ROOT: at, PYTHONNODEBUGRANGES: '1' };
          startInterpreter(guest);
          importModule(guest, '_sandbox_compile');
        }),
      warn,
    ),
  boot,
};
